"""The shape of delimited text: its separator, its quotes, and whether the first line names the columns.

By a schema; else by the first line, which where rows are dropped may be nothing but a header.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from recveil.errors import RecveilError
from recveil.formats.checking import Broken, show
from recveil.formats.roles import Names, Roles, assign
from recveil.formats.schema import Schema, undeclared
from recveil.formats.sources import DataFile, first_line

MOVIELENS = ("user", "item", "rating", "timestamp")  # the columns of u.data and ratings.dat, which have no header
SEPARATORS = ",\t;|"
DOUBLE_COLON = "::"
UNIT = "\x1f"  # ASCII's own separator


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


def shape_of(
    source: DataFile, mapping: Mapping[str, Names] | None, broken: Broken, schema: Schema | None
) -> tuple[DataFile, Layout, Roles]:
    """What the columns are. Where rows are dropped, none is looked at: a .dat whose first line is no header asks."""
    if source.kind != "dat" or broken == "refuse" or schema is not None:
        source, layout = recognise(source, broken, schema)
        return source, layout, assign(layout.names, mapping, source.name, closed=schema is not None)
    try:
        source, layout = _headed(source, broken)
        return source, layout, assign(layout.names, mapping, source.name)
    except RecveilError:
        raise undeclared(source.name) from None


def recognise(source: DataFile, broken: Broken = "refuse", schema: Schema | None = None) -> tuple[DataFile, Layout]:
    if schema is not None and not schema.header:
        return _headless(source, schema.names, schema.separator or ("\t" if source.kind != "csv" else ","))
    if source.kind == "data" and broken == "drop":
        return _headless(source, MOVIELENS, "\t")
    if source.kind in ("data", "dat") and schema is None:
        line = _first_line(source, broken)
        separator = DOUBLE_COLON if source.kind == "dat" and DOUBLE_COLON in line else "\t"
        fields = line.split(separator)
        if source.kind == "data" or separator == DOUBLE_COLON or all(is_number(field) for field in fields):
            if len(fields) != len(MOVIELENS):
                shape = "user, item, rating and timestamp"
                wrong = f"{len(fields)} fields where {shape} belong: {show(fields[0])}"
                raise RecveilError(f"{source.at(1)}: {wrong}")
            return _headless(source, MOVIELENS, separator)
    return _headed(source, broken, schema.separator if schema else "")


def _headless(source: DataFile, names: tuple[str, ...], separator: str) -> tuple[DataFile, Layout]:
    """Rows from the first line on; none of them has a quote where fields are parted by tabs or by ::."""
    quotes = separator not in ("\t", DOUBLE_COLON)
    source, separator = _parted(source, separator)
    return source, Layout(names, separator, quotes, skip=0)


def _parted(source: DataFile, separator: str) -> tuple[DataFile, str]:
    """The file with a separator of one byte, which polars wants: ASCII's own stands for any other."""
    if len(separator.encode()) == 1:
        return source, separator
    return replace(source, content=source.read().replace(separator.encode(), UNIT.encode())), UNIT


def _headed(source: DataFile, broken: Broken, separator: str = "") -> tuple[DataFile, Layout]:
    line = _first_line(source, broken)
    source, separator = _parted(source, separator or _separator(source, line, "," if source.kind == "csv" else "\t"))
    layout = Layout((), separator, source.kind != "dat", 0)
    reader = layout.reader(source.lines(broken == "drop"))
    try:
        names = next(fields for fields in reader if fields)
    except csv.Error as fault:
        raise RecveilError(f"{source.at(reader.line_num)}: {first_line(fault)}") from None
    if all(is_number(name) for name in names):
        header = "a first line such as user,item,rating,timestamp is needed"
        raise RecveilError(f"{source.at(reader.line_num)}: numbers where column names belong; {header}")
    if source.kind == "inter":
        names = [name.rpartition(":")[0] or name for name in names]
    return source, replace(layout, names=tuple(name.strip() for name in names), skip=reader.line_num)


def _first_line(source: DataFile, broken: Broken) -> str:
    line = next((line.strip("\r\n") for line in source.lines(broken == "drop") if line.strip()), None)
    if line is None:
        raise RecveilError(f"{source.name}: the file is empty")
    return line


def _separator(source: DataFile, line: str, usual: str) -> str:
    if usual in line:
        return usual
    found = max(SEPARATORS, key=line.count)
    if found not in line:
        raise RecveilError(f"{source.name}: one column only, {show(line)}; fields are separated by , tab ; or |")
    return found


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
