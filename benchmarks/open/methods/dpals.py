"""DP matrix factorisation: alternating least squares with noise (DPALS, Chien and others 2021), by person.

Each person's own vector is solved on her side and cut to length 1. An item's vector comes from noisy sums over at most
`most` random items of each person; the sum over all people, which weighs what nobody touched, is noisy as well. Items
are those that people have most, by noisy counts. dp-accounting composes all of it, one person added or removed. What is
published are vectors of items: a model and no rows. Every setting of TRIED is trained with the whole budget, and the
one that is best for the search people counts: a choice in its favour.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from recveil.data import Floats, Interactions
from recveil.errors import RecveilError

PRIVATE = True
KEPT = 6000  # items at most that have a vector
CHUNK = 4096
COUNTS, SUMS, SQUARES, ALL = 0.1, 0.4, 0.4, 0.1  # parts of the budget, as inverse variances


@dataclass(frozen=True)
class Settings:
    most: int = 32
    d: int = 16
    rounds: int = 3
    untouched: float = 0.1  # the weight of what a person does not have
    ridge: float = 0.1  # of people
    shrinkage: float = 24.0  # of items, times the noise


TRIED = tuple(Settings(most=most, shrinkage=by) for most in (8, 32, 64) for by in (8.0, 24.0, 60.0))


def fit(data: Any, public: Any, epsilon: float, delta: float, seed: int) -> list[ItemVectors]:
    return [fitted(data, public, epsilon, delta, seed, how) for how in TRIED]


def fitted(data: Any, public: Any, epsilon: float, delta: float, seed: int, how: Settings) -> ItemVectors:
    rng = np.random.default_rng([seed, *b"dpals"])
    liked = public.liked is not None and data.rating is not None
    X = (data.take(data.rating >= public.liked) if liked else data).matrix(binary=True)
    unit = noise_for(epsilon, delta)
    few = sampled(X, how.most, rng)
    spread = unit * np.sqrt(how.most / COUNTS)
    counts = np.asarray(few.sum(0)).ravel() + rng.normal(0, spread, X.shape[1])
    kept = np.argsort(-counts, kind="stable")[:KEPT]
    kept = np.sort(kept[counts[kept] > 2 * spread])
    if len(kept) < how.d:
        raise RecveilError(f"only {len(kept)} items stand out of the noise")
    X, few = sparse.csr_array(X[:, kept]), sparse.csr_array(few[:, kept])
    V = rng.normal(0, 1 / np.sqrt(how.d), (len(kept), how.d))
    for _ in range(how.rounds):
        V = items_from(few, people_from(X, V, how), unit, how, rng)
    return ItemVectors(V, kept, counts, how)


@lru_cache
def noise_for(epsilon: float, delta: float) -> float:
    """The deviation at sensitivity 1 that would spend the whole budget at once; a part of it has this over its root.

    Gaussians compose to a Gaussian: the parts add up to 1, as inverse variances.
    """
    from dp_accounting.pld.common import DifferentialPrivacyParameters
    from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

    whole = GaussianPrivacyLoss.from_privacy_guarantee(DifferentialPrivacyParameters(epsilon, delta))
    return float(whole.standard_deviation)


def sampled(X: Any, most: int, rng: np.random.Generator) -> Any:
    """At most so many items of each person, at random."""
    user = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = np.lexsort((rng.random(len(user)), user))
    rank = np.arange(len(user)) - X.indptr[user]
    few = order[rank < most]
    return sparse.csr_array((np.ones(len(few)), (user[few], X.indices[few])), shape=X.shape)


def people_from(X: Any, V: Floats, how: Settings) -> Floats:
    """Everybody's vector, from her own items and published vectors alone, of length at most 1."""
    squares = np.einsum("ia,ib->iab", V, V).reshape(len(V), -1)
    always = how.untouched * V.T @ V + how.ridge * np.eye(how.d)
    U = np.empty((X.shape[0], how.d))
    for at in range(0, len(U), CHUNK):
        rows = X[at : at + CHUNK]
        left = (rows @ squares).reshape(-1, how.d, how.d) + always
        U[at : at + CHUNK] = np.linalg.solve(left, (rows @ V)[:, :, None])[:, :, 0]
    return U / np.maximum(np.linalg.norm(U, axis=1, keepdims=True), 1.0)


def items_from(few: Any, U: Floats, unit: float, how: Settings, rng: np.random.Generator) -> Floats:
    """Items' vectors from noisy sums: a person moves each by sqrt(most) at most, and the sum over all people by 1."""
    items, rounds = few.shape[1], how.rounds
    sums, squares = np.zeros((items, how.d)), np.zeros((items, how.d**2))
    for at in range(0, len(U), CHUNK):
        part, some = U[at : at + CHUNK], few[at : at + CHUNK].T
        sums += some @ part
        squares += some @ np.einsum("ua,ub->uab", part, part).reshape(len(part), -1)
    spread = unit * np.sqrt(rounds)
    sums += rng.normal(0, spread * np.sqrt(how.most / SUMS), sums.shape)
    S = squares.reshape(-1, how.d, how.d) + symmetric(rng, items, how.d) * spread * np.sqrt(how.most / SQUARES)
    everybody = U.T @ U + symmetric(rng, 1, how.d)[0] * spread / np.sqrt(ALL)
    values, axes = np.linalg.eigh(S + how.untouched * everybody)
    values = np.maximum(values, 0.0) + 1.0 + how.shrinkage * spread * np.sqrt(how.most / SUMS)
    return np.asarray(np.einsum("iab,ib->ia", axes, np.einsum("iba,ib->ia", axes, sums) / values))


def symmetric(rng: np.random.Generator, n: int, d: int) -> Floats:
    """Unit noise of symmetric tables, measured by the Frobenius norm: cells off the diagonal stand twice."""
    upper = np.triu(rng.normal(0, 1, (n, d, d)) / np.sqrt(2), 1)
    return upper + upper.transpose(0, 2, 1) + rng.normal(0, 1, (n, d))[:, :, None] * np.eye(d)


@dataclass(frozen=True, eq=False)
class ItemVectors:
    """What is published. A stranger's vector is solved from what she shows."""

    V: Floats
    kept: Any
    counts: Floats
    how: Settings

    def scores(self, query: Interactions, history: Any, users: Any) -> Floats:
        U = people_from(sparse.csr_array(history[:, self.kept]), self.V, self.how)
        fill = self.counts / np.abs(self.counts).max()
        found: Floats = np.broadcast_to(fill - 1e6, history.shape).copy()
        found[:, self.kept] = U @ self.V.T
        return found
