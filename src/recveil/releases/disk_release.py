"""release_disk(): a release of a log on a disk, whose rows never stand in memory together; its bundle in parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.ids import keys, whole
from recveil.mechanism import Masking, Mechanism, PublicInfo, Synthesis
from recveil.randomness import Source, source
from recveil.releases import disk, local
from recveil.releases.bundle import save, save_parts
from recveil.releases.catalogue import Catalogue, check_public
from recveil.releases.chunks import interactions
from recveil.releases.places import Place
from recveil.releases.release import (
    SAME_KEY,
    Enter,
    Published,
    Release,
    Time,
    canonical,
    check_fit,
    drawn,
    promised,
    publish,
    time_rule,
)
from recveil.releases.scratch import Store

PART_ROWS = 5_000_000  # of one file of the bundle
RANGES = 256  # of tokens, of which a file holds one or several


@dataclass(frozen=True)
class DiskMade:
    """A bundle that was written; the private map of its users, and what a Synthesis published."""

    manifest: dict[str, Any]
    id_map: pl.DataFrame | None = None
    published: Published | None = None


def check_runs(mechanism: Mechanism) -> None:
    """Raise where a mechanism needs all rows in memory, before anything is read."""
    why = mechanism.local_only or ("its steps compare all people" if mechanism.cluster_steps else "")
    if isinstance(mechanism, Synthesis) and mechanism.knows_users:
        why = "it has tables of users"
    if why:
        raise RecveilError(f"{mechanism.name} does not run out of core: {why}; leave --memory out")


def release_disk(
    data: disk.DiskTable,
    mechanism: Mechanism,
    out: Place,
    said: dict[str, Any],
    *,
    seed: int | None = None,
    time: Time = "auto",
    catalogue: Catalogue | None = None,
    enter: Enter | None = None,
    keep_map: bool = False,
    part_rows: int = PART_ROWS,
    publication: dict[str, Any] | None = None,
    tick: local.Tick = lambda rows: None,  # noqa: ARG005
) -> DiskMade:
    """Protect a log with a mechanism and write the bundle; for the same seed the rows are those of `release`.

    `said`: what the release says of itself beside its rows; `publication`: what `save` takes.
    """
    how = publication or {}
    check_fit(mechanism, data.specimen, time)
    mechanism = mechanism.with_declared(data.specimen)
    if data.specimen.session is not None and not mechanism.reads_sessions:
        data = replace(data, specimen=replace(data.specimen, session=None), layout=replace(data.layout, sessions=False))
    chance, given = source(seed), catalogue or Catalogue()
    check_public(mechanism, given.is_given, given.is_public, chance.seeded)
    if given.lists():
        raise RecveilError("out of core a catalogue lists items alone; leave its tags and users out")
    if given.items is not None:
        specimen = given.over(data.specimen, False, isinstance(mechanism, Masking) and mechanism.answers_all)
        layout = replace(data.layout, items=specimen.items, untyped=data.layout.untyped - {"item"})
        data = replace(data, layout=layout, specimen=specimen)
    rows, layout = data.specimen, data.layout
    public = PublicInfo(
        rows.kind, rows.unit, layout.items, layout.tags, given.items is not None, untyped=layout.untyped,
        features=given.facts(layout.items) if mechanism.reads_features else None, sessions=rows.session is not None,
    )  # fmt: skip
    said = said | {"titles": given.titles}
    if isinstance(mechanism, Synthesis):
        published = publish(data, mechanism, public, chance, tick, disk.total, disk.narrow, enter)  # type: ignore[arg-type]
        published = replace(published, chosen_on_data=said["chosen_on_data"])
        made = replace(drawn(published, chance, time), **said)
        return DiskMade(save(made, out, **how), published=published)
    assert isinstance(mechanism, Masking)
    if not data.rows and not mechanism.everyone:
        raise RecveilError("there are no rows to release")
    if mechanism.guarantee(public).status == "proved":
        _check_keys(data)
    if enter:
        enter(mechanism, promised(mechanism, public, chance.seeded))
    if not mechanism.reads_time and time_rule(time, rows) == "drop":
        data = replace(data, layout=replace(layout, timed=False), specimen=replace(rows, time=None))
    settled, masked = _masked(data, mechanism, chance, tick)
    release = replace(_release(masked, settled, public, chance.seeded, time), **said)
    id_map = pl.concat(masked.people).sort("released") if keep_map else None
    return DiskMade(save_parts(release, out, partial(_put, masked, release, part_rows), **how), id_map)


@dataclass
class _OnDisk:
    """Masked rows in ranges of tokens, and what is known of all of them."""

    store: Store
    like: pl.DataFrame
    people: list[pl.DataFrame] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    ids: dict[str, pl.Series] = field(default_factory=dict)


def _masked(data: disk.DiskTable, mechanism: Masking, chance: Source, tick: local.Tick) -> tuple[Mechanism, _OnDisk]:
    """The masked rows, whose tokens are all different and none of them a real user's."""
    mine = chance.derive(mechanism.name)
    plan = mechanism.plan(disk.total(data, mechanism.count, mechanism.by, tick), mine.derive("plan"))
    mask = partial(mechanism.mask, plan=plan, source=mine.derive("mask"))
    for attempt in count():
        tokens, real = chance.derive("tokens").derive(attempt), []
        store = Store(data.store.folder, f"masked-{attempt}", RANGES)
        found = _OnDisk(store, pl.DataFrame())
        with store.filling(lambda frame: _range(frame["user"].to_numpy())) as put:
            for part in disk.rewrite(data, mask, mechanism.by, tick, mechanism.everyone):
                names = pl.Series(tokens.names(part.rows.users.to_list()))
                real.append(whole(part.origin).drop_nulls().to_numpy())
                _add(found, part.rows, names, part.origin)
                found.notes.update(part.notes)
                put(part.rows.frame().with_columns(user=names.gather(part.rows.user)))
        taken = np.sort(np.concatenate([people["released"].to_numpy() for people in found.people] or [np.zeros(0)]))
        if np.all(np.diff(taken)) and not any(np.isin(some, taken).any() for some in real):
            return mechanism.with_parameters(plan), found
    raise AssertionError


