"""Histories of the click advisor, replayed by the server's own code, and by requests to it: what people do, and growth,
withdrawal, expiry, limits, erasure, restarts, backups and years around it. Two that differ in one unit are compared in
the theorem's norm, and what is shown with what is exact (docs/guarantees/advisor.md)."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from serving import ADMIN, API, ME, TestClient, click, client_of
from sqlalchemy import Engine, select

from recveil.advisor import (
    applying,
    backup,
    item_model,
    limits,
    noisy_counters,
    profile_parts,
    schema,
    stocking,
    store,
    totals,
)
from recveil.advisor.identity import digest
from recveil.advisor.limits import RateLimit
from recveil.advisor.problems import Problem
from recveil.advisor.service import Settings, open_advisor
from recveil.advisor.store import DAY, open_store, reading
from recveil.advisor.writes import Choose, Click, Erase, Forget, Join, Stock, Undo, Visit, Withdraw, Write
from recveil.dp import continual
from recveil.dp.noise import draw, gaussian
from recveil.kernels.discrete import words
from recveil.randomness import Source

Step = tuple[Any, ...]  # its name, and what it is about
BUDGET = noisy_counters.CounterBudget(looks=8)
CLICKS = 6  # of a person in a day; the server's own limit is higher, and the same
TICK = 15  # days between two looks at whether something is due
SIGNS = ("likes", "dislikes")
Cell = tuple[Any, ...]  # year (by its key), item, sign


@dataclass
class Look:
    """What one look saw exactly, and what it showed."""

    year: Any  # the row of the ledger as it was before
    exact: dict[tuple[int, str], int]
    shown: dict[tuple[int, str], int]  # of this year: without what closed years ended with
    people: tuple[int, int]  # of this year: exact, shown
    closing: bool


@dataclass
class World:
    """A server without its sockets: the store, the ledger, a limit, a clock."""

    folder: Path
    patch: pytest.MonkeyPatch
    at: int = 1_700_000_000
    files: int = 0
    looks: list[Look] = field(default_factory=list)
    accepted: list[Step] = field(default_factory=list)
    engine: Engine = field(init=False)
    limit: RateLimit = field(init=False)

    def __post_init__(self) -> None:
        for module in (applying, backup, item_model, noisy_counters, stocking, store, totals):
            self.patch.setattr(module, "now", lambda: self.at)
        self.patch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: float(self.at)))
        self.limit = RateLimit(CLICKS / DAY, CLICKS)
        self.folder.mkdir(parents=True)
        self.engine = open_store(self.database)
        honest = noisy_counters._taken

        def taken(db: Any, budget: Any, ready: Any, seen: Any, draft: int) -> Any:
            found = honest(db, budget, ready, seen, draft)
            if found:
                self.remember(db, ready, seen, draft)
            return found

        self.patch.setattr(noisy_counters, "_taken", taken)

    @property
    def database(self) -> str:
        return str(self.folder / f"{self.files}.sqlite")

    def remember(self, db: Any, ready: Any, seen: Any, draft: int) -> None:
        """What stands in the tables, read anew: the draft that is shown, and counters as they were (`seen`)."""
        year = ready.year
        of_this = select(schema.years.c.people, schema.years.c.shown).where(schema.years.c.id == year["id"])
        people, named = db.execute(of_this).one()
        assert named == draft
        shown = profile_parts.read(db, draft)
        before = profile_parts.read(db, year["base"])
        shown[:, : before.shape[1]] -= before
        known = db.execute(select(schema.items.c.id).where(schema.items.c.id < shown.shape[1])).scalars().all()
        cells = [(item, n, sign) for item in known for n, sign in enumerate(SIGNS)]
        self.looks.append(
            Look(
                dict(year),
                {(item, sign): int(seen.exact[n, item]) for item, n, sign in cells},
                {(item, sign): int(shown[n, item]) for item, n, sign in cells},
                (seen.people - year["began_with"], people - year["closed_people"]),
                ready.closing,
            )
        )

    def run(self, history: list[Step]) -> World:
        for step in history:
            if self.do(*step):
                self.accepted.append(step)
        self.engine.dispose()
        return self

    def do(self, name: str, *about: Any) -> bool:
        """Whether it was accepted."""
        match name:
            case "days":
                left = about[0]
                while left > 0:
                    self.at += min(TICK, left) * DAY
                    left -= TICK
                    noisy_counters.look(self.engine, BUDGET)
                    applying.apply(self.engine, [Forget()])
            case "restart":
                self.engine.dispose()
                self.engine = open_store(self.database)
            case "backup":
                self.engine.dispose()
                copy, old = self.folder / f"{self.files}.backup", self.database
                backup.backup(old, str(copy))
                self.files += 1
                backup.restore(str(copy), self.database)
                self.engine = open_store(self.database)
            case "click" if not self.within(about[0]):
                return False
            case _:
                (answer,) = applying.apply(self.engine, [self.write(name, *about)])
                return not isinstance(answer, Problem)
        return True

    def within(self, who: str) -> bool:
        try:
            self.limit.spend(who)
        except Problem:
            return False
        return True

    def write(self, name: str, *about: Any) -> Write:
        if name == "stock":
            return Stock(tuple((key, key) for key in about))
        if name == "withdraw":
            return Withdraw(about[0])
        token = about[0].encode().ljust(32, b".")
        if name == "click":
            return Click(token, about[1], about[2], f"{self.at}{about}")
        if name == "undo":
            return Undo(token, about[1])
        made: dict[str, Write] = {
            "join": Join(token),
            "visit": Visit(token),
            "erase": Erase(token),
            "choose": Choose(token, "smart"),
        }
        return made[name]

    def series(self) -> tuple[dict[Cell, Any], dict[Cell, Any]]:
        """Exact counters by year, item and sign, and people by year: totals at the looks of the year."""
        counters: dict[Cell, Any] = {}
        people: dict[Cell, Any] = {}
        for look in self.looks:
            at, T = look.year["done"], look.year["looks"]
            which = (look.year["id"], look.year["opened"])  # a copy goes on with another year
            for cell, value in look.exact.items():
                counters.setdefault((which, *cell), np.zeros(T, np.int64))[at:] = value
            people.setdefault(which, np.zeros(T, np.int64))[at:] = look.people[0]
        return counters, people


@dataclass
class Served(World):
    """The same through requests to a server: what people and the admin do is what it was sent."""

    people: dict[str, dict[str, str]] = field(default_factory=dict)  # headers, by name
    server: TestClient = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.serve()

    def serve(self) -> None:
        generous: dict[str, Any] = {"rate": 1e5, "accounts": 10**5, "reads": 1e5}
        settings = Settings(**generous, budget=BUDGET, admin=digest(ADMIN), sites=("testserver",))
        advisor = open_advisor(self.engine, settings)
        advisor.clicks = self.limit
        self.server = client_of(advisor)

    def do(self, name: str, *about: Any) -> bool:
        if name in ("days", "restart", "backup"):
            super().do(name, *about)
            if name != "days":
                self.serve()
            return True
        if name == "join":
            token = self.server.post(f"{API}/people").json()["token"]
            self.people[about[0]] = {"Authorization": f"Bearer {token}"}
            return True
        answer = self.asked(name, *about)
        assert answer.status_code < 500 and answer.status_code != 422, answer.text
        return bool(answer.status_code < 300)

    def asked(self, name: str, *about: Any) -> Any:
        admin = {"Authorization": f"Bearer {ADMIN}"}
        hers = self.people.get(about[0], {"Authorization": "Bearer nobody"})
        match name:
            case "stock":
                items = [{"id": key, "title": key} for key in about]
                return self.server.put(f"{API}/items", json={"items": items}, headers=admin)
            case "withdraw":
                return self.server.delete(f"{API}/items/{about[0]}", headers=admin)
            case "click":
                key = f"{self.at}-{about[0]}-{about[1]}-{about[2] > 0}"
                return click(self.server, hers, about[1], "like" if about[2] > 0 else "dislike", key)
            case "undo":
                return self.server.delete(f"{ME}/clicks/{about[1]}", headers=hers)
            case "visit":
                return self.server.get(ME, headers=hers)
            case "erase":
                return self.server.delete(ME, headers=hers)
        return self.server.put(f"{ME}/strategy", json={"strategy": "smart"}, headers=hers)


def replay(history: list[Step], folder: Path, world: type[World] = World) -> World:
    with pytest.MonkeyPatch.context() as patch:
        shutil.rmtree(folder, ignore_errors=True)
        return world(folder, patch).run(history)


def without(history: list[Step], unit: tuple[str, str]) -> list[Step]:
    return [step for step in history if step[0] not in ("click", "undo") or step[1:3] != unit]


def moved(r: Any, totals: Any) -> float:
    """|R x|^2 of what comes in between looks, where these are the totals; each entry to the next whole number."""
    x = np.diff(totals, prepend=0)
    return float((np.ceil(np.abs(np.convolve(r, x)[: len(x)]) - 1e-9) ** 2).sum())


def check_neighbours(history: list[Step], unit: tuple[str, str], folder: Path, world: type[World] = World) -> World:
    """The theorem's sensitivity: nothing but the unit's own item moves, and that within the norm that noise is for."""
    full = replay(history, folder / "with", world)
    rest = without(full.accepted, unit)
    less = replay(rest, folder / "without", world)
    assert less.accepted == rest  # what was accepted beside the unit is accepted without it
    assert [(look.year["id"], look.year["done"]) for look in full.looks] == [
        (look.year["id"], look.year["done"]) for look in less.looks
    ]  # looks follow the clock
    r, norm = continual.weights(BUDGET.looks), continual.squared_norm(BUDGET.looks)
    (mine, crowd), (yours, other_crowd) = full.series(), less.series()
    assert mine.keys() == yours.keys() and crowd.keys() == other_crowd.keys()
    spent = {cell: moved(r, mine[cell] - yours[cell]) for cell in mine}
    ended = {cell: int(mine[cell][-1] - yours[cell][-1]) ** 2 for cell in mine}  # what is measured once more, if closed
    engine = open_store(full.database)
    with reading(engine) as db:
        item = db.execute(select(schema.items.c.id).where(schema.items.c.key == unit[1])).scalar_one()
    engine.dispose()
    assert {cell[1] for cell, by in spent.items() if by} <= {item}
    assert sum(spent.values()) <= BUDGET.changes * norm
    assert sum(ended.values()) <= BUDGET.changes
    assert sum(moved(r, crowd[year] - other_crowd[year]) for year in crowd) <= noisy_counters.PEOPLE_CHANGES * norm
    return full


def between(source: Source, cell: int) -> float:
    """The uniform number that makes whole ones real."""
    block, at = divmod(cell, continual.BLOCK)
    return float(words(source.derive("between").key(), block, at + 1)[-1] >> np.uint64(11)) / 2**53 - 0.5


def check_noise(world: World) -> None:
    """Shown minus exact is L v for one v a counter: each entry drawn from its year's key, sign, item and look alone."""
    r = continual.weights(BUDGET.looks)
    place = np.subtract.outer(np.arange(BUDGET.looks), np.arange(BUDGET.looks))
    R = np.where(place >= 0, r[np.maximum(place, 0)], 0.0)
    L = np.tril(np.ones_like(R)) @ np.linalg.inv(R)
    known: dict[Cell, Any] = {}

    def v(key: bytes, name: str, cell: int, variance: int) -> Any:
        if (key, name, cell) not in known:
            source = Source(key, seeded=False).derive(name)
            looks = [source.derive("look", s + 1) for s in range(BUDGET.looks)]
            drawn = [draw(gaussian(variance), 1, one, cell)[0] + between(one, cell) for one in looks]
            known[key, name, cell] = L @ np.array(drawn)
        return known[key, name, cell]

    assert world.looks
    for look in world.looks:
        key, at = look.year["key"], look.year["done"]
        assert look.shown.keys() == look.exact.keys()
        for (item, sign), exact in look.exact.items():
            noise, stated = look.shown[item, sign] - exact, v(key, sign, item, look.year["variance"])[at]
            if look.closing:  # both measures, by their variances
                running, anew = look.year["variance"] * float((L[at] ** 2).sum()), look.year["closing_variance"]
                source = Source(key, seeded=False).derive(sign, "closing")
                stated = (anew * stated + running * draw(gaussian(anew), 1, source, item)[0]) / (running + anew)
            assert abs(noise - stated) <= 0.5 + 1e-6
        exact, shown = look.people
        assert abs(shown - exact - v(key, "people", 0, look.year["people_variance"])[at]) <= 0.5 + 1e-6
