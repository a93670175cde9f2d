"""Frames and matrices in memory into Interactions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.formats.checking import IDS, Broken, Note, Raw, Types, interactions, select
from recveil.formats.duplicates import Keep, deduplicate
from recveil.formats.letters import sound
from recveil.formats.lines import whole_letters
from recveil.formats.roles import Roles, assign
from recveil.formats.schema import Schema, check_alone
from recveil.formats.sources import LIBRARIES, first_line, one_line
from recveil.formats.tables import check_lists
from recveil.ids import plain, ranked

FRAME, MATRIX = "the frame", "the matrix"


def from_frame(
    frame: Any,
    columns: Mapping[str, str] | None = None,
    duplicates: Keep = "last",
    types: Types | None = None,
    broken: Broken = "refuse",
    schema: Schema | None = None,
    note: Note = lambda line: None,  # noqa: ARG005
) -> Interactions:
    """Interactions from a polars, pandas or pyarrow table; the arguments are those of `read`."""
    with one_line(FRAME):
        if isinstance(frame, pl.LazyFrame):
            frame = frame.collect()
        if not hasattr(frame, "__arrow_c_stream__"):  # what all three have in common
            raise RecveilError(f"{type(frame).__name__} is not a polars, pandas or pyarrow table")
        check_alone(schema, columns, types)
        told_by_rows = broken == "drop" and hasattr(frame, "iloc")  # pandas makes its types of what stands in the rows
        table = None if told_by_rows else _table(frame)
        names = [str(name) for name in frame.columns] if table is None else table.columns
        roles = assign(names, schema.columns if schema else columns, FRAME, closed=schema is not None)
        lists = schema is not None and schema.lists
        chosen = _value_by_value(frame, names, roles, lists) if table is None else select(table, names, roles)
        check_lists(schema, chosen, FRAME)
        declared = [schema.values] if schema else []
        untyped = frozenset(IDS if told_by_rows else ())
        raw = Raw(chosen, lambda row: f"{FRAME}, row {row + 1}", roles.unit, untyped)
        data = interactions(raw, FRAME, schema.types if schema else types, broken, note, *declared)
        data = replace(data, levels=schema.levels) if schema and schema.levels else data
    return deduplicate(data, duplicates)


def _table(frame: Any) -> pl.DataFrame:
    try:
        return frame if isinstance(frame, pl.DataFrame) else _lettered(pl.DataFrame(frame))
    except TypeError as fault:
        raise RecveilError(f"{FRAME}: cannot be read: {first_line(fault)}") from None


def _lettered(frame: pl.DataFrame) -> pl.DataFrame:
    """With nothing but letters in its texts: Arrow and pandas may hold any bytes there, and polars takes them over."""
    table = frame.to_arrow(compat_level=pl.CompatLevel.newest())
    kept = sound(table)
    mended = [name for name in frame.columns if kept.field(name).type != table.field(name).type]
    return frame.with_columns(pl.Series(name, kept[name]) for name in mended)


def _value_by_value(frame: Any, names: Sequence[str], roles: Roles, lists: bool) -> pl.DataFrame:
    """The columns of a pandas table that play a role: no value changes how another is read, none is refused."""
    parts = {}
    for role, where in roles.columns.items():
        for n in where:
            column = frame.iloc[:, n]
            if lists and role == "item":
                elements = [[_text(e, role) for e in value] if _is_list(value) else None for value in column]
                parts[names[n]] = pl.Series(names[n], elements, dtype=pl.List(pl.String))
            elif column.dtype == object:
                parts[names[n]] = _texts(column, role).alias(names[n])
            else:
                made = pl.Series(names[n], column)
                parts[names[n]] = made.cast(pl.Int8) if made.dtype == pl.Boolean and role == "rating" else made
    return select(_lettered(pl.DataFrame(parts)), names, roles)


def _texts(column: Any, role: str) -> pl.Series:
    """Values of any kinds, as text; the quick way gives the same where it succeeds."""
    try:
        made = pl.Series(column)
    except (TypeError, ValueError, ArithmeticError, *LIBRARIES):
        made = pl.Series([], dtype=pl.Object)
    if made.dtype == pl.String or made.dtype.is_integer():
        return made.cast(pl.String)
    return pl.Series([_text(value, role) for value in column], dtype=pl.String)


def _text(value: Any, role: str) -> str | None:
    """A value as a text file would have it; None where it is neither an id nor a number nor a time."""
    if isinstance(value, str):
        return whole_letters(value)
    if isinstance(value, bool | np.bool_):
        return str(int(value)) if role == "rating" else None
    if isinstance(value, Real | Decimal):
        try:
            return _digits(value, role)
        except (ValueError, ArithmeticError):  # more digits than Python writes, or larger than any float
            return None
    if isinstance(value, date) and role == "time" and value == value:  # pandas' missing time is not itself
        return value.isoformat()
    return None


def _digits(value: Any, role: str) -> str | None:
    if isinstance(value, Integral):
        return str(int(value))
    number = float(value)
    if number.is_integer() and abs(number) < 2**53:
        return str(int(number))
    return None if role in IDS or not math.isfinite(number) else repr(number)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray)


def from_csr(
    matrix: Any,
    users: Sequence[Any] | None = None,
    items: Sequence[Any] | None = None,
    binary: bool = False,
    duplicates: Keep = "last",
    broken: Broken = "refuse",
    note: Note = lambda line: None,  # noqa: ARG005
) -> Interactions:
    """Interactions from the stored entries of a scipy users x items matrix, by row.

    `users` and `items` name its rows and columns (otherwise 0, 1, ...). The values are ratings, unless
    `binary` says that only their presence counts. `broken`: an entry that is no finite number is refused, or dropped;
    then whoever has a row is in the data, also with nothing in it.
    """
    with one_line(MATRIX):
        entries = matrix.tocsr().tocoo()
        user = _named("user", users, entries.row, entries.shape[0])
        item = _named("item", items, entries.col, entries.shape[1])
        frame = pl.DataFrame([user, item, *([] if binary else [pl.Series("rating", entries.data)])])

        def place(entry: int) -> str:
            return f"{MATRIX}, row {entries.row[entry]}, column {entries.col[entry]}"

        data = interactions(Raw(frame, place, "user"), MATRIX, None, broken, note)
        if broken == "drop":
            everyone = _named("user", users, np.arange(entries.shape[0]), entries.shape[0])
            data = data.over_users(ranked(plain(everyone.drop_nulls().unique())))
    return deduplicate(data, duplicates)


def _named(role: str, names: Sequence[Any] | None, codes: Any, n: int) -> pl.Series:
    if names is None:
        return pl.Series(role, codes.astype(np.int64))
    if len(names) != n:
        raise RecveilError(f"{MATRIX}: {len(names)} names for {n} {role}s")
    return pl.Series(role, names).gather(codes)
