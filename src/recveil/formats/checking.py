"""Raw columns, whatever their type, into checked ids, ratings and times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import NO_TIME, Interactions, from_ids
from recveil.errors import RecveilError

Place = Callable[[int], str]  # where the reader's row n stands, in the words of the file: "ratings.csv, line 8"

SECONDS = {"ms": 10**3, "us": 10**6, "ns": 10**9}
ISO = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%d %H:%M%#z")


def interactions(raw: pl.DataFrame, place: Place, source: str, unit: Literal["user", "session"]) -> Interactions:
    """Interactions from a frame whose columns carry the names of their roles."""
    if isinstance(raw["item"].dtype, pl.List | pl.Array):
        raw, place = _unrolled(raw, place)
    if raw.height == 0:
        raise RecveilError(f"{source}: no rows")
    return from_ids(
        ids(raw["user"], place, source),
        ids(raw["item"], place, source),
        ratings(raw["rating"], place, source) if "rating" in raw.columns else None,
        times(raw["time"], place, source) if "time" in raw.columns else None,
        ids(raw["tag"], place, source) if "tag" in raw.columns else None,
        unit,
    )


def ids(column: pl.Series, place: Place, source: str) -> pl.Series:
    """Integers or text, none of it missing or empty."""
    if column.null_count():
        raise RecveilError(f"{place(_first(column.is_null()))}: {column.name} is empty")
    if column.dtype.is_float():
        broken = ~(column == column.round()) | (column.abs() >= 2**53)
        if broken.any():
            raise _wrong(column, broken, place, "is not an id: neither a whole number nor text")
        return column.cast(pl.Int64)
    if column.dtype.is_integer():
        if column.dtype not in (pl.Int128, pl.UInt128):
            return column
        narrow = (column.cast(kind, strict=False) for kind in (pl.Int64, pl.UInt64))
        return next((whole for whole in narrow if not whole.null_count()), column.cast(pl.String))
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        text = column.cast(pl.String)
        empty = text == ""
        if empty.any():
            raise RecveilError(f"{place(_first(empty))}: {column.name} is empty")
        return text
    raise RecveilError(f"{source}: {column.name} holds {type(column.dtype).__name__}; ids are integers or text")


def ratings(column: pl.Series, place: Place, source: str) -> NDArray[np.float64]:
    """Finite numbers, none missing."""
    numbers = column
    if column.dtype == pl.String:
        numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
    elif not column.dtype.is_numeric() and column.dtype != pl.Null:
        raise RecveilError(f"{source}: {column.name} holds {type(column.dtype).__name__}; ratings are numbers")
    numbers = numbers.cast(pl.Float64)
    if numbers.null_count():
        raise _wrong(column, numbers.is_null(), place, "is not a number")
    values = numbers.to_numpy()
    if not np.isfinite(values).all():
        raise _wrong(column, pl.Series(~np.isfinite(values)), place, "is not a finite number")
    return values


def times(column: pl.Series, place: Place, source: str) -> NDArray[Any]:
    """Numbers as they are; dates as seconds since 1970 UTC (fractions only where some time has one).

    A missing time is NO_TIME among integers and NaN among floats.
    """
    if column.dtype == pl.String:
        return _times_of_text(column, place)
    if isinstance(column.dtype, pl.Date):
        return _whole(column.to_physical().cast(pl.Int64) * 86400)
    if isinstance(column.dtype, pl.Datetime):
        return _seconds(column)
    if column.dtype.is_float() or column.dtype.is_decimal():
        numbers = column.cast(pl.Float64)
        if numbers.is_infinite().any():
            raise _wrong(column, numbers.is_infinite(), place, "is not a finite number")
        return numbers.fill_null(np.nan).to_numpy()
    if column.dtype.is_integer() or column.dtype == pl.Null:
        whole = column.cast(pl.Int64, strict=False)
        if whole.null_count() != column.null_count():
            raise _wrong(
                column, whole.is_null() & column.is_not_null(), place, "does not fit in a signed 64-bit integer"
            )
        return _whole(whole)
    raise RecveilError(
        f"{source}: {column.name} holds {type(column.dtype).__name__}; times are numbers, dates or ISO text"
    )


def _times_of_text(column: pl.Series, place: Place) -> NDArray[Any]:
    text = column.str.strip_chars()
    text = text.set(text == "", None)
    numbers = text.cast(pl.Float64, strict=False)
    known = text.drop_nulls()
    if known.is_empty() or text.cast(pl.Int64, strict=False).null_count() == text.null_count():
        return _whole(text.cast(pl.Int64))
    if known.head(1).cast(pl.Float64, strict=False).null_count() == 0:
        wrong = numbers.is_null() & text.is_not_null()
        if wrong.any():
            raise _wrong(column, wrong, place, "is not a number, as the times before it are")
        return times(numbers.alias(column.name), place, "")
    text = text.str.replace("T", " ", literal=True)
    found = pl.Series(column.name, [None] * len(text), dtype=pl.Datetime("us"))
    for form in ISO:
        if found.null_count() == text.null_count():
            break
        parsed = text.set(found.is_not_null(), None).str.to_datetime(form, strict=False, time_unit="us")
        found = found.zip_with(found.is_not_null(), parsed.dt.replace_time_zone(None))
    wrong = found.is_null() & text.is_not_null()
    if wrong.any():
        raise _wrong(column, wrong, place, "is neither a number nor a date such as 2019-12-31 23:59:59")
    return _seconds(found)


def _seconds(column: pl.Series) -> NDArray[Any]:
    ticks, per_second = column.to_physical(), SECONDS[str(getattr(column.dtype, "time_unit", "us"))]
    if (ticks % per_second != 0).any():
        return (ticks / per_second).fill_null(np.nan).to_numpy()
    return _whole(ticks // per_second)


def _whole(column: pl.Series) -> NDArray[np.int64]:
    return column.fill_null(NO_TIME).to_numpy() if column.null_count() else column.to_numpy()


def _unrolled(raw: pl.DataFrame, place: Place) -> tuple[pl.DataFrame, Place]:
    """One row per element of the lists in `item`; `time` is its position among the clicks of its user."""
    lists = raw.with_columns(pl.col("item").cast(pl.List(raw["item"].dtype.inner)))  # type: ignore[attr-defined]
    lists = lists.with_row_index("row").filter(pl.col("item").list.len() > 0)
    flat = lists.explode("item")
    if lists["user"].n_unique() == lists.height:
        lengths = lists["item"].list.len().to_numpy()
        starts = np.repeat(np.cumsum(lengths, dtype=np.int64) - lengths, lengths)
        position = pl.Series("time", np.arange(flat.height) - starts)
    else:
        position = flat.select(pl.int_range(pl.len(), dtype=pl.Int64).over("user").alias("time"))["time"]
    rows = flat["row"]
    return flat.select("user", "item", position), lambda row: place(rows[row])


def _wrong(column: pl.Series, mask: pl.Series, place: Place, rule: str) -> RecveilError:
    row = _first(mask)
    if column[row] is None or column[row] == "":
        return RecveilError(f"{place(row)}: {column.name} is empty")
    return RecveilError(f"{place(row)}: {column.name} {show(column[row])} {rule}")


def _first(mask: pl.Series) -> int:
    found = mask.arg_max()
    return 0 if found is None else found


def show(value: object) -> str:
    """A value of the input, short enough for one line."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def date_text(parts: Sequence[pl.Expr]) -> pl.Expr:
    """ISO text from year, month, day[, hour, minute, second]."""
    date = pl.concat_str(parts[:3], separator="-")
    return date if len(parts) == 3 else date + " " + pl.concat_str(parts[3:], separator=":")
