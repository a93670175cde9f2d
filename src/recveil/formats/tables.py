"""Tables whose columns have types: what a column holds is declared there, whatever the rows say.

Of a folder with names such as day=2024-05-01, the parts have those columns too, as text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

from recveil.errors import RecveilError
from recveil.formats import databases, matrices
from recveil.formats.archives import parted
from recveil.formats.checking import IDS, TEXTS, Broken, Raw, as_text, select
from recveil.formats.letters import sound
from recveil.formats.roles import Names, Roles, assign
from recveil.formats.schema import Schema
from recveil.formats.sources import UNTYPED, DataFile, first_line, kind_of

Reader = Callable[[DataFile, Sequence[str] | None, int | None], pa.Table]  # the columns, and how many rows at most


def read_typed(
    source: DataFile,
    mapping: Mapping[str, Names] | None,
    broken: Broken,
    schema: Schema | None,
) -> Raw:
    """The columns that play a role, under the names of their roles; of all parts, which have the same columns."""
    parts = source.parts or (source,)
    names = look(source, 0)[0]
    roles = assign(names, mapping, source.name, closed=schema is not None)
    wanted = [names[n] for where in roles.columns.values() for n in where]
    tables = [_table(source, part, wanted) for part in parts]
    told_by_rows: frozenset[str] = frozenset()
    if broken == "drop":
        tables = [matrices.with_everyone(table) for table in tables]
        tables, told_by_rows = _by_themselves(tables, names, roles)
    try:
        table = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as fault:
        raise RecveilError(f"{source.name}: the columns of its parts differ: {first_line(fault)}") from None
    frame = select(pl.DataFrame(table), names, roles)
    check_lists(schema, frame, source.name)

    def place(row: int) -> str:
        for part, rows in zip(parts, tables, strict=True):
            if row < rows.num_rows:
                return f"{part.name}, row {row + 1}"
            row -= rows.num_rows
        return source.name

    return Raw(frame, place, roles.unit, frozenset(IDS) if source.kind in UNTYPED else told_by_rows)


def _by_themselves(tables: list[pa.Table], names: Sequence[str], roles: Roles) -> tuple[list[pa.Table], frozenset[str]]:
    """Columns whose types differ from part to part as text, and their roles: pandas makes the types of a part of what
    stands in its rows, and one of them would refuse all others, or turn their ids into fractions.
    """
    mixed: dict[str, str] = {}
    untyped = set()
    for role, where in roles.columns.items():
        for name in (names[n] for n in where):
            found = [pl.Series(table[name][:0]).dtype for table in tables if name in table.column_names]
            kinds = {kind for kind in found if kind != pl.Null}
            if len(kinds) > 1 and len({kind.is_nested() for kind in kinds}) == 1:
                mixed[name] = role
                untyped |= {role} & set(IDS) if any(kind not in TEXTS for kind in kinds) else set()
    parts = []
    for table in tables:
        for name in (name for name in mixed if name in table.column_names):
            column = as_text(pl.Series(name, table[name]), mixed[name])
            table = table.set_column(table.column_names.index(name), name, column.to_arrow())
        parts.append(table)
    return parts, frozenset(untyped)


def look(source: DataFile, rows: int) -> tuple[list[str], list[list[Any]]]:
    """The names of the columns, and the first rows."""
    first = _table(source, (source.parts or (source,))[0], None, rows)
    return first.column_names, [list(row) for row in zip(*(c.to_pylist() for c in first.columns), strict=True)]


def _table(source: DataFile, part: DataFile, wanted: Sequence[str] | None, rows: int | None = None) -> pa.Table:
    """Of one part the wanted columns, or all; those that its path names among them."""
    keys = _keys(part.name) if source.parts else {}
    own = None if wanted is None else [name for name in wanted if name not in keys]
    try:
        table = READERS[source.kind](part, own, rows)
        for key, value in keys.items():
            if key not in table.column_names and (wanted is None or key in wanted):
                table = table.append_column(key, pa.repeat(pa.scalar(value, pa.string()), table.num_rows))
        return table if wanted is None else table.select(list(wanted))
    except (OSError, pa.ArrowException, UnicodeDecodeError) as fault:
        if (told := kind_of(part.name)) not in ("", source.kind):
            raise RecveilError(f"{part.name}: the schema says format = {source.kind!r}, and this is {told}") from None
        raise RecveilError(f"{part.name}: not a sound {source.kind} file: {first_line(fault)}") from None
    except KeyError:
        lacks = next(name for name in wanted or () if name not in table.column_names)
        raise RecveilError(f"{part.name} has no column {lacks!r}; parts of a log have the same") from None


def _keys(name: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in Path(name).parts[:-1])
    return {key: value for key, equals, value in pairs if key and equals}


def _parquet(part: DataFile, columns: Sequence[str] | None, rows: int | None) -> pa.Table:
    # Arrow, because a damaged file can abort the process in polars; one thread, because it can in Arrow's pool.
    with part.open() as stream, pq.ParquetFile(stream, pre_buffer=False) as file:
        if rows is None:
            here = None if columns is None else [name for name in columns if name in file.schema_arrow.names]
            table = file.read(columns=here, use_threads=False)
        else:
            batches = file.iter_batches(rows, use_threads=False) if rows else iter(())
            table = pa.Table.from_batches(islice(batches, 1), file.schema_arrow)
    return sound(table.replace_schema_metadata())


def _arrow(part: DataFile, columns: Sequence[str] | None, rows: int | None) -> pa.Table:
    """Feather, or a file or stream of record batches."""
    with part.open() as stream:
        head = stream.read(6)
        stream.seek(0)
        if head == b"ARROW1":
            table = pa.ipc.open_file(stream).read_all()
        elif head.startswith(b"FEA1"):
            table = feather.read_table(stream)
        else:
            table = pa.ipc.open_stream(stream).read_all()
    table = sound(table.replace_schema_metadata())
    here = table.column_names if columns is None else [name for name in columns if name in table.column_names]
    return table.select(here).slice(0, rows)


def _xlsx(part: DataFile, columns: Sequence[str] | None, rows: int | None) -> pa.Table:
    """A sheet, the first or that which is named behind #; cells as text, since each has a type of its own."""
    fastexcel = databases.reader("fastexcel", "files")
    try:
        book = fastexcel.read_excel(part.read())
        sheet = parted(part.address)[1] or 0
        found = book.load_sheet(sheet, dtypes="string", n_rows=rows, use_columns=None)
        table = pl.DataFrame(found).to_arrow()
    except fastexcel.FastExcelError as fault:
        raise RecveilError(f"{part.name}: {first_line(fault)}") from None
    return table if columns is None else table.select([name for name in columns if name in table.column_names])


READERS: dict[str, Reader] = {
    "parquet": _parquet,
    "arrow": _arrow,
    "xlsx": _xlsx,
    "npz": matrices.read_npz,
    "mtx": matrices.read_mtx,
    "sqlite": databases.read_sqlite,
    "duckdb": databases.read_duckdb,
    "postgres": databases.read_postgres,
    "delta": databases.read_delta,
    "iceberg": databases.read_iceberg,
}


def check_lists(schema: Schema | None, frame: pl.DataFrame, source: str) -> None:
    """Raise where the type of the items is not what a schema says."""
    lists = isinstance(frame["item"].dtype, pl.List | pl.Array)
    if schema is not None and schema.lists != lists:
        holds = "lists" if lists else "no lists"
        raise RecveilError(f"{source}: the column of items holds {holds}, and the schema says lists = {schema.lists}")
