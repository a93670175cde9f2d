"""What an owner brings for stronger attackers: shadows, another release, what people are, another tool."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions, concat
from recveil.errors import RecveilError
from recveil.evaluation.command import SECONDS, command_maker
from recveil.evaluation.people import informed, labelled, read_map, read_people
from recveil.evaluation.shadows import Halves, Maker, maker, of_bundle, of_halves
from recveil.guarantee import Guarantee
from recveil.ids import places
from recveil.measurement import SecondRelease, Shadows, Trial, owners
from recveil.mechanisms.spec import is_named, parse
from recveil.options import asked, option
from recveil.releases.asked import ITEMS
from recveil.releases.catalogue import shared, tells


@dataclass(frozen=True)
class AttackerResources:
    """shadows: how many releases of halves to learn from; 0: none. command: a tool that makes releases, where no
    mechanism of ours did. also: a second bundle of the same people, with its map. attributes: a table of people.
    items: the public file or lists over which the release was made, for its shadows."""

    shadows: int = option(0, help="Releases of halves of DATA from which an attacker learns; 32 give the number.")
    command: str | None = option(
        None, metavar="COMMAND", help='Makes the shadows of another tool\'s release: "tool {in} {out}".'
    )
    seconds: float = option(SECONDS, help="That COMMAND may take for one release.")
    items: Any = asked(ITEMS, None)
    also: str | None = option(None, metavar="BUNDLE", help="Another release of the same people, to be matched with.")
    also_map: str | None = option(None, metavar="FILE", help="The map of that other release.")
    attributes: str | pl.DataFrame | None = option(
        None, metavar="FILE", help="What people are: user and other columns, csv or parquet."
    )


NO_RESOURCES = AttackerResources()


@dataclass(frozen=True)
class Origin:
    """Where a release comes from: the spec of a mechanism, and its promise; neither is known of another tool's."""

    spec: str | None = None
    promise: Guarantee | None = None


def equip(resources: AttackerResources, subject: Trial, origin: Origin, seed: int) -> Trial:
    """The trial with everything that the resources add to it."""
    public = shared(resources.items, subject.train)
    if public is not None and not tells(public) and (not resources.shadows or resources.command is not None):
        raise RecveilError("a list of ids is for the shadows of a mechanism: say how many, such as --shadows 32")
    subject = replace(subject, items=public.features if public else None)
    if resources.attributes is not None:
        subject = replace(subject, attributes=labelled(subject, read_people(resources.attributes)))
    if resources.also is not None:
        subject = replace(subject, also=_other(resources, subject, origin))
    if resources.shadows:
        subject = replace(subject, shadows=_shadows(resources, subject, origin, seed))
    return subject


def _shadows(resources: AttackerResources, subject: Trial, origin: Origin, seed: int) -> tuple[Shadows, ...]:
    """Halves of all the people, in both plans; and the bundle itself, where people are known who are not in it."""
    everybody = subject.train
    if subject.holdout is not None:
        everybody = concat([subject.train, subject.holdout])
    everybody = everybody.compact()
    make = _maker(resources, origin, everybody)
    pool = Halves(resources.shadows, "pool", seed, origin.promise)
    found = [of_halves(everybody, make, pool)]
    if everybody.n_users // 3 >= 2 * resources.shadows:
        found.append(of_halves(everybody, make, replace(pool, plan="strict")))
    if subject.holdout is not None:
        found.append(of_bundle(subject.train, subject.released, subject.holdout, make, pool))
    return tuple(found)


def _maker(resources: AttackerResources, origin: Origin, people: Interactions) -> Maker:
    if resources.command is not None:
        return command_maker(resources.command, resources.seconds)
    if origin.spec is None:
        raise RecveilError('shadows of another tool\'s release need the tool: give it as --command "tool {in} {out}"')
    mechanism = parse(origin.spec)
    if mechanism.hides_attribute:
        mechanism = informed(mechanism, resources.attributes)
    return maker(mechanism, people, shared(resources.items, people))


def _other(resources: AttackerResources, subject: Trial, origin: Origin) -> SecondRelease:
    from recveil.releases.bundle import load

    path = resources.also or ""
    bundle = load(path)
    if not np.any(places(bundle.data.items, subject.train.items) >= 0):
        raise RecveilError(f"{Path(path).name} and the data have no item in common: it is not a release of these data")
    owner = owners(subject.train, bundle.data, read_map(resources.also_map)) if resources.also_map else None
    specs = [spec for spec in (origin.spec, bundle.manifest["spec"]) if spec and is_named(spec)]
    kept = tuple(p for p in (parse(spec).kept_bits for spec in specs) if p is not None)
    rows = bundle.data.over_items(subject.train.items)
    new = None if owner is None or subject.owner is None else np.setdiff1d(subject.owner, owner).astype(np.int64)
    return SecondRelease(rows, owner, (kept[0], kept[1]) if len(kept) == 2 else None, new)
