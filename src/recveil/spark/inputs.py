"""DATA of a request as a table of a cluster."""

from __future__ import annotations

from typing import Any

from recveil.errors import RecveilError
from recveil.formats.schema import as_schema
from recveil.ids import listed
from recveil.mechanism import Mechanism
from recveil.releases.catalogue import Catalogue, read_off
from recveil.releases.doubts import outside_line
from recveil.releases.inputs import Input
from recveil.releases.progress import SILENT, WARNING, Progress
from recveil.spark.chunks import Table
from recveil.spark.reading import read_table


def doubts(mechanism: Mechanism, data: Table, given: Catalogue) -> list[str]:
    """The same lines for the owner as locally, counted by the cluster."""
    found = []
    if mechanism.is_proved and given.items is not None and len(data.layout.items) == len(listed(given.items)):
        found.append(read_off(len(data.layout.items)))
    levels = mechanism.declared_levels(data.specimen)
    if levels and "rating" in data.frame.columns:
        low, high, rows = levels[0], levels[-1], data.frame.where("item is not null")
        if many := rows.where((rows["rating"] < low) | (rows["rating"] > high)).count():
            found.append(outside_line(many, rows.count(), levels))
    return found


def table(
    given: Input, spark: Any, duplicates: str | None = None, items: Any = None, progress: Progress = SILENT
) -> Table:
    """What has a name, as the cluster reads it; `duplicates` in place of its own rule.

    `items`: a public list of them, beside which no other one is looked at.
    """
    if not isinstance(given.source, str):
        raise RecveilError("Spark reads data by name: a path, a URI or a table; give that, or take the local engine")
    if given.fold_tags:
        raise RecveilError("--fold-tags is for --engine local")
    columns = given.columns
    if columns is not None and not isinstance(columns, str):
        columns = ",".join(f"{role}={name}" for role, name in columns.items())
    types = given.types
    if types is not None and not isinstance(types, str):
        types = ",".join(f"{role}={kind}" for role, kind in types.items())
    how = (columns, duplicates or given.duplicates, types, given.broken)
    schema = as_schema(given.schema)
    return read_table(spark, given.source, *how, items, schema, lambda line: progress.note(f"{WARNING}{line}"))
