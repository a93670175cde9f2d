"""A log on a disk, released: its masked rows lie in scratch, too, in ranges of tokens, until they are the bundle's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.errors import RecveilError
from recveil.formats.sources import one_line
from recveil.ids import keys, whole
from recveil.mechanism import Masked, Masking, Mechanism, PublicInfo, Synthesis
from recveil.randomness import Source
from recveil.releases import disk, local
from recveil.releases.catalogue import Catalogue
from recveil.releases.chunked_release import ChunkEngine, columns, finished
from recveil.releases.places import Place
from recveil.releases.release import Release
from recveil.releases.scratch import Store

RANGES = 256  # of tokens, of which a file holds one or several


def check_runs(mechanism: Mechanism) -> None:
    """Raise where a mechanism needs all rows in memory, before anything is read."""
    why = mechanism.local_only or ("its steps compare all people" if mechanism.cluster_steps else "")
    if isinstance(mechanism, Synthesis) and mechanism.knows_users:
        why = "it has tables of users"
    if why:
        raise RecveilError(f"{mechanism.name} does not run out of core: {why}; leave --memory out")


@dataclass
class _OnDisk:
    """Masked rows in ranges of tokens, and what is known of all of them."""

    store: Store
    columns: pl.DataFrame = field(default_factory=pl.DataFrame)
    people: list[pl.DataFrame] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    found: dict[str, pl.Series] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        users = sum(len(some) for some in self.people)
        return {"rows": self.rows, "users": users, "items": len(self.found["item"]) if self.rows else 0}

    def ids(self, role: str) -> pl.Series:
        return self.found[role]

    def id_map(self) -> pl.DataFrame:
        return pl.concat(self.people).sort("released")

    def add(self, part: Masked, names: pl.Series) -> pl.DataFrame:
        """The rows of a part under their tokens, taken note of."""
        rows = part.rows
        there = np.flatnonzero(np.bincount(rows.user, minlength=rows.n_users))
        self.people.append(pl.DataFrame({"original": part.origin.gather(there), "released": names.gather(there)}))
        self.rows += len(rows)
        self.notes.update(part.notes)
        for role in ("item", "tag"):
            ids = getattr(rows.compact(), f"{role}s")
            if ids is not None:
                known = [self.found[role]] if role in self.found else []
                self.found[role] = pl.concat([*known, ids]).unique()
        frame = rows.frame().with_columns(user=names.gather(rows.user))
        self.columns = frame.clear()
        return frame

    def write(self, release: Release, public: PublicInfo, part_rows: int, folder: Place) -> None:
        like = columns(release.data, release.time)
        with folder.here() as here:
            (here / "data").mkdir()
            for number, frame in enumerate(self._groups(part_rows)):
                made = columns(finished(frame, release.data.unit, release.time), release.time)
                name = f"data/part-{number:05}.parquet"
                with one_line(f"{name} of the bundle", "written"):
                    made.select(like.columns).cast(like.schema).write_parquet(here / name)

    def _groups(self, part_rows: int) -> Iterator[pl.DataFrame]:
        """Frames of about so many rows; how many there are follows from the number of rows alone."""
        files = min(-(-self.rows // part_rows), RANGES)
        for some in np.array_split(np.arange(RANGES), files):
            frame = pl.concat([self.store.part(int(number)) for number in some])
            if frame.height:
                yield frame


@contextmanager
def _masked(
    data: disk.DiskTable, mechanism: Masking, chance: Source, tick: local.Tick
) -> Iterator[tuple[Mechanism, _OnDisk]]:
    """The masked rows, whose tokens are all different and none of them a real user's."""
    mine = chance.derive(mechanism.name)
    plan = mechanism.plan(disk.total(data, mechanism.count, mechanism.by, tick), mine.derive("plan"))
    mask = partial(mechanism.mask, plan=plan, source=mine.derive("mask"))
    for attempt in count():
        tokens, real = chance.derive("tokens").derive(attempt), []
        found = _OnDisk(Store(data.store.folder, f"masked-{attempt}", RANGES))
        with found.store.filling(lambda frame: _range(frame["user"].to_numpy())) as put:
            for part in disk.rewrite(data, mask, mechanism.by, tick, mechanism.everyone, mechanism.dense):
                real.append(whole(part.origin).drop_nulls().to_numpy())
                put(found.add(part, pl.Series(tokens.names(part.rows.users.to_list()))))
        taken = np.sort(np.concatenate([people["released"].to_numpy() for people in found.people] or [np.zeros(0)]))
        if np.all(np.diff(taken)) and not any(_any_of(some, taken) for some in real):
            try:
                yield mechanism.with_parameters(plan), found
            finally:
                found.store.clear()
            return
        found.store.clear()


def _any_of(ids: NDArray[Any], taken: NDArray[Any]) -> bool:
    """Whether any of these is among sorted ones."""
    return bool(len(taken)) and bool(np.any(taken[np.minimum(np.searchsorted(taken, ids), len(taken) - 1)] == ids))


def _range(tokens: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray((tokens >> 55).astype(np.int64))  # 63-bit tokens are uniform


def _over(data: disk.DiskTable, given: Catalogue, mechanism: Mechanism) -> disk.DiskTable:
    specimen = given.over(data.specimen, False, isinstance(mechanism, Masking) and mechanism.answers_all)
    layout = replace(data.layout, items=specimen.items, untyped=data.layout.untyped - {"item"})
    return replace(data, layout=layout, specimen=specimen)


def _share_keys(data: disk.DiskTable) -> bool:
    """Whether two people, in whichever parts, have the same key."""
    if data.store.kinds["user"].is_integer():
        return False
    found = [keys(data.store.part(number)["user"].unique()) for number in range(data.store.parts)]
    everybody = np.concatenate(found)
    return len(np.unique(everybody)) < len(everybody)


DISK = ChunkEngine("out of core", disk.total, disk.narrow, _over, _masked, _share_keys, ordered=True)
