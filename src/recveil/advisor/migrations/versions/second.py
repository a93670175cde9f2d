"""What has had its time is found by an index."""

from __future__ import annotations

from alembic import op

revision = "second"
down_revision = "first"


def upgrade() -> None:
    op.create_index("ix_people_seen", "people", ["seen"])
    op.create_index("ix_keys_at", "keys", ["at"])
