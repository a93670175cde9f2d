"""The catalogue: new items are added, known ones get a new title, and items can be withdrawn.

A withdrawn item is no longer shown, recommended or clicked. Its row stays, with its number and its counters: what
people clicked is theirs to see and to take back, and neither its id nor its noise ever belongs to another item.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam, func, insert, select, update

from recveil.advisor.problems import Problem
from recveil.advisor.schema import alone, items
from recveil.advisor.store import now
from recveil.advisor.writes import Stock, Withdraw

STOCK = 1000  # items that are looked up at once


def stock(db: sa.Connection, write: Stock) -> dict[str, Any]:
    titles, added, gone = dict(write.items), 0, 0
    revision = _next(db)
    names = sorted(titles)
    for first in range(0, len(names), STOCK):
        part = names[first : first + STOCK]
        rows = db.execute(select(items.c.key, items.c.withdrawn).where(items.c.key.in_(part)))
        known = {row.key: row.withdrawn for row in rows}
        old = [{"k": key, "t": titles[key], "r": revision} for key in part if key in known and known[key] is None]
        new = [{"key": key, "title": titles[key], "revision": revision} for key in part if key not in known]
        if old:
            named = update(items).where(items.c.key == bindparam("k"))
            db.execute(named.values(title=bindparam("t"), revision=bindparam("r")), old)
        if new:
            db.execute(insert(items), new)
        added, gone = added + len(new), gone + len(known) - len(old)
    return {"added": added, "renamed": len(titles) - added - gone, "withdrawn": gone}


def withdraw(db: sa.Connection, write: Withdraw) -> dict[str, Any] | Problem:
    there = (items.c.key == write.item) & items.c.withdrawn.is_(None)
    if db.execute(update(items).where(there).values(withdrawn=now(), revision=_next(db))).rowcount:
        return {}
    return Problem(404, "there is no such item")


def _next(db: sa.Connection) -> int:
    """The number of the next change of the catalogue: whoever has seen up to one finds what came later."""
    alone(db)
    return int(db.execute(select(func.coalesce(func.max(items.c.revision), 0))).scalar_one()) + 1
