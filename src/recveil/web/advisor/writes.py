"""Everything that changes the database. Writes come in batches; a batch is one transaction.

Clicks and undos that stand next to each other are decided together: what they touch is read once, each is judged in
order against it, and the sum of all changes is written. Accounts are locked first, so two processes on one database
never judge the same person at the same time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Engine, bindparam, delete, insert, select, update

from recveil.web.advisor.problems import Problem, nobody
from recveil.web.advisor.schema import clicks, items, keys, people
from recveil.web.advisor.store import DAY, SIGNS, YEAR, iso, now

REMEMBER = 30 * DAY  # how long an idempotency key is known
STOCK = 1000  # items that are looked up at once
ATTEMPTS = 3  # where another process on the same database came in between


@dataclass(frozen=True)
class Join:
    """A new account for the token with this hash."""

    token: bytes


@dataclass(frozen=True)
class Click:
    token: bytes
    item: str
    sign: int
    key: str

    @property
    def digest(self) -> bytes:
        return sha256(self.key.encode()).digest()

    @property
    def request(self) -> bytes:
        """What was asked. Without the key, which only the asker knows, it tells nothing."""
        return sha256(f"{self.key}\0{self.sign}\0{self.item}".encode()).digest()


@dataclass(frozen=True)
class Undo:
    token: bytes
    item: str


@dataclass(frozen=True)
class Choose:
    """A default strategy."""

    token: bytes
    strategy: str | None


@dataclass(frozen=True)
class Visit:
    """She was here: the token is good for another year."""

    token: bytes


@dataclass(frozen=True)
class Erase:
    token: bytes


@dataclass(frozen=True)
class Stock:
    """Items of the catalogue, (key, title) each: new ones are added, known ones get the title."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Forget:
    """What has had its time: accounts that nobody used for a year, idempotency keys of long ago."""


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

Write = Join | Click | Undo | Choose | Visit | Erase | Stock | Forget
Answer = dict[str, Any] | Problem


def apply(engine: Engine, writes: Sequence[Write]) -> list[Answer]:
    """Carry out all writes in one transaction. Problems are answers: they concern one write, not the batch."""
    for attempt in range(ATTEMPTS):
        try:
            with engine.begin() as db:
                answers: list[Answer] = []
                for kind, run in groupby(writes, key=lambda write: isinstance(write, Click | Undo)):
                    answers += _judge(db, list(run)) if kind else [_single(db, write) for write in run]  # type: ignore[arg-type]  # noqa: B031
                return answers
        except sa.exc.IntegrityError:
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError


# --- clicks and undos -----------------------------------------------------------------------------------------


@dataclass
class _Changes:
    """What a run of clicks and undos changes, gathered before anything is written."""

    clicks: dict[tuple[int, int], dict[str, int]] = field(default_factory=dict)
    keys: list[dict[str, Any]] = field(default_factory=list)
    undone: list[int] = field(default_factory=list)
    counters: dict[int, Counter[int]] = field(default_factory=dict)

    def count(self, item: int, sign: int, by: int) -> None:
        self.counters.setdefault(item, Counter())[sign] += by

    def write(self, db: sa.Connection) -> None:
        if self.undone:
            db.execute(UNDO, {"ids": self.undone})
        if self.clicks:
            db.execute(INSERT_CLICKS, list(self.clicks.values()))
        if self.keys:
            db.execute(INSERT_KEYS, self.keys)
        move(db, self.counters)


def move(db: sa.Connection, counters: dict[int, Counter[int]]) -> None:
    """Add to item counters, in the order of ids, so that two processes never wait for each other in a circle."""
    rows = [
        {"i": item, "l": change[1], "d": change[-1]}
        for item, change in sorted(counters.items())
        if any(change.values())
    ]
    if rows:
        db.execute(MOVE, rows)


