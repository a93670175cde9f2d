"""Many rows at once, in the quickest way that each database has."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

NEW_CLICK = ("person", "item", "sign", "at", "spent", "entered")  # as they stand in a row
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
