"""Public counters with a bound: exact noise, look after look, within a yearly budget that the database keeps.

A year has one key, from which the noise of all its looks derives, and a number of looks that its budget is for. A look
is made beside the writer, as a draft that nobody reads; one small transaction says that it was taken and which draft
is shown. What was not named there was never shown, and what was is never made again. The last look of a year closes
it: its noisy totals stay, its key and its exact counters go.
docs/guarantees/advisor.md has the theorem.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from math import ceil, hypot, sqrt
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import Engine, delete, func, insert, select, update

from recveil.advisor import counter_noise, profile_parts
from recveil.advisor.bulk import whole_columns
from recveil.advisor.counter_noise import noise_of, people_noise
from recveil.advisor.profile_parts import Ints, Write
from recveil.advisor.schema import alone, clicks, items, noise_sums, people, profiles, years
from recveil.advisor.store import YEAR, at_once, iso, now, reading, steady
from recveil.dp import continual
from recveil.dp.budget import SPARE, epsilon_of, rho_of, upwards
from recveil.errors import RecveilError

PEOPLE_SHARE = 0.06  # of the budget, for the number of people
CLOSING_SHARE = 0.06  # and for measuring once more what a year ends with: makes later years a seventh less noisy
NOBODY = 2.33  # deviations: of the items that nobody clicked one in a hundred shows
PEOPLE_CHANGES = 2  # she comes once, with her first click, and leaves once


@dataclass(frozen=True)
class CounterBudget:
    """What the public counters may give away of one person's clicking one item, with all changes of her mind."""

    epsilon: float = 2.0
    delta: float = 1e-6
    looks: int = 365  # a year
    changes: int = 2  # that ever reach a counter: a click, and its being taken back

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= 100 or not 0 < self.delta < 0.1:
            raise RecveilError("the budget of counters: epsilon lies in (0, 100], delta in (0, 0.1)")
        if self.changes < 1 or self.looks < 2:
            raise RecveilError("the budget of counters: at least 2 looks a year, and 1 change")

    def variances(self) -> tuple[int, int]:
        """Of the noise for items and for people, as `dp.continual` takes them."""
        rho = rho_of(self.epsilon, self.delta)
        return (
            continual.variance(self.looks, self.changes, (1 - PEOPLE_SHARE - CLOSING_SHARE) * rho),
            continual.variance(self.looks, PEOPLE_CHANGES, PEOPLE_SHARE * rho),
        )

    def closing_variance(self) -> int:
        """Of the noise with which an item's counter is measured once more, when a year ends."""
        return ceil(self.changes / (2 * CLOSING_SHARE * rho_of(self.epsilon, self.delta)) * (1 + 1e-9)) + SPARE


@dataclass(frozen=True)
class CounterNoise:
    """What is shown of all items together: people, and the deviations of their number and of every counter."""

    people: int
    deviation: float
    people_deviation: float
    budget: CounterBudget  # of all years together
    least: int  # likes and dislikes together, below which there is too little beside the noise to say anything
    overspent: str | None  # until when counters were shown that gave more away (migrations/versions/sixth.py)


def _newest(db: sa.Connection) -> Any:
    return db.execute(select(years).order_by(years.c.id.desc()).limit(1)).mappings().first()


def _open(db: sa.Connection, budget: CounterBudget, **begin: Any) -> None:
    variance, people_variance = budget.variances()
    db.execute(
        insert(years).values(
            opened=now(),
            key=secrets.token_bytes(32),
            epsilon=budget.epsilon,
            delta=budget.delta,
            looks=budget.looks,
            changes=budget.changes,
            variance=variance,
            people_variance=people_variance,
            closing_variance=budget.closing_variance(),
            **begin,
        )
    )


@dataclass(frozen=True)
class ReadyLook:
    """A look that is due, with its noise."""

    year: Any
    closing: bool
    noise: Ints  # of likes and dislikes, by item number
    crowd: int  # the noise of the number of people


@dataclass(frozen=True)
class SeenCounters:
    """What a look reads, all at one moment."""

    exact: Ints  # likes and dislikes of this year, by item number
    people: int
    newest: int  # the last click
    before: Ints  # likes and dislikes of the closed years, with noise


