"""read(): a file of any known format into Interactions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import islice
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.formats.checking import IDS, Broken, Raw, Types, date_text, interactions
from recveil.formats.duplicates import Keep, deduplicate
from recveil.formats.itemsets import read_itemsets
from recveil.formats.lines import objects_by_line
from recveil.formats.roles import Roles, assign
from recveil.formats.sources import DataFile, find, first_line, one_line
from recveil.formats.text import read_text


def read(
    path: str | os.PathLike[str],
    columns: Mapping[str, str] | None = None,
    duplicates: Keep = "last",
    types: Types | None = None,
    broken: Broken = "refuse",
) -> Interactions:
    """Interactions from a file.

    `columns` maps roles (user, item, rating, time, tag) to column names; the obvious names need no mapping. A column
    of lists gives each element as a click of that row's user or session, its position as the time; other columns
    are then ignored. `duplicates`: see `deduplicate`. Dates become seconds since 1970. `types` declares ids to be "int"
    or "text", where the file does not: csv and its like and jsonl do not, parquet does. `broken`: whether a row that is
    no interaction is refused by its line, or dropped, whereupon an empty file is one of no rows.
    """
    source = find(path, empty=broken == "drop")
    how = {"parquet": _read_parquet, "jsonl": _read_jsonl, "itemsets": read_itemsets}.get(source.kind, read_text)
    with one_line(source.name):
        data = interactions(how(source, columns, broken), source.name, types, broken)
    try:
        return deduplicate(data, duplicates)
    except RecveilError as fault:
        raise RecveilError(f"{source.name}: {fault}") from None


def select(frame: pl.DataFrame, names: list[str], roles: Roles) -> pl.DataFrame:
    """The columns that play a role, under the names of their roles."""
    parts = {role: [pl.col(names[n]) for n in where] for role, where in roles.columns.items()}
    return frame.select(**{role: p[0] if len(p) == 1 else date_text(p) for role, p in parts.items()})


def _read_parquet(source: DataFile, mapping: Mapping[str, str] | None, broken: Broken) -> Raw:  # noqa: ARG001
    # Arrow, because a damaged file can abort the process in polars; one thread, because it can in Arrow's pool.
    try:
        with source.open() as stream, pq.ParquetFile(stream, pre_buffer=False) as file:
            names = list(file.schema_arrow.names)
            roles = assign(names, mapping, source.name)
            wanted = [names[n] for where in roles.columns.values() for n in where]
            table = file.read(columns=wanted, use_threads=False).select(wanted).replace_schema_metadata()
            table.validate(full=True)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as fault:
        raise RecveilError(f"{source.name}: not a sound parquet file: {first_line(fault)}") from None
    frame = pl.DataFrame(table)
    return Raw(select(frame, names, roles), lambda row: f"{source.name}, row {row + 1}", roles.unit)


def _read_jsonl(source: DataFile, mapping: Mapping[str, str] | None, broken: Broken) -> Raw:
    """Every value by its text: none changes how another is read. The keys of the first object are the header."""
    content = source.read().removeprefix(b"\xef\xbb\xbf")
    lenient = broken == "drop"
    first = next((text for _, text in _objects(source, lenient) if not (lenient and _unlike_json(text))), None)
    if first is None and not (lenient and mapping):
        raise RecveilError(f"{source.name}: the file is empty")
    if first is None:
        header: dict[str, Any] = dict.fromkeys((mapping or {}).values(), "")
    elif problem := _unlike_json(first):
        raise RecveilError(f"{source.name}, line {next(_objects(source))[0]}: {problem}")
    else:
        header = json.loads(first)
    roles = assign(list(header), mapping, source.name)
    wanted = {list(header)[n]: header[list(header)[n]] for where in roles.columns.values() for n in where}
    for name, value in wanted.items():
        if any(isinstance(part, list | dict) for part in (value if isinstance(value, list) else [value])):
            kind = "List" if isinstance(value, list) else "Struct"
            raise RecveilError(f"{source.name}: {name} holds {kind}; ids are integers or text")
    schema = {name: pl.List(pl.String) if isinstance(value, list) else pl.String for name, value in wanted.items()}

    def parse(text: bytes) -> pl.DataFrame:
        text = b"\n" + text  # or a line that begins like a packed file would be unpacked
        return pl.read_ndjson(BytesIO(text), schema=schema) if text.strip() else pl.DataFrame(schema=schema)

    try:
        frame = objects_by_line(content.split(b"\n"), parse) if lenient and first else parse(content)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as fault:
        for line, text in _objects(source):
            if problem := _unlike_json(text):
                raise RecveilError(f"{source.name}, line {line}: {problem}") from None
        raise RecveilError(f"{source.name}: cannot be read: {first_line(fault)}") from None

    def place(row: int) -> str:
        return f"{source.name}, line {next(islice(_objects(source), row, None))[0]}"

    return Raw(select(frame, list(header), roles), place, roles.unit, frozenset(IDS))


def _objects(source: DataFile, lenient: bool = False) -> Iterator[tuple[int, str]]:
    return ((n, line) for n, line in enumerate(source.lines(lenient), 1) if line.strip())


def _unlike_json(text: str) -> str:
    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    try:
        return "" if isinstance(json.loads(text.strip(), parse_constant=refuse), dict) else "not a JSON object"
    except json.JSONDecodeError as fault:
        return f"not a JSON object: {fault.msg} column {fault.colno}"
    except (ValueError, RecursionError) as fault:
        return f"not a JSON object: {first_line(fault)}"
