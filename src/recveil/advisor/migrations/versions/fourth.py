"""Models of items, and what they spend."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "fourth"
down_revision = "third"


def upgrade() -> None:
    op.create_table(
        "models",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("rho", sa.Float, nullable=False),
        sa.Column("epsilon", sa.Float, nullable=False),
        sa.Column("delta", sa.Float, nullable=False),
        sa.Column("document", sa.LargeBinary),
        sa.PrimaryKeyConstraint("id", name="pk_models"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_models_at", "models", ["at"])