def look(engine: Engine, budget: CounterBudget, carry_out: Write[Any] | None = None) -> bool:
    """Take a look where one is due: whether it was taken. Its transactions are small, and others may come between."""
    carry_out = carry_out or at_once(engine)
    ready = prepare(engine, budget, carry_out)
    return ready is not None and take(engine, budget, ready, carry_out)


def prepare(engine: Engine, budget: CounterBudget, carry_out: Write[Any]) -> ReadyLook | None:
    """The look that is due, if one is, with its noise; a year is opened where none runs."""
    with reading(engine) as db:
        year = _newest(db)
    if year is None or year["closed"]:  # none, or the database comes from a backup
        year = carry_out(lambda db: _opened(db, budget))
    profile_parts.take_off(year["ended"], carry_out)  # where whoever closed a year was stopped
    if year["changes"] != budget.changes:
        raise RecveilError(
            f"this database lets {year['changes']} changes reach its counters, for ever; "
            f"start with --changes {year['changes']}, or name a new one with --database"
        )
    closing = now() >= year["opened"] + YEAR
    due = year["done"] < year["looks"] - 1 and now() >= year["looked"] + YEAR // year["looks"]
    if not closing and not due:
        return None
    with reading(engine) as db:
        n = db.execute(select(func.coalesce(func.max(items.c.id), 0))).scalar_one() + 1
    at = year["done"] + 1
    return ReadyLook(year, closing, noise_of(engine, year, at, n, carry_out, closing), people_noise(year, at))


def _opened(db: sa.Connection, budget: CounterBudget) -> Any:
    alone(db)
    year = _newest(db)
    if year is None or year["closed"]:  # no other process was quicker
        _open(db, budget, **(_begin(db, year) if year else {}))
    return _newest(db)


def take(engine: Engine, budget: CounterBudget, ready: ReadyLook, carry_out: Write[Any]) -> bool:
    """Write what a look shows, and then that it was taken: whether it was."""
    seen = _seen(engine, ready.year, ready.noise.shape[1])
    draft = 2 * secrets.randbits(61)  # the one beside it is for exact counters, which nobody is ever shown
    shown = seen.exact + ready.noise
    shown[:, : seen.before.shape[1]] += seen.before
    profile_parts.write(draft, shown, carry_out)
    if ready.closing:
        profile_parts.write(draft + 1, seen.exact, carry_out)
    taken = carry_out(lambda db: _taken(db, budget, ready, seen, draft))
    with reading(engine) as db:
        year = _newest(db)
    profile_parts.forget({year["shown"], year["base"], year["ended"]} - {None}, carry_out)
    profile_parts.take_off(year["ended"], carry_out)
    return bool(taken)


def _seen(engine: Engine, year: Any, n: int) -> SeenCounters:
    exact = np.zeros((2, n), np.int64)
    columns = (items.c.id, items.c.entered_likes, items.c.entered_dislikes)
    with steady(engine) as db:
        for _, first, many in profile_parts.parts(n):
            moved = (items.c.entered_likes != 0) | (items.c.entered_dislikes != 0)
            which, *counts = whole_columns(db, columns, items.c.id.between(first, first + many - 1) & moved)
            exact[:, which] = counts
        count = _entered_people(db)
        newest = db.execute(select(func.coalesce(func.max(clicks.c.id), 0))).scalar_one()
        return SeenCounters(exact, count, newest, profile_parts.read(db, year["base"]))


def _entered_people(db: sa.Connection) -> int:
    return db.execute(select(func.count()).select_from(people).where(people.c.entered == 1)).scalar_one()


def _taken(db: sa.Connection, budget: CounterBudget, ready: ReadyLook, seen: SeenCounters, draft: int) -> bool:
    """From here on the draft is what is shown, unless another process was quicker."""
    alone(db)
    year = ready.year
    same = (years.c.id == year["id"]) & (years.c.done == year["done"]) & years.c.closed.is_(None)
    values = {
        "done": year["done"] + 1,
        "looked": now(),
        "shown": draft,
        "people": year["closed_people"] + seen.people - year["began_with"] + ready.crowd,
        "upto": seen.newest,
    }
    drafts = range(draft, draft + 1 + ready.closing)
    if not all(profile_parts.is_whole(db, each, ready.noise.shape[1]) for each in drafts):
        return False
    if db.execute(update(years).where(same).values(**values)).rowcount != 1:
        return False
    if ready.closing:
        _close(db, year, budget, seen, draft + 1)
    return True


