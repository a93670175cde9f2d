"""What is this data set? The plain facts, before anything is done with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.evaluation.advice import scale_of
from recveil.evaluation.facts import Levels, LogFacts, Repeats, facts_of, repeats_of
from recveil.formats import parse_columns, parse_types
from recveil.formats.overview import lines_break, names_in, overview, proposal, shown_rows
from recveil.formats.parts import Location, is_sample, name_of
from recveil.formats.roles import recognised
from recveil.formats.schema import Schema, read_schema
from recveil.formats.values import NOBODY, date_forms
from recveil.scales import fitting_scale, parse_scale

Log = Interactions | LogFacts
SWAPPED = 3  # times as many items as people, from which on columns without names may stand the other way round
LOOKED, MORE = 500, 1.2  # rows in which columns are compared, and how much more another one must tell
PROTECTS = {
    "sessions": (
        "a person with all her sessions; dp-streams releases sessions, and for other mechanisms the sessions of a "
        "person are one stream"
    ),
    "user": "a person with everything she did",
    "session": (
        "one session, not a person: who has several is protected less; if a column says whose they are, name it with "
        "--columns user=COLUMN"
    ),
}


def column_names(source: Location) -> list[str]:
    """The names of the columns of a file as they stand there, whether or not they say anything."""
    return [] if is_sample(source) else names_in(source)


def columns_of(
    source: Location, columns: Mapping[str, str] | str | None = None, schema: Schema | None = None
) -> list[dict[str, Any]]:
    """The columns of a file with their roles and what looks like personal data; nothing of a generated sample."""
    if is_sample(source):
        return []
    mapping = parse_columns(columns) if isinstance(columns, str) and columns else columns or None
    return [c.record() for c in overview(source, mapping, schema)]


def schema_of(
    source: Location,
    columns: str | None = None,
    types: str | None = None,
    file: str | None = None,
    force: bool = False,
    declared: Mapping[str, Any] | None = None,
) -> Schema | None:
    """The schema in `file`, or one to propose where there is no such file or another is wanted; a sample has none.

    `declared`: what the owner says of the file and its values (encoding, separator, decimal, missing, ...).
    """
    if is_sample(source):
        if file:
            raise RecveilError(f"{name_of(source)} has its columns already; leave --schema out")
        return None
    if file and Path(file).exists() and not force:
        if columns or types or declared:
            raise RecveilError(f"{file} says how the log is read; leave --columns and the like out, or add --force")
        return read_schema(file)
    mapping = parse_columns(columns) if columns else None
    return proposal(source, mapping, parse_types(types) if types else None, declared)


def with_scale(schema: Schema, log: Log, scale: str | None = None) -> tuple[Schema, list[str]]:
    """The schema with a scale of ratings, and what to ask the owner about it.

    One that she declared is a reason to stop where ratings lie outside; one that is proposed, to ask.
    """
    facts = facts_of(log)
    seen = facts.levels
    if seen is None:
        if scale:
            raise RecveilError("--scale is that of ratings, and these data have none")
        return schema, []
    untold = replace(facts, specimen=replace(facts.specimen, levels=None))
    declared, fits = scale or schema.scale, scale_of(untold)
    chosen = declared or (scale_of(facts) or "")
    ends = f"{seen.values[0]:g} to {seen.values[-1]:g}"
    if not chosen:
        return schema, [f"ratings from {ends} are on no scale that is well known: which is it? Declare it with --scale"]
    levels = parse_scale(chosen)
    outside, other = seen.outside(levels[0], levels[-1]), fitting_scale(seen.values.tolist())
    if not outside:
        return replace(schema, scale=chosen), []
    many = f"{outside:,} of {facts.rows:,} ratings lie outside the scale {chosen}, which run from {ends}"
    ask = f"is it {fits if declared and fits else other or 'another one'}? Declare it with --scale"
    if declared:
        raise RecveilError(f"{many}: {ask}")
    return replace(schema, scale=chosen), [f"{many}: {ask}"]


def warnings_of(source: Location, schema: Schema | None = None) -> list[str]:
    """What a release with a proof would leave out in silence, though other commands read it."""
    if is_sample(source) or not lines_break(source, schema):
        return []
    return [
        "quoted fields of several lines, or quotes out of place: a release with a proof reads line by line and leaves "
        "such rows out in silence; write the table as parquet, or without line breaks"
    ]


def questions_of(source: Location, log: Log, schema: Schema | None) -> list[str]:
    """What only the owner knows, with the option that answers it."""
    facts, found = facts_of(log), []
    if facts.levels is not None and (none := _no_rating(facts.levels)) is not None:
        found.append(
            f"{none:g} occurs in {facts.levels.share(none):.0%} of the ratings, and hardly a {none + 1:g}: is {none:g} "
            f"'not rated'? --missing {none:g}"
        )
    each = facts.each
    if len(each) and each.max() >= 50 * max(np.median(each), 1):
        found.append(
            f"one {'session' if facts.specimen.unit == 'session' else 'person'} has {each.max():,} rows where the "
            f"median is {np.median(each):g}: is it a robot, a shop, or a shared account? Leave it out of the file if so"
        )
    users = facts.specimen.users
    if not users.dtype.is_integer() and (called := users.filter(users.is_in(list(NOBODY))).to_list()):
        many = np.isin(facts.specimen.user, np.flatnonzero(users.is_in(called))).sum()
        found.append(
            f"{' and '.join(called)} would be a person with {many:,} rows: is it nobody in truth? "
            f"--nobody {quote(','.join(called))}"
        )
    if schema is not None and "user" not in schema.columns and (name := recognised(schema.ignored, "user")):
        found.append(
            f"{name} is empty in most rows, so that sessions stand for people: should people with one be released "
            f"alone? --columns user={name},item={schema.columns['item']} --tolerate 0.99"
        )
    if facts.n_items == facts.rows > 50:
        found.append("every row has an item of its own: is it the right column? Name another: --columns item=COLUMN")
    found += _about_columns(source, facts, schema) if schema is not None and schema.names and not schema.lists else []
    if schema is not None and schema.values.time_format and not is_sample(source):
        several = date_forms(_texts_of_time(source, schema))
        if len(several) > 1:
            found.append(f"dates are read as {several[0]}; or are they {several[1]}? --time-format '{several[1]}'")
    return found


def _about_columns(source: Location, facts: LogFacts, schema: Schema) -> list[str]:
    """Of a file without a header: whether people stand where items do, and whether another column tells more items."""
    user, item = (schema.names.index(str(schema.columns.get(role, ""))) + 1 for role in (facts.specimen.unit, "item"))
    found = []
    if SWAPPED * facts.n_users <= facts.n_items < facts.rows:
        found.append(
            f"no header says which column is which: {facts.n_users:,} people with {facts.n_items:,} items, or the "
            f"other way round? --columns 'user=column {item},item=column {user}'"
        )
    rows = shown_rows(source, schema, LOOKED, hide=False)
    distinct = {name: len({row[n] for row in rows if n < len(row)}) for n, name in enumerate(schema.names)}
    others = [name for name in schema.ignored if distinct[name] > MORE * distinct[schema.names[item - 1]]]
    if others:
        most = max(others, key=lambda name: distinct[name])
        found.append(
            f"{most} holds more different values than column {item}, which is taken for items: is it that of items? "
            f"--columns 'user=column {user},item={most}'"
        )
    return found


def _no_rating(seen: Levels) -> float | None:
    """A lowest number that seems to stand for no rating: frequent, and with next to none one above it."""
    lowest = float(seen.values[0])
    share, next_ = seen.share(lowest), seen.share(lowest + 1)
    return lowest if lowest in (-1.0, 0.0) and share >= 0.1 and next_ * 5 <= share else None


def _texts_of_time(source: Location, schema: Schema) -> list[str]:
    names = names_in(source, schema)
    name = schema.columns["time"]
    at = names.index(name) if isinstance(name, str) and name in names else None
    rows = [] if at is None else shown_rows(source, schema, 200)
    return [row[at] for row in rows if at is not None and at < len(row)]


def inspect(data: Interactions) -> dict[str, Any]:
    """Rows as they stand in the file, people, items, ratings, times, repeats."""
    return described(facts_of(data), repeats_of(data))


def described(facts: LogFacts, repeats: Repeats) -> dict[str, Any]:
    """The same of a log whose rows nobody has in one place."""
    rows, seen = facts.specimen, facts.levels
    return {
        "kind": rows.kind,
        "unit": rows.unit,
        "rows": facts.rows,
        "users": facts.n_users,
        "items": facts.n_items,
        "tags": rows.n_tags,
        "sessions": facts.sessions,
        "protects": PROTECTS["sessions" if rows.session is not None else rows.unit],
        "duplicates": repeats.rows,
        "density": repeats.pairs / (facts.n_users * facts.n_items),
        "rating": None
        if seen is None
        else {"min": float(seen.values[0]), "max": float(seen.values[-1]), "mean": seen.mean, "std": seen.std},
        "time": rows.time is not None,
        "unknown_times": facts.unknown_times,
        "rows_per_user": {
            "min": int(facts.each.min()),
            "median": float(np.median(facts.each)),
            "max": int(facts.each.max()),
        },
    }
