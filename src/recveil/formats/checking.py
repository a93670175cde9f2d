"""Raw columns, whatever their type, into checked ids, ratings and times, each row by itself.

A row that is no interaction is refused by name, or left out; what stands in it never changes how another one is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import NO_TIME, Interactions, from_ids
from recveil.errors import RecveilError
from recveil.formats.roles import Roles
from recveil.ids import narrow, ranked, whole

RowName = Callable[[int], str]  # where the reader's row n stands, in the words of the file: "ratings.csv, line 8"
Broken = Literal["refuse", "drop"]
Note = Callable[[str], None]  # told a line for the owner's own screen
Types = Mapping[str, Literal["int", "text"]]  # of ids, as their owner declares them

SECONDS = {"ms": 10**3, "us": 10**6, "ns": 10**9}
ISO = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%d %H:%M%#z")
IDS = ("user", "item", "tag", "session")
NAN = ("NaN", "nan")  # what tools write for a missing value
NO_ID = "is not an id: neither a whole number nor text"


class Raw(NamedTuple):
    """Columns under the names of their roles; where each row stands; which ids the file does not say the type of; how
    many lines are nobody's row.
    """

    frame: pl.DataFrame
    place: RowName
    unit: Literal["user", "session"]
    untyped: frozenset[str] = frozenset()
    lost: int = 0


class CheckedColumn(NamedTuple):
    """Checked values; which rows have none that will do, and what is wrong there."""

    values: Any
    broken: pl.Series | None = None
    rule: str = ""


def interactions(
    raw: Raw,
    source: str,
    types: Types | None = None,
    broken: Broken = "refuse",
    note: Note = lambda line: None,  # noqa: ARG005
) -> Interactions:
    """Interactions from a frame whose columns carry the names of their roles.

    A row without ids, or with a rating or a time that is none, is refused; or dropped, while its user stays in the
    vocabulary, with nothing. How many were, `note` is told, for the owner alone.
    """
    frame, place = raw.frame, raw.place
    if raw.lost:
        note(f"{raw.lost:,} line{'s' * (raw.lost != 1)} left out that {'are no rows' if raw.lost > 1 else 'is no row'}")
    if isinstance(frame["item"].dtype, pl.List | pl.Array):
        frame, place = _unrolled(frame, place, broken)
    if frame.height == 0 and broken == "refuse":
        raise RecveilError(f"{source}: no rows")
    declared = types or {}
    columns: dict[str, CheckedColumn] = {}
    for role in ("user", "item", "rating", "time", "tag", "session"):
        if role not in frame.columns:
            continue
        if role in IDS:
            columns[role] = ids(frame[role], source, declared.get(role), role in raw.untyped)
        else:
            columns[role] = (ratings if role == "rating" else times)(frame[role], source)
    faulty = {role: c.broken for role, c in columns.items() if c.broken is not None}
    if broken == "refuse" and faulty:
        first, mask = next(iter(faulty.items()))
        raise _wrong(frame[first], mask, place, columns[first].rule)
    values = {role: c.values for role, c in columns.items()}
    people = values["user"]
    if faulty:
        good = ~np.any([mask.to_numpy() for mask in faulty.values()], axis=0)
        note(left_out(frame.height - int(good.sum()), {role: int(mask.sum() or 0) for role, mask in faulty.items()}))
        people = people.drop_nulls()
        keep = pl.Series(good)
        values = {role: v.filter(keep) if role in IDS else v[good] for role, v in values.items()}
    made = from_ids(
        values["user"], values["item"], values.get("rating"), values.get("time"), values.get("tag"), raw.unit,
        values.get("session"),
    )  # fmt: skip
    if faulty:
        made = made.over_users(ranked(people.unique()))
    untyped = raw.untyped & set(frame.columns) - declared.keys() - {"session"}  # sessions are never published
    vocabularies: dict[str, Any] = {f"{role}s": narrow(getattr(made, f"{role}s")) for role in untyped}  # same order
    levels = declared_levels(frame["rating"].dtype) if "rating" in frame.columns else None
    return replace(made, untyped=untyped, levels=levels, **vocabularies)


def left_out(rows: int, by: Mapping[str, int]) -> str:
    """How many rows are no interactions, and what they lack; never which, nor what stands in them."""
    lacking = ", ".join(f"{role} in {n:,}" for role, n in by.items())
    return f"{rows:,} row{'s' * (rows != 1)} left out, for want of a value that will do: {lacking}"


def ids(column: pl.Series, source: str, declared: str | None = None, untyped: bool = False) -> CheckedColumn:
    """Integers or text, none of it missing or empty; the word NaN is missing where nobody declared it text."""
    if column.dtype.is_float():
        known = column.is_finite() & (column == column.round()) & (column.abs() < 2**53)
        made = column.zip_with(known.fill_null(False), pl.Series([None], dtype=column.dtype)).cast(pl.Int64)
    elif column.dtype.is_integer():
        made = column if column.dtype not in (pl.Int128, pl.UInt128) else column.cast(pl.String)
    elif column.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        made = column.cast(pl.String)
    else:
        raise RecveilError(f"{source}: {column.name} holds {type(column.dtype).__name__}; ids are integers or text")
    if declared:
        made = whole(made).alias(column.name) if declared == "int" else made.cast(pl.String)
    missing = made.is_null() if made.null_count() else None
    if made.dtype == pl.String:
        odd = made.is_in(["", *NAN] if untyped and not declared else [""]).fill_null(True)
        if odd.any():
            missing, made = odd, made.zip_with(~odd, pl.Series([None], dtype=pl.String))
    rule = "is not a whole number, as it is declared to be" if declared == "int" else NO_ID
    return CheckedColumn(made, missing, rule)


def ratings(column: pl.Series, source: str) -> CheckedColumn:
    """Finite numbers, none missing."""
    numbers = column
    if declared_levels(column.dtype) is not None:
        numbers = column.cast(pl.Int8) if column.dtype == pl.Boolean else column.cast(pl.String).cast(pl.Float64)
    elif column.dtype == pl.String:
        numbers = column.str.strip_chars().cast(pl.Float64, strict=False)
    elif not column.dtype.is_numeric() and column.dtype != pl.Null:
        raise RecveilError(f"{source}: {column.name} holds {type(column.dtype).__name__}; ratings are numbers")
    numbers = numbers.cast(pl.Float64)
    values = numbers.to_numpy()
    finite = np.isfinite(values)
    if finite.all():
        return CheckedColumn(values)
    none = bool(numbers.is_null()[int(np.argmin(finite))])
    return CheckedColumn(values, pl.Series(~finite), "is not a number" if none else "is not a finite number")


def declared_levels(dtype: pl.DataType) -> tuple[float, ...] | None:
    """The levels of ratings that a type declares, whatever the rows hold: those of a Boolean, or an Enum of numbers."""
    if dtype == pl.Boolean:
        return (0.0, 1.0)
    if not isinstance(dtype, pl.Enum):
        return None
    numbers = dtype.categories.cast(pl.Float64, strict=False)
    known = len(numbers) > 1 and not numbers.null_count() and bool(numbers.is_finite().all())
    return tuple(sorted(numbers.to_list())) if known else None


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


def _unrolled(raw: pl.DataFrame, place: RowName, broken: Broken) -> tuple[pl.DataFrame, RowName]:
    """One row per element of the lists in `item`; `time` is its position among the clicks of its user.

    Whoever has an empty list has one row without an item where that will be dropped, else none.
    """
    lists = raw.with_columns(pl.col("item").cast(pl.List(raw["item"].dtype.inner)))  # type: ignore[attr-defined]
    lists = lists.with_row_index("row")
    if broken == "refuse":
        lists = lists.filter(pl.col("item").list.len() > 0)
    flat = lists.explode("item")
    if lists["user"].n_unique() == lists.height:
        lengths = lists["item"].list.len().fill_null(0).clip(1).cast(pl.Int64).to_numpy()
        starts = np.repeat(np.cumsum(lengths, dtype=np.int64) - lengths, lengths)
        position = pl.Series("time", np.arange(flat.height) - starts)
    else:
        position = flat.select(pl.int_range(pl.len(), dtype=pl.Int64).over("user").alias("time"))["time"]
    rows = flat["row"]
    session = [name for name in ("session",) if name in flat.columns]
    return flat.select("user", "item", position, *session), lambda row: place(rows[row])


def _wrong(column: pl.Series, mask: pl.Series, place: RowName, rule: str) -> RecveilError:
    row = _first(mask)
    if column[row] is None or column[row] == "":
        return RecveilError(f"{place(row)}: {column.name} is empty")
    if column.name in IDS and (column[row] in NAN or column[row] != column[row]):
        remedy = f"declare {column.name}=text if it is a name"
        return RecveilError(f"{place(row)}: {column.name} is {column[row]}, a missing value; {remedy}")
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


def select(frame: pl.DataFrame, names: Sequence[str], roles: Roles) -> pl.DataFrame:
    """The columns that play a role, under the names of their roles."""
    parts = {role: [pl.col(names[n]) for n in where] for role, where in roles.columns.items()}
    return frame.select(**{role: p[0] if len(p) == 1 else date_text(p) for role, p in parts.items()})
