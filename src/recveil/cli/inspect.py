"""recveil inspect DATA: what is this file, what is taken for what, and what to type next."""

from typing import Annotated, Any

import typer

from recveil.cli.arguments import Columns, Data, Json, Types, answer, read_data


def inspect(
    data: Data,
    columns: Columns = None,
    types: Types = None,
    as_json: Json = False,
    seed: Annotated[int | None, typer.Option(hidden=True)] = None,  # noqa: ARG001
) -> None:
    """What is this file? Its columns and their roles, people, items, ratings, times, and what to type next.

    Example: recveil inspect ratings.csv
    """
    from recveil.desk.inspect import columns_of, warnings_of
    from recveil.desk.inspect import inspect as look
    from recveil.desk.next_steps import next_steps

    rows = read_data(data, columns, types)
    found = look(rows)
    found["columns"] = columns_of(data, columns)
    found["warnings"] = warnings_of(data)
    found["next"] = next_steps(data, rows, columns)
    answer(found, _lines(found), as_json)


def _lines(found: dict[str, Any]) -> list[str]:
    who = "session" if found["unit"] == "session" else "person"
    tags = f", {_counted(found['tags'], 'tag')}" if found["tags"] else ""
    several = f" with {_counted(found['sessions'], 'session')}" if found["sessions"] else ""
    lines = [
        f"{found['kind']}: {_counted(found['rows'], 'row')}, {_counted(found['users'], who)}{several}, "
        f"{_counted(found['items'], 'item')}{tags}",
        f"density {found['density']:.4%}; {_counted(found['duplicates'], 'repeated row')}",
    ]
    if rating := found["rating"]:
        lines.append(
            f"ratings {rating['min']:g} to {rating['max']:g}, mean {rating['mean']:.5g}, deviation {rating['std']:.4g}"
        )
    lines.append(_times(found))
    per_user = found["rows_per_user"]
    lines.append(f"rows per {who}: {per_user['min']} to {per_user['max']}, median {per_user['median']:g}")
    lines.append(f"what a release protects: {found['protects']}")
    if found["columns"]:
        lines += ["", *_columns(found["columns"])]
    lines += [f"warning: {line}" for line in found["warnings"]]
    return [*lines, "", "next:", *(f"    {command}" for command in found["next"])]


def _times(found: dict[str, Any]) -> str:
    if not found["time"]:
        return "no times"
    unknown = found["unknown_times"]
    return "ordered in time" + (f"; {_counted(unknown, 'row')} without a time, which stand last" if unknown else "")


def _columns(columns: list[dict[str, Any]]) -> list[str]:
    """Every column with its role; warnings about those that look like personal data."""
    width = max(len(c["name"]) for c in columns)
    lines = ["columns:"]
    lines += [f"    {c['name']:<{width}}  {c['role'] or 'ignored: not read, not released'}" for c in columns]
    for c in columns:
        if c["looks"] is None:
            continue
        what = f"{c['name']} looks like {c['looks']}"
        if c["role"] == "user":
            lines.append(f"note: {what}; people get random tokens, and these never leave the house")
        elif c["role"] is None:
            lines.append(f"note: {what}; it is not released")
        else:
            lines.append(f"warning: {what}, and as {c['role']} it would be released as it is")
    if all(c["role"] != "time" for c in columns):
        dated = next((c["name"] for c in columns if c["times"] and c["role"] is None), None)
        lines += [f"note: {dated} holds dates; time={dated} in --columns gives an order"] if dated else []
    return lines


def _counted(number: int, thing: str) -> str:
    plural = {"person": "people"}.get(thing, f"{thing}s")
    return f"{number:,} {thing if number == 1 else plural}"
