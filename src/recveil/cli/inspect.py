"""recveil inspect DATA: what is this file, what is taken for what, and what to type next."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

from recveil.cli.arguments import (
    Columns,
    Data,
    ItemsFile,
    Json,
    Memory,
    ScratchFolder,
    Types,
    answer,
    say,
    terminal,
)
from recveil.cli.commands import names
from recveil.errors import RecveilError
from recveil.options import Option

WIDEST = 140  # letters of a line
ROLES = {
    None: "ignored: not read, not released",
    "count": "count: how much of it; told, not released",
    "event": "event: --events NAMES reads some alone; not released",
}


def inspect(
    files: Data,
    columns: Columns = None,
    types: Types = None,
    schema: Annotated[
        str | None,
        Option(metavar="FILE", help="Propose a schema and write it there; one that is there is read by."),
    ] = None,
    scale: Annotated[
        str | None, Option(metavar="LEVELS", help="The scale of ratings, to be confirmed: 1..5 or 0.5..5/0.5.")
    ] = None,
    force: Annotated[bool, Option("--force", help="Propose anew, in place of the schema that is there.")] = False,
    encoding: Annotated[str | None, Option(help="Of the text, such as cp1252 or utf-16.")] = None,
    separator: Annotated[str | None, Option(help="Between fields, such as ; or ::, or tab.")] = None,
    no_header: Annotated[bool, Option("--no-header", help="The first line is a row.")] = False,
    decimal: Annotated[str | None, Option(help="The sign in 4,5: a comma or a point.")] = None,
    time_format: Annotated[
        str | None, Option(metavar="FORM", help="How dates are written, such as %d-%m-%Y; s+ms: mixed numbers.")
    ] = None,
    missing: Annotated[
        str | None, Option(metavar="NUMBERS", help="Ratings that are none, such as 0,-1: rows to leave out.")
    ] = None,
    events: Annotated[
        str | None, Option(metavar="NAMES", help="Read these events alone, such as purchase,cart.")
    ] = None,
    nobody: Annotated[
        str | None, Option(metavar="NAMES", help="People who are none, such as NA,0: rows to leave out.")
    ] = None,
    tolerate: Annotated[
        str | None, Option(metavar="SHARE", help="Leave out up to so many rows that are none, such as 0.3.")
    ] = None,
    items: ItemsFile = None,
    memory: Memory = None,
    scratch: ScratchFolder = None,
    as_json: Json = False,
) -> None:
    """What is this file? Its columns and their roles, people, items, ratings, times, and what to type next.

    Of a public file of items (the column item, and no people) it says what is taken from it.

    Example: recveil inspect ratings.csv
    """
    from recveil.actions.engine import Engine
    from recveil.actions.next_steps import next_steps
    from recveil.evaluation.advice import advise
    from recveil.evaluation.inspect import columns_of, described, questions_of, schema_of, warnings_of, with_scale
    from recveil.evaluation.item_overview import is_item_file, item_overview, overview_lines
    from recveil.formats.parts import name_of, parts_of
    from recveil.formats.sources import kind_of
    from recveil.releases.inputs import Input
    from recveil.report.verdict import signpost

    data: Any = files[0] if len(files) == 1 else files
    declared = _declared(encoding, separator, no_header, decimal, time_format, missing, events) | _share(tolerate)
    declared |= {"nobody": names(nobody)} if nobody else {}
    if not columns and not schema and len(files) == 1 and is_item_file(data):
        about = item_overview(data)
        answer(about, overview_lines(about), as_json)
        return
    said = _said(columns, types, declared)
    with _kept(data, said), terminal() as progress:
        how = schema_of(data, columns, types, schema, force, declared)
        rows, repeats = _facts(Input(data, schema=how), Engine(memory=memory, scratch=scratch), items, progress)
    found = described(rows, repeats)
    found["columns"] = columns_of(data, schema=how)
    found["first_rows"] = _first_rows(data, how)
    found["warnings"] = warnings_of(data, how)
    found["questions"] = questions_of(data, rows, how)
    if how is not None:
        how, more = with_scale(how, rows, scale)
        found["scale"], found["questions"] = how.scale or None, [*found["questions"], *more]
    if schema and how is not None:
        _keep(schema, how, name_of(data), force)
    unknown = how is not None and (
        how.must_be_declared
        or bool(declared)
        or not (columns or how.is_told_by_names)
        or not kind_of(parts_of(data)[0])
    )
    file = items
    public = f" --items {quote(file)}" if file else ""
    options = f" --schema {quote(schema)}" if schema else f" --columns {quote(columns)}" if columns else ""
    steps = next_steps(data, rows, options, said if unknown and schema is None else None, public)
    found["next"], found["forecast"] = steps.commands, steps.words
    found["take"] = signpost(advise(rows))
    if file:
        found["items_file"] = item_overview(file, rows.specimen)
    answer(found, [*_lines(found), *(overview_lines(found["items_file"]) if file else [])], as_json)


@contextmanager
def _kept(data: Any, said: str) -> Iterator[None]:
    """A command that a refusal names has the options that were given; those it names itself stand last, and count."""
    from recveil.formats.parts import quoted

    try:
        yield
    except RecveilError as refusal:
        command = f"recveil inspect {quoted(data)} "
        raise RecveilError(str(refusal).replace(command, command.rstrip() + said + " ")) from None


def _facts(data: Any, engine: Any, items: str | None, progress: Any) -> Any:
    """What is known of the rows, and how many are repeated; of a log that --memory does not hold, part by part."""
    from recveil.evaluation.facts import facts_of, facts_of_parts, repeats_of
    from recveil.releases.disk import on_disk

    with on_disk(data, engine.memory_bytes, engine.scratch, progress) as table:
        if table is not None:
            if items:
                raise RecveilError("--items is for logs that memory holds; leave it out, or allow more with --memory")
            return facts_of_parts(table.parts())
    rows = data.all_rows(progress)
    return facts_of(rows), repeats_of(rows)


def _declared(
    encoding: str | None,
    separator: str | None,
    no_header: bool,
    decimal: str | None,
    time_format: str | None,
    missing: str | None,
    events: str | None,
) -> dict[str, Any]:
    """What the owner says of the file and its values, under the names that a schema has for it."""
    signs = {"tab": "\t", "\\t": "\t", "space": " ", "blank": " "}
    found: dict[str, Any] = {"encoding": encoding, "separator": signs.get(separator or "", separator)}
    found |= {"decimal": {"comma": ",", "point": "."}.get(decimal or "", decimal), "time_format": time_format}
    found |= {"missing": names(missing), "events": names(events)}
    if found["decimal"] not in (None, ",", "."):
        raise RecveilError(f"--decimal is a comma or a point, not {decimal!r}")
    return {key: value for key, value in found.items() if value} | ({"header": False} if no_header else {})


def _share(tolerate: str | None) -> dict[str, str]:
    try:
        fits = tolerate is None or 0 <= float(tolerate) <= 1
    except ValueError:
        fits = False
    if not fits:
        raise RecveilError(f"--tolerate is a share of the rows, such as 0.3, not {tolerate!r}")
    return {"tolerate": tolerate} if tolerate else {}


def _said(columns: str | None, types: str | None, declared: dict[str, Any]) -> str:
    """The same as options of a command line."""
    said = f" --columns {quote(columns or '')}" * bool(columns) + f" --types {quote(types or '')}" * bool(types)
    for key, value in declared.items():
        text = ",".join(value) if isinstance(value, tuple) else value
        said += " --no-header" if key == "header" else f" --{key.replace('_', '-')} {quote(text)}"
    return said


def _first_rows(data: Any, how: Any) -> list[list[str]]:
    from recveil.formats.overview import shown_rows
    from recveil.formats.parts import is_sample

    return [] if is_sample(data) else shown_rows(data, how)


def _keep(file: str, how: Any, called: str, force: bool) -> None:
    """Write the schema that is proposed, unless one is there."""
    from recveil.formats.files import write_text

    if force or not Path(file).exists():
        write_text(file, how.text(f"How recveil reads {Path(called).name}."))
        say(f"{file}: a schema, proposed after a look at {called}; read it, change it, keep it")
    else:
        say(f"{file} was there, and {called} is read by it; --force proposes another")


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
    lines += _table(found) if found["first_rows"] else []
    lines += [f"warning: {line}" for line in found["warnings"]]
    lines += [f"question: {line}" for line in found["questions"]]
    lines += [found["take"]] if found["take"] else []
    lines += found["forecast"]
    return [*lines, "", "next:", *(f"    {command}" for command in found["next"])]


def _table(found: dict[str, Any]) -> list[str]:
    """The first rows as they were read, under the names of their columns."""
    rows = [[c["name"][:24] for c in found["columns"]], *found["first_rows"]]
    widths = [max(len(row[n]) for row in rows if n < len(row)) for n in range(max(map(len, rows)))]
    lines = ["  ".join(f"{value:<{widths[n]}}" for n, value in enumerate(row)).rstrip() for row in rows]
    return ["", "the first rows as they are read:", *(f"    {line[:WIDEST]}" for line in lines)]


def _times(found: dict[str, Any]) -> str:
    if not found["time"]:
        return "no times"
    unknown = found["unknown_times"]
    return "ordered in time" + (f"; {_counted(unknown, 'row')} without a time, which stand last" if unknown else "")


def _columns(columns: list[dict[str, Any]]) -> list[str]:
    """Every column with its role; warnings about those that look like personal data."""
    width = max(len(c["name"] or "(no name)") for c in columns)
    lines = ["columns:"]
    lines += [f"    {c['name'] or '(no name)':<{width}}  {ROLES.get(c['role'], c['role'])}" for c in columns]
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
