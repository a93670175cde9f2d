"""Frames and matrices in memory into Interactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.formats.checking import Broken, Raw, Types, interactions
from recveil.formats.duplicates import Keep, deduplicate
from recveil.formats.reading import select
from recveil.formats.roles import assign
from recveil.formats.sources import first_line, one_line

FRAME, MATRIX = "the frame", "the matrix"


def from_frame(
    frame: Any,
    columns: Mapping[str, str] | None = None,
    duplicates: Keep = "last",
    types: Types | None = None,
    broken: Broken = "refuse",
) -> Interactions:
    """Interactions from a polars, pandas or pyarrow table; the arguments are those of `read`."""
    with one_line(FRAME):
        if isinstance(frame, pl.LazyFrame):
            frame = frame.collect()
        if not hasattr(frame, "__arrow_c_stream__"):  # what all three have in common
            raise RecveilError(f"{type(frame).__name__} is not a polars, pandas or pyarrow table")
        try:
            table = pl.DataFrame(frame)
        except TypeError as fault:
            raise RecveilError(f"{FRAME}: cannot be read: {first_line(fault)}") from None
        roles = assign(table.columns, columns, FRAME)
        chosen = select(table, table.columns, roles)
        raw = Raw(chosen, lambda row: f"{FRAME}, row {row + 1}", roles.unit)
        data = interactions(raw, FRAME, types, broken)
    return deduplicate(data, duplicates)


def from_csr(
    matrix: Any,
    users: Sequence[Any] | None = None,
    items: Sequence[Any] | None = None,
    binary: bool = False,
    duplicates: Keep = "last",
) -> Interactions:
    """Interactions from the stored entries of a scipy users x items matrix, by row.

    `users` and `items` name its rows and columns (otherwise 0, 1, ...). The values are ratings, unless
    `binary` says that only their presence counts.
    """
    with one_line(MATRIX):
        entries = matrix.tocsr().tocoo()
        user = _named("user", users, entries.row, entries.shape[0])
        item = _named("item", items, entries.col, entries.shape[1])
        frame = pl.DataFrame([user, item, *([] if binary else [pl.Series("rating", entries.data)])])

        def place(entry: int) -> str:
            return f"{MATRIX}, row {entries.row[entry]}, column {entries.col[entry]}"

        data = interactions(Raw(frame, place, "user"), MATRIX)
    return deduplicate(data, duplicates)


def _named(role: str, names: Sequence[Any] | None, codes: Any, n: int) -> pl.Series:
    if names is None:
        return pl.Series(role, codes.astype(np.int64))
    if len(names) != n:
        raise RecveilError(f"{MATRIX}: {len(names)} names for {n} {role}s")
    return pl.Series(role, names).gather(codes)
