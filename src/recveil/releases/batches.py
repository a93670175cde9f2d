"""The rows of DATA, checked, a batch at a time: of a log that never stands in memory whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.formats import from_frame, parse_columns, parse_types, read
from recveil.formats.frames import FRAME
from recveil.formats.parts import KINDS, ending_of, parts_of
from recveil.formats.roles import assign
from recveil.formats.schema import as_schema
from recveil.formats.sources import one_line
from recveil.releases.inputs import Input
from recveil.releases.progress import WARNING, Progress

BATCH_ROWS = 1_000_000


def batches(given: Input, progress: Progress) -> Iterator[Interactions]:
    """The rows of DATA, checked, a part of a parquet file or another file at a time."""
    columns = parse_columns(given.columns) if isinstance(given.columns, str) else given.columns
    types = parse_types(given.types) if isinstance(given.types, str) else given.types
    how: dict[str, Any] = {"columns": columns, "types": types, "schema": as_schema(given.schema), "duplicates": "all"}
    how |= {"broken": given.broken, "note": lambda line: progress.note(f"{WARNING}{line}")}
    files = parts_of(given.source)
    wanted: list[str] = []
    first: list[str] = []
    for number, name in enumerate(files):
        progress.step("reading", number, len(files))
        parquet = KINDS.get(ending_of(name)) == "parquet"
        if parquet and not wanted:
            with one_line(name):
                wanted = _columns_of(
                    name, how["schema"].columns if how["schema"] else columns, how["schema"] is not None
                )
        for batch in _parquet(name, wanted, how) if parquet else [read(name, **how)]:
            shown = batch.take(slice(0, 0)).frame().columns
            if first and shown != first:
                raise RecveilError(f"{name} has other columns than {files[0]}; parts of a log have the same")
            first = shown
            yield batch
    progress.step("reading", len(files), len(files))


def _columns_of(name: str, mapping: Mapping[str, Any] | None, closed: bool) -> list[str]:
    """The columns of a parquet file that play a role; in other parts they have to be, too."""
    names = pq.read_schema(name).names
    roles = assign(names, mapping, name, closed=closed)
    return [names[n] for where in roles.columns.values() for n in where]


def _parquet(name: str, wanted: list[str], how: dict[str, Any]) -> Iterator[Interactions]:
    with one_line(name):
        file = pq.ParquetFile(name)
        if lacks := [column for column in wanted if column not in file.schema_arrow.names]:
            raise RecveilError(f"{name} has no column {lacks[0]!r}; parts of a log have the same")
        for number, batch in enumerate(file.iter_batches(BATCH_ROWS, columns=wanted)):
            where = f"{name}, from row {number * BATCH_ROWS + 1:,} on"
            told = how | {"note": lambda line, where=where: how["note"](line.replace(FRAME, where))}
            try:
                yield from_frame(pa.Table.from_batches([batch]), **told)
            except RecveilError as fault:
                raise RecveilError(str(fault).replace(FRAME, where)) from None
        if not file.metadata.num_rows and how["broken"] == "drop":  # where nobody is, one person would be told
            yield from_frame(file.schema_arrow.empty_table().select(wanted), **how)
