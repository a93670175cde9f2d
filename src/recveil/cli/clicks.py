"""recveil clicks DATA: what each click gave its person, and what it gave away."""

from collections.abc import Mapping
from typing import Annotated, Any

from recveil.cli.arguments import (
    Columns,
    Data,
    Duplicates,
    EngineName,
    Json,
    Master,
    SchemaFile,
    answer,
    terminal,
)
from recveil.options import Option


def clicks(
    data: Data,
    columns: Columns = None,
    schema: SchemaFile = None,
    like: Annotated[
        float | None, Option(metavar="RATING", help="From which rating on it is a like; else mid-scale.")
    ] = None,
    base: Annotated[str, Option(metavar="e|2|10", help="Of the logarithm in disclosure.")] = "e",
    users: Annotated[str | None, Option(metavar="FILE", help="Write a row for each person: .csv, .parquet.")] = None,
    items: Annotated[str | None, Option(metavar="FILE", help="Write a row for each item: .csv, .parquet.")] = None,
    duplicates: Duplicates = "last",
    engine: EngineName = "local",
    master: Master = None,
    as_json: Json = False,
) -> None:
    """Utility and privacy of clicks: commonality, disclosure, zones in time order, and what strategies would change.

    Disclosure follows the number of clicks; read the two together. The file of people names them by their ids in DATA:
    it is for the owner, not for publication.

    Example: recveil clicks ratings.csv --like 3 --items items.csv
    """
    from recveil.actions.clicks import ClicksRequest, run_clicks
    from recveil.actions.engine import Engine
    from recveil.releases.inputs import Input

    where = Engine(engine, master)
    with terminal() as progress:
        found = run_clicks(
            ClicksRequest(Input(data, columns, duplicates, schema=schema), like, base, users, items, where), progress
        )
    answer(dict(found), _lines(found), as_json)


def _lines(found: Mapping[str, Any]) -> list[str]:
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
