"""Writes are carried out in batches; a batch is one transaction.

Clicks and undos that stand next to each other are decided together: what they touch is read once, each is judged in
order against it, and the sum of all changes is written. Locks are taken in one order: all accounts of the batch first,
by their ids, and the counters of items last, by theirs. So two processes on one database never judge the same person
at the same time and do not wait for each other in a circle; where a database finds a circle all the same, the batch
is tried again.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Engine, bindparam, delete, insert, select, update

from recveil.web.advisor.problems import Problem, nobody
from recveil.web.advisor.schema import clicks, items, keys, people
from recveil.web.advisor.store import DAY, SIGNS, YEAR, iso, now
from recveil.web.advisor.writes import Choose, Click, Erase, Forget, Join, Stock, Undo, Visit, Write

REMEMBER = 30 * DAY  # how long an idempotency key is known
STOCK = 1000  # items that are looked up at once
ATTEMPTS = 6  # where another process on the same database came in between
CIRCLES = ("40001", "40P01")  # PostgreSQL: serialization failure, deadlock

Answer = dict[str, Any] | Problem
Counters = dict[int, Counter[int]]  # what is added, by item and sign
Result = TypeVar("Result")


def _among(column: sa.Column[Any], name: str) -> sa.ColumnElement[bool]:
    return column.in_(bindparam(name, expanding=True))


# Statements of the way that every click takes are put together once.
PERSONS = (
    select(people.c.token, people.c.id, people.c.seen)
    .where(_among(people.c.token, "tokens"), people.c.seen > bindparam("since"))
    .order_by(people.c.id)
    .with_for_update()
)
ITEMS = select(items.c.key, items.c.id).where(_among(items.c.key, "keys"))
MADE = select(clicks.c.person, clicks.c.item, clicks.c.id, clicks.c.sign).where(
    _among(clicks.c.person, "persons"), _among(clicks.c.item, "items")
)
USED = select(keys.c.person, keys.c.key, keys.c.request, keys.c.at).where(
    _among(keys.c.person, "persons"), _among(keys.c.key, "digests")
)
UNDO = delete(clicks).where(_among(clicks.c.id, "ids"))
MOVE = (
    update(items)
    .where(items.c.id == bindparam("i"))
    .values(
        likes=items.c.likes + bindparam("l"),
        dislikes=items.c.dislikes + bindparam("d"),
    )
)
INSERT_CLICKS, INSERT_KEYS = insert(clicks), insert(keys)


def again(work: Callable[[], Result]) -> Result:
    """Do it; once more, after a moment, where another process on the same database came in between."""
    for attempt in range(ATTEMPTS):
        try:
            return work()
        except (sa.exc.IntegrityError, sa.exc.OperationalError) as error:
            passing = isinstance(error, sa.exc.IntegrityError) or getattr(error.orig, "sqlstate", "") in CIRCLES
            if not passing or attempt == ATTEMPTS - 1:
                raise
            time.sleep(random.random() * 0.02 * 2**attempt)
    raise RuntimeError("unreachable")


def apply(engine: Engine, writes: Sequence[Write]) -> list[Answer]:
    """Carry out all writes in one transaction. Problems are answers: they concern one write, not the batch."""

    def once() -> list[Answer]:
        with engine.begin() as db:
            batch = _Batch(db, _persons(db, {write.token for write in writes if not isinstance(write, Stock | Forget)}))
            answers: list[Answer] = []
            for kind, run in groupby(writes, key=lambda write: isinstance(write, Click | Undo)):
                answers += batch.judge(list(run)) if kind else [batch.single(write) for write in run]  # type: ignore[arg-type]  # noqa: B031
            move(db, batch.counters)
            return answers

    return again(once)


def _persons(db: sa.Connection, tokens: set[bytes]) -> dict[bytes, int]:
    """Whom the tokens belong to, locked. Whoever comes again after a day has another year from now on."""
    if not tokens:
        return {}
    rows = db.execute(PERSONS, {"tokens": list(tokens), "since": now() - YEAR}).all()
    back = [row.id for row in rows if row.seen < now() - DAY]
    if back:
        db.execute(update(people).where(people.c.id.in_(back)).values(seen=now()))
    return {row.token: row.id for row in rows}


def move(db: sa.Connection, counters: Counters) -> None:
    """Add to item counters, in the order of ids."""
    rows = [
        {"i": item, "l": change[1], "d": change[-1]}
        for item, change in sorted(counters.items())
        if any(change.values())
    ]
    if rows:
        db.execute(MOVE, rows)


Made = dict[tuple[int, int], tuple[int | None, int]]  # click id (none before it is written) and sign


@dataclass
class _Changes:
    """What a run of clicks and undos changes, gathered before anything is written."""

    clicks: dict[tuple[int, int], dict[str, int]] = field(default_factory=dict)
    keys: list[dict[str, Any]] = field(default_factory=list)
    undone: list[int] = field(default_factory=list)

    def write(self, db: sa.Connection) -> None:
        if self.undone:
            db.execute(UNDO, {"ids": self.undone})
        if self.clicks:
            db.execute(INSERT_CLICKS, list(self.clicks.values()))
        if self.keys:
            db.execute(INSERT_KEYS, self.keys)


@dataclass
class _Batch:
    """A transaction: whose tokens are in it, and what it adds to counters in the end."""

    db: sa.Connection
    persons: dict[bytes, int]
    counters: Counters = field(default_factory=dict)

    def count(self, item: int, sign: int, by: int) -> None:
        self.counters.setdefault(item, Counter())[sign] += by

    # --- clicks and undos -------------------------------------------------------------------------------------

    def judge(self, run: list[Click | Undo]) -> list[Answer]:
        ids = sorted({self.persons[write.token] for write in run if write.token in self.persons})
        stock = {row.key: row.id for row in self.db.execute(ITEMS, {"keys": [write.item for write in run]})}
        rows = self.db.execute(MADE, {"persons": ids, "items": list(stock.values())})
        made: Made = {(who, what): (number, sign) for who, what, number, sign in rows}
        digests = [write.digest for write in run if isinstance(write, Click)]
        kept = self.db.execute(USED, {"persons": ids, "digests": digests})
        used = {(who, key): (request, at) for who, key, request, at in kept}
        changes = _Changes()
        answers: list[Answer] = []
        for write in run:
            who, what = self.persons.get(write.token), stock.get(write.item)
            if who is None:
                answers.append(nobody())
            elif isinstance(write, Undo):
                answers.append(self.undo(who, what, made, changes))
            else:
                answers.append(self.click(write, who, what, made, used, changes))
        changes.write(self.db)
        return answers

    def click(
        self,
        write: Click,
        who: int,
        what: int | None,
        made: Made,
        used: dict[tuple[int, bytes], tuple[bytes, int]],
        changes: _Changes,
    ) -> Answer:
        before = used.get((who, write.digest))
        if before is not None:
            if before[0] != write.request:
                return Problem(422, "this Idempotency-Key was used for another request")
            if what is None or made.get((who, what), (None, 0))[1] != write.sign:
                return Problem(409, "this click was taken back; a new one needs a new Idempotency-Key")
            return _clicked(write, before[1], again=True)
        if what is None:
            return Problem(404, "there is no such item")
        if (who, what) in made:
            return Problem(409, "this item was clicked before; undo that click first")
        at = now()
        made[who, what] = (None, write.sign)
        used[who, write.digest] = (write.request, at)
        changes.clicks[who, what] = {"person": who, "item": what, "sign": write.sign, "at": at}
        changes.keys.append({"person": who, "key": write.digest, "request": write.request, "at": at})
        self.count(what, write.sign, by=1)
        return _clicked(write, at, again=False)

    def undo(self, who: int, what: int | None, made: Made, changes: _Changes) -> Answer:
        if what is None or (who, what) not in made:
            return Problem(404, "there is no click on this item")
        number, sign = made.pop((who, what))
        if number is None:
            del changes.clicks[who, what]
        else:
            changes.undone.append(number)
        self.count(what, sign, by=-1)
        return {}

    # --- all others -------------------------------------------------------------------------------------------

    def single(self, write: Join | Choose | Visit | Erase | Stock | Forget) -> Answer:
        if isinstance(write, Join):
            at = now()
            made = insert(people).values(token=write.token, created=at, seen=at).returning(people.c.id)
            self.persons[write.token] = self.db.execute(made).scalar_one()
            return {"created": iso(at)}
        if isinstance(write, Stock):
            return _stock(self.db, write)
        if isinstance(write, Forget):
            return self.forget()
        who = self.persons.get(write.token)
        if who is None:
            return nobody()
        if isinstance(write, Erase):
            self.erase([who])
            del self.persons[write.token]
        elif isinstance(write, Choose):
            self.db.execute(update(people).where(people.c.id == who).values(strategy=write.strategy))
        return {}

    def erase(self, whom: Sequence[int]) -> None:
        """Nothing of theirs remains: clicks, what they added to counters, keys, accounts."""
        mine = select(clicks.c.item, clicks.c.sign).where(clicks.c.person.in_(whom))
        for item, sign in self.db.execute(mine):
            self.count(item, sign, by=-1)
        for table in (clicks, keys):
            self.db.execute(delete(table).where(table.c.person.in_(whom)))
        self.db.execute(delete(people).where(people.c.id.in_(whom)))

    def forget(self) -> Answer:
        unused = (
            select(people.c.id)
            .where(people.c.token.is_not(None), people.c.seen <= now() - YEAR)
            .limit(500)
            .with_for_update(skip_locked=True)
        )
        gone = self.db.execute(unused).scalars().all()
        if gone:
            self.erase(gone)
        old = self.db.execute(delete(keys).where(keys.c.at < now() - REMEMBER))
        return {"people": len(gone), "keys": old.rowcount}


def _clicked(write: Click, at: int, again: bool) -> dict[str, Any]:
    return {"item": write.item, "sign": SIGNS[write.sign], "at": iso(at), "again": again}


def _stock(db: sa.Connection, write: Stock) -> Answer:
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
