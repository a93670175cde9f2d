"""Delimited text: csv, tsv, .inter, HetRec .dat, MovieLens u.data and ratings.dat."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from recveil.errors import RecveilError
from recveil.formats.checking import Broken, Raw, date_text, show
from recveil.formats.lines import fields_by_line, stand_alone
from recveil.formats.roles import Role, Roles, assign
from recveil.formats.sources import LIBRARIES, DataFile, first_line

MOVIELENS = ("user", "item", "rating", "timestamp")  # the columns of u.data and ratings.dat, which have no header
IDS: tuple[Role, ...] = ("user", "item", "tag", "session")
SEPARATORS = ",\t;|"
DOUBLE_COLON = "::"
BLOCK = 1 << 17  # bytes that a processor keeps at hand
UNIT = "\x1f"  # polars wants a separator of one byte: ASCII's own stands for "::"


@dataclass(frozen=True)
class Layout:
    names: tuple[str, ...]
    separator: str
    quotes: bool
    skip: int  # lines before the first row

    def reader(self, lines: Iterator[str]) -> Any:
        """Python's csv reader; of fields of any length, as others read them."""
        csv.field_size_limit(2**31 - 1)
        return csv.reader(
            lines,
            delimiter=self.separator,
            quoting=csv.QUOTE_MINIMAL if self.quotes else csv.QUOTE_NONE,
            strict=True,
        )


def read_text(source: DataFile, mapping: Mapping[str, str] | None, broken: Broken) -> Raw:
    """The columns that play a role, under the names of their roles; and where each row stands."""
    source, layout = _recognise(source, broken)
    roles = assign(layout.names, mapping, source.name)
    if broken == "drop":
        return Raw(_leniently(source, layout, roles), lambda row: f"row {row + 1}", roles.unit, frozenset(IDS))
    try:
        first = next(_records(source, layout), None)
        if first is None:
            raise RecveilError(f"{source.name}: no rows, only a header")
        frame = _columns(source, layout, roles, first[1])
    except (pl.exceptions.PolarsError, csv.Error) as fault:
        raise _blame(source, layout, fault) from None

    def place(row: int) -> str:
        try:
            return f"{source.name}, line {next(islice(_records(source, layout), row, None))[0]}"
        except (csv.Error, RecveilError, StopIteration):
            return f"{source.name}, row {row + 1}"

    return Raw(frame, place, roles.unit, frozenset(IDS))


def _columns(source: DataFile, layout: Layout, roles: Roles, first: list[str]) -> pl.DataFrame:
    kinds = _kinds(roles, first)
    frame = _typed(source, layout, roles, kinds)
    return _plain(source, layout, roles, kinds) if frame is None else frame


def _leniently(source: DataFile, layout: Layout, roles: Roles) -> pl.DataFrame:
    """Each line by itself, none refused: the quick way gives the same where it succeeds on lines that stand alone."""
    user, item = (roles.columns[role][0] for role in ("user", "item"))
    if stand_alone(source, layout.separator, layout.quotes, max(user, item)):
        try:
            first = next(_records(source, layout), None)
            return _columns(source, layout, roles, first[1]) if first else _empty(roles)
        except (RecveilError, csv.Error, *LIBRARIES):
            pass  # a line of it is no row
    rows = fields_by_line(source, layout.reader, layout.separator, layout.skip, (len(layout.names), user, item))
    return rows.select(**{role: _expression(positions) for role, positions in roles.columns.items()})


def _empty(roles: Roles) -> pl.DataFrame:
    return pl.DataFrame(schema=dict.fromkeys(roles.columns, pl.String))


def records(source: DataFile) -> tuple[tuple[str, ...], Iterator[list[str]]]:
    """The names of the columns, and the rows as text."""
    source, layout = _recognise(source)
    return layout.names, (fields for _, fields in _records(source, layout))


def has_broken_lines(source: DataFile) -> bool:
    """Whether a field has several lines, or quotes stand out of place: a release with a proof leaves such lines out."""
    source, layout = _recognise(source)
    return not stand_alone(source, layout.separator, layout.quotes, 0)


# --- the shape of the file ------------------------------------------------------------------------------------


def _recognise(source: DataFile, broken: Broken = "refuse") -> tuple[DataFile, Layout]:
    line = next((line.strip("\r\n") for line in source.lines(broken == "drop") if line.strip()), None)
    if line is None and source.kind == "data" and broken == "drop":
        return source, Layout(MOVIELENS, "\t", quotes=False, skip=0)
    if line is None:
        raise RecveilError(f"{source.name}: the file is empty")
    if source.kind == "dat" and DOUBLE_COLON in line:
        source = replace(source, content=source.read().replace(DOUBLE_COLON.encode(), UNIT.encode()))
        return source, _movielens(source, line.split(DOUBLE_COLON), UNIT, broken)
    fields = line.split("\t")
    if source.kind == "data" or (source.kind == "dat" and all(_number(field) for field in fields)):
        return source, _movielens(source, fields, "\t", broken)
    quotes = source.kind != "dat"
    separator = _separator(source, line, "," if source.kind == "csv" else "\t")
    layout = Layout((), separator, quotes, 0)
    reader = layout.reader(source.lines(broken == "drop"))
    try:
        names = next(fields for fields in reader if fields)
    except csv.Error as fault:
        raise RecveilError(f"{source.name}, line {reader.line_num}: {first_line(fault)}") from None
    if all(_number(name) for name in names):
        header = "a first line such as user,item,rating,timestamp is needed"
        raise RecveilError(f"{source.name}, line {reader.line_num}: numbers where column names belong; {header}")
    if source.kind == "inter":
        names = [name.rpartition(":")[0] or name for name in names]
    return source, replace(layout, names=tuple(name.strip() for name in names), skip=reader.line_num)


