"""What an owner declares of values: the decimal sign, how dates are written, which numbers stand for none, which events
count. Each row by itself: no row changes how another one is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

MIXED = "s+ms"  # numbers of seconds, and of milliseconds since 1970
MILLISECONDS = 10**11  # a number beyond is one of these: in seconds it would be the year 5138
# How dates are written; of several that fit alike the first is proposed, and the owner is asked.
DATES = (
    "%d-%m-%Y", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%m %d, %Y", "%d %b %Y", "%b %d, %Y", "%d-%b-%Y",
    "%d %B %Y", "%B %d, %Y", "%Y%m%d", "%m-%d-%Y",
)  # fmt: skip
CLOCKS = ("", " %H:%M:%S", " %H:%M", "T%H:%M:%S", " %H:%M:%S%.f", " %I:%M:%S %p", " %I:%M %p", ", %H:%M")
WHOLE = ("%Y-%m-%d %H:%M:%S UTC", "%a %b %d %H:%M:%S %z %Y", "%a, %d %b %Y %H:%M:%S %z")  # with their clocks
NOBODY = ("NA", "N/A", "NULL", "null", "None", "\\N", "<NA>")  # what tools write for a missing person
MOST = 0.9  # of the values that must fit before a form is proposed
COMMA = re.compile(r"-?\d{1,3}(\.\d{3})*,\d+|-?\d+,\d+")


class Values(NamedTuple):
    """The section [values] of a schema."""

    decimal: str = ""
    time_format: str = ""
    missing: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    nobody: tuple[str, ...] = ()  # people who are none, and would be many
    tolerate: str = ""  # the share of rows that may be none, where it is more than usual


AS_THEY_ARE = Values()


def as_declared(frame: pl.DataFrame, values: Values) -> tuple[pl.DataFrame, pl.Series | None]:
    """Columns as they are declared to be read, and which rows are not wanted: nobody's, unrated, or other events."""
    unwanted = None
    for role in ("rating", "count"):
        if values.decimal == "," and role in frame.columns and frame.schema[role] == pl.String:
            plain = pl.col(role).str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
            frame = frame.with_columns(plain)
    if values.missing and "rating" in frame.columns:
        unwanted = _is_missing(frame["rating"], values.missing)
    if values.events and "event" in frame.columns:
        other = ~frame["event"].cast(pl.String).str.strip_chars().is_in(list(values.events)).fill_null(False)
        unwanted = other if unwanted is None else unwanted | other
    if values.nobody and "user" in frame.columns:
        lost = frame["user"].cast(pl.String).is_in(list(values.nobody)).fill_null(False)
        unwanted = lost if unwanted is None else unwanted | lost
    if values.time_format and "time" in frame.columns:
        frame = frame.with_columns(_times(frame["time"], values.time_format))
    return frame.drop("count", "event", strict=False), unwanted


def _is_missing(column: pl.Series, missing: Sequence[str]) -> pl.Series:
    text = column.cast(pl.String).str.strip_chars()
    numbers = pl.Series(missing).cast(pl.Float64, strict=False).drop_nulls()
    found = text.cast(pl.Float64, strict=False).is_in(numbers.to_list()) | text.is_in(list(missing))
    return found.fill_null("" in missing)


def _times(column: pl.Series, form: str) -> pl.Series:
    if form == MIXED:
        numbers = column.cast(pl.Int64, strict=False)
        scaled = numbers.zip_with(numbers.abs() >= MILLISECONDS, numbers * 1000)
        return scaled if column.dtype != pl.String else scaled.cast(pl.String).zip_with(numbers.is_not_null(), column)
    if column.dtype != pl.String:
        column = column.cast(pl.String)
    text = column.str.strip_chars()
    moments = text.str.to_datetime(form, strict=False, time_unit="us", exact=True)
    if moments.dtype == pl.Datetime("us", "UTC"):
        moments = moments.dt.replace_time_zone(None)
    told = moments.dt.to_string("%Y-%m-%d %H:%M:%S%.f")
    return told.zip_with(moments.is_not_null() | (text == "").fill_null(True), "no date: " + text)


def date_forms(texts: Sequence[str]) -> list[str]:
    """The forms that most of these dates fit, the first the one to propose; none for numbers and dates of ISO."""
    known = pl.Series([text.strip() for text in texts if text and text.strip()], dtype=pl.String)
    if (
        not len(known)
        or _share(known, "%Y-%m-%d") >= MOST
        or known.cast(pl.Float64, strict=False).count() > len(known) / 2
    ):
        return []
    if whole := [form for form in WHOLE if _share(known, form) >= MOST]:
        return whole
    if known.str.contains(r"^\d{4}-\d{2}-\d{2}[T ]").mean() >= MOST:  # type: ignore[operator]
        return []
    return [date + clock for clock in CLOCKS for date in DATES if _share(known, date + clock) >= MOST]


def _share(texts: pl.Series, form: str) -> float:
    try:
        return float(texts.str.to_datetime(form, strict=False, exact=True).count() / len(texts))
    except pl.exceptions.PolarsError:
        return 0.0


def has_decimal_comma(texts: Sequence[str]) -> bool:
    """Whether numbers among these are written with a comma, and none with a point alone."""
    odd = [text for text in texts if text and not text.strip().lstrip("-").isdecimal()]
    return bool(odd) and sum(bool(COMMA.fullmatch(text.strip())) for text in odd) >= MOST * len(odd)


def is_mixed(texts: Sequence[str]) -> bool:
    """Whether seconds and milliseconds since 1970 stand side by side, each in more than one place in twenty."""
    numbers = [int(text) for text in texts if text and text.strip().isdecimal()]
    late = sum(MILLISECONDS <= number < MILLISECONDS * 10**3 for number in numbers)
    early = sum(10**8 <= number < MILLISECONDS for number in numbers)
    return bool(numbers) and min(late, early) > len(numbers) / 20 and late + early >= MOST * len(numbers)