def _add(found: _OnDisk, rows: Interactions, names: pl.Series, origin: pl.Series) -> None:
    there = np.unique(rows.user)
    found.people.append(pl.DataFrame({"original": origin.gather(there), "released": names.gather(there)}))
    found.rows += len(rows)
    found.like = rows.take(slice(0, 0)).frame().with_columns(user=names.clear()) if not found.like.width else found.like
    for role in ("item", "tag"):
        ids = getattr(rows.compact(), f"{role}s")
        if ids is not None:
            known = [found.ids[role]] if role in found.ids else []
            found.ids[role] = pl.concat([*known, ids]).unique()


def _range(tokens: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray((tokens >> 55).astype(np.int64))  # 63-bit tokens are uniform


def _release(masked: _OnDisk, mechanism: Mechanism, public: PublicInfo, seeded: bool, time: Time) -> Release:
    """A release without its rows: their columns, and everything that is said of them."""
    if not masked.rows:
        raise RecveilError(f"{mechanism.name} left no rows to release")
    unit: Any = public.unit
    empty = interactions(masked.like, unit)
    kept = time_rule(time, empty)
    rows = canonical(replace(empty, time=None) if kept == "drop" else empty, kept)
    for role in public.untyped & masked.ids.keys():
        if not whole(masked.ids[role]).null_count():
            vocabulary: dict[str, Any] = {f"{role}s": getattr(rows, f"{role}s").cast(pl.Int64)}
            rows = replace(rows, **vocabulary)
    people = sum(len(some) for some in masked.people)
    return Release(rows, mechanism, promised(mechanism, public, seeded, people), kept, seeded, dict(masked.notes))


def _put(masked: _OnDisk, release: Release, part_rows: int, folder: Place) -> dict[str, int]:
    """The released rows as parquet files, one range of tokens each; how many follows from them alone."""
    with folder.here() as here:
        (here / "data").mkdir()
        for number, frame in enumerate(_groups(masked, part_rows)):
            rows = interactions(frame, release.data.unit)
            rows = canonical(replace(rows, time=None) if release.time == "drop" else rows, release.time)
            _write(rows, release, here / "data" / f"part-{number:05}.parquet")
    users = sum(len(some) for some in masked.people)
    return {"rows": masked.rows, "users": users, "items": len(masked.ids["item"])}


def _groups(masked: _OnDisk, part_rows: int) -> Iterator[pl.DataFrame]:
    files = min(-(-masked.rows // part_rows), RANGES)
    for some in np.array_split(np.arange(RANGES), files):
        frame = pl.concat([masked.store.part(int(number)) for number in some])
        if frame.height:
            yield frame


def _write(rows: Interactions, release: Release, file: Path) -> None:
    time = "order" if release.time == "order" else "time"
    frame = rows.frame().rename({"user": rows.unit, "time": time}, strict=False)
    like = release.data.frame().rename({"user": rows.unit, "time": time}, strict=False)
    frame.select(like.columns).cast(like.schema).write_parquet(file)


def _check_keys(data: disk.DiskTable) -> None:
    """Raise where two people, in whichever parts, would get the same randomness."""
    if data.store.kinds["user"].is_integer():
        return
    found = [keys(data.store.part(number)["user"].unique()) for number in range(data.store.parts)]
    everybody = np.concatenate(found)
    if len(np.unique(everybody)) < len(everybody):
        raise RecveilError(SAME_KEY)