def _close(db: sa.Connection, year: Any, budget: CounterBudget, seen: SeenCounters, ended_draft: int) -> None:
    """This year's noisy totals stay for ever; its key goes, and the next year begins at zero: exact counters of it
    are in a draft, and taken off those of items before any look, a few at a time, since clicks wait meanwhile."""
    db.execute(delete(noise_sums))
    db.execute(update(years).where(years.c.id == year["id"]).values(closed=now(), key=None))
    ended = _newest(db)
    spread = ended["closed_spread"] + counter_noise.closing_spread(ended)
    _open(db, budget, **{**_begin(db, ended, seen.people), "closed_spread": spread, "ended": ended_draft})


def _begin(db: sa.Connection, ended: Any, began_with: int | None = None) -> dict[str, Any]:
    """What a year begins with after another that is closed."""
    return {
        "began_with": _entered_people(db) if began_with is None else began_with,
        "shown": ended["shown"],
        "base": ended["shown"],
        "people": ended["people"],
        "upto": ended["upto"],
        "looked": now(),
        "closed_people": ended["people"],
        "closed_spread": ended["closed_spread"] + _deviation(ended, "variance") ** 2,
        "closed_people_spread": ended["closed_people_spread"] + _deviation(ended, "people_variance") ** 2,
    }


def seal(db: sa.Connection) -> None:
    """Close the year of a copy as its last look showed it, without another look: the looks that follow in the original
    may have been shown already when the copy is needed, and their noise must not meet other counts. What came after the
    last look stays stored, and is not counted. The next year begins, with a new key, where the copy is first served.
    """
    year = _newest(db)
    if year is None or year["closed"]:
        return
    last = db.execute(select(func.coalesce(func.max(clicks.c.id), 0))).scalar_one()
    db.execute(update(clicks).where(clicks.c.id > year["upto"]).values(entered=0))
    db.execute(update(items).values(entered_likes=0, entered_dislikes=0))
    if year["shown"] is not None:
        db.execute(delete(profiles).where(profiles.c.draft != year["shown"]))  # what nobody has seen yet
    ended = update(years).where(years.c.id == year["id"])
    db.execute(ended.values(closed=now(), key=None, ended=None, upto=max(last, year["upto"])))


def blur(db: sa.Connection) -> CounterNoise | None:
    """What the last look says of all items together; none before the first."""
    year = _newest(db)
    if year is None:
        return None
    deviation, people_deviation = (
        hypot(sqrt(year[f"closed_{name}spread"]), _deviation(year, f"{name}variance")) for name in ("", "people_")
    )
    ended = db.execute(select(func.max(years.c.closed)).where(years.c.overspent == 1)).scalar_one()
    return CounterNoise(
        max(1, year["people"]),
        round(deviation, 3),
        round(people_deviation, 3),
        CounterBudget(_epsilon(db, year), year["delta"], year["looks"], year["changes"]),
        too_few(deviation),
        None if ended is None else iso(ended)[:10],
    )


def last_draft(db: sa.Connection) -> int | None:
    """What the last look shows: likes and dislikes by item number, with noise (`profile_parts.read`)."""
    year = _newest(db)
    return year["shown"] if year else None


def too_few(deviation: float) -> int:
    """Below which number of clicks nothing is shown, where each of the two counters has noise of this deviation."""
    return ceil(NOBODY * sqrt(2) * deviation)


def _epsilon(db: sa.Connection, year: Any) -> float:
    """Of all years together, at the delta of this one: a unit's shares of them add up to the largest rho at most."""
    spent = (years.c.done > 0) | (years.c.id == year["id"])
    stated = db.execute(select(years.c.epsilon, years.c.delta).where(spent).distinct()).all()
    most = max(rho_of(epsilon, delta) for epsilon, delta in stated)
    if most == rho_of(year["epsilon"], year["delta"]):
        return float(year["epsilon"])
    return upwards(epsilon_of(most, year["delta"]))


def _deviation(year: Any, of: str) -> float:
    return continual.deviation(year["done"], year["looks"], year[of])
