"""EASE (Steck 2019): the linear item-to-item model with zero diagonal that best rebuilds the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from recveil.data import Floats, Interactions


@dataclass(frozen=True)
class EASE:
    """B minimises |X - XB|² + penalty |B|² with diag(B) = 0, in closed form.

    It costs the cube of the number of items, so only the `items` most popular ones take part; the others are never
    recommended.
    """

    name: ClassVar[str] = "ease"
    penalty: float = 500.0
    items: int = 5000

    def fit(self, train: Interactions, seed: int) -> Linear:
        X = train.matrix(binary=True)
        people = np.bincount(X.indices, minlength=train.n_items)
        known = np.sort(np.argsort(-people, kind="stable")[: min(self.items, np.count_nonzero(people))])
        X = X[:, known]
        P = np.linalg.inv((X.T @ X).toarray() + self.penalty * np.eye(len(known)))
        B = -P / np.diag(P)
        np.fill_diagonal(B, 0.0)
        return Linear(known, B)


@dataclass(frozen=True, eq=False)
class Linear:
    known: NDArray[Any]
    B: Floats

    def scores(self, query: Interactions, history: Any, users: NDArray[np.int64]) -> Floats:
        scores = np.full(history.shape, -np.inf)
        scores[:, self.known] = history[:, self.known] @ self.B
        return scores
