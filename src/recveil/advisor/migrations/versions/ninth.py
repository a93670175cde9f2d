"""The counters of a year that has ended are taken off those of items a few at a time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "ninth"
down_revision = "eighth"


def upgrade() -> None:
    op.add_column("years", sa.Column("ended", sa.BigInteger))
