"""Many rows at once, in the quickest way that each database has."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy import func, select

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


def whole_columns(
    db: sa.Connection, columns: Sequence[sa.Column[Any]], where: sa.ColumnElement[bool]
) -> list[NDArray[np.int64]]:
    """Columns of whole numbers, each as one text that the database makes: a row of Python's costs ten times as much."""
    texts = [func.aggregate_strings(sa.cast(column, sa.String), ",") for column in columns]
    row = db.execute(select(*texts).where(where)).one()
    return [np.fromstring(text or "", np.int64, sep=",") for text in row]
