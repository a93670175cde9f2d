"""Columns of a DataFrame, whatever their type, into checked ids, ratings and times: each row by itself, as locally.

What lands on the driver: how many rows have which fault, and of which type a column may be without losing anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recveil.errors import RecveilError
from recveil.formats.checking import IDS, NAN, Broken, Note, left_out

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_FLOATS = ("float", "double")
_ID = r"^(0|-?[1-9][0-9]{0,18})$"
_WHOLE = r"^\s*[+-]?[0-9]{1,19}\s*$"
_NUMBER = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
_NAN = r"^\s*[+-]?[nN][aA][nN]\s*$"
_RULES = {"rating": "a finite number", "time": "a number or a date"}


@dataclass(frozen=True)
class Wanted:
    """How columns are to be read: whether they are text, of declared types, and what happens to broken rows."""

    text: bool
    types: Mapping[str, str]
    broken: Broken


def checked(frame: DataFrame, wanted: Wanted, name: str, note: Note) -> DataFrame:
    """Ids as bigint or string, ratings as double, times as bigint or double; rows that are none refused or dropped.

    A dropped row leaves its user behind, without an item. Whole numbers are kept as bigint where all ids are: that is
    a matter of speed, since as text they have the same order, key and name. How many were dropped, `note` is told.
    """
    from pyspark.sql import functions as fn

    kinds = dict(frame.dtypes)
    values = {role: _value(frame[role], role, kind, wanted, name) for role, kind in kinds.items()}
    faults = {role: _fault(frame[role], values[role], role, kind) for role, kind in kinds.items()}
    looks: dict[str, Column] = {"rows": fn.count("*")}
    for role, kind in kinds.items():
        if role in IDS:
            looks[f"{role} empty"] = fn.count_if(faults[role] & _missing(frame[role], kind))
        looks[f"{role} broken"] = fn.count_if(faults[role])
        if role in IDS and kind == "string" and wanted.text and role not in wanted.types:
            looks[f"{role} whole"] = fn.bool_and(
                values[role].isNull() | _parsed(values[role], "bigint", _ID).isNotNull()
            )
        if role == "time":
            fits = (values[role] == fn.rint(values[role])) & (fn.abs(values[role]) < 2.0**63)  # floor would overflow
            looks["time whole"] = fn.bool_and(values[role].isNull() | fits | _parsed_whole(frame[role], kind))
    wrong = fn.lit(False)
    for fault in faults.values():
        wrong = wrong | fault
    looks["broken"] = fn.count_if(wrong)
    seen = frame.agg(*(look.alias(key) for key, look in looks.items())).first().asDict()
    if wanted.broken == "refuse":
        _refuse(seen, name)
    made = {}
    for role, kind in kinds.items():
        made[role] = values[role]
        if seen.get(f"{role} whole") and role in IDS:
            made[role] = values[role].cast("bigint")
        elif role == "time" and seen["time whole"]:
            made[role] = _whole_time(frame[role], values[role], kind)
    if wanted.broken == "drop":
        made["item"] = fn.when(~wrong, made["item"])
        if many := seen["broken"]:
            note(left_out(many, {role: n for role in kinds if (n := seen[f"{role} broken"])}))
    rows = frame.select(*(column.alias(role) for role, column in made.items()))
    return rows.where("user is not null") if wanted.broken == "drop" else rows


def _refuse(seen: dict[str, Any], name: str) -> None:
    if not seen["rows"]:
        raise RecveilError(f"{name}: no rows")
    for key, many in seen.items():
        role, _, fault = key.partition(" ")
        if fault in ("empty", "broken") and many:
            rule = "empty" if fault == "empty" else f"not {_RULES.get(role, 'an id: a whole number or text')}"
            raise RecveilError(f"{name}: {role} is {rule} in {many:,} of {seen['rows']:,} rows")


def _value(column: Column, role: str, kind: str, wanted: Wanted, name: str) -> Column:
    """What a row says; null where it says nothing that will do."""
    from pyspark.sql import functions as fn

    if role == "rating":
        number = _parsed(column, "double", _NUMBER) if kind == "string" else column.try_cast("double")
        return fn.when(~fn.isnan(number) & (fn.abs(number) != float("inf")), number)
    if role == "time":
        return _time(column, kind, name)
    if kind not in (*_INTEGERS, *_FLOATS, "string"):
        raise RecveilError(f"{name}: {role} holds {kind}; ids are integers or text")
    declared = wanted.types.get(role)
    if kind in _FLOATS:
        column = fn.when((column == fn.round(column)) & (fn.abs(column) < 2**53), column).cast("bigint")
    elif kind in _INTEGERS:
        column = column.cast("bigint")
    else:
        missing = ["", *NAN] if wanted.text and not declared else [""]
        column = fn.make_valid_utf8(column)  # a parquet may hold any bytes in a column of text
        column = fn.when(~column.isin(missing), column)
        return _parsed(column, "bigint", _ID) if declared == "int" else column
    return column.cast("string") if declared == "text" else column


def _fault(column: Column, value: Column, role: str, kind: str) -> Column:
    from pyspark.sql import functions as fn

    if role != "time":
        return value.isNull()
    if kind == "string":
        return value.isNull() & column.isNotNull() & (fn.trim(column) != "") & ~column.rlike(_NAN)
    if kind in _FLOATS:
        return fn.coalesce(fn.abs(column) == float("inf"), fn.lit(False))
    return fn.lit(False)


def _missing(column: Column, kind: str) -> Column:
    return column.isNull() | column.isin("", *NAN) if kind == "string" else column.isNull()


def _time(column: Column, kind: str, name: str) -> Column:
    """Numbers as they are, dates as seconds since 1970, as doubles."""
    from pyspark.sql import functions as fn

    if kind == "string":
        seconds = fn.unix_micros(fn.when(~column.rlike(_NUMBER), fn.try_to_timestamp(column))) / 1e6
        return fn.coalesce(_parsed(column, "double", _NUMBER), seconds)
    if kind == "date" or kind.startswith("timestamp"):
        return fn.unix_micros(column.cast("timestamp")) / 1e6
    if kind in (*_INTEGERS, *_FLOATS) or kind.startswith("decimal"):
        number = column.cast("double")
        return fn.when(~fn.isnan(number) & (fn.abs(number) != float("inf")), number)
    raise RecveilError(f"{name}: time holds {kind}; times are numbers, dates or ISO text")


def _whole_time(column: Column, value: Column, kind: str) -> Column:
    """A column of whole times without loss: beyond 2^53 a double would not hold them."""
    from pyspark.sql import functions as fn

    if kind in _INTEGERS:
        return column.cast("bigint")
    if kind == "string":
        return fn.coalesce(_parsed(column, "bigint", _WHOLE), value.cast("bigint"))
    return value if kind in _FLOATS or kind.startswith("decimal") else value.cast("bigint")


def _parsed_whole(column: Column, kind: str) -> Column:
    from pyspark.sql import functions as fn

    return _parsed(column, "bigint", _WHOLE).isNotNull() if kind == "string" else fn.lit(False)


def _parsed(column: Column, kind: str, pattern: str) -> Column:
    """Text as a number, null where it is none; Spark's own try_cast is slow where it fails."""
    from pyspark.sql import functions as fn

    return fn.when(column.rlike(pattern), column.try_cast(kind))
