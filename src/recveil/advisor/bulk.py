"""Many rows at once, in the quickest way that each database has."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy import func, select

NEW_CLICK = ("person", "item", "sign", "at", "spent", "entered")  # as they stand in a row
COUNTERS = ("likes", "dislikes", "entered_likes", "entered_dislikes")
FEW = 100  # rows, up to which the usual way is as quick


def insert_clicks(db: sa.Connection, rows: Sequence[tuple[int, ...]]) -> None:
    names = ", ".join(NEW_CLICK)
    if db.dialect.name == "postgresql":
        cursor: Any = db.connection.cursor()
        with cursor, cursor.copy(f"COPY clicks ({names}) FROM STDIN") as out:
            out.write("".join("\t".join(map(str, row)) + "\n" for row in rows))
    else:
        db.exec_driver_sql(f"INSERT INTO clicks ({names}) VALUES (?, ?, ?, ?, ?, ?)", list(rows))


def clicks_of_pairs(db: sa.Connection, pairs: Collection[tuple[int, int]]) -> Sequence[Any]:
    """Person, item, number, sign, spent, entered of the clicks that stand of these (person, item)."""
    if not pairs:
        return []
    wanted = ",".join(f"({int(person)},{int(item)})" for person, item in sorted(pairs))
    return db.exec_driver_sql(
        f"WITH wanted (p, i) AS (VALUES {wanted}) SELECT person, item, id, sign, spent, entered "
        "FROM wanted JOIN clicks ON person = p AND item = i"
    ).all()


def accounts_of(db: sa.Connection, tokens: Collection[bytes], since: int) -> Sequence[Any]:
    """Token, id, entered of those who were here since then, in the order of ids, locked until the transaction ends."""
    postgresql = db.dialect.name == "postgresql"
    wanted = ",".join(rf"'\x{token.hex()}'" if postgresql else f"x'{token.hex()}'" for token in sorted(tokens))
    return db.exec_driver_sql(
        f"SELECT token, id, entered FROM people WHERE token IN ({wanted}) AND seen > {int(since)} ORDER BY id"
        + (" FOR UPDATE" if postgresql else "")
    ).all()


def items_of(db: sa.Connection, names: Collection[str]) -> Sequence[Any]:
    """Key, id, withdrawn of the items that are called so."""
    wanted = [name for name in names if "\0" not in name]  # which is in no name, and no database takes it
    columns = "SELECT key, id, withdrawn FROM items WHERE key"
    if db.dialect.name == "postgresql":
        return db.exec_driver_sql(f"{columns} = ANY(%s)", (wanted,)).all()
    return db.exec_driver_sql(f"{columns} IN (SELECT value FROM json_each(?))", (json.dumps(wanted),)).all()


def marks_of(db: sa.Connection, persons: Collection[int]) -> Sequence[Any]:
    """Mark, spent, person of the clicks that these people took back."""
    if not persons:
        return []
    wanted = ",".join(str(int(person)) for person in sorted(persons))
    return db.exec_driver_sql(f"SELECT mark, spent, person FROM marks WHERE person IN ({wanted})").all()


def add_to_counters(db: sa.Connection, rows: Sequence[tuple[int, ...]]) -> None:
    """To each item's counters, (likes, dislikes, entered likes, entered dislikes, item)."""
    value = "%s" if db.dialect.name == "postgresql" else "?"
    moved = ", ".join(f"{name} = {name} + {value}" for name in COUNTERS)
    db.exec_driver_sql(f"UPDATE items SET {moved} WHERE id = {value}", list(rows))


def whole_columns(
    db: sa.Connection, columns: Sequence[sa.Column[Any]], where: sa.ColumnElement[bool]
) -> list[NDArray[np.int64]]:
    """Columns of whole numbers, each as one text that the database makes: a row of Python's costs ten times as much."""
    texts = [func.aggregate_strings(sa.cast(column, sa.String), ",") for column in columns]
    row = db.execute(select(*texts).where(where)).one()
    return [np.fromstring(text or "", np.int64, sep=",") for text in row]
