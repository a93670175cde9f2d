"""read(): a file of any known format into Interactions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.formats.checking import Broken, Note, Raw, Types, interactions, select
from recveil.formats.duplicates import Keep, deduplicate
from recveil.formats.itemsets import read_itemsets, read_lists
from recveil.formats.json_lines import read_jsonl
from recveil.formats.roles import Names, assign
from recveil.formats.schema import Schema, check_alone
from recveil.formats.sources import DataFile, find, first_line, one_line
from recveil.formats.text import read_text


def read(
    path: str | os.PathLike[str],
    columns: Mapping[str, str] | None = None,
    duplicates: Keep = "last",
    types: Types | None = None,
    broken: Broken = "refuse",
    note: Note = lambda line: None,  # noqa: ARG005
    schema: Schema | None = None,
) -> Interactions:
    """Interactions from a file.

    `columns` maps roles (user, item, rating, time, tag) to column names; the obvious names need no mapping. A column
    of lists gives each element as a click of that row's user or session, its position as the time; other columns
    are then ignored. `duplicates`: see `deduplicate`. Dates become seconds since 1970. `types` declares ids to be "int"
    or "text", where the file does not: csv and its like and jsonl do not, parquet does. `broken`: whether a row that is
    no interaction is refused by its line, or dropped, whereupon an empty file is one of no rows, what columns there are
    is read off no row, and `note` is told how many were. `schema` declares columns and types in their place, and how
    the file is written.
    """
    check_alone(schema, columns, types)
    source = find(path, empty=broken == "drop", form=schema)
    how = {
        "parquet": _read_parquet,
        "jsonl": read_jsonl,
        "json": read_jsonl,
        "lists": read_lists,
        "itemsets": read_itemsets,
    }.get(source.kind, read_text)
    wanted = schema.columns if schema else columns
    with one_line(source.name):
        raw = how(source, wanted, broken, schema)
        data = interactions(raw, source.name, schema.types if schema else types, broken, note)
        if schema is not None and schema.levels is not None:
            data = replace(data, levels=schema.levels)
    try:
        return deduplicate(data, duplicates)
    except RecveilError as fault:
        raise RecveilError(f"{source.name}: {fault}") from None


def _read_parquet(
    source: DataFile,
    mapping: Mapping[str, Names] | None,
    broken: Broken,  # noqa: ARG001
    schema: Schema | None,
) -> Raw:
    # Arrow, because a damaged file can abort the process in polars; one thread, because it can in Arrow's pool.
    try:
        with source.open() as stream, pq.ParquetFile(stream, pre_buffer=False) as file:
            names = list(file.schema_arrow.names)
            roles = assign(names, mapping, source.name, closed=schema is not None)
            wanted = [names[n] for where in roles.columns.values() for n in where]
            table = file.read(columns=wanted, use_threads=False).select(wanted).replace_schema_metadata()
            table.validate(full=True)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as fault:
        raise RecveilError(f"{source.name}: not a sound parquet file: {first_line(fault)}") from None
    frame = select(pl.DataFrame(table), names, roles)
    check_lists(schema, frame, source.name)
    return Raw(frame, lambda row: f"{source.name}, row {row + 1}", roles.unit)


def check_lists(schema: Schema | None, frame: pl.DataFrame, source: str) -> None:
    """Raise where the type of the items is not what a schema says."""
    lists = isinstance(frame["item"].dtype, pl.List | pl.Array)
    if schema is not None and schema.lists != lists:
        holds = "lists" if lists else "no lists"
        raise RecveilError(f"{source}: the column of items holds {holds}, and the schema says lists = {schema.lists}")
