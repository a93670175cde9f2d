"""People who are held out, on Spark: those whose keyed names are the smallest, as locally.

What lands on the driver: a count for each of 65,536 ranges of names, and the names in one of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from recveil.data import Interactions
from recveil.randomness import Source
from recveil.spark.chunks import Table, each, named
from recveil.spark.reading import table
from recveil.splits import part_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RANGE = 47  # bits of a 63-bit name that do not tell its range


@contextmanager
def held_out(data: Table, share: float, chance: Source) -> Iterator[tuple[Table, DataFrame]]:
    """The data of those who stay, and the rows of those who are held out, as `splits.hold_out` parts them."""
    from pyspark import StorageLevel

    names = named(data.frame.select("user").distinct(), chance)
    bound = _smallest(names, part_of(share, names.count(), "users"))
    held = names.where(names["name"] <= bound).select("user").persist(StorageLevel.DISK_ONLY)
    try:
        kept, gone = (data.frame.join(held, "user", how) for how in ("left_anti", "left_semi"))
        columns, layout = data.frame.columns, data.layout
        rows = each(replace(data, frame=gone.select(*columns)), _rows, "user")
        yield table(kept.select(*columns), layout.unit, layout.duplicates), rows
    finally:
        held.unpersist()


def _smallest(names: DataFrame, number: int) -> int:
    """The name that so many do not exceed."""
    from pyspark.sql import functions as fn

    place = fn.shiftright("name", _RANGE)
    below = 0
    for row in sorted(names.groupBy(place.alias("range")).count().collect()):
        if below + row["count"] >= number:
            here = sorted(r["name"] for r in names.where(place == row["range"]).select("name").collect())
            return int(here[number - below - 1])
        below += row["count"]
    raise AssertionError


def _rows(chunk: Interactions) -> pl.DataFrame:
    return chunk.frame().rename({"user": chunk.unit})
