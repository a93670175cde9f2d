"""MBRW on Spark with its filter Theta: a similarity join of drawn streams with real ones, without an index of all.

Records are cut into blocks by their number of items. A cosine of Theta needs lengths within a factor of Theta squared
of each other, so a stream visits few blocks; a task holds the index of one block, and the streams pass through it.
What lands on the driver: DS, CVS, a key and a length of each user, number and person of each stream (the plan, which
every executor needs), a count for each length, and the number of each refused stream.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.kernels.distinct import distinct
from recveil.kernels.record_search import index, reaches
from recveil.mechanisms.mbrw import ANOTHER, MBRW, TRIES, Clickstreams, Plan, another, seeded_by
from recveil.randomness import Source
from recveil.releases.chunks import Tokens
from recveil.spark.chunks import Batches, Table, arrow, chunks, flat, gathered, rewrite, shared, total

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CELLS = 2_000_000  # items of records in a block
ROWS = 500_000
MOST_PAIRS = 200_000_000  # cells of DS and CVS, 12 bytes each on the driver and on every executor


@dataclass(frozen=True)
class RecordBlocks:
    """Of each number of items the first block of records that have it, and how many blocks they fill."""

    first: NDArray[np.int64]  # ends with the number of all blocks
    parts: NDArray[np.int64]


def plan_streams(data: Table, mechanism: MBRW, chance: Source) -> Plan:
    """The plan without the index of real item sets, which the join replaces."""
    free = replace(mechanism, theta=None, redraw=False)
    return free.plan(_bounded(total(data, partial(_count, free), "user")), chance)


def rewrite_streams(data: Table, mechanism: MBRW, plan: Plan, chance: Source, tokens: Tokens) -> DataFrame:
    """The streams of every chunk's people, without those that reach Theta; under `redraw` they are drawn again."""
    free = replace(mechanism, theta=None, redraw=False)
    drawn = rewrite(data, partial(free.mask, plan=plan, source=chance), "user", tokens)
    if mechanism.theta is None:
        return drawn
    from pyspark import StorageLevel

    drawn = drawn.persist(StorageLevel.DISK_ONLY)
    real = _sets(gathered(data.frame, "user", data.rows), shared(data.frame, data.layout)).persist(
        StorageLevel.DISK_ONLY
    )
    blocks = _blocks(real)
    refused = _refused(drawn, real, blocks, mechanism.theta, plan.items)
    kept = [_without(drawn, refused)]
    notes = {"discarded": len(refused)}
    if mechanism.redraw:
        notes["redrawn"], tried, step = 0, 0, 1
        owner = np.empty_like(plan.streams.people)
        owner[plan.streams.numbers] = plan.streams.people
        people = owner[refused]
        while len(refused) and tried < TRIES:
            tries = np.arange(tried + 1, min(tried + step, TRIES) + 1)
            again = _again(data, free, plan, chance, tokens, refused, people, tries).persist(StorageLevel.DISK_ONLY)
            near = _refused(again, real, blocks, mechanism.theta, plan.items)
            failed = np.isin(another(refused[:, None], tries), near)  # refused streams x tries
            first = np.where(failed.all(axis=1), len(tries), np.argmin(failed, axis=1))
            notes["redrawn"] += int(np.minimum(first + 1, len(tries)).sum())
            done = first < len(tries)
            taken = another(refused[done], tries[first[done]])
            kept.append(_only(again, taken).withColumn("user", again["user"] % ANOTHER))
            refused, people = refused[~done], people[~done]
            tried, step = tried + len(tries), 2 * step
        notes["discarded"] = len(refused)
    told = data.frame.sparkSession.createDataFrame([(json.dumps(notes),)], "notes string")
    return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), [*kept, told])


def _count(mechanism: MBRW, chunk: Interactions) -> Clickstreams:
    return _bounded(mechanism.count(chunk))


def _bounded(counts: Clickstreams) -> Clickstreams:
    cells = counts.moves.ds.nnz + counts.moves.cvs.nnz
    if cells > MOST_PAIRS:
        raise RecveilError(
            f"mbrw: {cells:,} pairs of items are seen together, and an executor holds {MOST_PAIRS:,} at most; "
            "give fewer items with --catalogue"
        )
    return counts


def _again(
    data: Table,
    mechanism: MBRW,
    plan: Plan,
    chance: Source,
    tokens: Tokens,
    refused: NDArray[np.int64],
    people: NDArray[np.int64],
    tries: NDArray[np.int64],
) -> DataFrame:
    """Each refused stream drawn again, once for each try; its user is the number of the stream and the try."""
    streams = seeded_by(np.repeat(people, len(tries)), another(refused[:, None], tries).ravel())
    step = partial(mechanism.redrawn, plan=plan, source=chance, streams=streams)

    def of_streams(ids: list[Any]) -> Any:
        return tokens([i % ANOTHER for i in ids])

    return rewrite(data, step, "user", of_streams)


