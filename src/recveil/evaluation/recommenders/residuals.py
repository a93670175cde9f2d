"""Rating prediction by neighbours about a baseline (Koren 2010): mean, biases, and what people or items alike deviate.

The same numbers as surprise's KNNBaseline with its pearson_baseline similarity, which holds several tables of all pairs
and so ends at some ten thousand people; here memory is that of the ratings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.data import By, Floats, Interactions, group
from recveil.evaluation.recommenders.rater import last_ratings

EPOCHS, DAMP_USER, DAMP_ITEM = 10, 15.0, 10.0  # of the biases, by alternating least squares


@dataclass(frozen=True)
class Neighbours:
    """Biases, and the mean residual of the k users (or items) most alike."""

    by: By
    k: int = 40
    shrinkage: float = 200.0

    @property
    def name(self) -> str:
        return f"{self.by}-knn"

    def fit(self, train: Interactions, seed: int) -> Residuals:
        rows = last_ratings(train)
        assert rows.rating is not None
        mean, user, item = biases(rows)
        left = rows.rating - (mean + user[rows.user] + item[rows.item])
        scale = float(rows.rating.min()), float(rows.rating.max())
        return Residuals(self, rows, left, mean, user, item, scale)


def biases(rows: Interactions) -> tuple[float, Floats, Floats]:
    """The mean rating, and how far each user and each item lies above it."""
    assert rows.rating is not None
    mean = float(rows.rating.mean())
    user, item = np.zeros(rows.n_users), np.zeros(rows.n_items)
    raters, rated = np.bincount(rows.item, minlength=rows.n_items), np.bincount(rows.user, minlength=rows.n_users)
    for _ in range(EPOCHS):
        item = np.bincount(rows.item, rows.rating - mean - user[rows.user], rows.n_items) / (DAMP_ITEM + raters)
        user = np.bincount(rows.user, rows.rating - mean - item[rows.item], rows.n_users) / (DAMP_USER + rated)
    return mean, user, item


@dataclass(frozen=True, eq=False)
class Residuals:
    rater: Neighbours
    rows: Interactions
    left: Floats
    mean: float
    user: Floats
    item: Floats
    scale: tuple[float, float]

    def predict(self, users: NDArray[Any], items: NDArray[Any]) -> Floats:
        from recveil.kernels.residuals import weighted_residuals

        cells = {"user": (self.rows.user, self.rows.n_users), "item": (self.rows.item, self.rows.n_items)}
        asked = {"user": users, "item": items}
        by, across = ("user", "item") if self.rater.by == "user" else ("item", "user")
        (x, n_x), (y, n_y) = cells[by], cells[across]
        starts, order = group(x, n_x)
        column_starts, column_order = group(y, n_y)
        questions, by_asker = group(asked[by], n_x)
        askers = np.flatnonzero(np.diff(questions)).astype(np.int32)
        found = weighted_residuals(
            (starts, y[order], self.left[order]),
            (column_starts, x[column_order], self.left[column_order]),
            (np.append(questions[askers], len(users)), askers, asked[across][by_asker].astype(np.int32)),
            self.rater.k,
            self.rater.shrinkage,
        )
        guess = self.mean + self.user[users] + self.item[items]
        guess[by_asker] += found
        return np.asarray(np.clip(guess, *self.scale))
