"""Recommendations for closed groups, by SVD neighbourhood: people close in the space of the first factors speak.

The model is fitted in the background as clicks arrive, with bounded work: it reads the newest clicks only, and rests
many times as long as a fit takes. A person's own clicks are folded in when she asks, so hers always count at once.
Exact clicks speak here, so it gives away what people near to an account like. It is made harder to ask for one person:
an item needs several neighbours who like it, equal profiles are one neighbour, and young accounts do not speak.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nsmallest
from itertools import pairwise
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import svds
from sqlalchemy import Engine, select

from recveil.advisor.schema import clicks, items, people
from recveil.advisor.store import DAY, now, reading
from recveil.data import Floats

RANK, NEIGHBOURS = 14, 30
NEWEST = 1_000_000  # clicks that are learned from
YOUNG = 7 * DAY  # seconds in which an account does not speak for others
LEAST = 50  # people and items below which there are no factors to speak of


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Signs of people on items, and both in the space of the first factors."""

    keys: list[str]
    place: dict[str, int]
    signs: Any  # sparse, people by items
    factors: Floats  # items by rank
    people: Floats  # people by rank, each of length 1

    def scores(self, own: dict[str, int], least: int = 0) -> Floats | None:
        """What her neighbours think of every item that `least` of them like; nothing where the model knows no click."""
        mine = [(self.place[key], sign) for key, sign in own.items() if key in self.place]
        if not mine:
            return None
        where = np.array([place for place, _ in mine])
        taste = np.array([sign for _, sign in mine], dtype=float) @ self.factors[where]
        length = float(np.linalg.norm(taste))
        if length == 0:
            return None
        closeness = self.people @ (taste / length)
        near = np.argsort(-closeness, kind="stable")[:NEIGHBOURS]
        near = near[closeness[near] > 0]
        scores: Floats = closeness[near] @ self.signs[near]
        supporters = np.asarray((self.signs[near] > 0).sum(axis=0)).ravel()
        return np.where(supporters >= least, scores, 0.0)


def fit(engine: Engine, young: int = YOUNG) -> Neighbourhoods | None:
    """Factors of the newest clicks of accounts that are not `young` (seconds); none where people or items are few."""
    with reading(engine) as db:
        keys = {row.id: row.key for row in db.execute(select(items.c.id, items.c.key).order_by(items.c.id))}
        grown = sa.or_(people.c.token.is_(None), people.c.created <= now() - young)
        newest = (
            select(clicks.c.person, clicks.c.item, clicks.c.sign)
            .join(people, people.c.id == clicks.c.person)
            .where(grown)
            .order_by(clicks.c.id.desc())
            .limit(NEWEST)
        )
        rows = as_array(db.execute(newest))
    persons, user = np.unique(rows[:, 0], return_inverse=True)
    if min(len(persons), len(keys)) < LEAST:
        return None
    item = np.searchsorted(np.fromiter(keys, np.int64, len(keys)), rows[:, 1])
    signs = _different(sparse.csr_array((rows[:, 2].astype(float), (user, item)), shape=(len(persons), len(keys))))
    if signs.shape[0] < LEAST:
        return None
    start = np.random.default_rng(0).standard_normal(min(signs.shape))
    _, _, factors = svds(signs, k=RANK, v0=start)
    crowd = signs @ factors.T
    crowd /= np.maximum(np.linalg.norm(crowd, axis=1, keepdims=True), 1e-12)
    listed = list(keys.values())
    return Neighbourhoods(listed, {key: n for n, key in enumerate(listed)}, signs, factors.T, crowd)


def _different(signs: Any) -> Any:
    """Of people with the same clicks, one."""
    signs.sort_indices()
    seen: dict[tuple[bytes, bytes], int] = {}
    for n, (begin, end) in enumerate(pairwise(signs.indptr.tolist())):
        seen.setdefault((signs.indices[begin:end].tobytes(), signs.data[begin:end].tobytes()), n)
    return signs[sorted(seen.values())]


def as_array(rows: sa.CursorResult[Any]) -> NDArray[np.int64]:
    parts = [np.array([tuple(row) for row in part], dtype=np.int64) for part in rows.partitions(5000)]
    return np.concatenate(parts) if parts else np.empty((0, 3), dtype=np.int64)


def recommend(
    model: Neighbourhoods | None,
    own: dict[str, int],
    profiles: dict[str, tuple[int, int] | None],
    limit: int,
    least: int = 0,
) -> tuple[list[str], str]:
    """Items that she has not clicked: what her neighbours like, then what most people like; and on which basis."""
    best: list[str] = []
    scores = None if model is None else model.scores(own, least)
    if model is not None and scores is not None:
        order = np.argsort(-scores, kind="stable")
        ranked = (model.keys[n] for n in order if scores[n] > 0)
        best = [key for key in ranked if key not in own and profiles.get(key) is not None][:limit]
    basis = "neighbourhood" if best else "popular"
    return filled(best, own, profiles, limit), basis


def filled(best: list[str], own: dict[str, int], profiles: dict[str, tuple[int, int] | None], limit: int) -> list[str]:
    """A list, and behind it what most people like, up to the limit."""
    there = {*best, *own}
    rest = (key for key in profiles if key not in there)
    popular = nsmallest(limit - len(best), rest, key=lambda key: -(profiles[key] or (0, 0))[0])
    return [*best, *popular]
