"""Tables of databases: SQLite, DuckDB, PostgreSQL; and the lake's, Delta and Iceberg.

`log.sqlite#events` names a table, `log.sqlite#SELECT ...` a query. SQLite's columns have no types of their own and
PostgreSQL's are sent as text: both are read as text, each value by itself.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from importlib import import_module
from io import BytesIO
from typing import Any
from warnings import catch_warnings, simplefilter

import polars as pl
import pyarrow as pa

from recveil.errors import RecveilError
from recveil.formats.archives import parted
from recveil.formats.sources import DataFile, first_line

BATCH = 100_000
QUERY = re.compile(r"\s*(select|with)\s", re.IGNORECASE)
TABLES_OF = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'",
    "duckdb": "SELECT table_name FROM information_schema.tables",
    "postgres": "SELECT table_name FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', "
    "'information_schema')",
}


def read_sqlite(part: DataFile, columns: Sequence[str] | None, rows: int | None) -> pa.Table:
    """Text, whatever was stored: what SQLite declares of a column binds no row."""
    try:
        with closing(sqlite3.connect(f"{part.path.as_uri()}?mode=ro", uri=True)) as base:
            base.text_factory = lambda raw: raw.decode("utf-8", "replace")
            source = _source(part, [str(name) for (name,) in base.execute(TABLES_OF["sqlite"])])
            names = [about[0] for about in base.execute(f"SELECT * FROM {source} LIMIT 0").description]
            wanted = [name for name in names if columns is None or name in columns]
            texts = ", ".join(f"CAST({_quoted(name)} AS TEXT)" for name in wanted)
            limit = "" if rows is None else f" LIMIT {int(rows)}"
            cursor = base.execute(f"SELECT {texts} FROM {source}{limit}")
            kinds = dict.fromkeys(wanted, pl.String)
            frames = [pl.DataFrame(schema=kinds)]
            while batch := cursor.fetchmany(BATCH):
                frames.append(pl.DataFrame(batch, schema=kinds, orient="row"))
    except sqlite3.Error as fault:
        raise RecveilError(f"{part.name}: {first_line(fault)}") from None
    return pl.concat(frames).to_arrow()


def read_duckdb(part: DataFile, columns: Sequence[str] | None, rows: int | None) -> pa.Table:
    """The types that the table declares."""
    duckdb = reader("duckdb", "duckdb")
    try:
        with duckdb.connect(str(part.path), read_only=True) as base:
            source = _source(part, [name for (name,) in base.execute(TABLES_OF["duckdb"]).fetchall()])
            wanted = "*" if columns is None else ", ".join(map(_quoted, columns)) or "1"
            limit = "" if rows is None else f" LIMIT {int(rows)}"
            return base.sql(f"SELECT {wanted} FROM {source}{limit}").to_arrow_table()
    except duckdb.Error as fault:
        raise RecveilError(f"{part.name}: {first_line(fault)}") from None


def read_postgres(part: DataFile, columns: Sequence[str] | None, rows: int | None) -> pa.Table:
    """Text, as the server sends it by COPY."""
    psycopg = reader("psycopg", "postgres")
    try:
        with psycopg.connect(parted(part.address)[0], connect_timeout=10) as base, base.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            tables = [name for (name,) in cursor.execute(TABLES_OF["postgres"]).fetchall()]
            source = _source(part, tables)
            wanted = "*" if columns is None else ", ".join(map(_quoted, columns)) or "1"
            limit = "" if rows is None else f" LIMIT {int(rows)}"
            query = f"COPY (SELECT {wanted} FROM {source}{limit}) TO STDOUT (FORMAT csv, HEADER)"
            with cursor.copy(query) as sent:
                text = b"".join(bytes(block) for block in sent)
    except psycopg.Error as fault:
        raise RecveilError(f"{part.name}: {first_line(fault)}") from None
    return as_sent(text)


def as_sent(text: bytes) -> pa.Table:
    """A table in csv; U+FFFD stands for what is no UTF-8, which a server may hold whose encoding is another."""
    return pl.read_csv(BytesIO(text), infer_schema=False, encoding="utf8-lossy").to_arrow()


def read_delta(part: DataFile, columns: Sequence[str] | None, rows: int | None) -> pa.Table:
    reader("deltalake", "lake")
    return _lazily(part, pl.scan_delta, columns, rows)


def read_iceberg(part: DataFile, columns: Sequence[str] | None, rows: int | None) -> pa.Table:
    reader("pyiceberg", "lake")
    newest = sorted((part.path / "metadata").glob("*.metadata.json"), key=lambda file: file.stat().st_mtime_ns)
    if not newest:
        raise RecveilError(f"{part.name}: an Iceberg table without metadata")
    return _lazily(part, lambda _: pl.scan_iceberg(newest[-1].as_uri()), columns, rows)


def _lazily(part: DataFile, scan: Any, columns: Sequence[str] | None, rows: int | None) -> pa.Table:
    try:
        with catch_warnings():
            simplefilter("ignore")  # of how these libraries divide their work
            lazy = scan(str(part.path))
            wanted = lazy if columns is None else lazy.select(list(columns))
            return (wanted if rows is None else wanted.head(rows)).collect().to_arrow()
    except Exception as fault:  # these readers have classes of errors of their own
        raise RecveilError(f"{part.name}: cannot be read: {first_line(fault)}") from None


def _source(part: DataFile, tables: Sequence[str]) -> str:
    """What to select from: the table or query that was named, else the only table."""
    named = parted(part.address)[1]
    if QUERY.match(named):
        return f"({named.rstrip().rstrip(';')}) AS log"
    if named:
        return ".".join(map(_quoted, named.split("."))) if named not in tables else _quoted(named)
    if len(tables) != 1:
        outer = parted(part.name)[0]
        listed = ", ".join(sorted(tables)[:8]) or "none"
        raise RecveilError(f"{outer} has the tables {listed}; say which, as in '{outer}#{(*sorted(tables), 'T')[0]}'")
    return _quoted(tables[0])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def reader(module: str, extra: str) -> Any:
    """A library of an extra."""
    try:
        return import_module(module)
    except ImportError:
        raise RecveilError(f"{module} is not installed; get it with: pip install 'recveil[{extra}]'") from None
