"""What is odd of a person: rows that no promise may be read off, wherever they stand and whatever form they come in.

A row is a mapping of columns to values; BOM as a key puts a byte order mark before its line.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import sqlite3
import warnings
import zipfile
from collections.abc import Callable
from contextlib import closing
from functools import cache
from io import BytesIO, StringIO
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from neighbours import ITEMS, world
from pyarrow import feather
from scipy import sparse

import recveil
from recveil.data import Interactions
from recveil.mechanism import Mechanism

Row = dict[str, Any]
BOM = "\ufeff"
HER = 70_007_123  # an id that nobody has
MARK = "zoe-xq"  # a text of hers, which no message may show
POSITIONS = {"first": 0.0, "middle": 0.5, "last": 1.0}
TYPES = {"user": int, "item": int, "time": int, "rating": float, "tag": str, "session": str}
OPTIONAL = ("session", "event")  # columns of some forms alone

# Each a person; for a promise about a record the first row alone.
ODDITIES: dict[str, list[Row]] = {
    "text among numbers": [{"item": f"{MARK} item"}, {"item": 4, "time": f"{MARK} noon"}, {"item": 5, "rating": MARK},
                          {"item": 6, "session": MARK}, {"item": 7, "event": MARK}],
    "a text for an id": [{"user": MARK, "item": 3}, {"user": MARK, "item": MARK}],
    "null": [{"item": None}, {"item": 4, "time": None}, {"item": 5, "rating": None}, {"user": None},
             {"item": 6, "session": None}, {"item": 7, "event": None}],
    "infinite": [{"rating": math.inf}, {"item": 4, "time": math.inf}, {"item": math.inf}, {"rating": math.nan}],
    "missing keys": [{"time": ...}, {"item": ...}, {"rating": ..., "tag": ...}, {"user": ...}],
    "additional keys": [{"more": f"{MARK} more", "zz": [1]}, {"item": 4, "more": None}],
    "lists": [{"item": [3, 4]}, {"item": 4, "time": [1]}, {"user": [7, 8]}, {"item": 5, "rating": [1]},
              {"item": 6, "session": [7]}, {"item": 7, "event": ["click"]}],
    "a byte order mark": [{BOM: True}, {"item": 4}],
    "an empty id": [{"item": ""}, {"user": ""}, {"item": "   "}, {"item": 6, "session": ""}],
    "nothing": [{"item": ""}],
    "other types": [{"item": True}, {"item": {"a": MARK}}, {"item": 3.5}, {"item": 2**70, "time": 2**62},
                    {"item": 6, "session": 2**70}],
    "a number beyond 63 bits": [{"item": 2**63 + 5}, {"user": 2**63 + 7}, {"item": 4}],
    "numbers in other clothes": [{"item": "03"}, {"item": "+3"}, {"item": "3.0"}, {"item": "NaN"}],
    "half a letter": [{"item": "\ud800"}, {"user": "\ud800"}, {"item": 4, "time": "\ud800"}],
    "letters of other files": [{"user": "\x1f\x8b"}, {"user": "[", "item": 4}, {"item": "{"}],
    "a new item": [{"item": 999}, {"item": 4}],
    "everything": [{"item": int(item), "time": n} for n, item in enumerate(ITEMS)],
}  # fmt: skip
NEW_ITEMS = {
    "half a letter",
    "letters of other files",
    "text among numbers",
    "a text for an id",
    "lists",
    "other types",
    "a number beyond 63 bits",
    "numbers in other clothes",
    "a new item",
}


def base_of(mechanism: Mechanism) -> list[Row]:
    """The world without her; a promise about bits takes who is in it to be public, so that 7 is there with nothing."""
    rows = [{c: TYPES[c](v) for c, v in row.items()} for row in world(mechanism)]
    if unit_of(mechanism) != "bit":
        return rows
    return [row for row in rows if row["user"] != 7] + [{**filled(mechanism), "user": 7, "item": None}]


@cache
def unit_of(mechanism: Mechanism) -> str:
    from recveil.mechanism import PublicInfo

    none = pl.Series([], dtype=pl.String)
    return mechanism.guarantee(PublicInfo("tags", "user", none, none, True, ("tags", "users"), none)).unit or ""


def filled(mechanism: Mechanism) -> Row:
    row: Row = {"user": HER, "item": 3, "time": 1_500_000_000}
    row |= {"rating": 4.0} if "rating" in mechanism.needs else {}
    return row | ({"tag": "t1"} if "tag" in mechanism.needs else {})


# A mark before a line is a part of the user's id: another person where who is there is public, another post, not a tag.
BEYOND = {
    "bit": {"a byte order mark"},
    "tag": {"null", "missing keys", "lists", "infinite", "an empty id", "nothing", "everything", "a byte order mark"},
}


def covered(mechanism: Mechanism, odd: str) -> bool:
    """Whether the promise is about such a thing."""
    return odd not in BEYOND.get(unit_of(mechanism), ())


def neighbour(mechanism: Mechanism, odd: str, position: str) -> list[Row] | None:
    """The world with her, by what the promise protects; None where such a thing is not covered by it."""
    if not covered(mechanism, odd):
        return None
    rows, unit, plain = base_of(mechanism), unit_of(mechanism), filled(mechanism)
    at = round(POSITIONS[position] * len(rows))
    hers = [{**plain, **odd_row} for odd_row in ODDITIES[odd]]
    hers = [
        {c: v for c, v in row.items() if v is not ... and (c in plain or c in (BOM, "more", "zz", *OPTIONAL))}
        for row in hers
    ]
    if unit == "record":
        hers = hers[:1]
    if unit == "bit":
        hers = [{**row, "user": 7} for row in hers if row.get("user") == HER]
    if unit == "tag":  # one tag of one post replaced by another
        at = min(at, len(rows) - 1)
        extra = {c: v for c, v in hers[0].items() if c in (BOM, "more", "zz")}
        other = {"text among numbers": MARK, "numbers in other clothes": "03", "other types": "12"}.get(odd, "t3")
        return [*rows[:at], {**rows[at], **extra, "tag": other}, *rows[at + 1 :]]
    return [*rows[:at], *hers, *rows[at:]]


# --- forms -----------------------------------------------------------------------------------------------------


def text_of(value: Any) -> str:
    return "" if value is None else json.dumps(value) if isinstance(value, list | dict) else whole(str(value))


def whole(text: str) -> str:
    """As what has types holds it: half a letter is none."""
    return text.encode("utf-8", "replace").decode()


def _line(row: Row, columns: list[str], write: Callable[[list[str]], str]) -> bytes:
    fields = [text_of(row.get(c)) for c in columns] + [
        text_of(v) for c, v in row.items() if c not in (*columns, BOM, *OPTIONAL)
    ]
    while len(fields) > 1 and columns[len(fields) - 1 :] and columns[len(fields) - 1] not in row:
        fields.pop()  # keys that are missing at the end make a short line
    return ((BOM if BOM in row else "") + write(fields) + "\n").encode()


def _quoted(fields: list[str], separator: str) -> str:
    out = StringIO()
    csv.writer(out, delimiter=separator, lineterminator="").writerow(fields)
    return out.getvalue()


def _delimited(separator: str, quotes: bool = True, suffix: str = "") -> Callable[[list[Row], list[str]], bytes]:
    def made(rows: list[Row], columns: list[str]) -> bytes:
        head = (separator.join(c + suffix for c in columns) + "\n").encode()
        write = (lambda fields: _quoted(fields, separator)) if quotes else separator.join
        return head + b"".join(_line(row, columns, write) for row in rows)

    return made


def _jsonl(rows: list[Row], columns: list[str]) -> bytes:
    beyond = {BOM, *OPTIONAL} - {*columns}
    told = (({c: v for c, v in row.items() if c not in beyond}) for row in rows)
    return "".join(f"{BOM * (BOM in row)}{json.dumps(one)}\n" for row, one in zip(rows, told, strict=True)).encode()


def _number(value: Any, kind: type) -> Any:
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is float:
        return float(value) if fits else None
    return int(value) if fits and math.isfinite(value) and value == int(value) and abs(value) < 2**63 else None


def numbers(rows: list[Row], columns: list[str]) -> pa.Table:
    """Columns of declared types, in which what does not fit is a null."""
    kinds = {int: pa.int64(), float: pa.float64(), str: pa.string()}
    parts = {}
    for c in columns:
        values = [row.get(c) for row in rows]
        fitting = [v if isinstance(v, str) else None for v in values] if TYPES[c] is str else [
            _number(v, TYPES[c]) for v in values
        ]  # fmt: skip
        parts[c] = pa.array(fitting, kinds[TYPES[c]])
    return pa.table(parts)


def texts(rows: list[Row], columns: list[str]) -> pa.Table:
    return pa.table({c: pa.array([text_of(row.get(c)) or None for row in rows], pa.string()) for c in columns})


def raw_texts(rows: list[Row], columns: list[str]) -> pa.Table:
    """The same in bytes, half a letter as it is: what some tools write into columns of text."""
    written = lambda v: v.encode("utf-8", "surrogatepass") if isinstance(v, str) else text_of(v).encode()  # noqa: E731
    return pa.table({
        c: pa.array([written(row.get(c)) or None for row in rows], pa.binary()).view(pa.string()) for c in columns
    })  # fmt: skip


def parquet(table: Callable[[list[Row], list[str]], pa.Table]) -> Callable[[list[Row], list[str]], bytes]:
    def made(rows: list[Row], columns: list[str]) -> bytes:
        file = BytesIO()
        pq.write_table(table(rows, columns), file)
        return file.getvalue()

    return made


def _itemsets(rows: list[Row], columns: list[str]) -> bytes:  # noqa: ARG001
    lines: list[tuple[str, list[str]]] = []
    for row in rows:
        user, item = text_of(row.get("user")), text_of(row.get("item"))
        if lines and lines[-1][0] == user:
            lines[-1][1].append(item)
        else:
            lines.append((user, [item]))
    return "".join(f"{user}\t{','.join(items)}\n" for user, items in lines).encode()


def _array(rows: list[Row], columns: list[str]) -> bytes:
    """One text, in which a mark before an object would make it none."""
    return (
        b"["
        + _jsonl([{c: v for c, v in row.items() if c != BOM} for row in rows], columns).replace(b"}\n{", b"},\n{")
        + b"]"
    )


def _zip(rows: list[Row], columns: list[str]) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("log.csv", _delimited(",")(rows, columns))
    return file.getvalue()


def _feather(rows: list[Row], columns: list[str]) -> bytes:
    file = BytesIO()
    feather.write_feather(numbers(rows, columns), file)
    return file.getvalue()


def _sqlite(rows: list[Row], columns: list[str]) -> bytes:
    """Cells of any kind, whatever the table declares."""
    with closing(sqlite3.connect(":memory:")) as base:
        kinds = ", ".join(f"{c} {'TEXT' if TYPES[c] is str else 'NUM'}" for c in columns)
        base.execute(f"CREATE TABLE log ({kinds})")
        marks = ", ".join("?" * len(columns))
        base.executemany(f"INSERT INTO log VALUES ({marks})", [_cells(row, columns) for row in rows])
        base.commit()
        return bytes(base.serialize())


def _cells(row: Row, columns: list[str]) -> list[Any]:
    fits = lambda v: v is None or (isinstance(v, int | float) and abs(v) < 2**63)  # noqa: E731
    return [v if fits(v := row.get(c)) else text_of(v) for c in columns]


def _npz(rows: list[Row], columns: list[str]) -> bytes:
    file = BytesIO()
    sparse.save_npz(file, _matrix(rows, columns))
    return file.getvalue()


FILES: dict[str, Callable[[list[Row], list[str]], bytes]] = {
    "csv": _delimited(","),
    "tsv": _delimited("\t"),
    "csv.gz": lambda rows, columns: gzip.compress(_delimited(",")(rows, columns)),
    "inter": _delimited("\t", suffix=":token"),
    "dat": _delimited("\t", quotes=False),
    "jsonl": _jsonl,
    "json": _array,
    "headless.csv": lambda rows, columns: _delimited(",")(rows, columns).partition(b"\n")[2],
    "parquet": parquet(numbers),
    "text.parquet": parquet(raw_texts),
    "itemsets": _itemsets,
    "zip": _zip,
    "feather": _feather,
    "sqlite": _sqlite,
    "npz": _npz,
}


def _pandas(rows: list[Row], columns: list[str]) -> pd.DataFrame:
    """As pandas makes it of the rows: one value of another kind changes the type of its column for everybody."""
    return pd.DataFrame([{c: row.get(c) for c in columns} for row in rows], columns=columns)


def _matrix(rows: list[Row], columns: list[str]) -> sparse.csr_array:
    """A row for each person in the order of their first rows, a column for each item."""
    people: dict[Any, int] = {}
    entries = []
    for row in rows:
        who = people.setdefault(str(row.get("user")), len(people))
        item = _number(row.get("item"), int)
        if item is not None and 0 <= item <= len(ITEMS):
            value = row.get("rating", 1.0) if "rating" in columns else 1.0
            entries.append((who, item, np.nan if not isinstance(value, float) else value))
    where, values = [(who, item) for who, item, _ in entries], [v for *_, v in entries]
    index = tuple(np.array(where, dtype=np.int32).reshape(-1, 2).T)
    return sparse.coo_array((np.array(values), index), shape=(len(people), len(ITEMS) + 1)).tocsr()


def _read(rows: list[Row], columns: list[str]) -> Interactions:
    """What recveil.read returns, which names people who have no row."""
    with warnings.catch_warnings(action="ignore"):  # for the owner, who reads
        return recveil.read(raw_texts(rows, columns), broken="drop")


FRAMES: dict[str, Callable[[list[Row], list[str]], Any]] = {
    "polars": lambda rows, columns: pl.DataFrame(numbers(rows, columns)),
    "polars of texts": lambda rows, columns: pl.DataFrame(texts(rows, columns)),
    "arrow": numbers,
    "arrow of texts": raw_texts,
    "pandas": _pandas,
    "pandas of texts": lambda rows, columns: raw_texts(rows, columns).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas of objects": lambda rows, columns: _pandas(rows, columns).astype(object),
    "matrix": _matrix,
    "what read returns": _read,
}
