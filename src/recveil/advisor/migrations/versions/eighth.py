"""Looks that cost as much for each item on the last day of a year as on the first; what they show, many items in a row.

The noise of a year that runs was made of other factors, so the year is closed as its last look showed it, and its key
is erased. Clicks that came after that look begin the next year, which `noisy_counters.look` opens.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from alembic import op

revision = "eighth"
down_revision = "seventh"

PART = 1 << 14  # as in profile_parts.py
DRAFT = 1


def upgrade() -> None:
    db = op.get_bind()
    newest = db.exec_driver_sql("SELECT id, done, upto, closed FROM years ORDER BY id DESC LIMIT 1").first()
    year = tuple(newest) if newest else (0, 0, 0, 0)
    running = year[3] is None
    ended = "" if running and year[1] else "closed_"
    rows = db.exec_driver_sql(f"SELECT item, {ended}likes, {ended}dislikes FROM profiles").all()
    op.drop_table("profiles")
    op.create_table(
        "profiles",
        sa.Column("draft", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("part", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("likes", sa.LargeBinary, nullable=False),
        sa.Column("dislikes", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("draft", "part", name="pk_profiles"),
    )
    op.create_table(
        "noise_sums",
        sa.Column("part", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("year", sa.BigInteger, nullable=False),
        sa.Column("look", sa.Integer, nullable=False),
        sa.Column("sums", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("part", name="pk_noise_sums"),
    )
    op.add_column("years", sa.Column("closing_variance", sa.BigInteger, nullable=False, server_default="0"))
    for name in ("shown", "base"):
        op.add_column("years", sa.Column(name, sa.BigInteger))
    op.add_column("items", sa.Column("revision", sa.BigInteger, nullable=False, server_default="0"))
    op.create_index("ix_items_revision", "items", ["revision"])
    if db.dialect.name == "postgresql":
        for table, columns in (("profiles", ("likes", "dislikes")), ("noise_sums", ("sums",))):
            for column in columns:  # noise does not get smaller by packing
                op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL")
    if rows:
        _keep(db, rows)
        op.execute(f"UPDATE years SET shown = {DRAFT}, base = {DRAFT} WHERE id = {year[0]}")
    if running:
        _close(*year[:3])


def _keep(db: sa.Connection, rows: Sequence[Any]) -> None:
    """What was shown stays so, in rows of many items."""
    counts = np.zeros((2, max(row[0] for row in rows) + 1), "<i4")
    for item, *both in rows:
        counts[:, item] = both
    profiles = sa.table("profiles", *(sa.column(name) for name in ("draft", "part", "likes", "dislikes")))
    for first in range(0, counts.shape[1], PART):
        part = counts[:, first : first + PART]
        values = {"likes": part[0].tobytes(), "dislikes": part[1].tobytes()}
        db.execute(profiles.insert().values(draft=DRAFT, part=first // PART, **values))


def _close(year: int, done: int, upto: int) -> None:
    """A year that was never looked at has shown nothing: all of it begins the next."""
    for column, sign in (("entered_likes", 1), ("entered_dislikes", -1)) if done else ():
        later = f"entered = 1 AND id > {upto}"
        counted = f"SELECT count(*) FROM clicks WHERE item = items.id AND sign = {sign} AND {later}"
        op.execute(f"UPDATE items SET {column} = ({counted})")
    op.execute(f"UPDATE years SET closed = {int(time.time())}, key = NULL WHERE id = {year}")
