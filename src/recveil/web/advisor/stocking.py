"""The catalogue is filled: new items are added, known ones get a new title."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam, insert, select, update

from recveil.web.advisor.schema import items
from recveil.web.advisor.writes import Stock

STOCK = 1000  # items that are looked up at once


def stock(db: sa.Connection, write: Stock) -> dict[str, Any]:
    titles, added = dict(write.items), 0
    names = sorted(titles)
    for first in range(0, len(names), STOCK):
        part = names[first : first + STOCK]
        known = set(db.execute(select(items.c.key).where(items.c.key.in_(part))).scalars())
        old = [{"k": key, "t": titles[key]} for key in part if key in known]
        new = [{"key": key, "title": titles[key]} for key in part if key not in known]
        if old:
            db.execute(update(items).where(items.c.key == bindparam("k")).values(title=bindparam("t")), old)
        if new:
            db.execute(insert(items), new)
        added += len(new)
    return {"added": added, "renamed": len(titles) - added}
