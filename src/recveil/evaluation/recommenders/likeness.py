"""ItemKNN for ratings with the likeness of all pairs of items at hand, so that strangers can be asked about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.data import Floats, Interactions
from recveil.evaluation.recommenders.plain_raters import Baseline, baseline, strangers


@dataclass(frozen=True)
class ItemLikeness:
    """Biases, and of the k items most like the asked one what she deviates there; shrunk where few rated both."""

    name: ClassVar[str] = "item-knn"
    k: int = 50
    shrinkage: float = 50.0
    damp: float = 0.5  # of the sum of likenesses

    def fit(self, train: Interactions, seed: int) -> OfLikeness:
        base = baseline(train)
        left = base.left
        there = sparse.csr_array((np.ones(len(left.data)), left.indices, left.indptr), left.shape)
        both = (there.T @ there).toarray()
        squares = (sparse.csr_array((left.data**2, left.indices, left.indptr), left.shape).T @ there).toarray()
        alike = (left.T @ left).toarray() / np.sqrt(np.maximum(squares * squares.T, 1e-9)) * both
        alike = np.maximum(alike / (both + self.shrinkage), 0.0)
        np.fill_diagonal(alike, 0.0)
        return OfLikeness(self, base, alike)

    def gigabytes(self, train: Interactions) -> float:
        return 4 * 8 * train.n_items**2 / 1e9


@dataclass(frozen=True, eq=False)
class OfLikeness:
    rater: ItemLikeness
    base: Baseline
    alike: Floats

    def among(self, history: Interactions) -> OfLikeness:
        return replace(self, base=strangers(self.base, history))

    def predict(self, users: NDArray[Any], items: NDArray[Any]) -> Floats:
        left, more = self.base.left, np.zeros(len(users))
        order = np.argsort(users, kind="stable")
        asked, begin = np.unique(users[order], return_index=True)
        for user, those in zip(asked, np.split(order, begin[1:]), strict=True):
            hers = slice(left.indptr[user], left.indptr[user + 1])
            weight = self.alike[np.ix_(items[those], left.indices[hers])]
            if weight.shape[1] > self.rater.k:
                least = np.partition(weight, -self.rater.k, axis=1)[:, [-self.rater.k]]
                weight = np.where(weight >= least, weight, 0.0)
            more[those] = weight @ left.data[hers] / (weight.sum(1) + self.rater.damp)
        return self.base.guess(users, items, more)
