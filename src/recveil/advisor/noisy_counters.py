"""Public counters with a bound: exact noise, look after look, within a yearly budget that the database keeps.

A year has one key, from which the noise of all its looks derives, and a number of looks that its budget is for. A look
writes what it shows, and that it was taken, in one transaction: what was not written was never shown, and what was is
never drawn again. The last look of a year closes it: its noisy totals stay, its key and its exact counters go.
docs/guarantees/advisor.md has the theorem.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from math import ceil, hypot, sqrt
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy import Engine, delete, func, insert, select, update

from recveil.advisor.schema import alone, clicks, items, people, profiles, years
from recveil.advisor.store import YEAR, iso, now, reading
from recveil.dp import continual
from recveil.dp.budget import epsilon_of, rho_of, upwards
from recveil.errors import RecveilError
from recveil.randomness import Source

PEOPLE_SHARE = 0.06  # of the budget, for the number of people
NOBODY = 2.33  # deviations: of the items that nobody clicked one in a hundred shows
PEOPLE_CHANGES = 2  # she comes once, with her first click, and leaves once
Ints = NDArray[np.int64]


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
            continual.variance(self.looks, self.changes, (1 - PEOPLE_SHARE) * rho),
            continual.variance(self.looks, PEOPLE_CHANGES, PEOPLE_SHARE * rho),
        )


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


def _open(db: sa.Connection, budget: CounterBudget, **begin: float) -> None:
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
            **begin,
        )
    )


@dataclass(frozen=True)
class ReadyLook:
    """A look that is due, with its noise drawn: all that takes long, and needs no writer."""

    year: Any
    closing: bool
    noise: tuple[Ints, Ints, int]
    ended: dict[int, tuple[int, int]]  # likes and dislikes by item, as the closed years ended


def look(engine: Engine, budget: CounterBudget) -> bool:
    """Take a look where one is due: whether it was taken."""
    ready = prepare(engine, budget)
    return ready is not None and take(engine, budget, ready)


def prepare(engine: Engine, budget: CounterBudget) -> ReadyLook | None:
    """The look that is due, if one is; a year is opened where none runs."""
    with reading(engine) as db:
        year = _newest(db)
    if year is None or year["closed"]:  # none, or the database comes from a backup
        year = _opened(engine, budget)
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
        most = db.execute(select(func.coalesce(func.max(items.c.id), 0))).scalar_one()
        ended = select(profiles.c.item, profiles.c.closed_likes, profiles.c.closed_dislikes)
        known = {item: (likes, dislikes) for item, likes, dislikes in db.execute(ended)}
    return ReadyLook(year, closing, _noise(year, most + 1), known)


def _opened(engine: Engine, budget: CounterBudget) -> Any:
    with engine.begin() as db:
        alone(db)
        year = _newest(db)
        if year is None or year["closed"]:  # no other process was quicker
            _open(db, budget, **(_begin(db, year) if year else {}))
        return _newest(db)


def take(engine: Engine, budget: CounterBudget, ready: ReadyLook) -> bool:
    """Write what a look shows, and that it was taken: whether it was."""
    year = ready.year
    with engine.begin() as db:
        alone(db)
        same = (years.c.id == year["id"]) & (years.c.done == year["done"]) & years.c.closed.is_(None)
        taken = db.execute(update(years).where(same).values(done=year["done"] + 1, looked=now()))
        if taken.rowcount != 1:
            return False  # another process was quicker
        shown = _show(db, year, ready.noise, ready.ended)
        if ready.closing:
            _close(db, year, budget, shown)
    return True


def _noise(year: Any, n: int) -> tuple[Ints, Ints, int]:
    """For likes and dislikes by item number, and for people: whole numbers.

    What a counter gets is a function of the year's key, its sign, its item's number (which never comes back) and the
    look, and of nothing else: not of how many items there are, which grows while the year runs.
    """
    source, at = Source(year["key"], seeded=False), year["done"] + 1

    def of(name: str, variance: int, cells: int) -> Ints:
        return continual.whole(continual.noise(source.derive(name), at, year["looks"], variance, cells))

    likes, dislikes = (of(name, year["variance"], n) for name in ("likes", "dislikes"))
    return likes, dislikes, int(of("people", year["people_variance"], 1)[0])


def _show(
    db: sa.Connection, year: Any, noise: tuple[Ints, Ints, int], ended: dict[int, tuple[int, int]]
) -> tuple[list[dict[str, int]], int]:
    """Write the profiles of this look; the exact counters that went into them, and how many people."""
    likes, dislikes, crowd = noise
    read = db.execute(
        select(items.c.id, items.c.entered_likes, items.c.entered_dislikes).where(items.c.id < len(likes))
    ).all()
    rows, exact = [], []
    for item, a, b in read:
        base = ended.get(item, (0, 0))
        shown = {"likes": base[0] + a + int(likes[item]), "dislikes": base[1] + b + int(dislikes[item])}
        rows.append({"item": item, **shown, "closed_likes": base[0], "closed_dislikes": base[1]})
        exact.append({"i": item, "l": a, "d": b})
    db.execute(delete(profiles))
    if rows:
        db.execute(insert(profiles), rows)
    count = db.execute(select(func.count()).select_from(people).where(people.c.entered == 1)).scalar_one()
    newest = db.execute(select(func.coalesce(func.max(clicks.c.id), 0))).scalar_one()
    seen = year["closed_people"] + count - year["began_with"] + crowd
    db.execute(update(years).where(years.c.id == year["id"]).values(people=seen, upto=newest))
    return exact, count


def _close(db: sa.Connection, year: Any, budget: CounterBudget, shown: tuple[list[dict[str, int]], int]) -> None:
    """This year's noisy totals stay for ever; its key and its exact counters go, and the next year begins at zero."""
    exact, _ = shown
    db.execute(update(profiles).values(closed_likes=profiles.c.likes, closed_dislikes=profiles.c.dislikes))
    if exact:
        db.execute(
            update(items)
            .where(items.c.id == sa.bindparam("i"))
            .values(
                entered_likes=items.c.entered_likes - sa.bindparam("l"),
                entered_dislikes=items.c.entered_dislikes - sa.bindparam("d"),
            ),
            exact,
        )
    db.execute(update(years).where(years.c.id == year["id"]).values(closed=now(), key=None))
    _open(db, budget, **_begin(db, _newest(db)))


def _begin(db: sa.Connection, ended: Any) -> dict[str, float]:
    """What a year begins with after another that is closed."""
    return {
        "began_with": db.execute(select(func.count()).select_from(people).where(people.c.entered == 1)).scalar_one(),
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
    db.execute(update(profiles).values(closed_likes=profiles.c.likes, closed_dislikes=profiles.c.dislikes))
    ended = update(years).where(years.c.id == year["id"])
    db.execute(ended.values(closed=now(), key=None, upto=max(last, year["upto"])))


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
