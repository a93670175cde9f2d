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
from recveil.formats.checking import Place, date_text, interactions
from recveil.formats.duplicates import Keep, deduplicate
from recveil.formats.itemsets import read_itemsets
from recveil.formats.roles import Roles, assign
from recveil.formats.sources import Source, find, first_line, one_line
from recveil.formats.text import read_text


def read(
    path: str | os.PathLike[str], columns: Mapping[str, str] | None = None, duplicates: Keep = "last"
) -> Interactions:
    """Interactions from a file.

    `columns` maps roles (user, item, rating, time, tag) to column names; the obvious names need no mapping. A column
    of lists gives each element as a click of that row's user or session, its position as the time; other columns
    are then ignored. `duplicates`: see `deduplicate`. Dates become seconds since 1970.
    """
    source = find(path)
    how = {"parquet": _read_parquet, "jsonl": _read_jsonl, "itemsets": read_itemsets}.get(source.kind, read_text)
    with one_line(source.name):
        raw, place, roles = how(source, columns)
        data = interactions(raw, place, source.name, roles.unit)
    try:
        return deduplicate(data, duplicates)
    except RecveilError as fault:
        raise RecveilError(f"{source.name}: {fault}") from None


def select(frame: pl.DataFrame, names: list[str], roles: Roles) -> pl.DataFrame:
    """The columns that play a role, under the names of their roles."""
    parts = {role: [pl.col(names[n]) for n in where] for role, where in roles.columns.items()}
    return frame.select(**{role: p[0] if len(p) == 1 else date_text(p) for role, p in parts.items()})


def _read_parquet(source: Source, mapping: Mapping[str, str] | None) -> tuple[pl.DataFrame, Place, Roles]:
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
    return select(frame, names, roles), lambda row: f"{source.name}, row {row + 1}", roles


def _read_jsonl(source: Source, mapping: Mapping[str, str] | None) -> tuple[pl.DataFrame, Place, Roles]:
    content = source.read().removeprefix(b"\xef\xbb\xbf")
    if not content.strip():
        raise RecveilError(f"{source.name}: the file is empty")
    try:
        frame = pl.read_ndjson(BytesIO(content), infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as fault:
        for line, text in _objects(source):
            if problem := _unlike_json(text):
                raise RecveilError(f"{source.name}, line {line}: {problem}") from None
        raise RecveilError(f"{source.name}: cannot be read: {first_line(fault)}") from None
    roles = assign(frame.columns, mapping, source.name)

    def place(row: int) -> str:
        return f"{source.name}, line {next(islice(_objects(source), row, None))[0]}"

    return select(frame, frame.columns, roles), place, roles


def _objects(source: Source) -> Iterator[tuple[int, str]]:
    return ((n, line) for n, line in enumerate(source.lines(), 1) if line.strip())


def _unlike_json(text: str) -> str:
    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    try:
        return "" if isinstance(json.loads(text.strip(), parse_constant=refuse), dict) else "not a JSON object"
    except json.JSONDecodeError as fault:
        return f"not a JSON object: {fault.msg} column {fault.colno}"
    except (ValueError, RecursionError) as fault:
        return f"not a JSON object: {first_line(fault)}"
