"""recveil inspect DATA: what is this file?"""

from __future__ import annotations

from typing import Any

from recveil.cli.arguments import Columns, Data, Json, Seed, Types, answer, read_data


def inspect(
    data: Data,
    columns: Columns = None,
    types: Types = None,
    as_json: Json = False,
    seed: Seed = None,  # noqa: ARG001
) -> None:
    """What is this file? Rows, people, items, ratings, times.

    Example: recveil inspect ratings.csv
    """
    from recveil.desk.inspect import inspect as look

    found = look(read_data(data, columns, types=types))
    answer(found, _lines(found), as_json)


def _lines(found: dict[str, Any]) -> list[str]:
    lines = [
        f"{found['kind']}: {found['rows']:,} rows, {found['users']:,} {found['unit']}s, {found['items']:,} items"
        + (f", {found['tags']:,} tags" if found["tags"] else ""),
        f"density {found['density']:.4%}; {found['duplicates']:,} repeated rows",
    ]
    if rating := found["rating"]:
        lines.append(
            f"ratings {rating['min']:g} to {rating['max']:g}, mean {rating['mean']:.5g}, deviation {rating['std']:.4g}"
        )
    if found["time"]:
        unknown = found["unknown_times"]
        lines.append("ordered in time" + (f"; {unknown:,} rows have no time and stand last" if unknown else ""))
    else:
        lines.append("no times")
    per_user = found["rows_per_user"]
    lines.append(f"rows per {found['unit']}: {per_user['min']} to {per_user['max']}, median {per_user['median']:g}")
    return lines
