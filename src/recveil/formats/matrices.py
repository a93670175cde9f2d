"""Matrices of users and items as tables of their stored entries: scipy's .npz, Matrix Market's .mtx."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from recveil.errors import RecveilError
from recveil.formats.sources import DataFile, first_line

PEOPLE = "people"  # of a matrix, those with nothing among them


def read_npz(part: DataFile, columns: Sequence[str] | None, rows: int | None) -> pa.Table:
    """A sparse matrix as scipy.sparse.save_npz writes it; never an array of objects, which would run code."""
    from scipy import sparse

    try:
        with part.open() as file:
            return _entries(sparse.load_npz(file), columns, rows)
    except (ValueError, KeyError, OSError, EOFError):  # whose words say how to run its code
        raise RecveilError(f"{part.name}: no sparse matrix as scipy.sparse.save_npz writes it") from None


def read_mtx(part: DataFile, columns: Sequence[str] | None, rows: int | None) -> pa.Table:
    """A matrix in coordinates; one of patterns has no values."""
    from scipy import io

    with part.open() as file:
        pattern = b"pattern" in file.readline().lower()
    try:
        with part.open() as file:
            found = io.mmread(file)
    except (ValueError, OSError, OverflowError) as fault:
        raise RecveilError(f"{part.name}: no sound Matrix Market file: {first_line(fault)}") from None
    if not hasattr(found, "tocoo"):
        raise RecveilError(f"{part.name}: a dense array; write the coordinates of what is there")
    return _entries(found, columns, rows, valued=not pattern)


def _entries(matrix: Any, columns: Sequence[str] | None, rows: int | None, valued: bool = True) -> pa.Table:
    entries = matrix.tocsr().tocoo()
    found = {"user": np.asarray(entries.row, np.int64), "item": np.asarray(entries.col, np.int64)}
    if valued:
        found["value"] = np.asarray(entries.data)
    made = pa.table({name: array[:rows] for name, array in found.items() if columns is None or name in columns})
    return made.replace_schema_metadata({PEOPLE: str(matrix.shape[0])})


def with_everyone(table: pa.Table) -> pa.Table:
    """Whoever has a row of a matrix is there, also with nothing in it: without an item then."""
    people = (table.schema.metadata or {}).get(PEOPLE.encode())
    if people is None or "user" not in table.column_names:
        return table
    nothing = np.setdiff1d(np.arange(int(people)), table["user"].to_numpy())
    return pa.concat_tables([table, pa.table({"user": nothing})], promote_options="default")
