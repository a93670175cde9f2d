"""Noisy counters: what reaches them, their ledger by years, and what they show."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "third"
down_revision = "second"

Serial = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _number(name: str, kind: Any = sa.Integer, default: str = "0") -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False, server_default=default)


def upgrade() -> None:
    op.add_column("people", _number("entered", sa.SmallInteger))
    op.add_column("items", _number("entered_likes"))
    op.add_column("items", _number("entered_dislikes"))
    op.add_column("clicks", _number("spent", sa.SmallInteger, "1"))
    op.add_column("clicks", _number("entered", sa.SmallInteger, "1"))
    op.execute("UPDATE items SET entered_likes = likes, entered_dislikes = dislikes")
    op.execute("UPDATE people SET entered = 1 WHERE id IN (SELECT person FROM clicks)")
    op.create_table(
        "marks",
        sa.Column("mark", sa.LargeBinary(32), nullable=False),
        sa.Column("person", Serial, sa.ForeignKey("people.id", name="fk_marks_person"), nullable=False),
        sa.Column("spent", sa.SmallInteger, nullable=False),
        sa.PrimaryKeyConstraint("mark", name="pk_marks"),
    )
    op.create_index("ix_marks_person", "marks", ["person"])
    op.create_table(
        "years",
        sa.Column("id", Serial, nullable=False),
        sa.Column("opened", sa.BigInteger, nullable=False),
        sa.Column("closed", sa.BigInteger),
        sa.Column("key", sa.LargeBinary(32)),
        sa.Column("epsilon", sa.Float, nullable=False),
        sa.Column("delta", sa.Float, nullable=False),
        sa.Column("looks", sa.Integer, nullable=False),
        sa.Column("changes", sa.Integer, nullable=False),
        sa.Column("variance", sa.BigInteger, nullable=False),
        sa.Column("people_variance", sa.BigInteger, nullable=False),
        _number("done"),
        _number("looked", sa.BigInteger),
        _number("upto", sa.BigInteger),
        _number("people"),
        _number("began_with"),
        _number("closed_people"),
        _number("closed_spread", sa.Float),
        _number("closed_people_spread", sa.Float),
        sa.PrimaryKeyConstraint("id", name="pk_years"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "profiles",
        sa.Column("item", Serial, sa.ForeignKey("items.id", name="fk_profiles_item"), nullable=False),
        *(
            sa.Column(name, sa.Integer, nullable=False)
            for name in ("likes", "dislikes", "closed_likes", "closed_dislikes")
        ),
        sa.PrimaryKeyConstraint("item", name="pk_profiles"),
    )
