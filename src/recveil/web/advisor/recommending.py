"""Recommendations by SVD neighbourhood: people close in the space of the first factors speak for what they clicked.

The model is fitted in the background as clicks arrive, with bounded work: it reads the newest clicks only, and rests
many times as long as a fit takes. A person's own clicks are folded in when she asks, so hers always count at once.
Items whose profile is not public are never recommended: who appears in a list would tell who clicked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import svds
from sqlalchemy import Engine, select

from recveil.data import Floats
from recveil.web.advisor.schema import clicks, items
from recveil.web.advisor.store import reading

RANK, NEIGHBOURS = 14, 30
NEWEST = 1_000_000  # clicks that are learned from
LEAST = 50  # people and items below which there are no factors to speak of


@dataclass(frozen=True, eq=False)
class Model:
    """Signs of people on items, and both in the space of the first factors."""

    keys: list[str]
    place: dict[str, int]
    signs: Any  # sparse, people by items
    factors: Floats  # items by rank
    people: Floats  # people by rank, each of length 1

    def scores(self, own: dict[str, int]) -> Floats | None:
        """What her neighbours think of every item; nothing where none of her clicks is known to the model."""
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
        return scores


def fit(engine: Engine) -> Model | None:
    """Factors of the newest clicks; none where people or items are too few."""
    with reading(engine) as db:
        keys = {row.id: row.key for row in db.execute(select(items.c.id, items.c.key).order_by(items.c.id))}
        newest = select(clicks.c.person, clicks.c.item, clicks.c.sign).order_by(clicks.c.id.desc()).limit(NEWEST)
        rows = _array(db.execute(newest))
    persons, user = np.unique(rows[:, 0], return_inverse=True)
    if min(len(persons), len(keys)) < LEAST:
        return None
    item = np.searchsorted(np.fromiter(keys, np.int64, len(keys)), rows[:, 1])
    signs = sparse.csr_array((rows[:, 2].astype(float), (user, item)), shape=(len(persons), len(keys)))
    start = np.random.default_rng(0).standard_normal(min(signs.shape))
    _, _, factors = svds(signs, k=RANK, v0=start)
    people = signs @ factors.T
    people /= np.maximum(np.linalg.norm(people, axis=1, keepdims=True), 1e-12)
    listed = list(keys.values())
    return Model(listed, {key: n for n, key in enumerate(listed)}, signs, factors.T, people)


def _array(rows: sa.CursorResult[Any]) -> NDArray[np.int64]:
    parts = [np.array([tuple(row) for row in part], dtype=np.int64) for part in rows.partitions(5000)]
    return np.concatenate(parts) if parts else np.empty((0, 3), dtype=np.int64)


def recommend(
    model: Model | None, own: dict[str, int], profiles: dict[str, tuple[int, int] | None], limit: int
) -> tuple[list[str], str]:
    """Items that she has not clicked: what her neighbours like, then what most people like; and on which basis."""
    best: list[str] = []
    scores = None if model is None else model.scores(own)
    if model is not None and scores is not None:
        order = np.argsort(-scores, kind="stable")
        ranked = (model.keys[n] for n in order if scores[n] > 0)
        best = [key for key in ranked if key not in own and profiles.get(key) is not None][:limit]
    basis = "neighbourhood" if best else "popular"
    if len(best) < limit:
        rest = (key for key in profiles if key not in own and key not in set(best))
        popular = sorted(rest, key=lambda key: -(profiles[key] or (0, 0))[0])
        best += popular[: limit - len(best)]
    return best, basis
