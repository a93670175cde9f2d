"""Public features of items, such as genres and years: facts that cost nothing, since nobody's rows are in them."""

from __future__ import annotations

from collections import Counter
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recveil.errors import RecveilError
from recveil.mechanism import Mechanism

MOST, FEWEST_ITEMS = 64, 5  # features in all; items that must share one
CLASSES = 8  # of a column of numbers


def read_features(path: str | Path) -> pl.DataFrame:
    """A csv or parquet with the column item and others: see `indicators`."""
    path = Path(path)
    try:
        frame = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise RecveilError(f"{path} cannot be read as features of items: {str(error).splitlines()[0]}") from None
    return indicators(frame, str(path))


def as_features(given: Any) -> pl.DataFrame | None:
    """Features given as a file, or as a frame."""
    if given is None:
        return None
    if isinstance(given, str | PathLike):
        return read_features(fspath(given))
    if isinstance(given, pl.DataFrame):
        return indicators(given, "features")
    raise RecveilError("features are a polars DataFrame with a column item, or the path of a csv or parquet file")


def indicators(frame: pl.DataFrame, source: str) -> pl.DataFrame:
    """A row an item, a column of 0 and 1 for each feature that several items share.

    Words of text columns are parted by `|` (Comedy|Drama), lists are taken as they are, numbers fall into classes of
    equal size. What fewer than five items share, such as a title, is left out; of the rest the 64 most frequent stay.
    """
    if "item" not in frame.columns or frame.width < 2:
        raise RecveilError(f"{source}: features need a column item and another one; it has {', '.join(frame.columns)}")
    frame = frame.drop_nulls("item").unique("item", keep="first", maintain_order=True)
    held: dict[str, set[int]] = {}
    for name in frame.columns:
        if name != "item":
            for row, words in enumerate(_words(frame[name])):
                for word in words:
                    held.setdefault(f"{name} {word}", set()).add(row)
    count = Counter({feature: len(rows) for feature, rows in held.items() if FEWEST_ITEMS <= len(rows) < frame.height})
    if not count:
        raise RecveilError(f"{source}: no feature is shared by {FEWEST_ITEMS} items, and by fewer than all")
    made: dict[str, Any] = {"item": frame["item"]}
    for feature, _ in count.most_common(MOST):
        column = np.zeros(frame.height, dtype=np.int8)
        column[list(held[feature])] = 1
        made[feature] = column
    return pl.DataFrame(made)


def _words(column: pl.Series) -> list[list[str]]:
    if isinstance(column.dtype, pl.List):
        return [[str(word) for word in row or () if word is not None] for row in column.to_list()]
    if column.dtype.is_numeric() and column.n_unique() > CLASSES + 1:
        column = column.cast(pl.Float64).fill_nan(None)
        known = np.sort(column.drop_nulls().to_numpy())
        ends = np.unique(known[len(known) * np.arange(1, CLASSES) // CLASSES])
        return [[] if value is None else [str(np.searchsorted(ends, value, side="right"))] for value in column]
    return [
        [w for part in str(value).split("|") if (w := part.strip())] if value is not None else [] for value in column
    ]


def check_features(mechanism: Mechanism, features: pl.DataFrame | None) -> None:
    """Raise where features of items are given to a mechanism that makes nothing of them."""
    if features is not None and not mechanism.reads_features:
        raise RecveilError(f"{mechanism.name} makes nothing of features of items; --features is for dp-ratings")
