"""Texts of Arrow tables that are no UTF-8: U+FFFD stands there, as in text files. A table may hold such (Hive
and Impala write any bytes), and those of one row must not refuse all others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
LISTS = {pa.ListArray: pa.ListArray.from_arrays, pa.LargeListArray: pa.LargeListArray.from_arrays}


def sound(table: pa.Table) -> pa.Table:
    """The table, all of whose values are what their types say; raises where more than letters is wrong."""
    try:
        table.validate(full=True)
    except pa.ArrowInvalid:
        raw = [_each(column, _bytes) for column in table.columns]
        pa.table(raw, table.column_names).validate(full=True)  # nothing is read before offsets are known to be sound
        both = zip(table.columns, raw, strict=True)
        columns = [column if kept.type == column.type else _each(kept, _text) for column, kept in both]
        return pa.table(columns, table.column_names)
    return table


def _each(column: Any, change: Callable[[Any], Any]) -> Any:
    parts = [change(part) for part in column.chunks]
    return pa.chunked_array(parts) if parts else column


def _bytes(values: Any) -> Any:
    """Texts as their bytes, which are not looked at."""
    if values.type in BYTES:
        return values.view(BYTES[values.type])
    if isinstance(values, pa.DictionaryArray):
        return pa.DictionaryArray.from_arrays(values.indices, _bytes(values.dictionary), safe=False)
    if type(values) in LISTS:
        return LISTS[type(values)](values.offsets, _bytes(values.values), mask=values.is_null())
    return values


def _text(values: Any) -> Any:
    if isinstance(values, pa.DictionaryArray):
        return _text(values.dictionary).take(values.indices)
    if type(values) in LISTS:
        return LISTS[type(values)](values.offsets, _text(values.values), mask=values.is_null())
    return pa.array([None if v is None else v.decode("utf-8", "replace") for v in values.to_pylist()], pa.string())
