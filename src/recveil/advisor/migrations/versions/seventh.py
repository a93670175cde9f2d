"""Platforms that speak for their people, and how far their batches have come."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "seventh"
down_revision = "sixth"


def upgrade() -> None:
    serial = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "platforms",
        sa.Column("id", serial, nullable=False),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("access", sa.LargeBinary(32)),
        sa.Column("salt", sa.LargeBinary(32), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_platforms"),
        sa.UniqueConstraint("name", name="uq_platforms_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "batches",
        sa.Column("platform", serial, nullable=False),
        sa.Column("key", sa.LargeBinary(32), nullable=False),
        sa.Column("request", sa.LargeBinary(32), nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("outcome", sa.LargeBinary, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(["platform"], ["platforms.id"], name="fk_batches_platform"),
        sa.PrimaryKeyConstraint("platform", "key", name="pk_batches"),
    )
    op.create_index("ix_batches_at", "batches", ["at"])
