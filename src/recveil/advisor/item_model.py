"""Recommendations that give nobody away: a model of items made with privacy, sent to whoever asks, used where she is.

It is dp-streams' own tables of what people like, at the level of whole people: how often items occur, and occur
together, with noise. A person's own clicks meet it on her device. A model is made seldom, and what it may spend is
entered in the database before any noise is drawn: in any 365 days all models together stay within one budget.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import sqlalchemy as sa
from sqlalchemy import Engine, delete, func, insert, select, update

from recveil.advisor.recommending import as_array
from recveil.advisor.schema import alone, backups, clicks, items, models
from recveil.advisor.store import YEAR, iso, now, reading
from recveil.data import from_ids
from recveil.dp.budget import epsilon_of, rho_of
from recveil.errors import RecveilError
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_streams import DpStreams
from recveil.mechanisms.dp_streams.lists import similarity
from recveil.randomness import entropy
from recveil.releases.release import publish

ALIKE = 15  # items that stand beside an item
LEAST = 10  # items in a catalogue, below which there is nothing to learn
ROUNDING = 1e-9


@dataclass(frozen=True)
class ModelBudget:
    """What all models of a year may give away of one person, with everything she clicked."""

    epsilon: float = 4.0
    delta: float = 1e-6
    refreshes: int = 4  # a year
    people: int = 500  # that the public count says before one is made: with fewer, little stands out of the noise

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= 100 or not 0 < self.delta < 0.1 or min(self.refreshes, self.people) < 1:
            raise RecveilError(
                "the budget of models: epsilon in (0, 100], delta in (0, 0.1), at least 1 refresh and person"
            )

    def mechanism(self) -> DpStreams:
        """That makes one of the year's models."""
        share = rho_of(self.epsilon, self.delta) / self.refreshes
        return DpStreams(epsilon=epsilon_of(share, self.delta), delta=self.delta, order="none")


@dataclass(frozen=True)
class ItemModel:
    """For each item that stands out of the noise, how liked it is and which ones are like it."""

    made: str
    items: list[str]
    popular: list[float]
    starts: list[int]  # where each item's row begins in the next two
    alike: list[int]
    weight: list[float]

    def best(self, own: dict[str, int], limit: int) -> list[str]:
        """Items that are like what she likes, best first; the same as the page computes (static/recommend.js)."""
        place = {key: n for n, key in enumerate(self.items)}
        scores: dict[int, float] = {}
        for key, sign in own.items():
            if sign > 0 and key in place:
                row = range(self.starts[place[key]], self.starts[place[key] + 1])
                for at in row:
                    scores[self.alike[at]] = scores.get(self.alike[at], 0.0) + self.weight[at]
        order = sorted(scores, key=lambda n: (-scores[n], n))
        return [self.items[n] for n in order if self.items[n] not in own][:limit]


def make_due(engine: Engine, budget: ModelBudget) -> bool:
    """Make a model where one is due; whether it was. What it spends is entered first, and stays so whatever happens."""
    mechanism = budget.mechanism()
    rho = mechanism.rho(_public(pl.Series([], dtype=pl.String)))
    with engine.begin() as db:
        alone(db)
        _enter_lost(db, budget, rho)
        last = db.execute(select(func.max(models.c.at))).scalar_one()
        if last is not None and now() < last + YEAR // budget.refreshes:
            return False
        spent = db.execute(select(func.sum(models.c.rho)).where(models.c.at > now() - YEAR)).scalar_one() or 0.0
        if spent + rho > rho_of(budget.epsilon, budget.delta) * (1 + ROUNDING):
            return False
        if db.execute(select(func.count()).select_from(items).where(items.c.withdrawn.is_(None))).scalar_one() < LEAST:
            return False
        made = insert(models).values(at=now(), rho=rho, epsilon=mechanism.epsilon, delta=mechanism.delta)
        number = db.execute(made.returning(models.c.id)).scalar_one()
    try:
        document = json.dumps(_learn(engine, mechanism)).encode()
    except RecveilError:  # too few items stand out of the noise: an answer of the noisy tables, and it is spent
        document = b"{}"
    with engine.begin() as db:
        db.execute(update(models).where(models.c.id == number).values(document=document))
    return True


def _enter_lost(db: sa.Connection, budget: ModelBudget, rho: float) -> None:
    """In a database from a backup: models that may have been made since, and that it knows nothing of, are spent."""
    copied = db.execute(select(func.max(backups.c.at))).scalar_one()
    if copied is None:
        return
    last, pause = db.execute(select(func.max(models.c.at))).scalar_one(), YEAR // budget.refreshes
    due = copied if last is None else max(copied, last + pause)
    lost = 0 if now() < due else min(1 + (now() - due) // pause, budget.refreshes)
    if lost:
        spent = {"rho": lost * rho, "epsilon": epsilon_of(lost * rho, budget.delta), "delta": budget.delta}
        db.execute(insert(models).values(at=now(), **spent))
    db.execute(delete(backups))


def _learn(engine: Engine, mechanism: DpStreams) -> dict[str, Any]:
    """The tables of all likes, over the public catalogue, as a model."""
    with reading(engine) as db:
        offered = items.c.withdrawn.is_(None)
        known = select(items.c.id, items.c.key).where(offered).order_by(items.c.id)
        names = dict(tuple(row) for row in db.execute(known))
        liked = select(clicks.c.person, clicks.c.item, clicks.c.sign).join(items, items.c.id == clicks.c.item)
        rows = as_array(db.execute(liked.where(clicks.c.sign > 0, offered).order_by(clicks.c.id)))
    numbers = np.fromiter(names, np.int64, len(names))
    catalogue = pl.Series(list(names.values()))
    data = from_ids(pl.Series(rows[:, 0]), catalogue.gather(np.searchsorted(numbers, rows[:, 1])))
    return learn(data.over_items(catalogue), mechanism)


def learn(data: Any, mechanism: DpStreams) -> dict[str, Any]:
    """A model of likes that are coded over the public catalogue."""
    public = _public(data.items)
    published = publish(data.canonical(), mechanism, public, entropy())
    tables = mechanism.tables(published.rounds, public)
    alike = similarity(tables, ALIKE)
    alike.eliminate_zeros()
    return {
        "items": data.items.gather(tables.kept).to_list(),
        "popular": np.round(tables.items, 1).tolist(),
        "starts": alike.indptr.tolist(),
        "alike": alike.indices.tolist(),
        "weight": np.round(alike.data, 5).tolist(),
    }


def _public(catalogue: pl.Series) -> PublicInfo:
    return PublicInfo("clicks", "user", catalogue, None, catalogue=True)


def newest_number(db: sa.Connection) -> int:
    """Of the last model that was made, whatever came of it."""
    made = select(func.coalesce(func.max(models.c.id), 0)).where(models.c.document.is_not(None))
    return int(db.execute(made).scalar_one())


def newest(db: sa.Connection) -> ItemModel | None:
    """The last model that came to something."""
    found = select(models.c.at, models.c.document).where(models.c.document.is_not(None)).order_by(models.c.id.desc())
    for at, document in db.execute(found):
        if len(document) > len(b"{}"):
            return ItemModel(iso(at), **json.loads(document))
    return None
