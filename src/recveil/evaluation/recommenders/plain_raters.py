"""Rating predictors that are a few matrix products: many of them can be fitted, again and again, to one data set.

Biases; slope one; EASE on what biases leave; factors of what biases leave, by alternating least squares. With the two
averages and the two neighbourhoods they are EIGHT, whose order a release should keep. A fitted one is asked about other
people by `among(history)`: they are judged by their own ratings, and the model learns nothing from them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from recveil.data import Floats, Interactions
from recveil.evaluation.recommenders.rater import Average, Rater, last_ratings, rated
from recveil.evaluation.recommenders.residuals import Neighbours, biases

FEW = 1.0  # ratings that a stranger's bias is held back by


@dataclass(frozen=True, eq=False)
class Baseline:
    """Mean and biases, what they leave of each rating, and the ends of the scale."""

    mean: float
    user: Floats
    item: Floats
    left: sparse.csr_array
    ends: tuple[float, float]

    def guess(self, users: NDArray[Any], items: NDArray[Any], more: Floats | float = 0.0) -> Floats:
        return np.asarray(np.clip(self.mean + self.user[users] + self.item[items] + more, *self.ends))


def baseline(train: Interactions) -> Baseline:
    rows = last_ratings(train)
    ratings = rated(rows)
    mean, user, item = biases(rows)
    left = ratings - mean - user[rows.user] - item[rows.item]
    matrix = sparse.csr_array((left, (rows.user, rows.item)), shape=(rows.n_users, rows.n_items))
    return Baseline(mean, user, item, matrix, (float(ratings.min()), float(ratings.max())))


def strangers(base: Baseline, history: Interactions) -> Baseline:
    """The same items with other people, each of whom is judged by her own ratings."""
    rows = last_ratings(history)
    above = rated(rows) - base.mean - base.item[rows.item]
    user = np.bincount(rows.user, above, rows.n_users) / (FEW + np.bincount(rows.user, minlength=rows.n_users))
    left = sparse.csr_array((above - user[rows.user], (rows.user, rows.item)), shape=(rows.n_users, rows.n_items))
    return replace(base, user=user, left=left)


@dataclass(frozen=True)
class Biases:
    """Mean, user and item."""

    name: ClassVar[str] = "biases"

    def fit(self, train: Interactions, seed: int) -> OfBiases:
        return OfBiases(baseline(train))


@dataclass(frozen=True, eq=False)
class OfBiases:
    base: Baseline

    def among(self, history: Interactions) -> OfBiases:
        return OfBiases(strangers(self.base, history))

    def predict(self, users: NDArray[Any], items: NDArray[Any]) -> Floats:
        return self.base.guess(users, items)


@dataclass(frozen=True)
class Factors:
    """Biases, and factors of what they leave; a user or item with n ratings is held back by growth * n + least."""

    name: ClassVar[str] = "svd"
    factors: int = 12
    sweeps: int = 10
    growth: float = 0.05
    least: tuple[float, float] = (2.0, 5.0)  # of a user, of an item

    def fit(self, train: Interactions, seed: int) -> OfFactors:
        base = baseline(train)
        by_user, by_item = base.left, base.left.T.tocsr()
        items = np.random.default_rng(seed).normal(0, 0.1, (train.n_items, self.factors))
        users = np.zeros((train.n_users, self.factors))
        for _ in range(self.sweeps):
            users = self.half(by_user, items, self.least[0])
            items = self.half(by_item, users, self.least[1])
        return OfFactors(self, base, self.half(by_user, items, self.least[0]), items)

    def half(self, rows: sparse.csr_array, other: Floats, least: float) -> Floats:
        """Ridge regressions of all rows at once: their squares are sums over a row, so one sparse product."""
        d = other.shape[1]
        first, second = np.triu_indices(d)
        number = np.diff(rows.indptr)
        there = sparse.csr_array((np.ones(len(rows.data)), rows.indices, rows.indptr), rows.shape)
        squares = np.empty((len(number), d, d))
        squares[:, first, second] = squares[:, second, first] = there @ (other[:, first] * other[:, second])
        squares[:, np.arange(d), np.arange(d)] += (self.growth * number + least)[:, None]
        return np.asarray(np.linalg.solve(squares, (rows @ other)[:, :, None])[:, :, 0])


@dataclass(frozen=True, eq=False)
class OfFactors:
    rater: Factors
    base: Baseline
    users: Floats
    items: Floats

    def among(self, history: Interactions) -> OfFactors:
        base = strangers(self.base, history)
        return replace(self, base=base, users=self.rater.half(base.left, self.items, self.rater.least[0]))

    def predict(self, users: NDArray[Any], items: NDArray[Any]) -> Floats:
        return self.base.guess(users, items, (self.users[users] * self.items[items]).sum(1))


@dataclass(frozen=True)
class ResidualEase:
    """Biases, and EASE on what they leave: a linear model from items to items with zero diagonal."""

    name: ClassVar[str] = "residual-ease"
    penalty: float = 1000.0  # in variances of what is left

    def fit(self, train: Interactions, seed: int) -> OfEase:
        base = baseline(train)
        gram = (base.left.T @ base.left).toarray()
        gram[np.diag_indices_from(gram)] += self.penalty * max(float(np.var(base.left.data)), 1e-9)
        weights = inverse(gram)
        weights /= -np.diag(weights)
        np.fill_diagonal(weights, 0.0)
        return OfEase(base, weights)

    def gigabytes(self, train: Interactions) -> float:
        return 3 * 8 * train.n_items**2 / 1e9


@dataclass(frozen=True, eq=False)
class OfEase:
    base: Baseline
    weights: Floats

    def among(self, history: Interactions) -> OfEase:
        return replace(self, base=strangers(self.base, history))

    def predict(self, users: NDArray[Any], items: NDArray[Any]) -> Floats:
        asked, place = np.unique(users, return_inverse=True)
        return self.base.guess(users, items, (self.base.left[asked] @ self.weights)[place, items])


@dataclass(frozen=True)
class SlopeOne:
    """The mean difference of two items among those who rated both, weighted by how many they are (Lemire 2005)."""

    name: ClassVar[str] = "slope-one"

    def fit(self, train: Interactions, seed: int) -> OfSlopes:
        value, there = _sparse(train)
        both = (there.T @ there).toarray()
        np.fill_diagonal(both, 0.0)
        sums = (value.T @ there).toarray()
        return OfSlopes(baseline(train), value, there, both, sums - sums.T)

    def gigabytes(self, train: Interactions) -> float:
        return 4 * 8 * train.n_items**2 / 1e9


@dataclass(frozen=True, eq=False)
class OfSlopes:
    base: Baseline
    value: sparse.csr_array
    there: sparse.csr_array
    both: Floats  # how many rated both
    above: Floats  # by how much, together, they rated the first above the second

    def among(self, history: Interactions) -> OfSlopes:
        value, there = _sparse(history)
        return replace(self, base=strangers(self.base, history), value=value, there=there)

    def predict(self, users: NDArray[Any], items: NDArray[Any]) -> Floats:
        asked, place = np.unique(users, return_inverse=True)
        weight = (self.there[asked] @ self.both)[place, items]
        total = (self.there[asked] @ self.above.T + self.value[asked] @ self.both)[place, items]
        found = np.where(weight > 0, total / np.maximum(weight, 1), self.base.guess(users, items))
        return np.asarray(np.clip(found, *self.base.ends))


def _sparse(data: Interactions) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Ratings, and where they are."""
    rows = last_ratings(data)
    value = sparse.csr_array((rated(rows), (rows.user, rows.item)), shape=(rows.n_users, rows.n_items))
    return value, sparse.csr_array((np.ones(len(value.data)), value.indices, value.indptr), value.shape)


def inverse(positive: Floats) -> Floats:
    """Of a symmetric positive matrix, by Cholesky: half the work of the general one."""
    factor, failed = linalg.lapack.dpotrf(positive, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the matrix is not positive")
    lower = linalg.lapack.dpotri(factor, lower=1)[0]
    lower = np.tril(lower)
    lower += np.tril(lower, -1).T
    return np.asarray(lower)


EIGHT: tuple[Rater, ...] = (
    Average("item"),
    Average("user"),
    Biases(),
    SlopeOne(),
    ResidualEase(),
    Neighbours("user", 80),
    Neighbours("item", 50),
    Factors(),
)
