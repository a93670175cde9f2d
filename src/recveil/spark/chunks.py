"""The Spark engine: the data in chunks of whole users or items, on the executors of a cluster.

Spark brings the rows of every user (item) together and sorts them by it; from there on a chunk is an Interactions like
any other, and the same mechanism, kernels and keyed randomness work on it. Neither the number of partitions nor their
order changes what comes out.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from recveil.data import By, Interactions
from recveil.ids import code
from recveil.mechanism import Masked
from recveil.randomness import Source
from recveil.releases.chunks import CHUNK_CELLS, ChunkLayout, Tokens, masked_frame
from recveil.spark.connect import is_connect, sent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CHUNK_ROWS = 500_000
PART_ROWS = 4_000_000  # of a partition, which an executor sorts
FAN = 8  # sums that one task adds up
_PIECE = 8 << 20  # bytes of counts in one row
_PLAIN = {pa.large_string(): pa.string()} | {pa.large_list(t): pa.list_(t) for t in (pa.int32(), pa.float64())}

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, eq=False)
class Table:
    """Interactions as a DataFrame with the columns user, item and perhaps rating, time and tag."""

    frame: DataFrame
    layout: ChunkLayout
    specimen: Interactions  # a few of its rows, which tell what columns and extremes there are
    rows: int = 0  # about how many, by which it is parted

    @property
    def is_empty(self) -> bool:
        return not len(self.specimen)


def total(
    data: Table,
    count: Callable[[Interactions], Any],
    by: By,
    tick: Any = None,  # noqa: ARG001
    groups: int | None = None,
    everyone: bool = False,
) -> Any:
    """The sum of `count` over all chunks, of at most so many `groups`; None where it counts nothing.

    `everyone`: also over chunks of people who have no rows.

    Every task adds up its own chunks, others the sums of a few tasks, and so on, and the driver the last few: it holds
    two at a time.
    """
    if count(_one(data, by)) is None:
        return None
    step, layout = shared(data.frame, count), shared(data.frame, data.layout)

    def counted(batches: Batches) -> Batches:
        found = chunks(batches, layout.value, by, CHUNK_ROWS, groups)
        yield from _packed(step.value(chunk) for chunk in found if len(chunk) or (everyone and chunk.n_users))

    def added(batches: Batches) -> Batches:
        yield from _packed(_unpacked(batches))

    schema = "part long, piece int, counts binary"
    sums = gathered(data.frame, by, data.rows).mapInArrow(counted, schema)
    for few in levels(max(_partitions(data.frame), _parts(data.rows))):
        sums = sums.repartition(few, "part").sortWithinPartitions("part", "piece").mapInArrow(added, schema)
    rows = sums.sortWithinPartitions("part", "piece").toLocalIterator()
    batches = (pa.RecordBatch.from_pylist([row.asDict()], schema=_COUNTS) for row in rows)
    counts = _unpacked(batches)
    first = next(counts, None)
    return count(_nobody(data)) if first is None else reduce(add, counts, first)


def rewrite(
    data: Table,
    mask: Callable[[Interactions], Masked],
    by: By,
    tokens: Tokens,
    dense: bool = False,
    everyone: bool = False,
) -> DataFrame:
    """Every chunk masked: rows with the token and the original id (origin) of their user; with `everyone` also chunks
    of people who have no rows.

    A row with `notes` is no row of the release: it carries the notes of a chunk.
    """
    groups = max(1, CHUNK_CELLS // max(1, len(data.layout.items))) if dense else CHUNK_ROWS
    return each(data, mask, by, lambda masked: masked_frame(masked, tokens), groups, everyone)


def each(
    data: Table,
    make: Callable[[Interactions], Any],
    by: By,
    rows: Callable[[Any], pl.DataFrame] = lambda made: made,
    groups: int | None = None,
    everyone: bool = False,
) -> DataFrame:
    """The `rows` of what `make` makes of every chunk that has any; of all chunks with `everyone`."""
    step, layout = shared(data.frame, make), shared(data.frame, data.layout)
    schema = rows(make(_one(data, by))).to_arrow().schema

    def made(batches: Batches) -> Batches:
        for chunk in chunks(batches, layout.value, by, CHUNK_ROWS, groups):
            if len(chunk) or (everyone and chunk.n_users):
                yield from arrow(rows(step.value(chunk)), schema)

    return gathered(data.frame, by, data.rows).mapInArrow(made, spark_schema(schema))


# --- rows to the executors, and back ------------------------------------------------------------------------


def gathered(frame: DataFrame, by: str, rows: int = 0) -> DataFrame:
    """The rows of every group in one partition, one after the other; of very many `rows` in more partitions."""
    many = _parts(rows) > _partitions(frame)
    return (frame.repartition(_parts(rows), by) if many else frame.repartition(by)).sortWithinPartitions(by)


def _parts(rows: int) -> int:
    return -(-rows // PART_ROWS)


def _partitions(frame: DataFrame) -> int:
    return int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))


def levels(tasks: int) -> list[int]:
    """In how many tasks the sums of so many are added up, until FAN are left at most."""
    found = [max(1, -(-tasks // FAN))]
    while found[-1] > FAN:
        found.append(-(-found[-1] // FAN))
    return found


def named(people: DataFrame, chance: Source) -> DataFrame:
    """People and their keyed names, by which they are drawn: no seed stands in a query, which clusters log."""

    def names(batches: Batches) -> Batches:
        for batch in batches:
            ids = pl.Series(batch["user"])
            yield from arrow(pl.DataFrame({"user": ids, "name": chance.names(ids.to_list())}))

    return people.mapInArrow(names, f"user {dict(people.dtypes)['user']}, name bigint")


def pieces(batches: Batches, by: str, rows: int, groups: int | None = None) -> Iterator[pl.DataFrame]:
    """Frames of about `rows` rows and at most `groups` groups, each group whole, from batches that come by group."""
    held: list[pl.DataFrame] = []
    wanted = rows
    for batch in batches:
        held.append(pl.DataFrame(pa.Table.from_batches([batch])))
        height = sum(frame.height for frame in held)
        if height < wanted:
            continue
        frame = pl.concat(held)
        others = np.flatnonzero(frame[by] != frame[by][-1])
        cut = int(others[-1]) + 1 if len(others) else 0  # the last group may go on
        if cut:
            yield from _split(frame[:cut], by, groups)
        held, wanted = [frame[cut:]], max(rows, 2 * (height - cut))
    if held and (frame := pl.concat(held)).height:
        yield from _split(frame, by, groups)


def arrow(frame: pl.DataFrame, schema: pa.Schema | None = None) -> Batches:
    """A polars frame as batches that Spark takes, with the columns of this schema or its own."""
    made = frame.to_arrow()
    fields = [f.with_type(_PLAIN.get(f.type, f.type)) for f in schema or made.schema]
    yield from made.select([f.name for f in fields]).cast(pa.schema(fields)).to_batches(max_chunksize=100_000)


def flat(lists: pl.Series) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Lists one after the other, none of them empty: where each begins, and what they hold."""
    starts = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum(lists.list.len().to_numpy(), out=starts[1:])
    return starts, lists.explode().to_numpy()


