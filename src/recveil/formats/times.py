"""Times, whatever their type: numbers as they are, dates as seconds since 1970 UTC, each by itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import NO_TIME
from recveil.errors import RecveilError

SECONDS = {"ms": 10**3, "us": 10**6, "ns": 10**9}
ISO = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%d %H:%M%#z")


class CheckedColumn(NamedTuple):
    """Checked values; which rows have none that will do, and what is wrong there."""

    values: Any
    broken: pl.Series | None = None
    rule: str = ""


def times(column: pl.Series, source: str) -> CheckedColumn:
    """Numbers as they are; dates as seconds since 1970 UTC (fractions only where some time has one).

    A missing time is NO_TIME among integers and NaN among floats.
    """
    if column.dtype == pl.String:
        return _times_of_text(column)
    if isinstance(column.dtype, pl.Date):
        return CheckedColumn(_whole(column.to_physical().cast(pl.Int64) * 86400))
    if isinstance(column.dtype, pl.Datetime):
        return CheckedColumn(_seconds(column))
    if column.dtype.is_float() or column.dtype.is_decimal():
        return _floats(column.cast(pl.Float64))
    if column.dtype.is_integer() or column.dtype == pl.Null:
        numbers = column.cast(pl.Int64, strict=False)
        wide = numbers.is_null() & column.is_not_null()
        rule = "does not fit in a signed 64-bit integer"
        return CheckedColumn(_whole(numbers), wide if wide.any() else None, rule)
    raise RecveilError(
        f"{source}: {column.name} holds {type(column.dtype).__name__}; times are numbers, dates or ISO text"
    )


def _times_of_text(column: pl.Series) -> CheckedColumn:
    text = column.str.strip_chars()
    text = text.set(text == "", None)
    numbers = text.cast(pl.Int64, strict=False)
    if numbers.null_count() == text.null_count():
        return CheckedColumn(_whole(numbers))
    rest = text.set(numbers.is_not_null(), None)
    fractions = rest.cast(pl.Float64, strict=False)
    moments = _dates(rest.set(fractions.is_not_null(), None))
    neither = rest.is_not_null() & fractions.is_null() & moments.is_null()
    seconds = pl.Series(_seconds(moments)) if moments.null_count() < len(moments) else None
    if fractions.null_count() == len(fractions) and seconds is not None and seconds.dtype == pl.Int64:
        found = CheckedColumn(_whole(numbers.zip_with(numbers.is_not_null(), seconds.set(seconds == NO_TIME, None))))
    else:
        floats = numbers.cast(pl.Float64).zip_with(numbers.is_not_null(), fractions)
        if seconds is not None:
            floats = floats.zip_with(moments.is_null(), seconds.cast(pl.Float64))
        found = _floats(floats)
    if neither.any():
        faulty = neither if found.broken is None else neither | found.broken
        return CheckedColumn(found.values, faulty, "is neither a number nor a date such as 2019-12-31 23:59:59")
    return found


def _dates(text: pl.Series) -> pl.Series:
    text = text.str.replace("T", " ", literal=True)
    found = pl.Series(text.name, [None] * len(text), dtype=pl.Datetime("us"))
    for form in ISO:
        if found.null_count() == text.null_count():
            break
        parsed = text.set(found.is_not_null(), None).str.to_datetime(form, strict=False, time_unit="us")
        found = found.zip_with(found.is_not_null(), parsed.dt.replace_time_zone(None))
    return found


def _floats(numbers: pl.Series) -> CheckedColumn:
    infinite = numbers.is_infinite().fill_null(False)
    return CheckedColumn(
        numbers.fill_null(np.nan).to_numpy(), infinite if infinite.any() else None, "is not a finite number"
    )


def _seconds(column: pl.Series) -> NDArray[Any]:
    ticks, per_second = column.to_physical(), SECONDS[str(getattr(column.dtype, "time_unit", "us"))]
    if (ticks % per_second != 0).any():
        return (ticks / per_second).fill_null(np.nan).to_numpy()
    return _whole(ticks // per_second)


def _whole(column: pl.Series) -> NDArray[np.int64]:
    return column.fill_null(NO_TIME).to_numpy() if column.null_count() else column.to_numpy()
