"""The public catalogue: ids that exist whether or not anybody touched them; of items, and perhaps of tags and users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl

from recveil.data import Interactions
from recveil.desk.features import as_features
from recveil.errors import RecveilError
from recveil.ids import narrow, places, plain, ranked
from recveil.views.triples import beyond

_LISTS = ("item", "tag", "user")


@dataclass(frozen=True)
class Catalogue:
    """Public lists of ids; a list that is not given is taken from the data. One that is given rules: data take its type
    and its order, and what does not stand in it is left out.
    """

    items: pl.Series | None = None
    tags: pl.Series | None = None
    users: pl.Series | None = None
    features: pl.DataFrame | None = None  # of items: the column item, and others of 0 and 1

    def lists(self) -> tuple[str, ...]:
        """Which lists were given beside that of items."""
        return tuple(name for name in ("tags", "users") if getattr(self, name) is not None)

    def digest(self) -> str:
        """A name of these lists, for a cache."""
        hashed = blake2b(digest_size=16)
        for ids in (self.items, self.tags, self.users):
            hashed.update(repr(None if ids is None else listed(ids).to_list()).encode())
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


def listed(ids: pl.Series) -> pl.Series:
    """A list of ids, each once and in order. Its type is that of the data then, whatever theirs was."""
    if ids.dtype.is_float():  # whole numbers beside nulls, as some tools write them
        ids = ids.fill_nan(None).cast(pl.Int64, strict=False)
    return ranked(plain(ids).drop_nulls().unique())


def read_catalogue(path: str | Path) -> Catalogue:
    """Item ids, one a line (a header `item` is skipped), numbers if all of them are whole numbers; or a parquet with
    columns item, tag, user: each is a list of its own, filled up with nulls where another one is longer.
    """
    path = Path(path)
    try:
        if path.suffix == ".parquet":
            frame = pl.read_parquet(path)
            if not set(_LISTS) & set(frame.columns):
                raise RecveilError(
                    f"{path}: a catalogue needs a column item, tag or user; it has {', '.join(frame.columns)}"
                )
            lists: dict[str, Any] = {f"{name}s": frame[name].drop_nulls() for name in _LISTS if name in frame.columns}
        else:
            lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
            names = pl.Series("item", [line for line in lines if line and line != "item"], dtype=pl.String)
            lists = {"items": narrow(names)}
    except (OSError, UnicodeDecodeError, pl.exceptions.PolarsError) as error:
        raise RecveilError(f"{path} cannot be read as a catalogue: {str(error).splitlines()[0]}") from None
    for ids in lists.values():
        if not len(ids):
            raise RecveilError(f"{path}: the catalogue is empty")
    return Catalogue(lists.get("items"), lists.get("tags"), lists.get("users"))


def shared(given: Any, data: Interactions) -> Catalogue | None:
    """A catalogue for what an owner measures on the data; raises where it has nothing in common with them.

    A release may not say so: there a list that lacks everything makes zero counts.
    """
    found = as_catalogue(given)
    for role in _LISTS if found is not None else ():
        ids, seen = getattr(found, f"{role}s"), getattr(data, f"{role}s")
        if ids is not None and seen is not None and not (places(seen, listed(ids)) >= 0).any():
            raise RecveilError(f"none of the {role}s of the data stands in the catalogue: it belongs to other data")
    return found


def as_catalogue(given: Any, features: Any = None) -> Catalogue | None:
    """A catalogue given as itself, as a list of item ids, or as a file; perhaps with features of items."""
    if features is not None:
        return replace(as_catalogue(given) or Catalogue(), features=as_features(features))
    if given is None or isinstance(given, Catalogue):
        return given
    if isinstance(given, str | PathLike):
        return read_catalogue(fspath(given))
    if isinstance(given, pl.Series):
        return Catalogue(given)
    if isinstance(given, Sequence):
        return Catalogue(pl.Series("item", list(given)))
    raise RecveilError("a catalogue is a list of item ids, a polars Series, or the path of a file with one id a line")
