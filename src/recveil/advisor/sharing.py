"""Limits that the workers of one server keep together, through the database.

How much each caller has to pay for is added up in one table. Who it is stands there as a hash with a salt that only the
workers know, and that goes with them: nothing can be read from it. New accounts are asked for there one by one; of the
frequent things each worker tells the others once a second, so a caller who asks all of N workers at the same moment may
do N times as much at once, and no more in the long run.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Hashable
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Engine, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from recveil.advisor.limits import RateLimit
from recveil.advisor.schema import allowances

EVERY = 1.0  # seconds between telling
OLD = 86_400.0  # seconds after which a line that was paid for is of no use


@dataclass(frozen=True)
class Sharing:
    """Of the workers that know this salt. Times are the machine's monotonic ones, which its processes share."""

    engine: Engine
    salt: bytes

    def name(self, limit: str, caller: Hashable) -> bytes:
        whose = caller if isinstance(caller, bytes) else str(caller).encode()
        return hmac.digest(self.salt, limit.encode() + b"\0" + whose, "sha256")

    def take(self, name: str, limit: RateLimit, caller: Hashable) -> None:
        """One thing more of this caller; a Problem where all workers together have seen too many."""
        now, who = time.monotonic(), self.name(name, caller)
        wanted = func.greatest(allowances.c.until, now) + 1 / limit.rate
        added = (
            insert(allowances)
            .values(who=who, until=now + 1 / limit.rate)
            .on_conflict_do_update(
                index_elements=[allowances.c.who],
                set_={"until": wanted},
                where=wanted <= now + limit.burst / limit.rate + 1e-6,
            )
            .returning(allowances.c.until)
        )
        with self.engine.begin() as db:
            db.exec_driver_sql("SET LOCAL synchronous_commit = off")
            if db.execute(added).scalar_one_or_none() is None:
                until = db.execute(select(allowances.c.until).where(allowances.c.who == who)).scalar_one()
                raise limit.refusal(limit.burst - limit.rate * (until - now))

    def exchange(self, limits: dict[str, RateLimit]) -> None:
        """Tell the others what was done here, and hear what was done there by the same callers."""
        now = time.monotonic()
        callers = {
            self.name(name, caller): (limit, caller, times / limit.rate)
            for name, limit in limits.items()
            for caller, times in limit.unshared().items()
        }
        if not callers:
            return
        given = insert(allowances).values(who=sa.bindparam("w"), until=now + sa.bindparam("cost", type_=sa.Float))
        adding = given.on_conflict_do_update(
            index_elements=[allowances.c.who],
            set_={"until": func.greatest(allowances.c.until, now) + sa.bindparam("cost", type_=sa.Float)},
        )
        rows = [{"w": who, "cost": cost} for who, (_, _, cost) in sorted(callers.items())]  # locks in one order
        with self.engine.begin() as db:
            db.exec_driver_sql("SET LOCAL synchronous_commit = off")
            db.execute(adding, rows)
            found = db.execute(select(allowances).where(allowances.c.who.in_(list(callers)))).all()
        for who, until in found:
            limit, caller, _ = callers[who]
            limit.remember(caller, until)

    def clear(self) -> None:
        """Nobody has to pay for anything: at the start, when no caller is known."""
        with self.engine.begin() as db:
            db.execute(delete(allowances))

    def forget(self) -> None:
        """Lines that were paid for long ago."""
        with self.engine.begin() as db:
            db.execute(delete(allowances).where(allowances.c.until < time.monotonic() - OLD))
