"""What several workers share of their limits, and that a database is a backup."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "fifth"
down_revision = "fourth"


def upgrade() -> None:
    op.create_table(
        "allowances",
        sa.Column("who", sa.LargeBinary(32), nullable=False),
        sa.Column("until", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("who", name="pk_allowances"),
        prefixes=["UNLOGGED"] if op.get_bind().dialect.name == "postgresql" else [],
    )
    op.create_table(
        "backups",
        sa.Column("at", sa.BigInteger, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("at", name="pk_backups"),
    )
