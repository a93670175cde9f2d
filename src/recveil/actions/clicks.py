"""ClicksRequest and run_clicks: what each click gave its person, and what it gave away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from recveil.actions.engine import LOCAL, Engine
from recveil.clicks.profiles import clicks, middle, unit
from recveil.errors import unknown
from recveil.formats.writing import write_frame
from recveil.releases.inputs import Input
from recveil.releases.places import check_vacant, whole
from recveil.releases.progress import SILENT, Progress

FORMS = ("csv", "parquet")


@dataclass(frozen=True)
class ClicksRequest:
    """`like`: from which rating on it is a like, else the middle of the scale. `base`: of the logarithm.

    `users` and `items`: files to write, a row for each; that of people names them by their ids, for the owner alone.
    """

    data: Input
    like: float | None = None
    base: str = "e"
    users: str | None = None
    items: str | None = None
    engine: Engine = LOCAL


def run_clicks(request: ClicksRequest, progress: Progress = SILENT) -> Mapping[str, Any]:
    """Commonality, disclosure, zones in time order, and what strategies would change."""
    for file in (request.users, request.items):
        if file:
            _form(file)
    unit(request.base)
    found, table = (_on_spark if request.engine.on_spark else _here)(request, progress)
    if request.items:
        _write(table, request.items, progress)
    return found


def _here(request: ClicksRequest, progress: Progress) -> tuple[dict[str, Any], pl.DataFrame]:
    rows, like = request.data.rows(progress).compact(), request.like
    from recveil.clicks import summary

    if like is None and rows.rating is not None:
        like = middle(rows)
        progress.note(f"a rating of {like:g} or more is a like: the middle of the scale; --like says otherwise")
    of = clicks(rows, like)
    if len(of) < len(rows):
        progress.note(f"{len(rows) - len(of):,} repeated clicks left out (kept: the first of each)")
    found = {"like": like, **summary.summary(of, request.base)}
    if request.users:
        _write(summary.people(of, request.base), request.users, progress)
    return found, summary.items(of, request.base) if request.items else pl.DataFrame()


def _on_spark(request: ClicksRequest, progress: Progress) -> tuple[dict[str, Any], pl.DataFrame]:
    from recveil.clicks import summary
    from recveil.spark.clicks import people_table, summary_table
    from recveil.spark.inputs import table
    from recveil.spark.lake import place, write_parts

    with request.engine.session() as spark:
        people = place(spark, request.users) if request.users else None
        if people:
            check_vacant(people)
        rows = table(request.data, spark)
        found, item = summary_table(rows, request.like, request.base)
        if people and request.users:
            with whole(people) as part:
                write_parts(people_table(rows, found["like"], request.base, item), part, _form(request.users))
            progress.note(f"{request.users}: {item.users:,} rows, in parts")
    return found, summary.item_rows(rows.layout.items, item, request.base)


def _form(file: str) -> str:
    form = Path(file).suffix.removeprefix(".").lower()
    if form not in FORMS:
        raise unknown("format to write", form, FORMS)
    return form


def _write(table: pl.DataFrame, file: str, progress: Progress) -> None:
    write_frame(table, file, _form(file))
    progress.note(f"{file}: {table.height:,} rows")
