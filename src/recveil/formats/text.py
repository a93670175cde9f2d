"""Delimited text: csv, tsv, .inter, HetRec .dat, MovieLens u.data and ratings.dat."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from recveil.errors import RecveilError
from recveil.formats.checking import SHOWN, TOLERATED, Broken, Raw, date_text
from recveil.formats.layout import Layout, is_number, recognise, shape_of
from recveil.formats.lines import fields_by_line, stand_alone
from recveil.formats.roles import Names, Role, Roles
from recveil.formats.schema import Schema
from recveil.formats.sources import LIBRARIES, DataFile, first_line

IDS: tuple[Role, ...] = ("user", "item", "tag", "session")
LOOKED = 100_000  # lines that are looked at for quotes out of place
BLOCK = 1 << 17  # bytes that a processor keeps at hand


def read_text(source: DataFile, mapping: Mapping[str, Names] | None, broken: Broken, schema: Schema | None) -> Raw:
    """The columns that play a role, under the names of their roles; and where each row stands."""
    if schema is not None and schema.lists:
        raise RecveilError(f"{source.name}: the column of items holds no lists, and the schema says lists = True")
    source, layout, roles = shape_of(source, mapping, broken, schema)
    if broken == "drop":
        frame, lost = _leniently(source, layout, roles)
        return Raw(frame, lambda row: f"row {row + 1}", roles.unit, frozenset(IDS), lost)
    try:
        first = next(_records(source, layout), None)
        if first is None:
            raise RecveilError(f"{source.name}: no rows, only a header")
        frame = _columns(source, layout, roles, first[1])
    except (pl.exceptions.PolarsError, csv.Error) as fault:
        return _tolerantly(source, layout, roles, fault)

    def place(row: int) -> str:
        try:
            return source.at(next(islice(_records(source, layout), row, None))[0])
        except (csv.Error, RecveilError, StopIteration):
            return f"{source.name}, row {row + 1}"

    return Raw(frame, place, roles.unit, frozenset(IDS))


def _tolerantly(source: DataFile, layout: Layout, roles: Roles, fault: Exception) -> Raw:
    """Lines that are rows, where few are none; else raise by the first of those."""
    frame, lost = _by_line(source, layout, roles, strict=True)
    if not lost or len(lost) > TOLERATED * (frame.height + len(lost)):
        raise _blame(source, layout, fault) from None
    lines = tuple(f"{source.at(line)} is no row" for line in lost[:SHOWN])
    return Raw(frame, lambda row: f"{source.name}, row {row + 1}", roles.unit, frozenset(IDS), len(lost), lines)


def _by_line(source: DataFile, layout: Layout, roles: Roles, strict: bool) -> tuple[pl.DataFrame, list[int]]:
    user, item = (roles.columns[role][0] for role in ("user", "item"))
    where = (len(layout.names), user, item)
    rows, lost = fields_by_line(source, layout.reader, layout.separator, layout.skip, where, strict)
    return rows.select(**{role: _expression(positions) for role, positions in roles.columns.items()}), lost


def _columns(source: DataFile, layout: Layout, roles: Roles, first: list[str]) -> pl.DataFrame:
    kinds = _kinds(roles, first)
    frame = _typed(source, layout, roles, kinds)
    return _plain(source, layout, roles, kinds) if frame is None else frame


def _leniently(source: DataFile, layout: Layout, roles: Roles) -> tuple[pl.DataFrame, int]:
    """Each line by itself, none refused: the quick way gives the same where it succeeds on lines that stand alone."""
    user, item = (roles.columns[role][0] for role in ("user", "item"))
    if stand_alone(source, layout.separator, layout.quotes, max(user, item)):
        try:
            first = next(_records(source, layout), None)
            return _columns(source, layout, roles, first[1]) if first else _empty(roles), 0
        except (RecveilError, csv.Error, *LIBRARIES):
            pass  # a line of it is no row
    frame, lost = _by_line(source, layout, roles, strict=False)
    return frame, len(lost)


def _empty(roles: Roles) -> pl.DataFrame:
    return pl.DataFrame(schema=dict.fromkeys(roles.columns, pl.String))


def records(source: DataFile, schema: Any = None) -> tuple[Layout, Iterator[list[str]]]:
    """The layout of the file, and the rows as text, whatever letters stand in them."""
    source, layout = recognise(source, schema=schema)
    return layout, (fields for _, fields in _records(source, layout, lenient=True))


def has_broken_lines(source: DataFile, schema: Schema | None = None) -> bool:
    """Whether a field has several lines, or quotes stand out of place: a release with a proof leaves such lines out."""
    source, layout = recognise(source, schema=schema)
    if stand_alone(source, layout.separator, layout.quotes, 0):
        return False
    for line in islice(source.lines(lenient=True), layout.skip, layout.skip + LOOKED):
        try:
            next(layout.reader(iter([line])), None)
        except csv.Error:
            return True
    return False


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
        candidates = (before <= max(separator, newline)) & (here <= zero)
        candidates[:-1] &= (here[:-1] != zero) | (here[1:] >= zero)  # 0 and 0.5 are many, and lose nothing
        if not candidates.any():
            continue
        at = np.flatnonzero(candidates) + begin
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
        source.path if source.content is None else source.content,
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
        elif is_number(text):
            kinds[position] = pl.Int64 if digits and role == "time" else pl.Float64
    return kinds


def _records(source: DataFile, layout: Layout, lenient: bool = False) -> Iterator[tuple[int, list[str]]]:
    """The rows as Python's csv module reads them, each with the number of its first line."""
    reader = layout.reader(islice(source.lines(lenient), layout.skip, None))
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
                return RecveilError(f"{source.at(line)}: {counts}")
    except csv.Error as wrong:
        return RecveilError(f"{source.name}, after line {line}: {first_line(wrong)}")
    except RecveilError as wrong:
        return wrong
    return RecveilError(f"{source.name}: cannot be read: {first_line(fault)}")