def _judge(db: sa.Connection, run: list[Click | Undo]) -> list[Answer]:
    persons = _persons(db, {write.token for write in run})
    ids = list(persons.values())
    stock = {row.key: row.id for row in db.execute(ITEMS, {"keys": [write.item for write in run]})}
    made: Made = {
        (who, what): (number, sign)
        for who, what, number, sign in db.execute(MADE, {"persons": ids, "items": list(stock.values())})
    }
    digests = [write.digest for write in run if isinstance(write, Click)]
    used = {
        (who, key): (request, at) for who, key, request, at in db.execute(USED, {"persons": ids, "digests": digests})
    }
    changes = _Changes()
    answers: list[Answer] = []
    for write in run:
        who, what = persons.get(write.token), stock.get(write.item)
        if who is None:
            answers.append(nobody())
        elif isinstance(write, Undo):
            answers.append(_undo(who, what, made, changes))
        else:
            answers.append(_click(write, who, what, made, used, changes))
    changes.write(db)
    return answers


def _persons(db: sa.Connection, tokens: set[bytes]) -> dict[bytes, int]:
    """Whom the tokens belong to. Whoever comes again after a day has another year from now on."""
    rows = db.execute(PERSONS, {"tokens": list(tokens), "since": now() - YEAR}).all()
    back = [row.id for row in rows if row.seen < now() - DAY]
    if back:
        db.execute(update(people).where(people.c.id.in_(back)).values(seen=now()))
    return {row.token: row.id for row in rows}


Made = dict[tuple[int, int], tuple[int | None, int]]  # click id (none before it is written) and sign


def _click(
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
    changes.count(what, write.sign, by=1)
    return _clicked(write, at, again=False)


def _clicked(write: Click, at: int, again: bool) -> dict[str, Any]:
    return {"item": write.item, "sign": SIGNS[write.sign], "at": iso(at), "again": again}


def _undo(who: int, what: int | None, made: Made, changes: _Changes) -> Answer:
    if what is None or (who, what) not in made:
        return Problem(404, "there is no click on this item")
    number, sign = made.pop((who, what))
    if number is None:
        del changes.clicks[who, what]
    else:
        changes.undone.append(number)
    changes.count(what, sign, by=-1)
    return {}


# --- all others -----------------------------------------------------------------------------------------------


def _single(db: sa.Connection, write: Join | Choose | Visit | Erase | Stock | Forget) -> Answer:
    if isinstance(write, Join):
        at = now()
        db.execute(insert(people).values(token=write.token, created=at, seen=at))
        return {"created": iso(at)}
    if isinstance(write, Stock):
        return _stock(db, write)
    if isinstance(write, Forget):
        return _forget(db)
    who = _persons(db, {write.token}).get(write.token)
    if who is None:
        return nobody()
    if isinstance(write, Erase):
        erase(db, who)
    elif isinstance(write, Choose):
        db.execute(update(people).where(people.c.id == who).values(strategy=write.strategy))
    return {}


def erase(db: sa.Connection, who: int) -> None:
    """Nothing of hers remains: clicks, what they added to counters, keys, the account."""
    counters: dict[int, Counter[int]] = {}
    for item, sign in db.execute(select(clicks.c.item, clicks.c.sign).where(clicks.c.person == who)):
        counters[item] = Counter({sign: -1})
    for table in (clicks, keys):
        db.execute(delete(table).where(table.c.person == who))
    db.execute(delete(people).where(people.c.id == who))
    move(db, counters)


def _stock(db: sa.Connection, write: Stock) -> Answer:
    titles, added = dict(write.items), 0
    names = list(titles)
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


def _forget(db: sa.Connection) -> Answer:
    unused = select(people.c.id).where(people.c.token.is_not(None), people.c.seen <= now() - YEAR).limit(1000)
    gone = db.execute(unused).scalars().all()
    for who in gone:
        erase(db, who)
    old = db.execute(delete(keys).where(keys.c.at < now() - REMEMBER))
    return {"people": len(gone), "keys": old.rowcount}
