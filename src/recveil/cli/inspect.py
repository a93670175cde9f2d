"""recveil inspect DATA: what is this file, what is taken for what, and what to type next."""

from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from recveil.cli.arguments import Columns, Data, ItemsFile, Json, Types, answer, one_file, read_data, say


def inspect(
    files: Data,
    columns: Columns = None,
    types: Types = None,
    schema: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Propose a schema and write it there; one that is there is read by."),
    ] = None,
    scale: Annotated[
        str | None, typer.Option(metavar="LEVELS", help="The scale of ratings, to be confirmed: 1..5 or 0.5..5/0.5.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Propose anew, in place of the schema that is there.")] = False,
    items: ItemsFile = None,
    as_json: Json = False,
    seed: Annotated[int | None, typer.Option(hidden=True)] = None,  # noqa: ARG001
) -> None:
    """What is this file? Its columns and their roles, people, items, ratings, times, and what to type next.

    Of a public file of items (the column item, and no people) it says what is taken from it.

    Example: recveil inspect ratings.csv
    """
    from recveil.actions.next_steps import next_steps
    from recveil.evaluation.advice import advise
    from recveil.evaluation.inspect import columns_of, schema_of, warnings_of, with_scale
    from recveil.evaluation.inspect import inspect as look
    from recveil.evaluation.item_overview import is_item_file, item_overview, overview_lines
    from recveil.formats.files import write_text
    from recveil.formats.parts import KINDS, ending_of, name_of, parts_of
    from recveil.report.verdict import signpost

    data: Any = files[0] if len(files) == 1 else files
    called = name_of(data)
    if not columns and not schema and len(files) == 1 and is_item_file(data):
        about = item_overview(data)
        answer(about, overview_lines(about), as_json)
        return
    declared = schema_of(data, columns, types, schema, force)
    rows = read_data(data, declared)
    found = look(rows)
    found["columns"] = columns_of(data, schema=declared)
    found["warnings"] = warnings_of(data, declared)
    found["questions"], how = [], f" --columns {quote(columns)}" if columns else ""
    if declared is not None:
        declared, found["questions"] = with_scale(declared, rows, scale)
        found["scale"] = declared.scale or None
    if schema and declared is not None:
        how = f" --schema {quote(schema)}"
        if force or not Path(schema).exists():
            write_text(schema, declared.text(f"How recveil reads {Path(called).name}."))
            say(f"{schema}: a schema, proposed after a look at {called}; read it, change it, keep it")
        else:
            say(f"{schema} was there, and {called} is read by it; --force proposes another")
    unknown = declared is not None and (declared.must_be_declared or ending_of(parts_of(data)[0]) not in KINDS)
    undeclared = schema is None and unknown
    found["next"] = next_steps(data, rows, how, undeclared)
    found["take"] = signpost(advise(rows))
    if file := one_file(items):
        found["items_file"] = item_overview(file, rows)
        takes, given = ("recveil compare", "recveil release"), f" --items {quote(file)}"
        found["next"] = [line + given * line.startswith(takes) for line in found["next"]]
    answer(found, [*_lines(found), *(overview_lines(found["items_file"]) if file else [])], as_json)


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
    lines += [f"question: {line}" for line in found["questions"]]
    lines += [found["take"]] if found["take"] else []
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
