"""Batches of a platform: how things stand with many people, line by line.

A line says what a person thinks of an item from now on (like, dislike, or nothing any more), that she was here, or that
all that is hers goes. A batch is read whole before anything of it is done; then it is carried out in portions, a
transaction each, and how far it has come is written with them. Whoever sends the same batch with the same key again
goes on where it stopped, and one that is done changes nothing, however late it comes.

A click makes no account and is no visit: one click must not decide how long all others count
(docs/guarantees/advisor.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from pydantic_core import from_json
from sqlalchemy import insert, select, update

from recveil.advisor.bulk import clicks_of_pairs, items_of, marks_of
from recveil.advisor.platforms import PERSON, secret_of
from recveil.advisor.problems import Problem
from recveil.advisor.schema import batches
from recveil.advisor.standing import ClickChanges, Made, StandingClick
from recveil.advisor.store import SIGNS, now
from recveil.advisor.writes import Line, Portion, Write, mark

if TYPE_CHECKING:
    from recveil.advisor.applying import Transaction

LINES = 2000  # in a portion: other clicks wait for one at most
TOLD = 100  # refused lines that are told one by one
VALUES = {name: sign for sign, name in SIGNS.items()} | {None: 0}
NO_PERSON, NO_ITEM = "there is no such person; a line with the person alone makes an account", "there is no such item"


@dataclass(frozen=True)
class LinesOutcome:
    """What became of the lines that were carried out."""

    changed: int = 0
    same: int = 0  # stood so before
    refused: int = 0
    problems: tuple[tuple[int, str], ...] = ()  # line (1, 2, ...) and why, of the first that were refused

    def refusing(self, line: int, why: str) -> LinesOutcome:
        told = (*self.problems, (line, why)) if len(self.problems) < TOLD else self.problems
        return replace(self, refused=self.refused + 1, problems=told)


def read_lines(body: bytes) -> tuple[Line, ...]:
    """The lines of a batch (NDJSON); a Problem that names the first one that is none."""
    found = []
    for number, text in enumerate(body.splitlines(), 1):
        if text.strip():
            try:
                found.append(_line(from_json(text)))
            except (ValueError, TypeError, KeyError):
                raise Problem(422, f"line {number} is none of a batch; nothing was done") from None
    return tuple(found)


def _line(given: dict[str, Any]) -> Line:
    person = given["person"]
    if not PERSON.fullmatch(person):
        raise ValueError
    if set(given) == {"person"}:
        return Line(person)
    if set(given) == {"person", "erase"} and given["erase"] is True:
        return Line(person, erase=True)
    if set(given) != {"person", "item", "sign"} or not isinstance(given["item"], str):
        raise ValueError
    return Line(person, given["item"], VALUES[given["sign"]])


def portions(platform: int, salt: bytes, key: str, body: bytes, begun: int) -> Iterator[Portion]:
    """The rest of a batch of which so many lines are done."""
    lines, name, request = read_lines(body), sha256(key.encode()).digest(), sha256(body).digest()
    for first in range(begun, max(len(lines), 1), LINES):
        yield Portion(platform, salt, name, request, first, lines[first : first + LINES])


def progress(db: sa.Connection, platform: int, key: bytes) -> Any:
    """How far a batch has come; none where it is new."""
    return db.execute(select(batches).where(batches.c.platform == platform, batches.c.key == key)).mappings().first()


def tokens_of(write: Write) -> set[bytes]:
    """Whose accounts a write is about."""
    if isinstance(write, Portion):
        return {_names(write.salt, person)[1] for person in {line.person for line in write.lines}}
    token = getattr(write, "token", None)
    return set() if token is None else {token}


@lru_cache(maxsize=8 * LINES)
def _names(salt: bytes, person: str) -> tuple[str, bytes]:
    """What stands for a person, and its hash."""
    secret = secret_of(salt, person)
    return secret, sha256(secret.encode()).digest()


def settle(batch: Transaction, portion: Portion) -> dict[str, Any] | Problem:
    """Carry out a portion, and write down that it was."""
    before = progress(batch.db, portion.platform, portion.key)
    if before is not None and before["request"] != portion.request:
        return Problem(422, "this Idempotency-Key was used for another batch")
    if before is not None and before["done"] > portion.first:  # the same batch, sent twice at once
        return {"done": before["done"], **json.loads(before["outcome"])}
    work = _Work(
        batch, portion, LinesOutcome(**json.loads(before["outcome"])) if before is not None else LinesOutcome()
    )
    work.run()
    done = portion.first + len(portion.lines)
    told = {"done": done, "outcome": json.dumps(asdict(work.outcome)).encode(), "at": now()}
    if before is None:
        name = {"platform": portion.platform, "key": portion.key, "request": portion.request}
        batch.db.execute(insert(batches).values(**name, **told))
    else:
        mine = (batches.c.platform == portion.platform) & (batches.c.key == portion.key)
        batch.db.execute(update(batches).where(mine).values(**told))
    return {"done": done, **asdict(work.outcome)}


@dataclass
class _Work:
    """A portion that is being carried out."""

    batch: Transaction
    portion: Portion
    outcome: LinesOutcome
    tokens: dict[str, bytes] = field(default_factory=dict)
    items: dict[str, int] = field(default_factory=dict)
    offered: set[int] = field(default_factory=set)
    made: Made = field(default_factory=dict)
    changes: ClickChanges = field(default_factory=ClickChanges)
    minded: set[int] = field(default_factory=set)  # who has changed her mind before

    def run(self) -> None:
        lines, changed, same = self.portion.lines, 0, 0
        self.tokens = {person: _names(self.portion.salt, person)[1] for person in {line.person for line in lines}}
        self.batch.welcome([self.tokens[line.person] for line in lines if line.item is None and not line.erase])
        self.look_up()
        at = now()
        for number, line in enumerate(lines, self.portion.first + 1):
            who = self.batch.persons.get(self.tokens[line.person])
            if line.erase:
                changed, same = (changed, same + 1) if who is None else (changed + self.gone(line), same)
                continue
            if line.item is None:
                self.batch.welcome([self.tokens[line.person]] if who is None else [])
                changed += 1
                continue
            if who is None:
                self.outcome = self.outcome.refusing(number, NO_PERSON)
                continue
            moved = self.click(line, who, self.items.get(line.item), at)
            if moved is None:
                self.outcome = self.outcome.refusing(number, NO_ITEM)
            else:
                changed, same = changed + moved, same + 1 - moved
        self.changes.write(self.batch.db)
        self.outcome = replace(self.outcome, changed=self.outcome.changed + changed, same=self.outcome.same + same)

    def look_up(self) -> None:
        """All that the lines are about, at once."""
        db, lines = self.batch.db, self.portion.lines
        found = items_of(db, {line.item for line in lines if line.item is not None})
        self.items = {row.key: row.id for row in found}
        self.offered = {row.id for row in found if row.withdrawn is None}
        persons = {line.person: self.batch.persons.get(self.tokens[line.person]) for line in lines}
        pairs = {
            (who, what)
            for line in lines
            if (who := persons[line.person]) is not None and (what := self.items.get(line.item or "")) is not None
        }
        self.made = {(who, what): StandingClick(*standing) for who, what, *standing in clicks_of_pairs(db, pairs)}
        for name, spent, who in marks_of(db, {who for who in persons.values() if who is not None}):
            self.changes.marked[name] = spent
            self.minded.add(who)

    def click(self, line: Line, who: int, what: int | None, at: int) -> int | None:
        """1: things stand otherwise now; 0: as before; none: there is no such item."""
        stood = None if what is None else self.made.get((who, what))
        if what is None or (stood is None and what not in self.offered):
            return None
        if (stood.sign if stood else 0) == line.sign:
            return 0
        if stood is None and who not in self.minded:
            self.batch.enter(who, what, line.sign, at, 0, self.made, self.changes)
            return 1
        unit = mark(_names(self.portion.salt, line.person)[0], line.item or "")
        if stood is not None:
            self.batch.take_back(who, what, unit, self.made, self.changes)
            self.minded.add(who)
        if line.sign and what in self.offered:
            self.batch.enter(who, what, line.sign, at, self.changes.spent(unit), self.made, self.changes)
        return 1

    def gone(self, line: Line) -> int:
        """She and all that is hers; what was gathered so far is written first."""
        self.changes.write(self.batch.db)
        self.changes = ClickChanges(marked=self.changes.marked)
        self.batch.erase([self.batch.persons.pop(self.tokens[line.person])])
        self.look_up()
        return 1
