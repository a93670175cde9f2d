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
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import Engine, bindparam, delete, insert, select, update

from recveil.advisor.batches import settle, tokens_of
from recveil.advisor.bulk import FEW, accounts_of, add_to_counters
from recveil.advisor.problems import Problem, nobody
from recveil.advisor.schema import batches, clicks, keys, marks, people
from recveil.advisor.standing import ITEMS, MADE, MARKS, ClickChanges, Made, StandingClick, among
from recveil.advisor.stocking import stock, withdraw
from recveil.advisor.store import DAY, SIGNS, YEAR, iso, now
from recveil.advisor.writes import Choose, Click, Erase, Forget, Join, Portion, Stock, Undo, Visit, Withdraw, Write

REMEMBER = 30 * DAY  # how long an idempotency key is known
ATTEMPTS = 6  # where another process on the same database came in between
CIRCLES = ("40001", "40P01")  # PostgreSQL: serialization failure, deadlock

Answer = dict[str, Any] | Problem
Counters = defaultdict[int, list[int]]  # by item, as `bulk.COUNTERS`
CHANGES = 2  # of one person's mind about one item that reach the noisy counters
Result = TypeVar("Result")


# Statements of the way that every click takes are put together once.
PERSONS = (
    select(people.c.token, people.c.id, people.c.entered)
    .where(among(people.c.token, "tokens"), people.c.seen > bindparam("since"))
    .order_by(people.c.id)
    .with_for_update()
)
USED = select(keys.c.person, keys.c.key, keys.c.request, keys.c.at).where(
    among(keys.c.person, "persons"), among(keys.c.key, "digests")
)
CLICKING = update(people).where(among(people.c.id, "whom")).values(entered=1)


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


def apply(engine: Engine, writes: Sequence[Write], changes: int = CHANGES) -> list[Answer]:
    """Carry out all writes in one transaction. Problems are answers: they concern one write, not the batch."""

    def once() -> list[Answer]:
        with engine.begin() as db:
            tokens: set[bytes] = set()
            for write in writes:
                tokens |= tokens_of(write)
            batch = Transaction(db, changes, *_persons(db, tokens))
            answers: list[Answer] = []
            for kind, run in groupby(writes, key=lambda write: isinstance(write, Click | Undo)):
                answers += batch.judge(list(run)) if kind else [batch.single(write) for write in run]  # type: ignore[arg-type]  # noqa: B031
            batch.end()
            return answers

    return again(once)


def _persons(db: sa.Connection, tokens: set[bytes]) -> tuple[dict[bytes, int], set[int]]:
    """Whom the tokens belong to, locked, and who of them never clicked.

    A click gives her no other year: else one click on an item would decide how long all others count.
    """
    if not tokens:
        return {}, set()
    since = now() - YEAR
    if len(tokens) > FEW:
        rows = accounts_of(db, tokens, since)
    else:
        rows = db.execute(PERSONS, {"tokens": list(tokens), "since": since}).all()
    return {row.token: row.id for row in rows}, {row.id for row in rows if not row.entered}


def move(db: sa.Connection, counters: Counters) -> None:
    """Add to item counters, in the order of ids."""
    rows = [(*change, item) for item, change in sorted(counters.items()) if any(change)]
    if rows:
        add_to_counters(db, rows)


