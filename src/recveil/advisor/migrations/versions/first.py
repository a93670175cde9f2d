"""The first schema: people, items, clicks, idempotency keys, loaded logs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "first"
down_revision = None

Serial = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False, server_default="0")


def upgrade() -> None:
    op.create_table(
        "people",
        sa.Column("id", Serial, nullable=False),
        sa.Column("token", sa.LargeBinary(32)),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("seen", sa.BigInteger, nullable=False),
        sa.Column("strategy", sa.String(8)),
        sa.PrimaryKeyConstraint("id", name="pk_people"),
        sa.UniqueConstraint("token", name="uq_people_token"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "items",
        sa.Column("id", Serial, nullable=False),
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("title", sa.String(500), nullable=False),
        *map(_count, ("likes", "dislikes", "shown_likes", "shown_dislikes")),
        sa.Column("upto", sa.BigInteger, nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("id", name="pk_items"),
        sa.UniqueConstraint("key", name="uq_items_key"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "clicks",
        sa.Column("id", Serial, nullable=False),
        sa.Column("person", Serial, sa.ForeignKey("people.id", name="fk_clicks_person"), nullable=False),
        sa.Column("item", Serial, sa.ForeignKey("items.id", name="fk_clicks_item"), nullable=False),
        sa.Column("sign", sa.SmallInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_clicks"),
        sa.UniqueConstraint("person", "item", name="uq_clicks_person"),
        sa.CheckConstraint("sign IN (-1, 1)", name="ck_clicks_sign"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "keys",
        sa.Column("person", Serial, sa.ForeignKey("people.id", name="fk_keys_person"), nullable=False),
        sa.Column("key", sa.LargeBinary(32), nullable=False),
        sa.Column("request", sa.LargeBinary(32), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("person", "key", name="pk_keys"),
    )
    op.create_table(
        "loads",
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_loads"),
    )
