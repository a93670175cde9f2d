"""Neighbouring files: two that differ in what one promise protects, in every format and in every odd way.

A file is a list of rows, each a text for every column; an empty text is a missing value.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recveil.mechanism import Mechanism

Row = dict[str, str]

ITEMS = [str(n) for n in range(1, 31)]
TAGS = [f"t{n}" for n in range(12)]
PEOPLE = 121  # of which no share of the tests is a whole number: who is held out by rank moves with a neighbour
NEW = "7000"  # an id that nobody has


def world(mechanism: Mechanism) -> list[Row]:
    """People with numbers for ids, who clicked, rated or tagged items of a public list, with ties in time."""
    rng = np.random.default_rng(5)
    rows = []
    for person in range(1, PEOPLE + 1):
        for n, item in enumerate(rng.permutation(len(ITEMS))[: rng.integers(6, 14)]):
            row = {"user": str(person), "item": ITEMS[int(item)], "time": str(1_500_000_000 + n // 2)}
            if "rating" in mechanism.needs:
                row["rating"] = str(rng.integers(1, 6))
            if "tag" in mechanism.needs:
                row["tag"] = TAGS[int(rng.integers(0, 12))]
            rows.append(row)
    return rows


def filled(mechanism: Mechanism, **row: str) -> Row:
    """A row with all columns that the mechanism needs."""
    rest = {"rating": "4"} if "rating" in mechanism.needs else {}
    rest |= {"tag": "t1"} if "tag" in mechanism.needs else {}
    return {"user": NEW, "item": "3", "time": "1500000000", **rest, **row}


@dataclass(frozen=True)
class Pair:
    """What stands in the first file and what in the second, which the promise cannot tell apart."""

    first: list[Row]
    second: list[Row]
    formats: tuple[str, ...] = ()  # where only some can hold it
    types: dict[str, str] = field(default_factory=dict)


def people(mechanism: Mechanism, token: str = "1") -> dict[str, Pair]:
    """One person more, with everything she did."""
    base = world(mechanism)

    def person(*rows: Row) -> Pair:
        return Pair(base, [*base[:50], *(filled(mechanism, **row) for row in rows), *base[50:]])

    found = {
        "a new type of id": person({"item": "x", "user": "zoe"}, {"item": "3", "user": "zoe", "time": "1500000003"}),
        "a number with idle zeros": person({"item": "03"}, {"item": "+3"}, {"item": "3.0"}),
        "a number beyond 64 bits": person({"item": str(2**63), "user": str(2**64)}),
        "a new item": person({"item": "999"}, {"item": "4"}),
        "an empty person": person({"item": ""}),
        "the word NaN": person({"item": "NaN"}, {"item": "nan"}, {"item": "5", "time": "NaN"}),
        "no user": person({"user": ""}),
        "a repeated row": person({}, {}, {}),
        "somebody's token": person({"user": token}),
        "a fraction of a second": person({"time": "1500000000.25"}, {"item": "4", "time": "1500000000.5"}),
        "a date": person({"time": "2017-07-14 02:40:00"}, {"item": "4", "time": "2017-07-14T02:40:00.125"}),
        "no time": person({"time": "noon"}, {"item": "4", "time": ""}, {"item": "5", "time": "inf"}),
        "very late": person({"time": str(2**60 + 1)}, {"item": "4", "time": str(2**60)}),
        "everything": person(*({"item": item, "time": str(n)} for n, item in enumerate(ITEMS))),
        "the only person": Pair([], [filled(mechanism), filled(mechanism, item="4")], ("csv", "parquet", "itemsets")),
    }
    if "tag" in mechanism.needs:
        found["a new tag"] = person({"tag": "my own name"}, {"tag": "7"}, {"tag": ""})
    return found


def records(mechanism: Mechanism) -> dict[str, Pair]:
    """One row more, of somebody who is there or not."""
    base = world(mechanism)

    def record(**row: str) -> Pair:
        return Pair(base, [*base[:50], filled(mechanism, **row), *base[50:]])

    return {
        "a row of somebody": record(user="7"),
        "a new person": record(),
        "a new item": record(user="7", item="x"),
        "a new tag": record(user="7", tag="my own name"),
        "a tag that is a number": record(user="7", tag="12"),
        "a repeated row": Pair(base, [*base, base[17]]),
        "a broken row": record(user="7", item=""),
    }


def bits(mechanism: Mechanism) -> dict[str, Pair]:
    """Whether one person has one item. Who is in the file is public; a row without an item says that she is."""
    base = world(mechanism)
    hers = [row for row in base if row["user"] == "7"]
    others = [row for row in base if row["user"] != "7"]
    nothing = filled(mechanism, user="7", item="")

    def bit(more: Row, *rest: Row) -> Pair:
        return Pair([*others, *rest, nothing], [*others, *rest, more, nothing])

    def has(item: str, **row: str) -> Row:
        return filled(mechanism, user="7", item=item, **row)

    return {
        "one more": bit(has("29"), *(row for row in hers if row["item"] != "29")),
        "her only one": bit(has("3")),
        "one outside the list": bit(has("x")),
        "one that nobody has": bit(has("999")),
        "twice": bit(has("3"), has("3")),
        "another time": bit(has("3", time="0.5"), has("4")),
    }


def tags(mechanism: Mechanism) -> dict[str, Pair]:
    """One tag of one post replaced by another."""
    base = world(mechanism)

    def instead(tag: str, *more: Row) -> Pair:
        changed = {**base[20], "tag": tag}
        return Pair([*base[:20], base[20], *more, *base[21:]], [*base[:20], changed, *more, *base[21:]])

    other = next(tag for tag in TAGS if tag != base[20]["tag"])
    return {
        "by a listed one": instead(other),
        "by one that is not listed": instead("my own name"),
        "by a number": instead("12"),
        "beside one that is not listed": instead("my own name", {**base[20], "tag": "another one"}),
    }


UNITS: dict[str, Callable[[Mechanism], dict[str, Pair]]] = {
    "user": people, "record": records, "bit": bits, "tag": tags
}  # fmt: skip


# --- files ----------------------------------------------------------------------------------------------------


def put(rows: list[Row], columns: list[str], form: str, folder: Path) -> Path:
    """The rows as a file of a format."""
    path = folder / f"data.{form}"
    path.write_bytes(FORMATS[form](rows, columns))
    return path


def _delimited(rows: list[Row], columns: list[str], separator: str, header: list[str]) -> bytes:
    lines = [separator.join(header), *(separator.join(row[c] for c in columns) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def _json(rows: list[Row], columns: list[str]) -> bytes:
    def value(text: str) -> Any:
        return None if text == "" else int(text) if text.isdecimal() and str(int(text)) == text else text

    return "".join(json.dumps({c: value(row[c]) for c in columns}) + "\n" for row in rows).encode()


def _parquet(rows: list[Row], columns: list[str]) -> bytes:
    from io import BytesIO

    texts = {c: [row[c] or None for row in rows] for c in columns}
    file = BytesIO()
    pl.DataFrame(texts, schema=dict.fromkeys(columns, pl.String)).write_parquet(file)
    return file.getvalue()


def _itemsets(rows: list[Row], columns: list[str]) -> bytes:  # noqa: ARG001
    profiles: dict[str, list[str]] = {}
    for row in rows:
        profiles.setdefault(row["user"], []).append(row["item"])
    return "".join(f"{user}\t{','.join(filter(None, items))}\n" for user, items in profiles.items()).encode()


FORMATS: dict[str, Callable[[list[Row], list[str]], bytes]] = {
    "csv": lambda rows, columns: _delimited(rows, columns, ",", columns),
    "tsv": lambda rows, columns: _delimited(rows, columns, "\t", columns),
    "csv.gz": lambda rows, columns: gzip.compress(_delimited(rows, columns, ",", columns)),
    "inter": lambda rows, columns: _delimited(rows, columns, "\t", [f"{c}:token" for c in columns]),
    "dat": lambda rows, columns: _delimited(rows, columns, "\t", columns),
    "jsonl": _json,
    "parquet": _parquet,
    "itemsets": _itemsets,
}


def catalogue(folder: Path, numbers: bool = True) -> Path:
    """Public lists: of items as numbers (or as text), and of tags."""
    items: list[Any] = [*map(int, ITEMS)] if numbers else list(ITEMS)
    path = folder / "lists.parquet"
    pl.DataFrame({"item": items, "tag": [*TAGS, *[None] * (len(items) - len(TAGS))]}).write_parquet(path)
    return path
