"""recveil clicks DATA: what each click gave its person, and what it gave away."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recveil.cli.arguments import (
    Columns,
    Data,
    Duplicates,
    EngineName,
    Json,
    Master,
    NoSeed,
    answer,
    read_released,
    say,
)
from recveil.errors import unknown

if TYPE_CHECKING:
    import polars as pl


def clicks(
    data: Data,
    columns: Columns = None,
    like: Annotated[
        float | None, typer.Option(metavar="RATING", help="From which rating on it is a like; else mid-scale.")
    ] = None,
    base: Annotated[str, typer.Option(metavar="e|2|10", help="Of the logarithm in disclosure.")] = "e",
    users: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a row for each person: .csv, .parquet.")
    ] = None,
    items: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a row for each item: .csv, .parquet.")
    ] = None,
    duplicates: Duplicates = "last",
    engine: EngineName = "local",
    master: Master = None,
    as_json: Json = False,
    seed: NoSeed = None,  # noqa: ARG001
) -> None:
    """Utility and privacy of clicks: commonality, disclosure, zones in time order, and what strategies would change.

    Disclosure follows the number of clicks; read the two together. The file of people names them by their ids in DATA:
    it is for the owner, not for publication.

    Example: recveil clicks ratings.csv --like 3 --items items.csv
    """
    for file in (users, items):
        if file:
            _form(file)
    from recveil.clicks.profiles import clicks as signed
    from recveil.clicks.profiles import middle, unit
    from recveil.clicks.summary import items as item_table
    from recveil.clicks.summary import people, summary

    unit(base)
    if engine not in ("local", "spark"):
        raise unknown("--engine", engine, ("local", "spark"))
    if engine == "spark":
        found, table = _on_spark(data, columns, duplicates, master, like, base, users)
        if items:
            _write(table, items)
        answer(found, _lines(found), as_json)
        return
    rows = read_released(data, columns, duplicates).compact()
    if like is None and rows.rating is not None:
        like = middle(rows)
        say(f"a rating of {like:g} or more is a like: the middle of the scale; --like says otherwise")
    of = signed(rows, like)
    if len(of) < len(rows):
        say(f"{len(rows) - len(of):,} repeated clicks left out (kept: the first of each)")
    found = {"like": like, **summary(of, base)}
    if users:
        _write(people(of, base), users)
    if items:
        _write(item_table(of, base), items)
    answer(found, _lines(found), as_json)


def _on_spark(
    data: str,
    columns: str | None,
    duplicates: str,
    master: str | None,
    like: float | None,
    base: str,
    users: str | None,
) -> tuple[dict[str, Any], pl.DataFrame]:
    from recveil.clicks.summary import item_rows
    from recveil.desk.places import check_vacant, whole
    from recveil.spark.clicks import people_table, summary_table
    from recveil.spark.lake import place, write_parts
    from recveil.spark.reading import read_table
    from recveil.spark.session import session

    with session(master) as spark:
        people = place(spark, users) if users else None
        if people:
            check_vacant(people)
        rows = read_table(spark, data, columns, duplicates)
        found, item = summary_table(rows, like, base)
        if people and users:
            with whole(people) as part:
                write_parts(people_table(rows, found["like"], base, item), part, _form(users))
            say(f"{users}: {item.users:,} rows, in parts")
    return found, item_rows(rows.layout.items, item, base)


def _form(file: str) -> str:
    form = Path(file).suffix.removeprefix(".").lower()
    if form not in ("csv", "parquet"):
        raise unknown("format to write", form, ("csv", "parquet"))
    return form


def _write(table: pl.DataFrame, file: str) -> None:
    from recveil.formats.writing import write_frame

    write_frame(table, file, _form(file))
    say(f"{file}: {table.height:,} rows")


def _lines(found: dict[str, Any]) -> list[str]:
    told, size, common = found["disclosure"], found["clicks"], found["commonality"]
    together = size["correlation_with_disclosure"]
    lines = [
        f"{found['rows']:,} clicks ({found['likes']:,} likes) of {found['users']:,} people on {found['items']:,} items",
        f"clicks a person  mean {size['mean']:.1f}, from {size['min']:.0f} to {size['max']:.0f}",
        f"disclosure       mean {told['mean']:.2f}, from {told['min']:.2f} to {told['max']:.2f} (log {told['base']})"
        + ("" if together is None else f"; correlation with the number of clicks {together:.3f}"),
        f"commonality      mean {common['mean']:.3f}, from {common['min']:.3f} to {common['max']:.3f}, "
        f"sum {common['sum']:.2f}",
        "",
        f"{'if all play':<12} {'trade-off':>9} {'safe':>8} {'dangerous':>9} {'deleterious':>11} {'clicks':>9} "
        f"{'changed':>8} {'commonality':>12} {'disclosure':>11}",
    ]
    for name, play in found["strategies"].items():
        zones = play["zones"]
        lines.append(
            f"{name:<12} {zones['trade_off']:>9,} {zones['safe']:>8,} {zones['dangerous']:>9,} "
            f"{zones['deleterious']:>11,} {play['clicks']:>9,} {play['changed']:>8,} {play['commonality']:>12.2f} "
            f"{play['disclosure']:>11.2f}"
        )
    return lines
