"""Expected pairs of items behind noisy ones: popularity, then tastes, then what else the table shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recveil.dp import denoise
from recveil.mechanisms.dp_ratings.directions import extremes

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]  # tables of pairs: their noise is far above what single precision loses

_FLOOR = 0.02  # of what popularity alone would give
_MOST_FOR_RANK = 2048
_SMALL, _MOST_RANK = 300, 24
_FILLS = 10
_MOST_TASTE = 4.0  # squared length of an item's vector of taste


@dataclass(frozen=True)
class ExpectedPairs:
    """For kept items: what popularity and tastes expect of pairs, and the vectors of taste that say so."""

    q: Floats
    prior: Singles  # m x m, with an empty diagonal
    taste: Floats  # an item's vector u: people of taste g have it in proportion to q exp(u g - |u|^2 / 2)


def expected_pairs(G: Singles, tastes: Floats, sigma: float) -> ExpectedPairs:
    """What lies behind noisy pairs; tastes: where people stand who have an item, one row an item."""
    q = denoise.independence(G)
    alone = np.outer(q, q).astype(np.float32)
    np.fill_diagonal(alone, 0.0)
    factor = _factor(G - alone, q[:, None] * tastes)
    small = factor.astype(np.float32)
    prior = small @ small.T
    prior += alone
    np.fill_diagonal(prior, 0.0)
    if len(G) <= _MOST_FOR_RANK:
        prior += _standing_out(G - prior, sigma)
    alone *= np.float32(_FLOOR)
    np.maximum(prior, alone, out=prior)
    u = factor / np.maximum(q, 1e-9)[:, None]
    length = (u * u).sum(1, keepdims=True)
    return ExpectedPairs(q, prior, u * np.sqrt(np.minimum(1.0, _MOST_TASTE / np.maximum(length, 1e-12))))


def shrunk_pairs(G: Singles, expected: ExpectedPairs, sigma: float) -> tuple[Singles, Singles]:
    """The prior and what is left of the noisy table, shrunk: to vary as the true counts do, and as their means do."""
    varied, mean = denoise.shrink_table(G, expected.prior, sigma, (0.5, 1.0))
    return varied, mean


def _standing_out(R: Singles, sigma: float) -> Singles:
    """`denoise.low_rank`, of a large table from its few largest directions alone."""
    if len(R) <= _SMALL:
        return denoise.low_rank(R.astype(np.float64), sigma).astype(np.float32)
    values, vectors = extremes(R, _MOST_RANK)
    edge = 2 * sigma * np.sqrt(len(R))
    kept = np.abs(values) > edge
    true = (np.abs(values[kept]) + np.sqrt(values[kept] ** 2 - edge**2)) / 2
    true -= (edge / 2) ** 2 / true  # as much as noise adds to it
    side = vectors[:, kept].astype(np.float32)
    found = (side * (true * np.sign(values[kept])).astype(np.float32)) @ side.T
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


def _factor(E: Singles, basis: Floats) -> Floats:
    """F with F F' nearest to E off its empty diagonal, among those whose columns lie in the span of `basis`."""
    U, strength, _ = np.linalg.svd(basis, full_matrices=False)
    U = U[:, strength > 1e-9 * max(float(strength.max(initial=0.0)), 1e-12)]
    plain = U.T @ (E @ U.astype(np.float32))
    W = plain
    for _ in range(_FILLS):
        diagonal = np.einsum("ik,kl,il->i", U, W, U)
        W = plain + U.T @ (diagonal[:, None] * U)
    values, vectors = np.linalg.eigh((W + W.T) / 2)
    found: Floats = U @ (vectors * np.sqrt(np.maximum(values, 0.0)))
    return found
