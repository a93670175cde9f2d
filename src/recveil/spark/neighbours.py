"""The plan of Shuffle-NNN as Spark jobs: which items stand among the nearest of another, without a table of item pairs.

Items are cut into blocks, and a task owns a block of pairs: what every user has of two blocks, a row each, streams
through it, and it holds the sums of their pairs (BLOCK * BLOCK doubles). It gives the k nearest that it saw of each of
its items; a second job keeps the k nearest of all. Sums run over users in the order of their ids, as in the local
kernel, so they are the same to the last bit. What lands on the driver: the ids of the critical items.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import polars as pl

from recveil.kernels.neighbourhoods import add_products, block_nearest
from recveil.mechanisms.shuffle_nnn import ShuffleNNN, cells, columns
from recveil.randomness import Source
from recveil.spark.chunks import Batches, Table, arrow, chunks, flat, gathered, pieces, shared

BLOCK = 2048  # items: 32 MB of sums
ROWS = 500_000


def critical_items(data: Table, mechanism: ShuffleNNN, chance: Source) -> pl.Series:  # noqa: ARG001
    """The ids of the items that keep their ratings."""
    from pyspark.sql import Window
    from pyspark.sql import functions as fn

    blocks = -(-len(data.layout.items) // BLOCK)
    halves = f"pair int, user {dict(data.frame.dtypes)['user']}, items array<int>, values array<double>"
    values = gathered(_values(data, mechanism.similarity), "user")
    spread = values.mapInArrow(partial(_spread, block=BLOCK, blocks=blocks), halves)
    spread = spread.repartition("pair").sortWithinPartitions("pair", "user")
    step = partial(_nearest, block=BLOCK, blocks=blocks, floor=mechanism.theta, k=mechanism.k)
    found = spread.mapInArrow(step, "item int, other int, similarity double")
    nearest_first = Window.partitionBy("item").orderBy(fn.desc("similarity"), "other")
    near = found.withColumn("place", fn.row_number().over(nearest_first)).where(fn.col("place") <= mechanism.k)
    codes = near.select("other").distinct().toArrow()["other"].to_numpy()
    return data.layout.items.gather(np.sort(codes))


def _values(data: Table, similarity: str) -> Any:
    """Rows of user, item (its code) and value; columns of length 1."""
    frame, layout = data.frame, shared(data.frame, data.layout)
    users = dict(frame.dtypes)["user"]

    def less_means(batches: Batches) -> Batches:
        for chunk in chunks(batches, layout.value, "user", ROWS):
            yield from arrow(cells(chunk, similarity).frame().select("user", "item", "rating"))

    def valued(batches: Batches) -> Batches:
        for chunk in chunks(batches, layout.value, "item", ROWS):
            rows = cells(chunk, "" if similarity == "adjusted" else similarity)
            value = columns(rows, similarity)
            made = pl.DataFrame({"user": rows.users.gather(rows.user), "item": rows.item, "value": value})
            yield from arrow(made.filter(pl.col("value") != 0))

    if similarity == "adjusted":
        items = dict(frame.dtypes)["item"]
        frame = gathered(frame, "user").mapInArrow(less_means, f"user {users}, item {items}, rating double")
    return gathered(frame, "item").mapInArrow(valued, f"user {users}, item int, value double")


def _spread(batches: Batches, block: int, blocks: int) -> Batches:
    """What each user has of every two blocks, where she has something of both, or two items of the one."""
    others = pl.DataFrame({"other": np.arange(blocks, dtype=np.int32)})
    mine = pl.col("item") // block
    pair = pl.min_horizontal(mine, "other") * blocks + pl.max_horizontal(mine, "other")
    for piece in pieces(batches, "user", 4 * ROWS // blocks):
        spread = piece.sort("item").join(others, how="cross").with_columns(pair=pair, mine=mine)
        two = pl.when(pl.col("pair").first() % (blocks + 1) == 0).then(pl.len()).otherwise(pl.col("mine").n_unique())
        made = spread.group_by("pair", "user", maintain_order=True).agg(
            pl.col("item").alias("items"), pl.col("value").alias("values"), two.alias("two")
        )
        yield from arrow(made.filter(pl.col("two") > 1).drop("two"))


def _nearest(batches: Batches, block: int, blocks: int, floor: float, k: int) -> Batches:
    """The nearest of every item within each block of pairs; rows come by pair and user."""
    total, open_ = np.zeros((0, 0)), -1
    for batch in batches:
        for rows in pl.DataFrame(batch).partition_by("pair", maintain_order=True):
            pair = int(rows["pair"][0])
            if pair != open_:
                yield from _found(total, open_, block, blocks, floor, k)
                total, open_ = np.zeros((block, block)), pair
            low, high = divmod(pair, blocks)
            starts, item = flat(rows["items"])
            inside = np.where(item < (low + 1) * block, item - low * block, item - (high - 1) * block).astype(np.int32)
            add_products(starts, inside, flat(rows["values"])[1], block if high > low else 0, total)
    yield from _found(total, open_, block, blocks, floor, k)


def _found(total: Any, pair: int, block: int, blocks: int, floor: float, k: int) -> Batches:
    if pair < 0:
        return
    low, high = divmod(pair, blocks)
    near, nearness, size = block_nearest(total, floor, low == high, k)
    item = np.arange(len(near), dtype=np.int32) % block
    first = np.arange(len(near)) < block  # rows of the block, whose nearest are among its columns
    own, others = (np.where(first, a, b) for a, b in ((low, high), (high, low)))
    taken = np.arange(k) < size[:, None]
    made = {
        "item": np.repeat(item + own * block, size),
        "other": (near + others[:, None] * block)[taken],
        "similarity": nearness[taken],
    }
    table = pl.DataFrame(made, schema={"item": pl.Int32, "other": pl.Int32, "similarity": pl.Float64})
    yield from arrow(table)
