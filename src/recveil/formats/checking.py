"""Raw columns, whatever their type, into checked ids, ratings and times, each row by itself.

A row that is no interaction is refused by name, or left out; what stands in it never changes how another one is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from shlex import quote
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from recveil.data import NO_TIME, Interactions, from_ids
from recveil.errors import RecveilError
from recveil.formats.roles import TOLD, Roles
from recveil.formats.times import CheckedColumn, times
from recveil.formats.values import AS_THEY_ARE, Values, as_declared
from recveil.ids import narrow, ranked, whole

RowName = Callable[[int], str]  # where the reader's row n stands, in the words of the file: "ratings.csv, line 8"
Broken = Literal["refuse", "drop"]
Note = Callable[[str], None]  # told a line for the owner's own screen
Types = Mapping[str, Literal["int", "text"]]  # of ids, as their owner declares them

IDS = ("user", "item", "tag", "session")
NAN = ("NaN", "nan")  # what tools write for a missing value
TOLERATED, SHOWN = 0.05, 3  # the share of rows that may be none, and how many of them are shown
TEXTS = (pl.String, pl.Categorical, pl.Enum)
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
    lines: tuple[str, ...] = ()  # the first of those lines, where a row may be named


def interactions(
    raw: Raw,
    source: str,
    types: Types | None = None,
    broken: Broken = "refuse",
    note: Note = lambda line: None,  # noqa: ARG005
    values: Values = AS_THEY_ARE,
) -> Interactions:
    """Interactions from a frame whose columns carry the names of their roles; `values`: what is declared of them.

    A row without ids, or with a rating or a time that is none, is left out, and `note` is told how many, for the owner
    alone. To refuse: beyond a share of TOLERATED, by the first of them. To drop: never, and its user stays in the
    vocabulary, with nothing.
    """
    frame, place = raw.frame, raw.place
    if isinstance(frame["item"].dtype, pl.List | pl.Array):
        frame, place = _unrolled(frame, place, broken)
    if frame.height == 0 and broken == "refuse":
        raise RecveilError(f"{source}: no rows")
    frame, unwanted = as_declared(frame, values)
    declared = types or {}
    columns: dict[str, CheckedColumn] = {}
    for role in ("user", "item", "rating", "time", "tag", "session"):
        if role not in frame.columns:
            continue
        if role in IDS:
            columns[role] = ids(frame[role], source, declared.get(role), role in raw.untyped)
        else:
            columns[role] = (ratings if role == "rating" else times)(frame[role], source)
    masks = {role: c.broken for role, c in columns.items() if c.broken is not None}
    if unwanted is not None:
        masks = {role: mask & ~unwanted for role, mask in masks.items()}
        note(f"{int(unwanted.sum() or 0):,} rows left out declared to be nobody's, no ratings, or other events")
    faulty = {role: mask for role, mask in masks.items() if mask.any()}
    if broken == "refuse":
        _tell(raw, source, frame, place, faulty, columns, note, float(values.tolerate or TOLERATED))
    else:
        _count(raw, faulty, note)
    checked = {role: c.values for role, c in columns.items()}
    people = checked["user"]
    if faulty or unwanted is not None:
        bad = [mask.to_numpy() for mask in (*faulty.values(), *([] if unwanted is None else [unwanted]))]
        good = ~np.any(bad, axis=0)
        people = people.drop_nulls()
        keep = pl.Series(good)
        checked = {role: v.filter(keep) if role in IDS else v[good] for role, v in checked.items()}
    made = from_ids(
        checked["user"], checked["item"], checked.get("rating"), checked.get("time"), checked.get("tag"), raw.unit,
        checked.get("session"),
    )  # fmt: skip
    if broken == "drop" and (faulty or unwanted is not None):
        made = made.over_users(ranked(people.unique()))
    untyped = raw.untyped & set(frame.columns) - declared.keys() - {"session"}  # sessions are never published
    vocabularies: dict[str, Any] = {f"{role}s": narrow(getattr(made, f"{role}s")) for role in untyped}  # same order
    levels = declared_levels(frame["rating"].dtype) if "rating" in frame.columns else None
    return replace(made, untyped=untyped, levels=levels, **vocabularies)


def _count(raw: Raw, faulty: Mapping[str, pl.Series], note: Note) -> None:
    """How many are left out, and no word of which."""
    if raw.lost:
        other = "" if len(raw.frame) else ", and there are no others: is the file written as declared?"
        are = "are no rows" if raw.lost > 1 else "is no row"
        note(f"{raw.lost:,} line{'s' * (raw.lost != 1)} left out that {are}{other}")
    if faulty:
        every = int(pl.DataFrame(list(faulty.values())).max_horizontal().sum())
        note(left_out(every, {role: int(mask.sum() or 0) for role, mask in faulty.items()}))


def _tell(
    raw: Raw,
    source: str,
    frame: pl.DataFrame,
    place: RowName,
    faulty: Mapping[str, pl.Series],
    columns: Mapping[str, CheckedColumn],
    note: Note,
    tolerated: float,
) -> None:
    """The first rows that are none; raise by the first of them where they are more than a share that is tolerated."""
    rows = sorted({int(row) for mask in faulty.values() for row in mask.arg_true()})
    bad, every = len(rows) + raw.lost, frame.height + raw.lost
    if not bad:
        return

    def words(row: int) -> str:
        role = next(role for role, mask in faulty.items() if mask[row])
        return _wrong(frame[role], row, place, columns[role].rule)

    if bad > tolerated * every:
        first = [role for role, mask in faulty.items() if mask.any()]
        blamed = int(faulty[first[0]].arg_true()[0]) if first else -1
        more = f"; {bad:,} of {every:,} rows are none, and up to {tolerated:.0%} would be left out" if bad > 1 else ""
        if 1 < bad < every:  # of a file all of whose rows are none, nothing would be left
            share = ceil(100 * bad / every) / 100
            more += f"; recveil inspect {quote(source)} --tolerate {share:g} leaves these out as well"
        raise RecveilError((words(blamed) if first else raw.lines[0]) + more)
    shown = [*raw.lines, *map(words, rows[:SHOWN])][:SHOWN]
    note(f"{bad:,} of {every:,} rows left out that are none: " + "; ".join(shown) + "; ..." * (bad > len(shown)))


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
        remedy = f"; polars makes columns of it: frame.unnest({column.name!r})" * isinstance(column.dtype, pl.Struct)
        kind = type(column.dtype).__name__
        raise RecveilError(f"{source}: {column.name} holds {kind}; ids are integers or text{remedy}")
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


def as_text(column: pl.Series, role: str) -> pl.Series:
    """Each value of a column as a text file would have it, null where it cannot play this role."""
    if isinstance(column.dtype, pl.List):
        return column.list.eval(pl.element().map_batches(lambda one: as_text(one, role), return_dtype=pl.String))
    if column.dtype in (*TEXTS, pl.Null) or role in TOLD:
        return column.cast(pl.String, strict=False)
    try:
        checked = ids(column, "") if role in IDS else ratings(column, "") if role == "rating" else times(column, "")
    except RecveilError:  # no id, number or time has such a type
        return pl.Series(column.name, [None] * len(column), dtype=pl.String)
    values = pl.Series(column.name, checked.values)
    unknown = values == NO_TIME if role == "time" and values.dtype.is_integer() else values.is_null()
    return values.cast(pl.String).zip_with(~unknown, pl.Series([None], dtype=pl.String))


def _unrolled(raw: pl.DataFrame, place: RowName, broken: Broken) -> tuple[pl.DataFrame, RowName]:
    """One row per element of the lists in `item`; `time` is its position among the clicks of its user.

    Whoever has an empty list has one row without an item where that will be dropped, else none.
    """
    lists = raw.with_columns(pl.col("item").cast(pl.List(raw["item"].dtype.inner)))  # type: ignore[attr-defined]
    lists = lists.with_row_index("row")
    some = pl.col("item").list.len() > 0
    if broken == "refuse":
        lists = lists.filter(some)
    flat = lists.with_columns(pl.when(some).then("item")).explode("item")  # of nothing, not of an empty list, is a row
    if lists["user"].n_unique() == lists.height:
        lengths = lists["item"].list.len().fill_null(0).clip(1).cast(pl.Int64).to_numpy()
        starts = np.repeat(np.cumsum(lengths, dtype=np.int64) - lengths, lengths)
        position = pl.Series("time", np.arange(flat.height) - starts)
    else:
        position = flat.select(pl.int_range(pl.len(), dtype=pl.Int64).over("user").alias("time"))["time"]
    rows = flat["row"]
    session = [name for name in ("session",) if name in flat.columns]
    return flat.select("user", "item", position, *session), lambda row: place(rows[row])


def _wrong(column: pl.Series, row: int, place: RowName, rule: str) -> str:
    if column[row] is None or column[row] == "":
        return f"{place(row)}: {column.name} is empty"
    if column.name in IDS and (column[row] in NAN or column[row] != column[row]):
        remedy = f"declare {column.name}=text if it is a name"
        return f"{place(row)}: {column.name} is {column[row]}, a missing value; {remedy}"
    return f"{place(row)}: {column.name} {show(column[row])} {rule}"


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
