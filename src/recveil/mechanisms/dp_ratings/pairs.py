"""Expected pairs of items behind noisy ones: popularity, then tastes, then what else the table shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recveil.dp import denoise

Floats = NDArray[np.float64]

_FLOOR = 0.02  # of what popularity alone would give
_MOST_FOR_RANK = 2048
_SMALL, _MOST_RANK = 300, 24
_FILLS = 10
_MOST_TASTE = 4.0  # squared length of an item's vector of taste


@dataclass(frozen=True)
class ExpectedPairs:
    """For kept items: what popularity and tastes expect of pairs, and the vectors of taste that say so."""

    q: Floats
    prior: Floats  # m x m, with an empty diagonal
    taste: Floats  # an item's vector u: people of taste g have it in proportion to q exp(u g - |u|^2 / 2)


def expected_pairs(G: Floats, tastes: Floats, sigma: float) -> ExpectedPairs:
    """What lies behind noisy pairs; tastes: where people stand who have an item, one row an item."""
    q = denoise.independence(G)
    E = G - np.outer(q, q)
    factor = _factor(E, q[:, None] * tastes)
    low = factor @ factor.T
    prior = np.outer(q, q) + low
    np.fill_diagonal(prior, 0.0)
    if len(G) <= _MOST_FOR_RANK:
        rest = G - prior
        np.fill_diagonal(rest, 0.0)
        prior += _standing_out(rest, sigma)
    prior = np.maximum(prior, _FLOOR * np.outer(q, q))
    np.fill_diagonal(prior, 0.0)
    u = factor / np.maximum(q, 1e-9)[:, None]
    length = (u * u).sum(1, keepdims=True)
    return ExpectedPairs(q, prior, u * np.sqrt(np.minimum(1.0, _MOST_TASTE / np.maximum(length, 1e-12))))


def shrunk_pairs(G: Floats, expected: ExpectedPairs, sigma: float, power: float) -> Floats:
    """The prior and what is left of the noisy table, shrunk. Power 1/2: counts vary as the true ones do; 1: means."""
    above = np.triu_indices(len(G), 1)
    prior = expected.prior[above]
    found = np.maximum(prior + denoise.shrink(G[above] - prior, denoise.classes(prior), sigma, power), 0.0)
    M = np.zeros_like(G)
    M[above] = found
    M += M.T
    return M


def _standing_out(R: Floats, sigma: float) -> Floats:
    """`denoise.low_rank`, of a large table from its few largest directions alone."""
    if len(R) <= _SMALL:
        return denoise.low_rank(R, sigma)
    from scipy.sparse.linalg import eigsh

    values, vectors = eigsh(R, k=_MOST_RANK, which="LM", v0=np.cos(np.arange(len(R))), tol=1e-6)
    edge = 2 * sigma * np.sqrt(len(R))
    kept = np.abs(values) > edge
    true = (np.abs(values[kept]) + np.sqrt(values[kept] ** 2 - edge**2)) / 2
    true -= (edge / 2) ** 2 / true  # as much as noise adds to it
    found = (vectors[:, kept] * (true * np.sign(values[kept]))) @ vectors[:, kept].T
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


def _factor(E: Floats, basis: Floats) -> Floats:
    """F with F F' nearest to E off the diagonal, among those whose columns lie in the span of `basis`."""
    U, strength, _ = np.linalg.svd(basis, full_matrices=False)
    U = U[:, strength > 1e-9 * max(float(strength.max(initial=0.0)), 1e-12)]
    hollow = E - np.diag(np.diag(E))
    plain = U.T @ hollow @ U
    W = plain
    for _ in range(_FILLS):
        diagonal = np.einsum("ik,kl,il->i", U, W, U)
        W = plain + U.T @ (diagonal[:, None] * U)
    values, vectors = np.linalg.eigh((W + W.T) / 2)
    found: Floats = U @ (vectors * np.sqrt(np.maximum(values, 0.0)))
    return found
