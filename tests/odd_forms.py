"""Forms of a log beyond rows of one table: sessions, lists, values as a country writes them, parts of pandas."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pyarrow as pa
from oddities import BOM, FILES, FRAMES, Row, parquet, text_of, whole
from scipy import io

from recveil.formats.schema import Schema
from recveil.formats.values import Values

Form = Callable[[list[Row], list[str]], bytes]
WRITTEN = Values(",", "%d.%m.%Y %H:%M:%S", missing=("0", "-"), events=("click",), nobody=("NULL",))
LISTS = {"user": "user", "item": "items"}


def _sessions(form: str) -> Form:
    """Two rows of a person are one session; an odd row says its own."""

    def made(rows: list[Row], columns: list[str]) -> bytes:
        came: dict[str, int] = {}
        told = []
        for row in rows:
            who = str(row.get("user"))
            came[who] = came.get(who, 0) + 1
            told.append({"session": f"{who}-{came[who] // 2}", **row})
        return FILES[form](told, columns)

    return made


def _date(value: Any) -> Any:
    if type(value) is int and 0 <= value < 2**33:
        return datetime.fromtimestamp(value, UTC).strftime("%d.%m.%Y %H:%M:%S")
    return value


def _values(rows: list[Row], columns: list[str]) -> bytes:
    """Decimal commas, dates of a country, kinds of events."""
    made = []
    for row in rows:
        written = {"event": "click", **row}
        written |= {"time": _date(row["time"])} if "time" in row else {}
        written |= {"rating": str(row["rating"]).replace(".", ",")} if isinstance(row.get("rating"), float) else {}
        made.append(written)
    return FILES["csv"](made, columns)


def _profiles(rows: list[Row]) -> list[tuple[str, Any, Any]]:
    """A mark, a person and her items; whoever is odd has a list for each row, or what is none, and an empty one."""
    made: list[tuple[str, Any, Any]] = []
    for row in rows:
        mark, user, item = BOM * (BOM in row), row.get("user"), row.get("item")
        plain = type(item) is int and len(row) > 1 and item < 10**6
        if made and plain and made[-1][:2] == (mark, user) and isinstance(made[-1][2], list):
            made[-1][2].append(item)
        else:
            made.append((mark, user, [item] if plain else [] if item == "" else item))
    return made


def _lists(rows: list[Row], columns: list[str]) -> bytes:  # noqa: ARG001
    lines = ((mark, {"user": user, "items": items}) for mark, user, items in _profiles(rows))
    return "".join(f"{mark}{json.dumps(line)}\n" for mark, line in lines).encode()


def _lines(rows: list[Row], columns: list[str]) -> bytes:  # noqa: ARG001
    made = []
    for mark, user, items in _profiles(rows):
        ids = items if isinstance(items, list) else [items]
        made.append(mark + " ".join([text_of(user), *(text_of(one) for one in ids)]))
    return "".join(f"{line}\n" for line in made).encode()


def _lists_of_numbers(rows: list[Row], columns: list[str]) -> pa.Table:  # noqa: ARG001
    fits = lambda v: type(v) is int and abs(v) < 2**63  # noqa: E731
    made = _profiles(rows)
    users = [user if fits(user) else None for _, user, _ in made]
    items = [[one if fits(one) else None for one in few] if isinstance(few, list) else None for *_, few in made]
    return pa.table({"user": pa.array(users, pa.int64()), "items": pa.array(items, pa.list_(pa.int64()))})


def _as_pandas_types(rows: list[Row], columns: list[str]) -> pa.Table:
    """What stands in a part makes the types of its columns: whole numbers, fractions beside nothing, else text."""
    parts = {}
    for column in columns:
        values = [row.get(column) for row in rows]
        number = all(type(v) in (int, float, type(None)) and (v is None or abs(v) < 2**63) for v in values)
        if number and None not in values and all(type(v) is int for v in values):
            parts[column] = pa.array(values, pa.int64())
        elif number:
            parts[column] = pa.array([None if v is None else float(v) for v in values], pa.float64())
        else:
            parts[column] = pa.array([None if v is None else whole(text_of(v)) for v in values], pa.string())
    return pa.table(parts)


def _mtx(rows: list[Row], columns: list[str]) -> bytes:
    file = BytesIO()
    io.mmwrite(file, FRAMES["matrix"](rows, columns))
    return file.getvalue()


def _parts(ending: str, form: Form) -> Callable[[list[Row], list[str]], dict[str, bytes]]:
    """Two halves, each a file as it is."""

    def made(rows: list[Row], columns: list[str]) -> dict[str, bytes]:
        halves = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        return {f"{n}.{ending}": form(half, columns) for n, half in enumerate(halves)}

    return made


MORE: dict[str, Form] = {
    "sessions.csv": _sessions("csv"),
    "sessions.jsonl": _sessions("jsonl"),
    "values.csv": _values,
    "lists.jsonl": _lists,
    "lists.txt": _lines,
    "lists.parquet": parquet(_lists_of_numbers),
    "mtx": _mtx,
}
PARTS = {"parts": _parts("csv", FILES["csv"]), "parts.parquet": _parts("parquet", parquet(_as_pandas_types))}
ALL = (*FILES, *MORE, *PARTS)


def schema_of(form: str, columns: list[str]) -> Schema | None:
    """What has to be declared of a file whose shape nothing but rows tells."""
    told = {c: c for c in columns}
    if form == "json":
        return Schema(told, format="json")
    if form == "headless.csv":
        return Schema(told, format="csv", header=False, names=tuple(columns), separator=",")
    if form == "values.csv":
        values = WRITTEN if "rating" in columns else WRITTEN._replace(missing=())
        return Schema(told, format="csv", values=values)
    if form == "lists.txt":
        return Schema(LISTS, format="lists", header=False, names=("user", "items"), lists=True)
    return Schema(LISTS, format="jsonl", lists=True) if form == "lists.jsonl" else None