def _only(frame: DataFrame, users: NDArray[np.int64], how: str = "left_semi") -> DataFrame:
    chosen = frame.sparkSession.createDataFrame(pl.DataFrame({"user": users}).to_arrow())
    return frame.where("notes is null").join(chosen, "user", how).select(*frame.columns)


def _without(frame: DataFrame, users: NDArray[np.int64]) -> DataFrame:
    return _only(frame, users, "left_anti")


# --- the join -----------------------------------------------------------------------------------------------


def _sets(rows: DataFrame, layout: Any, drawn: bool = False) -> DataFrame:
    """The item sets of users: how many items, and their codes in ascending order; of drawn streams also the number."""

    def made(batches: Batches) -> Batches:
        over = layout.value if not drawn else replace(layout.value, duplicates="all")
        for chunk in chunks(batches, over, "user", ROWS):
            starts, items = distinct(chunk.starts("user"), chunk.item)
            lists = pl.Series(pa.LargeListArray.from_arrays(starts, items))
            number = chunk.users if drawn else pl.Series(np.zeros(chunk.n_users, dtype=np.int64))
            frame = pl.DataFrame({"id": number, "size": np.diff(starts).astype(np.int32), "items": lists})
            yield from arrow(frame.filter(pl.col("size") > 0))

    return rows.mapInArrow(made, "id long, size int, items array<int>")


def _blocks(real: DataFrame) -> RecordBlocks:
    """Blocks of about CELLS items, from the shortest records to the longest."""
    counted = pl.DataFrame(real.groupBy("size").count().toArrow())
    cells = np.zeros(int(counted["size"].max()) + 1, dtype=np.int64)  # type: ignore[arg-type]
    cells[counted["size"].to_numpy()] = counted["size"].to_numpy() * counted["count"].to_numpy()
    parts = np.maximum(1, -(-cells // CELLS))
    first, block, room = np.zeros(len(cells) + 1, dtype=np.int64), 0, CELLS
    for size in range(len(cells)):
        if size and (parts[size] > 1 or parts[size - 1] > 1 or cells[size] > room):
            block, room = block + int(parts[size - 1]), CELLS
        first[size] = block
        room -= int(cells[size])
    first[-1] = block + int(parts[-1])
    return RecordBlocks(first, parts)


def _refused(
    drawn: DataFrame, real: DataFrame, blocks: RecordBlocks, theta: float, items: pl.Series
) -> NDArray[np.int64]:
    """The numbers of the drawn streams whose cosine to some real one reaches theta, ascending."""
    from recveil.releases.chunks import ChunkLayout

    rows = gathered(drawn.where("notes is null").select("user", "item"), "user")
    streams = _sets(rows, shared(drawn, ChunkLayout(items, None, "user", "all")), drawn=True)
    first = shared(drawn, blocks)

    def placed(batches: Batches, side: int) -> Batches:
        at = first.value
        longest = len(at.parts) - 1
        for batch in batches:
            frame = pl.DataFrame(batch)
            size = frame["size"].to_numpy().astype(np.int64)
            if side == 0:
                low = at.first[size] + np.arange(len(size)) % at.parts[size]
                high = low + 1
            else:
                shortest = np.minimum(np.floor(size * theta**2).astype(np.int64), longest)
                most = np.minimum(np.ceil(size / theta**2).astype(np.int64), longest)
                low, high = at.first[shortest], at.first[most] + at.parts[most]
            rows = np.repeat(np.arange(len(size)), high - low)
            block = np.arange(len(rows)) - np.repeat(np.cumsum(high - low) - high, high - low)
            made = frame.select("id", "items")[rows].with_columns(block=pl.Series(block), side=pl.lit(side, pl.Int32))
            yield from arrow(made)

    schema = "id long, items array<int>, block long, side int"
    both = real.mapInArrow(partial(placed, side=0), schema).union(streams.mapInArrow(partial(placed, side=1), schema))
    both = both.repartition("block").sortWithinPartitions("block", "side")
    near = both.mapInArrow(partial(_near, n_items=len(items), theta=theta), "id long").distinct()
    return np.sort(near.toArrow()["id"].to_numpy())


def _near(batches: Batches, n_items: int, theta: float) -> Batches:
    """Streams that reach theta; the records of a block come before the streams that visit it."""
    block, at = -1, None
    held: list[pl.Series] = []
    for batch in batches:
        for rows in pl.DataFrame(batch).partition_by("block", "side", maintain_order=True):
            if rows["block"][0] != block:
                block, held, at = rows["block"][0], [], None
            if rows["side"][0] == 0:
                held.append(rows["items"])
                continue
            if not held:
                continue
            if at is None:
                at = index(*flat(pl.concat(held)), n_items)
            yield from arrow(rows.select("id").filter(pl.Series(reaches(at, *flat(rows["items"]), theta))))
