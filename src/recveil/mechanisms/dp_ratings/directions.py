"""Directions in which people differ, found in noisy pairs: the eigenvectors that stand above the noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recveil.dp.denoise import independence
from recveil.mechanisms.dp_ratings.features import feature_directions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_TASTES, MOST_DIRECTIONS = 8, 12
_BLOCKS = (64, 128, 256, 512, 1024)
_SMALL = 300  # items up to which all eigenvectors are computed


def square(triangle: Floats, m: int) -> Floats:
    """A symmetric table from its upper triangle; the diagonal is empty."""
    found = np.zeros((m, m))
    found[np.triu_indices(m, 1)] = triangle
    found += found.T
    return found


def top_vectors(E: Floats, k: int) -> tuple[Floats, Floats]:
    """The k largest eigenvalues, falling, and their vectors; each vector's largest entry is positive."""
    k = min(k, len(E))
    if len(E) <= max(_SMALL, 2 * k):
        values, vectors = np.linalg.eigh(E)
        values, vectors = values[::-1][:k], vectors[:, ::-1][:, :k]
    else:
        from scipy.sparse.linalg import eigsh

        start = np.cos(np.arange(len(E)))  # fixed, so that the same table gives the same vectors
        values, vectors = eigsh(E, k=k, which="LA", v0=start, tol=1e-6)
        order = np.argsort(-values)
        values, vectors = values[order], vectors[:, order]
    largest = vectors[np.abs(vectors).argmax(0), np.arange(vectors.shape[1])]
    return values, vectors * np.where(largest < 0, -1.0, 1.0)


def tastes(G: Floats, kept: Ints, have: Floats, sigma: float) -> Floats:
    """Directions of who has what, over all items: from pairs of kept items beyond their popularity.

    Of the most popular 64, 128, ... kept items, as many as show the most directions.
    """
    q = independence(G)
    E = G - np.outer(q, q)
    np.fill_diagonal(E, 0.0)
    order = np.argsort(-have[kept], kind="stable")
    best: tuple[int, Ints, Floats] | None = None
    for size in sorted({min(b, len(kept)) for b in (*_BLOCKS, len(kept))}):
        chosen = order[:size]
        values, vectors = top_vectors(E[np.ix_(chosen, chosen)], MOST_TASTES)
        above = int((values > 2 * sigma * np.sqrt(size)).sum())
        if best is None or above >= best[0]:
            best = (above, chosen, vectors[:, : max(above, 1)])
    if best is None:
        raise ValueError("there are no kept items")
    found = np.zeros((len(have), best[2].shape[1]))
    found[kept[best[1]]] = best[2]
    return found


def directions(R: Floats, top: Ints, psi: Floats, sigma: float, features: Floats | None = None) -> Floats:
    """Orthonormal directions of ratings, over all items: from products of ratings of top items, tastes, features."""
    values, vectors = top_vectors(R, MOST_DIRECTIONS)
    above = max(int((values > 2 * sigma * np.sqrt(len(top))).sum()), 1)
    mine = np.zeros((len(psi), above))
    mine[top] = vectors[:, :above]
    U, strength, _ = np.linalg.svd(np.hstack([mine, psi]), full_matrices=False)
    found = U[:, strength > 0.1][:, :MOST_DIRECTIONS]
    return found if features is None else feature_directions(features, found)
