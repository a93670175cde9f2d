"""Pair supports of MASK as Spark jobs: lists of similar items without the perturbed matrix in one place.

One pass counts who has which item. A second one cuts the bits of each chunk's people, of the items that have enough
support, into blocks of items; the bits of two blocks meet in a task that holds the counts of their pairs (BLOCK * BLOCK
integers). Where there are fewer pairs of blocks than cores, people are shared out as well. The counts of a pair of
blocks, added up, give the k nearest of each of its items, and a last job keeps the k nearest of all. Counts are
integers, so nothing depends on how people were cut into chunks. What lands on the driver: a count for each item, and
the lists (items * k).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.evaluation.recommenders.mask import Similar, supported
from recveil.kernels.item_cosines import nearest
from recveil.kernels.popcount import Bits, add_counts
from recveil.mechanisms.mask import Mask, flipped
from recveil.randomness import source
from recveil.spark.chunks import Batches, Table, arrow, chunks, cores, gathered, shared, spark_schema, total
from recveil.views.bits import Columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BLOCK = 2048  # items, a multiple of four: 16 MB of counts
USERS = 16_384  # in a chunk: 4 MB of bits in a block
CELLS = 1 << 29  # users times items in a chunk: 64 MB of bits
ROWS = 500_000

Flip = Callable[[Interactions], Columns]
_BITS = pa.schema([("block", pa.int32()), ("share", pa.int32()), ("chunk", pa.int64()), ("bits", pa.binary())])
_COUNTS = pa.schema([("pair", pa.int32()), ("first", pa.int32()), ("counts", pa.binary())])


@dataclass(frozen=True, eq=False)
class Seen:
    """How many people there are, how many of them have each item once perturbed, and the longest true history."""

    people: int
    ones: NDArray[np.int64]
    longest: int

    def __add__(self, other: Seen) -> Seen:
        return Seen(self.people + other.people, self.ones + other.ones, max(self.longest, other.longest))


@dataclass(frozen=True, eq=False)
class Perturbed:
    """What mechanisms.mask.perturb gives, but the bits: they are made where the rows are, whenever they are needed."""

    data: Table
    mechanism: Mask  # with its p
    flip: Flip
    seen: Seen


@dataclass(frozen=True, eq=False)
class ItemBlocks:
    """The items that may stand in lists, in the order of their codes, cut into blocks; and all that lists need."""

    codes: NDArray[np.int32]
    ones: NDArray[np.int64]
    single: NDArray[np.float64]
    people: int
    p: float
    k: int
    size: int
    shares: int  # of people, who are counted apart

    def __len__(self) -> int:
        return -(-len(self.codes) // self.size)

    @property
    def stripe(self) -> int:
        """Items of a block whose counts are sent, or whose lists are made, at a time."""
        return self.size // 4

    def of(self, block: int) -> slice:
        return slice(block * self.size, min((block + 1) * self.size, len(self.codes)))

    def counts(self, pair: int) -> NDArray[np.int32]:
        """Zeros for a pair of blocks, whose bits are padded as those of Columns."""
        sizes = (self.of(block) for block in divmod(pair, len(self)))
        return np.zeros([-(-(s.stop - s.start) // 4) * 4 for s in sizes], dtype=np.int32)


def perturb_table(data: Table, mechanism: Mask, seed: int | None = None) -> Perturbed:
    """Choose p where that is asked for, and count the perturbed bits of every item."""
    chance = source(seed).derive(mechanism.name)
    plan = mechanism.plan(total(data, mechanism.count, "user"), chance.derive("plan"))
    flip = partial(flipped, plan=plan, source=chance.derive("mask"))
    seen = total(data, partial(_seen, flip=flip), "user", groups=_users(data), everyone=True)
    return Perturbed(data, mechanism.with_parameters(plan), flip, seen)


def similar_table(perturbed: Perturbed, *, minsup: float | None = None, k: int | None = None) -> Similar:
    """The same lists as those of similar_items from the same bits; items * k cells of them land on the driver."""
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    items, seen, p = perturbed.data.layout.items, perturbed.seen, float(perturbed.mechanism.p)
    m = len(items)
    single, least = supported(seen.ones, seen.people, p, minsup)
    length = max(1, min(k or m - 1, m - 1))
    codes = np.flatnonzero(single).astype(np.int32)
    n = -(-len(codes) // BLOCK)
    shares = max(1, min(cores(perturbed.data.frame.sparkSession) // (n * (n + 1) // 2), seen.people // USERS))
    blocks = ItemBlocks(codes, seen.ones[codes], single[codes], seen.people, p, length, BLOCK, shares)
    order = Window.partitionBy("item").orderBy(fn.desc("similarity"), fn.desc("support"), "other")
    ranked = _candidates(perturbed, blocks).withColumn("place", fn.row_number().over(order) - 1)
    best = ranked.where(fn.col("place") < length).toArrow()
    at = best["item"].to_numpy(), best["place"].to_numpy()
    neighbour = np.full((m, length), -1, dtype=np.int32)
    similarity, support = np.zeros((m, length)), np.zeros((m, length))
    for lists, column in ((neighbour, "other"), (similarity, "similarity"), (support, "support")):
        lists[at] = best[column].to_numpy()
    return Similar(items, neighbour, similarity, support, least)


def _users(data: Table) -> int:
    return max(1, min(USERS, CELLS // len(data.layout.items)))


def _seen(chunk: Interactions, flip: Flip) -> Seen:
    bits = flip(chunk)
    return Seen(bits.n_users, bits.singles, int(np.bincount(chunk.user, minlength=1).max()))


def _candidates(perturbed: Perturbed, blocks: ItemBlocks) -> DataFrame:
    """Of every pair of blocks the nearest of each item: rows of item, other, similarity, support."""
    data, n, shares = perturbed.data, len(blocks), blocks.shares
    layout, flip, known = (shared(data.frame, value) for value in (data.layout, perturbed.flip, blocks))
    users = _users(data)

    def cut(batches: Batches) -> Batches:
        yield from _bits(chunks(batches, layout.value, "user", ROWS, users), flip.value, known.value)

    def counted(batches: Batches) -> Batches:
        yield from _counted(batches, known.value)

    def listed(batches: Batches) -> Batches:
        yield from _listed(batches, known.value)

    bits = gathered(data.frame, "user", data.rows).mapInArrow(cut, spark_schema(_BITS))
    pairs = f"transform(sequence(0, {n - 1}), b -> least(b, block) * {n} + greatest(b, block))"
    spread = bits.selectExpr("block", "chunk", "bits", "share", f"explode({pairs}) as pair")
    tasks = _by(spread.selectExpr("block", "chunk", "bits", f"pair * {shares} + share as task"), "task", n * n * shares)
    counts = tasks.sortWithinPartitions("task", "chunk", "block").mapInArrow(counted, spark_schema(_COUNTS))
    return (
        _by(counts, "pair", n * n)
        .sortWithinPartitions("pair")
        .mapInArrow(listed, "item int, other int, similarity double, support double")
    )


def _by(frame: DataFrame, number: str, numbers: int) -> DataFrame:
    """Rows of the same number in one partition, and different numbers in different ones where there are enough."""
    from pyspark.sql import functions as fn

    session = frame.sparkSession
    enough = max(cores(session), int(session.conf.get("spark.sql.shuffle.partitions")))
    parts = min(numbers, enough)
    return frame.repartitionById(parts, (fn.col(number) % parts).cast("int"))


def _bits(chunked: Iterator[Interactions], flip: Flip, blocks: ItemBlocks) -> Batches:
    """The perturbed bits of each chunk's people, a row for each block of items.

    A chunk has its number within a partition, so all rows of a chunk come from one task; tried again, it may cut its
    people in other places without harm.
    """
    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None
    part = task.partitionId()
    for number, chunk in enumerate(chunked):
        bits = flip(chunk).take(blocks.codes).bits
        for block in range(len(blocks)):
            content = bits[block * blocks.size : (block + 1) * blocks.size].tobytes()
            yield _row(_BITS, block, (part + number) % blocks.shares, (part << 32) + number, content)


def _counted(batches: Batches, blocks: ItemBlocks) -> Batches:
    """The counts of every pair of blocks; rows come by task, chunk and block, so that two blocks of a chunk meet."""
    counts, open_, first = np.zeros((0, 0), dtype=np.int32), -1, np.zeros((0, 0), dtype=np.uint64)
    for block, _, content, task in _rows(batches):
        if task != open_:
            yield from _stripes(counts, open_, blocks)
            counts, open_ = blocks.counts(task // blocks.shares), task
        low, high = divmod(task // blocks.shares, len(blocks))
        bits: Bits = np.frombuffer(content, dtype=np.uint64).reshape(counts.shape[block != low], -1)
        if block == low:
            first = bits
        if block == high:
            add_counts(first, bits, counts)
    yield from _stripes(counts, open_, blocks)


def _stripes(counts: NDArray[np.int32], task: int, blocks: ItemBlocks) -> Batches:
    for first in range(0, len(counts), blocks.stripe):
        yield _row(_COUNTS, task // blocks.shares, first, counts[first : first + blocks.stripe].tobytes())


def _listed(batches: Batches, blocks: ItemBlocks) -> Batches:
    """The nearest of every item within each pair of blocks, from the sum of their counts; rows come by pair."""
    counts, open_ = np.zeros((0, 0), dtype=np.int32), -1
    for pair, first, content in _rows(batches):
        if pair != open_:
            yield from _lists(counts, open_, blocks)
            counts, open_ = blocks.counts(pair), pair
        stripe = counts[first : first + blocks.stripe]
        stripe += np.frombuffer(content, dtype=np.int32).reshape(stripe.shape)
    yield from _lists(counts, open_, blocks)


def _lists(counts: NDArray[np.int32], pair: int, blocks: ItemBlocks) -> Batches:
    """Of the items of either block the nearest in the other one."""
    if pair < 0:
        return
    low, high = divmod(pair, len(blocks))
    sides = [(low, high, counts)] + [(high, low, np.ascontiguousarray(counts.T))] * (low < high)
    for mine, theirs, table in sides:
        others = blocks.of(theirs)
        codes, most = blocks.codes[others], min(blocks.k, others.stop - others.start)
        for begin in range(blocks.of(mine).start, blocks.of(mine).stop, blocks.stripe):
            these, first = slice(begin, begin + blocks.stripe), begin - mine * blocks.size
            near, similarity, support = nearest(
                table[first : first + blocks.stripe],
                blocks.ones[these],
                blocks.single[these],
                blocks.ones[others],
                blocks.single[others],
                first if mine == theirs else -blocks.stripe,
                blocks.people,
                blocks.p,
                most,
            )
            taken = near >= 0
            found = {"item": np.repeat(blocks.codes[these], taken.sum(axis=1)), "other": codes[near[taken]]}
            yield from arrow(pl.DataFrame({**found, "similarity": similarity[taken], "support": support[taken]}))


def _row(schema: pa.Schema, *values: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(zip(schema.names, values, strict=True))], schema=schema)


def _rows(batches: Batches) -> Iterator[tuple[Any, ...]]:
    """The rows of batches, one at a time: they are large."""
    for batch in batches:
        for at in range(batch.num_rows):
            yield tuple(column[at].as_py() for column in batch.columns)