def _movielens(source: DataFile, fields: list[str], separator: str, broken: Broken) -> Layout:
    if len(fields) != len(MOVIELENS) and broken == "refuse":
        shape = "user, item, rating and timestamp"
        raise RecveilError(f"{source.name}, line 1: {len(fields)} fields where {shape} belong: {show(fields[0])}")
    return Layout(MOVIELENS, separator, quotes=False, skip=0)


def _separator(source: DataFile, line: str, usual: str) -> str:
    if usual in line:
        return usual
    found = max(SEPARATORS, key=line.count)
    if found not in line:
        raise RecveilError(f"{source.name}: one column only, {show(line)}; fields are separated by , tab ; or |")
    return found


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# --- rows -----------------------------------------------------------------------------------------------------


def _typed(source: DataFile, layout: Layout, roles: Roles, kinds: Mapping[int, Any]) -> pl.DataFrame | None:
    """The fast way, right for nearly every file: types as the first row suggests. None where one does not hold."""
    ids = [role for role in IDS if role in roles.columns]
    whole = any(kinds[roles.columns[role][0]] == pl.Int64 for role in ids)
    with ThreadPoolExecutor(1) as pool:
        idle = pool.submit(_idle_signs, source, layout) if whole else None
        try:
            frame = _scan(source, layout, roles, kinds)
        except pl.exceptions.PolarsError:
            return None
        if any(frame[role].null_count() for role in ids) or (idle and idle.result()):
            return None
        return frame


def _idle_signs(source: DataFile, layout: Layout) -> bool:
    """Whether a later field starts with what an integer would lose: a blank, a quote, a +, the zeros of 007 or -0."""
    content = source.content
    text = np.asarray(np.memmap(source.path, np.uint8, "r")) if content is None else np.frombuffer(content, np.uint8)
    newline, separator, zero, nine = (ord(letter) for letter in ("\n", layout.separator, "0", "9"))
    if separator > zero:
        return True  # or at least not known: what follows wants a separator that comes before the digits
    for begin in range(0, len(text), BLOCK):
        here = text[begin + 1 : begin + 1 + BLOCK]
        before = text[begin : begin + len(here)]
        at = np.flatnonzero((before <= max(separator, newline)) & (here <= zero)) + begin
        before, one, two, three = (text[np.minimum(at + n, len(text) - 1)] for n in range(4))
        fine = (before != newline) & (before != separator)
        fine |= (one == newline) | (one == separator) | (one == ord("\r")) | (one == ord("."))
        fine |= (one == zero) & ((two < zero) | (two > nine))
        fine |= (one == ord("-")) & ((two != zero) | (three == ord(".")))
        if not fine.all():
            return True
    return False


def _plain(source: DataFile, layout: Layout, roles: Roles, kinds: Mapping[int, Any]) -> pl.DataFrame:
    """The careful way: ids as text."""
    ids = [roles.columns[role][0] for role in IDS if role in roles.columns]
    try:
        frame = _scan(source, layout, roles, {n: kind for n, kind in kinds.items() if n not in ids})
    except pl.exceptions.PolarsError:
        frame = _scan(source, layout, roles, {})
    if frame["user"].null_count():  # perhaps only blank lines
        reader = layout.reader(islice(source.lines(), layout.skip, None))
        frame = frame.filter(pl.Series([bool(fields) for fields in reader]))
    return frame


def _scan(source: DataFile, layout: Layout, roles: Roles, kinds: Mapping[int, Any]) -> pl.DataFrame:
    """The columns that play a role, under the names of their roles; text except for `kinds`."""
    rows = pl.scan_csv(
        source.path if source.content is None else BytesIO(source.content),
        has_header=False,
        skip_lines=layout.skip,
        schema={str(n): kinds.get(n, pl.String) for n in range(len(layout.names))},
        separator=layout.separator,
        quote_char='"' if layout.quotes else None,
        missing_columns="insert",
        glob=False,
    )
    return rows.select(**{role: _expression(positions) for role, positions in roles.columns.items()}).collect()


def _expression(positions: list[int]) -> pl.Expr:
    columns = [pl.col(str(n)) for n in positions]
    return columns[0] if len(columns) == 1 else date_text(columns)


def _kinds(roles: Roles, first: list[str]) -> dict[int, Any]:
    """The types of columns that their first fields suggest; a date in parts stays text."""
    kinds: dict[int, Any] = {}
    for role, (position, *more) in roles.columns.items():
        text = first[position] if position < len(first) and not more else ""
        digits = len(text) <= 20 and text.removeprefix("-").isdecimal()
        if role in IDS:
            kinds[position] = pl.Int64 if digits and str(int(text)) == text else pl.String
        elif _number(text):
            kinds[position] = pl.Int64 if digits and role == "time" else pl.Float64
    return kinds


def _records(source: DataFile, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """The rows as Python's csv module reads them, each with the number of its first line."""
    reader = layout.reader(islice(source.lines(), layout.skip, None))
    line = layout.skip + 1
    for fields in reader:
        if fields:
            yield line, fields
        line = layout.skip + reader.line_num + 1


def _blame(source: DataFile, layout: Layout, fault: Exception) -> RecveilError:
    """The first line that is no row of this table."""
    line = layout.skip
    try:
        for line, fields in _records(source, layout):
            if len(fields) > len(layout.names):
                counts = f"{len(fields)} fields where {len(layout.names)} belong"
                return RecveilError(f"{source.name}, line {line}: {counts}")
    except csv.Error as wrong:
        return RecveilError(f"{source.name}, after line {line}: {first_line(wrong)}")
    except RecveilError as wrong:
        return wrong
    return RecveilError(f"{source.name}: cannot be read: {first_line(fault)}")