@dataclass
class Transaction:
    """A transaction: whose tokens are in it, and what it adds to counters in the end."""

    db: sa.Connection
    most: int  # changes of a person's mind about an item that reach noisy counters
    persons: dict[bytes, int]
    new: set[int]  # who of them never clicked
    counters: Counters = field(default_factory=lambda: defaultdict(lambda: [0] * 4))
    clicking: list[int] = field(default_factory=list)  # who clicked for the first time

    def end(self) -> None:
        """Write what was gathered."""
        if self.clicking:
            self.db.execute(CLICKING, {"whom": self.clicking})
        move(self.db, self.counters)

    def count(self, item: int, sign: int, by: int, entering: int) -> None:
        counter = self.counters[item]
        place = sign < 0
        counter[place] += by
        counter[2 + place] += entering

    # --- clicks and undos -------------------------------------------------------------------------------------

    def judge(self, run: list[Click | Undo]) -> list[Answer]:
        ids = sorted({self.persons[write.token] for write in run if write.token in self.persons})
        found = self.db.execute(ITEMS, {"keys": [write.item for write in run]}).all()
        known = {row.key: row.id for row in found}
        open_ = {row.id for row in found if row.withdrawn is None}
        rows = self.db.execute(MADE, {"persons": ids, "items": list(known.values())})
        made: Made = {(who, what): StandingClick(*standing) for who, what, *standing in rows}
        digests = [write.digest for write in run if isinstance(write, Click)]
        kept = self.db.execute(USED, {"persons": ids, "digests": digests})
        used = {(who, key): (request, at) for who, key, request, at in kept}
        marked = self.db.execute(MARKS, {"marks": [write.unit for write in run]})
        changes = ClickChanges(marked={row.mark: row.spent for row in marked})
        answers: list[Answer] = []
        for write in run:
            who, what = self.persons.get(write.token), known.get(write.item)
            if who is None:
                answers.append(nobody())
            elif isinstance(write, Undo):
                answers.append(self.undo(write, who, what, made, changes))
            else:
                answers.append(self.click(write, who, what, made, used, changes, what in open_))
        changes.write(self.db)
        return answers

    def click(
        self,
        write: Click,
        who: int,
        what: int | None,
        made: Made,
        used: dict[tuple[int, bytes], tuple[bytes, int]],
        changes: ClickChanges,
        on_offer: bool,
    ) -> Answer:
        before = used.get((who, write.digest))
        if before is not None:
            if before[0] != write.request:
                return Problem(422, "this Idempotency-Key was used for another request")
            if what is None or (who, what) not in made or made[who, what].sign != write.sign:
                return Problem(409, "this click was taken back; a new one needs a new Idempotency-Key")
            return _clicked(write, before[1], again=True)
        if what is None or not on_offer:
            return Problem(404, "there is no such item")
        if (who, what) in made:
            return Problem(409, "this item was clicked before; undo that click first")
        at = now()
        used[who, write.digest] = (write.request, at)
        changes.keys.append({"person": who, "key": write.digest, "request": write.request, "at": at})
        self.enter(who, what, write.sign, at, changes.spent(write.unit), made, changes)
        return _clicked(write, at, again=False)

    def enter(self, who: int, what: int, sign: int, at: int, spent: int, made: Made, changes: ClickChanges) -> None:
        """A click comes, after so many changes of her mind that counted; one more counts within their number."""
        entered = int(spent < self.most)
        made[who, what] = StandingClick(None, sign, spent + entered, entered)
        changes.clicks[who, what] = (who, what, sign, at, spent + entered, entered)
        self.count(what, sign, by=1, entering=entered)
        if who in self.new:
            self.clicking.append(who)
            self.new.discard(who)

    def undo(self, write: Undo, who: int, what: int | None, made: Made, changes: ClickChanges) -> Answer:
        if what is None or (who, what) not in made:
            return Problem(404, "there is no click on this item")
        self.take_back(who, what, write.unit, made, changes)
        return {}

    def take_back(self, who: int, what: int, unit: bytes, made: Made, changes: ClickChanges) -> None:
        """A click that stands goes; what she has spent of her changes is kept under a mark."""
        stood = made.pop((who, what))
        if stood.number is None:
            del changes.clicks[who, what]
        else:
            changes.undone.append(stood.number)
        left = self.leave(what, stood.sign, stood.spent, stood.entered)
        changes.marks[unit] = {"mark": unit, "person": who, "spent": stood.spent + left}

    def leave(self, item: int, sign: int, spent: int, entered: int) -> int:
        """A click goes; from noisy counters only where it had entered them, and within the number of changes."""
        left = int(entered and spent < self.most)
        self.count(item, sign, by=-1, entering=-left)
        return left

    # --- all others -------------------------------------------------------------------------------------------

    def single(self, write: Join | Choose | Visit | Erase | Stock | Withdraw | Forget | Portion) -> Answer:
        if isinstance(write, Join):
            first = write.token not in self.persons
            self.welcome([write.token]) if write.known else self.join([write.token])
            return {"created": iso(now()), "new": first}
        if isinstance(write, Portion):
            return settle(self, write)
        if isinstance(write, Stock):
            return stock(self.db, write)
        if isinstance(write, Withdraw):
            return withdraw(self.db, write)
        if isinstance(write, Forget):
            return self.forget()
        who = self.persons.get(write.token)
        if who is None:
            return nobody()
        if isinstance(write, Erase):
            self.erase([who])
            del self.persons[write.token]
        else:
            new = {"strategy": write.strategy} if isinstance(write, Choose) else {"seen": now()}
            self.db.execute(update(people).where(people.c.id == who).values(**new))
        return {}

    def join(self, tokens: list[bytes]) -> None:
        """New accounts."""
        at = now()
        rows = [{"token": token, "created": at, "seen": at} for token in tokens]
        if rows:
            for who, token in self.db.execute(insert(people).returning(people.c.id, people.c.token), rows).all():
                self.persons[token] = who
                self.new.add(who)

    def welcome(self, tokens: Sequence[bytes]) -> None:
        """People whom a platform speaks for are here: each has an account, which is good for another year."""
        wanted = dict.fromkeys(tokens)
        here = [self.persons[token] for token in wanted if token in self.persons]
        absent = [token for token in wanted if token not in self.persons]
        if here:
            self.db.execute(update(people).where(people.c.id.in_(here)).values(seen=now()))
        if absent:  # or not here for a year, and not erased yet
            self.erase(self.db.execute(select(people.c.id).where(people.c.token.in_(absent))).scalars().all())
        self.join(absent)

    def erase(self, whom: Sequence[int]) -> None:
        """Nothing of theirs remains: clicks, what they added to counters, keys, accounts."""
        if not whom:
            return
        mine = select(clicks.c.item, clicks.c.sign, clicks.c.spent, clicks.c.entered).where(clicks.c.person.in_(whom))
        for row in self.db.execute(mine):
            self.leave(*row)
        for table in (clicks, keys, marks):
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
        self.erase(gone)
        old = self.db.execute(delete(keys).where(keys.c.at < now() - REMEMBER))
        self.db.execute(delete(batches).where(batches.c.at < now() - REMEMBER))
        return {"people": len(gone), "keys": old.rowcount}


def _clicked(write: Click, at: int, again: bool) -> dict[str, Any]:
    return {"item": write.item, "sign": SIGNS[write.sign], "at": iso(at), "again": again}
