"""The engine out of core: a log too large for memory, on a disk in parts of whole people, one part in memory at a time.

A part is an Interactions like any other: the same mechanisms, kernels and keyed randomness work on it, and neither the
number of parts nor the size of a batch changes a row of what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from numpy.typing import NDArray

from recveil.data import By, Interactions
from recveil.errors import RecveilError
from recveil.formats.parts import KINDS, ending_of, parts_of
from recveil.formats.sources import one_line
from recveil.ids import keys, listed, places, union
from recveil.mechanism import Masked
from recveil.releases import local
from recveil.releases.batches import batches
from recveil.releases.chunks import CHUNK_CELLS, ChunkLayout, interactions
from recveil.releases.inputs import Input
from recveil.releases.progress import WARNING, Progress
from recveil.releases.scratch import Store, by_person, check_room, scratch_folder

ROW_BYTES = 150  # of memory that a row takes while it is worked on
SCRATCH_BYTES = 24
MOST_PARTS = 400  # files that are open at once
MOST_IDS = 5_000_000  # items, or tags, that stand in memory


@dataclass(frozen=True, eq=False)
class DiskTable:
    """Rows on a disk in parts of whole people, and what is known of all of them."""

    store: Store
    layout: ChunkLayout
    specimen: Interactions  # a few rows, which tell what columns there are
    rows: int
    digest: str  # of all rows, whatever their order and parts; empty where nobody asked for it
    beyond: bool = False  # whether there are items that the public list has not

    @property
    def is_empty(self) -> bool:
        return not self.rows

    def people(self) -> int:
        """About how many there are: as many in every part as in the first, since a hash deals them out."""
        return self.store.part(0)["user"].n_unique() * self.store.parts

    def parts(self) -> Iterator[Interactions]:
        """The people of each part with all their rows, repeated ones settled."""
        for number in range(self.store.parts):
            yield self.layout.interactions(self.store.part(number))


def total(data: DiskTable, count: Callable[[Interactions], Any], by: By, tick: local.Tick) -> Any:
    """The sum of `count` over all parts; None where it counts nothing."""
    found = None
    if count(data.specimen.take_users(np.arange(min(1, data.specimen.n_users))).canonical().grouped(by)) is None:
        return None
    for part in data.parts():
        some = local.total(part, count, by, tick)
        if some is not None:
            found = local.summed(found, some)
    return found


def narrow(data: DiskTable, column: str, codes: NDArray[Any]) -> tuple[DiskTable, pl.Series]:
    """The rows with these items (tags) of the vocabulary alone, coded over them; and their ids."""
    ids = getattr(data.layout, column).gather(codes)
    specimen = getattr(data.specimen, f"over_{column}")(ids)
    vocabulary: dict[str, Any] = {column: ids}
    return replace(data, layout=replace(data.layout, **vocabulary), specimen=specimen), ids


def rewrite(
    data: DiskTable, mask: Callable[[Interactions], Masked], by: By, tick: local.Tick, everyone: bool, dense: bool
) -> Iterator[Masked]:
    """Every part masked; those in which nobody is left out. `dense`: what comes out grows with users times items."""
    most = max(1, CHUNK_CELLS // max(1, len(data.layout.items))) if dense else None
    for part in data.parts():
        for some in _groups(part, most):
            if len(some) or (everyone and some.n_users):
                yield local.rewrite(some, mask, by, tick, everyone)


def _groups(part: Interactions, most: int | None) -> Iterator[Interactions]:
    """At most so many people at a time."""
    if most is None or most >= part.n_users:
        yield part
        return
    starts = part.starts()
    for begin in range(0, part.n_users, most):
        end = min(begin + most, part.n_users)
        rows = part.take(slice(int(starts[begin]), int(starts[end])))
        yield replace(rows, user=rows.user - np.int32(begin), users=part.users[begin:end])


@dataclass(frozen=True)
class DiskPlan:
    """What reading a log out of core will take, told by footers and sizes of files before any row is read."""

    files: int
    size: int
    rows: int
    parts: int
    held: bool = False  # memory would hold it

    @property
    def line(self) -> str:
        files = f"{self.files} file{'s' * (self.files != 1)} of {self.size / 1e9:.2f} GB"
        why = "beside a proof its size decides nothing" if self.held else "more than --memory holds"
        many = f"{self.parts} part{'s' * (self.parts != 1)}" + ", as many as can be," * (self.parts == MOST_PARTS)
        return f"{files}, {why}: out of core, {many}"

    @contextmanager
    def scratch(self, place: str, progress: Progress) -> Iterator[Path]:
        """A folder for the parts, gone in the end; the owner is told of it, and of too little room, before any work."""
        progress.note(f"{WARNING}plan: {self.line} by way of {place}, where the rows of people lie until this ends")
        check_room(place, self.rows * SCRATCH_BYTES)
        with scratch_folder(place) as folder:
            yield folder


def planned(given: Input, memory: int | None, proved: bool = False) -> DiskPlan | None:
    """How a log is parted that takes more than so much memory; None where memory holds it, or nobody named any.

    Beside a proof every log is parted, and none refused: one row more would tell which logs memory holds.
    """
    if memory is None or not given.is_place or given.is_sample:
        return None
    files = parts_of(given.source)
    size, rows = 0, 0
    for file in files:
        with one_line(file):
            size += Path(file).stat().st_size
            parquet = KINDS.get(ending_of(file)) == "parquet"
            packed = file.endswith((".gz", ".zst"))
            rows += pq.read_metadata(file).num_rows if parquet else Path(file).stat().st_size // (4 if packed else 12)
    held = rows * ROW_BYTES <= memory
    if held and not proved:
        return None
    parts = max(1, -(-3 * rows * ROW_BYTES // memory))
    if parts > MOST_PARTS and proved:
        parts = MOST_PARTS
    elif parts > MOST_PARTS:
        least = 3 * rows * ROW_BYTES / MOST_PARTS
        raise RecveilError(f"--memory is too small for these data: {ceil(least / 1e6)}MB would do")
    return DiskPlan(len(files), size, rows, parts, held)


@contextmanager
def on_disk(given: Input, memory: int | None, scratch: str | None, progress: Progress) -> Iterator[DiskTable | None]:
    """All rows of DATA, repeated ones too, in parts on a disk; None where memory holds them, or nobody named any."""
    plan = planned(given, memory)
    if plan is None:
        yield None
        return
    if given.fold_tags:
        raise RecveilError("--fold-tags is for logs that memory holds; leave it out, or allow more with --memory")
    with plan.scratch(scratch or ".", progress) as folder:
        yield read_disk(replace(given, duplicates="all"), folder, plan.parts, progress)


def read_disk(
    given: Input,
    folder: Path,
    parts: int,
    progress: Progress,
    chosen: Callable[[Interactions], Interactions] = lambda rows: rows,
    hashed: bool = False,
    items: pl.Series | None = None,
    divert: Callable[[pl.DataFrame], pl.DataFrame] = lambda frame: frame,
) -> DiskTable:
    """The rows of DATA, of those people alone whom `chosen` leaves, in as many parts; `hashed`: with their digest.

    `items`: a public list of them; then no other one is kept, so that none can make the vocabulary too large. `divert`
    leaves those that belong here of rows of which all is known already.
    """
    store, vocabulary = Store(folder, "rows", parts), _Vocabulary(hashed, items)
    with store.filling(by_person(parts)) as put:
        for batch in batches(given, progress):
            put(divert(vocabulary.seen(chosen(batch))))
    return vocabulary.table(store, given)


class _Vocabulary:
    """What is learnt of all rows as they pass: ids, types, how many there are, a digest."""

    def __init__(self, hashed: bool, public: pl.Series | None) -> None:
        self.hashed, self.beyond = hashed, False
        self.public = None if public is None else listed(public)
        self.ids: dict[str, list[pl.Series]] = {"item": [], "tag": []}
        self.first: Interactions | None = None
        self.rows, self.digest = 0, 0
        self.untyped: frozenset[str] = frozenset()

    def seen(self, batch: Interactions) -> pl.DataFrame:
        """The rows of a batch; people without any have one without an item."""
        self.first = batch.take(slice(0, 1000)) if self.first is None else self.first
        self.rows += len(batch)
        self.untyped |= batch.untyped
        frame = batch.frame()
        for role, ids in self.ids.items():
            if role in frame.columns:
                ids[:] = [union(*ids, self._kept(role, getattr(batch.compact(), f"{role}s")))]
                if len(ids[0]) > MOST_IDS:
                    raise RecveilError(f"more than {MOST_IDS:,} {role}s, and their ids have to stand in memory")
        self.digest += _digest(batch) if self.hashed else 0
        there = np.zeros(batch.n_users, dtype=bool)
        there[batch.user] = True
        if there.all():
            return frame
        nobody = pl.DataFrame({"user": batch.users.filter(pl.Series(~there))})
        return pl.concat([frame, nobody], how="diagonal")

    def _kept(self, role: str, ids: pl.Series) -> pl.Series:
        if role != "item" or self.public is None:
            return ids
        known = places(ids, self.public) >= 0
        self.beyond |= not known.all()
        return ids.filter(pl.Series(known))

    def table(self, store: Store, given: Input) -> DiskTable:
        if self.first is None:
            raise RecveilError(f"{given.name}: no rows")
        items = self.ids["item"][0] if self.ids["item"] else self.first.items
        tags = self.ids["tag"][0] if self.ids["tag"] else None
        keep: Any = given.duplicates
        layout = ChunkLayout(items, tags, self.first.unit, keep, untyped=self.untyped, ordered=True)
        made = replace(interactions(self.first.frame(), layout.unit), levels=self.first.levels).over_items(items)
        kinds: Mapping[str, Any] = store.kinds
        said = ",".join(f"{name} {kind}" for name, kind in sorted(kinds.items()))
        digest = f"{said}:{layout.unit}:{self.rows}:{self.digest % 2**64}" if self.hashed else ""
        return DiskTable(store, layout, made, self.rows, digest, self.beyond)


def _digest(batch: Interactions) -> int:
    """The sum of hashes of rows, which no order changes."""
    columns = [batch.keys("user")[batch.user], batch.keys("item")[batch.item]]
    columns += [np.asarray(c).view(np.uint64) for c in (batch.rating, batch.time, batch.session) if c is not None]
    if batch.tag is not None and batch.tags is not None:
        columns.append(keys(batch.tags)[batch.tag])
    mixed = np.zeros(len(batch), dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ column) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return int(mixed.sum(dtype=np.uint64))