def spark_schema(schema: pa.Schema) -> Any:
    """The same schema in Spark's words."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def _one(data: Table, by: By) -> Interactions:
    """A chunk of one user, to see on the driver what a step gives."""
    return data.specimen.take_users(np.arange(min(1, data.specimen.n_users))).canonical().grouped(by)


def _nobody(data: Table) -> Interactions:
    """A chunk of nobody, whose counts are zero."""
    return data.specimen.take(np.zeros(0, dtype=np.int64))


def shared(frame: DataFrame, value: Any) -> Any:
    """What every executor gets once; steps take its `value`."""
    spark = frame.sparkSession
    return sent(spark, value) if is_connect(spark) else spark.sparkContext.broadcast(value)


def cores(spark: Any) -> int:
    """How many tasks Spark would run at once."""
    from pyspark.sql import functions as fn

    return int(spark.range(1 << 20).select(fn.spark_partition_id()).distinct().count())


def chunks(
    batches: Batches, layout: ChunkLayout, by: By, rows: int, groups: int | None = None
) -> Iterator[Interactions]:
    for piece in pieces(batches, by, rows, groups):
        yield layout.interactions(piece).grouped(by)


def _split(frame: pl.DataFrame, by: str, groups: int | None) -> Iterator[pl.DataFrame]:
    if groups is None:
        yield frame
        return
    starts = np.flatnonzero(np.diff(code(frame[by])[0], prepend=-1))[::groups]
    for begin, end in zip(starts, [*starts[1:], frame.height], strict=True):
        yield frame[int(begin) : int(end)]


_COUNTS = pa.schema([("part", pa.int64()), ("piece", pa.int32()), ("counts", pa.binary())])


def _packed(counts: Iterator[Any]) -> Batches:
    """The sum of counts as rows of a few megabytes: no JVM has to hold more of it in one place."""
    from pyspark import TaskContext

    first = next(counts, None)
    if first is None:
        return
    task = TaskContext.get()
    assert task is not None
    content = zlib.compress(pickle.dumps(reduce(add, counts, first)), 1)
    for number, begin in enumerate(range(0, len(content), _PIECE)):
        row = {"part": task.partitionId(), "piece": number, "counts": content[begin : begin + _PIECE]}
        yield pa.RecordBatch.from_pylist([row], schema=_COUNTS)


def _unpacked(batches: Batches) -> Iterator[Any]:
    part, content = -1, bytearray()
    for batch in batches:
        for row in batch.to_pylist():
            if row["part"] != part and content:
                yield pickle.loads(zlib.decompress(bytes(content)))
                content.clear()
            part = row["part"]
            content += row["counts"]
    if content:
        yield pickle.loads(zlib.decompress(bytes(content)))
