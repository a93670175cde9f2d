"""The public catalogue: what exists whether or not anybody touched it. Items with their facts, perhaps tags, users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.formats.item_file import LISTS, public_items, read_item_file
from recveil.ids import listed, places
from recveil.items import PublicItems
from recveil.mechanism import Mechanism
from recveil.releases.inputs import SAMPLE
from recveil.views.triples import beyond


@dataclass(frozen=True)
class Catalogue:
    """Public lists of ids; a list that is not given is taken from the data. One that is given rules: data take its type
    and its order, and what does not stand in it is left out. `is_public`: its owner declares that what stands in it
    stands there whether or not anybody touched it, and that none of it was read off the log.
    """

    items: pl.Series | None = None
    tags: pl.Series | None = None
    users: pl.Series | None = None
    features: PublicItems | None = None  # what the file tells of its items
    is_public: bool = False
    earlier: Any = None  # what earlier releases of the same people published: noisy tables, which are public by then

    def lists(self) -> tuple[str, ...]:
        """Which lists were given beside that of items."""
        return tuple(name for name in ("tags", "users") if getattr(self, name) is not None)

    @property
    def is_given(self) -> bool:
        return self.items is not None or self.features is not None or bool(self.lists())

    @property
    def titles(self) -> pl.DataFrame | None:
        """Item and title, where titles were declared publishable: a bundle takes them along."""
        return None if self.features is None else self.features.names_of()

    def facts(self, items: pl.Series) -> PublicItems | None:
        """What is known of these items; nothing where the file tells nothing of its own."""
        return self.features.over(items) if self.features is not None and self.features.tells else None

    def digest(self) -> str:
        """A name of these lists, for a cache."""
        hashed = blake2b(digest_size=16)
        for ids in (self.items, self.tags, self.users):
            hashed.update(repr(None if ids is None else listed(ids).to_list()).encode())
        hashed.update(b"" if self.features is None else self.features.digest().encode())
        return hashed.hexdigest()

    def over(self, data: Interactions, users: bool = False, outside: bool = False) -> Interactions:
        """The rows whose items and tags (users) stand in the lists, coded over all of them, in the types of the lists.

        `outside`: rows whose tags do not stand in the list stay, with tags that have no name.
        """
        if self.items is not None:
            data = data.over_items(listed(self.items))
        if self.tags is not None and data.tags is not None:
            tags = listed(self.tags)
            data = beyond(data, tags) if outside else data.over_tags(tags)
        if users and self.users is not None:
            data = data.over_users(listed(self.users))
        given = {role for role in ("item", "tag", "user") if getattr(self, f"{role}s") is not None}
        return replace(data, untyped=data.untyped - given)


def read_catalogue(path: str | Path, publish_titles: bool = False) -> Catalogue:
    """A public file of items (formats/item_file.py), or ids one a line; sample:NAME has those of the sample.

    A parquet whose columns are item, tag and user alone holds a list in each, filled up with nulls.
    """
    if str(path).startswith(SAMPLE):
        from recveil.samples import sample_items

        made = public_items(sample_items(str(path).removeprefix(SAMPLE)), str(path))
        return replace(_of_items(made, publish_titles), is_public=True)  # made up, like the sample itself
    frame = read_item_file(path)
    if str(path).endswith(".parquet") and set(frame.columns) <= set(LISTS):
        lists: dict[str, Any] = {f"{name}s": frame[name].drop_nulls() for name in frame.columns}
        if not all(len(ids) for ids in lists.values()):
            raise RecveilError(f"{path}: the catalogue is empty")
        return Catalogue(**lists)
    return _of_items(public_items(frame, str(path)), publish_titles)


def _of_items(found: PublicItems, publish_titles: bool) -> Catalogue:
    if publish_titles and found.titles is None:
        raise RecveilError("there are no titles to publish: the file of items has no column title")
    return Catalogue(found.items, features=replace(found, publish_titles=publish_titles or found.publish_titles))


def check_public(mechanism: Mechanism, given: bool, declared: bool, seeded: bool) -> None:
    """Raise where a proof is to rest on a public file that nobody declared to be one. What stands in it does not count,
    nor does an experiment, which promises nothing.
    """
    if mechanism.is_proved and given and not declared and not seeded:
        raise RecveilError(
            f"the proof of {mechanism.name} holds if the file of items is public: if all of it stands there whether "
            "or not anybody touched it, say so with --catalogue-is-public (catalogue_is_public=True in Python, "
            "catalogue_is_public = true in a schema or desk.toml); if it was read off the data, leave it out"
        )


def looks_read_off(given: Catalogue, data: Interactions) -> str | None:
    """What makes a list of items look as if it was read off the log, for the owner's own screen; None: nothing does."""
    if given.items is None:
        return None
    where = places(listed(given.items), data.items)
    if not len(where) or (where < 0).any() or not np.bincount(data.item, minlength=data.n_items)[where].all():
        return None
    somebody = np.zeros(data.n_items, dtype=data.user.dtype)
    somebody[data.item] = data.user
    others = np.bincount(data.item[data.user != somebody[data.item]], minlength=data.n_items)
    alone = int(np.count_nonzero(others[where] == 0))
    return read_off(len(where), f", {alone:,} of them in one person's rows alone" if alone else "")


def read_off(items: int, more: str = "") -> str:
    return (
        f"all {items:,} ids of the public file of items occur in the data{more}: was it read off them? Then it is not "
        "public, and what is proved does not hold"
    )


def shared(given: Any, data: Interactions) -> Catalogue | None:
    """A catalogue for what an owner measures on the data; raises where it has nothing in common with them.

    A release may not say so: there a list that lacks everything makes zero counts.
    """
    found = as_catalogue(given)
    for role in LISTS if found is not None else ():
        ids, seen = getattr(found, f"{role}s"), getattr(data, f"{role}s")
        if ids is not None and seen is not None and not (places(seen, listed(ids)) >= 0).any():
            raise RecveilError(f"none of the {role}s of the data stands in the catalogue: it belongs to other data")
    return found


def as_catalogue(given: Any, publish_titles: bool = False) -> Catalogue | None:
    """Public items given as themselves, as a table, as a file, or as a list of ids."""
    if isinstance(given, str | PathLike):
        return read_catalogue(fspath(given), publish_titles)
    if isinstance(given, PublicItems):
        return _of_items(given, publish_titles)
    if hasattr(given, "__arrow_c_stream__") and not isinstance(given, pl.Series):
        return _of_items(public_items(pl.DataFrame(given), "items"), publish_titles)
    if publish_titles and not isinstance(given, Catalogue):
        raise RecveilError("titles to publish stand in a file of items: give one with --items")
    if given is None or isinstance(given, Catalogue):
        return given
    if isinstance(given, pl.Series):
        return Catalogue(given)
    if isinstance(given, Sequence):
        return Catalogue(pl.Series("item", list(given)))
    raise RecveilError("public items are a table with a column item, a list of ids, or the path of a file of either")


def tells(given: Catalogue | None) -> bool:
    """Whether there is a file that tells items apart."""
    return given is not None and given.features is not None and given.features.tells


def one_of(**given: Any) -> Any:
    """The one door: items, catalogue and features are names of the same thing."""
    named = {name: one for name, one in given.items() if one is not None}
    if len(named) > 1:
        raise RecveilError(f"{' and '.join(named)} are names of one public file of items: give one of them")
    return next(iter(named.values()), None)
