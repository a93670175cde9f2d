"""People who are held out, on Spark: each by her own keyed name, as locally. Nothing of them lands on the driver."""

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
from recveil.splits import name_bound

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@contextmanager
def held_out(data: Table, share: float, chance: Source) -> Iterator[tuple[Table, DataFrame]]:
    """The data of those who stay, and the rows of those who are held out, as `splits.hold_out` parts them."""
    from pyspark import StorageLevel

    names = named(data.frame.select("user").distinct(), chance)
    held = names.where(names["name"] < name_bound(share)).select("user").persist(StorageLevel.DISK_ONLY)
    try:
        kept, gone = (data.frame.join(held, "user", how) for how in ("left_anti", "left_semi"))
        columns, layout = data.frame.columns, data.layout
        rows = each(replace(data, frame=gone.select(*columns)), _rows, "user")
        yield table(kept.select(*columns), layout.unit, layout.duplicates, empty=True, untyped=layout.untyped), rows
    finally:
        held.unpersist()


def _rows(chunk: Interactions) -> pl.DataFrame:
    return chunk.frame().rename({"user": chunk.unit})
