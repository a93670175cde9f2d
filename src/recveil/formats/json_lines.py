"""JSON lines: an object on each, every value by its text, so that none changes how another is read.

The columns are those of a declaration; without one, where rows are refused, the keys of the first object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import islice
from typing import Any

import polars as pl

from recveil.errors import RecveilError
from recveil.formats.checking import IDS, SHOWN, TOLERATED, Broken, Raw, select
from recveil.formats.lines import objects_by_line, whole_letters
from recveil.formats.roles import Names, assign, several
from recveil.formats.schema import Schema, undeclared
from recveil.formats.sources import DataFile, first_line

INSIDE = re.compile(r"\w+(\.\w+)+")  # a value of an object in an object, such as user.id
Kinds = Mapping[str, Any]  # of columns: text, or lists of it


def read_jsonl(source: DataFile, mapping: Mapping[str, Names] | None, broken: Broken, schema: Schema | None) -> Raw:
    """The columns that play a role; where rows are dropped, nobody's object says which there are."""
    lenient = broken == "drop"
    declared = schema is not None or lenient
    if (declared and not mapping) or (lenient and source.kind == "json" and schema is None):  # lines, or an array
        raise undeclared(source.name)
    header = declared_keys(mapping or {}, schema) if declared else flat(_first_keys(source))
    told = () if declared else _first_keys(source)  # a key with a point in it, and no object
    roles = assign(list(header), mapping, source.name, closed=declared)
    wanted = [list(header)[n] for where in roles.columns.values() for n in where]
    _check_flat({name: header[name] for name in wanted}, source.name)
    kinds: Kinds = {name: pl.List(pl.String) if isinstance(header[name], list) else pl.String for name in wanted}
    inner = {name: tuple(name.split(".")) for name in wanted if INSIDE.fullmatch(name) and name not in told}
    parsed, lost, lines = _parse(source, {**kinds, **{path[0]: pl.String for path in inner.values()}}, lenient)
    frame = select(_unnested(parsed, inner), list(header), roles)

    def place(row: int) -> str:
        return source.at(next(islice(_objects(source), row, None))[0])

    frame = frame.with_columns(_plain_values(column) for column in frame)
    return Raw(frame, place, roles.unit, frozenset(IDS), lost, lines)


def declared_keys(mapping: Mapping[str, Names], schema: Schema | None) -> dict[str, Any]:
    """The keys that a declaration names, each with an empty value of its kind."""
    lists = schema is not None and schema.lists
    return {name: [] if lists and role == "item" else "" for role, names in mapping.items() for name in several(names)}


def _first_keys(source: DataFile) -> dict[str, Any]:
    line, text = next(_objects(source), (0, None))
    if text is None:
        raise RecveilError(f"{source.name}: the file is empty")
    if problem := _unlike_json(text):
        raise RecveilError(f"{source.at(line)}: {problem}")
    found: dict[str, Any] = json.loads(text)
    return found


def _check_flat(header: Mapping[str, Any], source: str) -> None:
    for name, value in header.items():
        if any(isinstance(part, list | dict) for part in (value if isinstance(value, list) else [value])):
            kind = "List" if isinstance(value, list) else "Struct"
            raise RecveilError(f"{source}: {name} holds {kind}; ids are integers or text")


def flat(found: Mapping[str, Any]) -> dict[str, Any]:
    """An object with the values of objects in it under names such as user.id."""
    made: dict[str, Any] = {}
    for name, value in found.items():
        made |= {f"{name}.{key}": one for key, one in flat(value).items()} if isinstance(value, dict) else {name: value}
    return made


def _unnested(frame: pl.DataFrame, inner: Mapping[str, tuple[str, ...]]) -> pl.DataFrame:
    """Columns such as user.id out of the objects that hold them, where no key of that name is there itself."""
    return frame.with_columns(
        pl.coalesce(name, pl.col(path[0]).str.json_path_match("$." + ".".join(path[1:]))).alias(name)
        for name, path in inner.items()
    )


def _parse(source: DataFile, kinds: Kinds, lenient: bool) -> tuple[pl.DataFrame, int, tuple[str, ...]]:
    """The objects; how many lines are none, where those are passed over, and the first of them where it may be said."""

    def parse(text: bytes) -> pl.DataFrame:
        text = b"\n" + text  # or a line that begins like a packed file would be unpacked
        return pl.read_ndjson(BytesIO(text), schema=kinds) if text.strip() else pl.DataFrame(schema=kinds)

    if lenient:
        lines = source.read().split(b"\n")
        found = objects_by_line(lines, parse, lambda line: _by_hand(line, kinds))
        return found, sum(bool(line.strip()) for line in lines) - found.height, ()
    try:
        return parse(source.read()), 0, ()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as fault:
        good: list[bytes] = []
        bad: list[str] = []
        for line, text in _objects(source):
            if problem := _unlike_json(text):
                bad.append(f"{source.at(line)}: {problem}" if len(bad) < SHOWN else "")
            else:
                good.append(text.encode())
        if not bad:
            raise RecveilError(f"{source.name}: cannot be read: {first_line(fault)}") from None
        if len(bad) > TOLERATED * (len(good) + len(bad)):
            raise RecveilError(bad[0]) from None
        return objects_by_line(good, parse, lambda line: _by_hand(line, kinds)), len(bad), tuple(bad[:SHOWN])


def _by_hand(line: bytes, kinds: Kinds) -> pl.DataFrame:
    """A line that polars does not take: its person stays if it is an object, and what does not fit is missing."""
    try:
        found = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return pl.DataFrame(schema=kinds)

    def fitting(value: Any, kind: Any) -> Any:
        if kind == pl.String and isinstance(value, dict):
            return whole_letters(json.dumps(value))  # which is missing, unless one of its values is what is wanted
        if kind == pl.String:
            if value is None or isinstance(value, list | dict):
                return None
            return whole_letters(value if isinstance(value, str) else json.dumps(value))
        return [fitting(one, pl.String) for one in value] if isinstance(value, list) else None

    return pl.DataFrame({name: [fitting(found.get(name), kind)] for name, kind in kinds.items()}, schema=kinds)


def _plain_values(column: pl.Series) -> pl.Series:
    """Text, without that of lists and objects: they are no ids and no numbers, and so missing."""
    if column.dtype == pl.List(pl.String):
        if not _nested(column.explode()).any():
            return column
        return column.list.eval(pl.element().map_batches(_plain_values))
    nested = _nested(column)
    return column.zip_with(~nested, pl.Series([None], dtype=pl.String)) if nested.any() else column


def _nested(column: pl.Series) -> pl.Series:
    found = (column.str.starts_with("[") | column.str.starts_with("{")).fill_null(False)
    for row in found.arg_true():
        try:
            json.loads(column[row])
        except ValueError:
            found[row] = False  # a name such as [REC]
        except RecursionError:
            pass
    return found


def _objects(source: DataFile) -> Iterator[tuple[int, str]]:
    return ((n, line) for n, line in enumerate(source.lines(), 1) if line.strip())


def _unlike_json(text: str) -> str:
    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    try:
        return "" if isinstance(json.loads(text.strip(), parse_constant=refuse), dict) else "not a JSON object"
    except json.JSONDecodeError as fault:
        return f"not a JSON object: {fault.msg} column {fault.colno}"
    except (ValueError, RecursionError) as fault:
        return f"not a JSON object: {first_line(fault)}"
