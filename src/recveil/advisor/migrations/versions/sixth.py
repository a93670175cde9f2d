"""Noise by year, item, sign and look alone: what was shown with the old one is closed. Items that were withdrawn.

The noise of dislikes used to depend on how many items there were, so that a catalogue that grew gave them away. Whether
it grew in a year that has been looked at is not on record: all of them are marked, and the one that runs is closed as
its last look showed it. Clicks that came after that look begin the next year, which `noisy_counters.look` opens.
"""

from __future__ import annotations

import time

import sqlalchemy as sa
from alembic import op

revision = "sixth"
down_revision = "fifth"


def upgrade() -> None:
    op.add_column("items", sa.Column("withdrawn", sa.BigInteger))
    op.add_column("years", sa.Column("overspent", sa.SmallInteger, nullable=False, server_default="0"))
    op.execute("UPDATE years SET overspent = 1 WHERE done > 0")
    running = op.get_bind().exec_driver_sql("SELECT id, upto FROM years WHERE done > 0 AND closed IS NULL").first()
    if running is None:
        return
    for column, sign in (("entered_likes", 1), ("entered_dislikes", -1)):
        later = f"entered = 1 AND id > {running.upto}"
        counted = f"SELECT count(*) FROM clicks WHERE item = items.id AND sign = {sign} AND {later}"
        op.execute(f"UPDATE items SET {column} = ({counted})")
    op.execute("UPDATE profiles SET closed_likes = likes, closed_dislikes = dislikes")
    op.execute(f"UPDATE years SET closed = {int(time.time())}, key = NULL WHERE id = {running.id}")
