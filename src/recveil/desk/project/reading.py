"""How a file is read: its first rows as they are understood, and the choices that change them; kept as a schema."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import polars as pl

from recveil.desk.project.choices import ChoiceError
from recveil.desk.project.folder import Project
from recveil.errors import RecveilError
from recveil.formats.files import write_text
from recveil.formats.overview import DATE, names_in, proposal, shown_rows
from recveil.formats.roles import several
from recveil.formats.schema import Schema, read_schema
from recveil.formats.sniffing import sniff
from recveil.formats.values import AS_THEY_ARE, Values, as_declared, date_forms
from recveil.releases.inputs import SAMPLE

ROWS, DATED = 5, 200
TEXT = ("csv", "tsv", "data", "lists")  # formats that leave something to say
ENCODINGS = ("utf-8", "cp1252", "iso-8859-15", "utf-16", "mac-roman")
SEPARATORS = (",", ";", "\t", "|", "::", " ")
DATES = ("", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y %H:%M:%S", "%Y%m%d", "s+ms")
KEYS = ("encoding", "separator", "decimal", "time_format", "header")
How = Mapping[str, str]


def looked_at(project: Project, source: str, columns: Mapping[str, str], how: How | None) -> dict[str, Any]:
    """The first rows of a file as they are read so; `how` None: as the project reads it now."""
    path = _path(project, source)
    try:
        schema, problem = _schema(project, path, columns, how), ""
    except ChoiceError:
        raise
    except RecveilError as why:
        schema, problem = None, str(why)
    form: Any = schema or sniff(path, _form(how))
    names = names_in(path, form)
    roles = _roles(schema, columns)
    values = schema.values if schema else Values(**_values(how))
    seen = shown_rows(path, form, DATED, hide=False)
    at = names.index(roles["time"]) if roles.get("time") in names else None
    dates = date_forms([row[at] for row in seen if at is not None and at < len(row)])
    said = {"encoding": form.encoding or "utf-8", "separator": form.separator, "decimal": values.decimal or "."}
    said |= {"time_format": values.time_format, "header": "yes" if form.header else "no"}
    return {
        "names": names,
        "roles": {name: role for role, name in roles.items()},
        "rows": _cells(names, seen[:ROWS], roles, values),
        "how": said if form.format in TEXT else {},
        "choices": _choices(said, dates),
        "problem": problem,
    }


def reading(project: Project, source: str, columns: Mapping[str, str], how: How | None) -> dict[str, Any]:
    """The section [data] for a file read so: by its own head where that says all, else by a schema that is kept."""
    plain = {"source": source, "columns": dict(columns), "types": {}, "schema": ""}
    if source.startswith(SAMPLE):
        return plain
    path = _path(project, source)
    try:
        schema = proposal(path, dict(columns) or None, None, {**_form(how), **_values(how)})
    except RecveilError:
        if how:
            raise
        return plain  # the page shows what was found, and asks
    told = not schema.must_be_declared and (columns or schema.is_told_by_names)
    if not how and (told or schema.format not in TEXT):
        return plain
    text = schema.text("How this desk reads the file, as its owner saw it.")
    name = f"uploads/reading-{sha256(text.encode()).hexdigest()[:12]}.toml"
    project.room("uploads")
    write_text(str(project.path(name)), text)
    return {"source": source, "columns": {}, "types": {}, "schema": name}


def _schema(project: Project, path: str, columns: Mapping[str, str], how: How | None) -> Schema:
    """As the project keeps it, where nothing else is said; else as it would be proposed."""
    data = project.read()[0].data
    if how is None and data.schema and str(project.path(data.source)) == path:
        kept = read_schema(str(project.path(data.schema)))
        if not columns or _roles(kept, {}) == dict(columns):
            return kept
    return proposal(path, dict(columns) or None, None, {**_form(how), **_values(how)})


def _path(project: Project, source: str) -> str:
    stored = project.stored(source)
    if stored.startswith(SAMPLE):
        raise ChoiceError("data.source", "a sample is read as it is")
    return str(project.path(stored))


def _form(how: How | None) -> dict[str, Any]:
    """What is said of the file, under the names of a schema."""
    if unknown := set(how or ()) - set(KEYS):
        raise ChoiceError(
            "data.schema", f"nothing is known of {', '.join(sorted(unknown))}; there are {', '.join(KEYS)}"
        )
    said: dict[str, Any] = {key: how[key] for key in ("encoding", "separator") if how and how.get(key)}
    return said | ({"header": how["header"] != "no"} if how and "header" in how else {})


def _values(how: How | None) -> dict[str, Any]:
    return {key: how[key] for key in ("decimal", "time_format") if how and key in how}


def _roles(schema: Schema | None, columns: Mapping[str, str]) -> dict[str, str]:
    given = schema.columns if schema else columns
    return {role: name for role, names in given.items() for name in several(names)[:1]}


def _cells(names: list[str], rows: list[list[str]], roles: Mapping[str, str], values: Values) -> list[list[Any]]:
    """Each value as it is understood, and whether it is none of what its column should hold."""
    table = [[row[n] if n < len(row) else "" for n in range(len(names))] for row in rows]
    plain = [[{"text": text, "bad": False} for text in row] for row in table]
    for role in ("rating", "time"):
        if roles.get(role) not in names or not table:
            continue
        n = names.index(roles[role])
        column = pl.DataFrame({role: [row[n] for row in table]}, schema={role: pl.String})
        chosen = AS_THEY_ARE._replace(decimal=values.decimal, time_format=values.time_format)
        for at, text in enumerate(as_declared(column, chosen)[0][role].cast(pl.String)):
            shown = (text or "").removeprefix("no date: ")
            plain[at][n] = {"text": shown.removesuffix(" 00:00:00"), "bad": bool(text) and not _fits(role, text)}
    return plain


def _fits(role: str, text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return role == "time" and DATE.match(text.strip()) is not None
    return True


def _choices(said: dict[str, str], dates: list[str]) -> dict[str, list[str]]:
    """What can be chosen, with what is chosen among it."""
    offered = {
        "encoding": ENCODINGS,
        "separator": SEPARATORS,
        "decimal": (".", ","),
        "time_format": ("", *dates, *DATES),
        "header": ("yes", "no"),
    }
    return {key: list(dict.fromkeys([*some, said[key]])) for key, some in offered.items()}
