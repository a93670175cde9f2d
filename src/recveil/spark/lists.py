"""Everybody's list of recommended items, made where the histories are and written by the executors.

What lands on the driver: how many lists there are, and how many of them are short.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from recveil.data import Interactions
from recveil.evaluation.recommenders.mask import Lists, lines
from recveil.releases.places import Place, check_vacant, whole
from recveil.spark.chunks import Batches, Table, arrow, chunks, gathered, shared
from recveil.spark.lake import write_parts

ROWS = 500_000


def write_lists(data: Table, recommend: Callable[[Interactions], Lists], top: int, place: Place) -> tuple[int, int]:
    """The lines of all users as files of a new directory; how many lists, and how many of fewer than `top` items.

    It is there whole, or not at all.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as fn

    check_vacant(place)
    layout, step = shared(data.frame, data.layout), shared(data.frame, recommend)

    def listed(batches: Batches) -> Batches:
        for chunk in chunks(batches, layout.value, "user", ROWS):
            lists = step.value(chunk)
            made = {"value": list(lines(lists)), "items": [len(row) for row in lists.values()]}
            yield from arrow(pl.DataFrame(made, schema={"value": pl.String, "items": pl.Int64}))

    made = gathered(data.frame, "user", data.rows).mapInArrow(listed, "value string, items long")
    seen = Observation()
    observed = made.observe(seen, fn.count_if(fn.col("items") < top).alias("short"))
    with whole(place) as part:
        number = write_parts(observed.select("value"), part, "text")
    return number, seen.get["short"]
