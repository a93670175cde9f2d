"""Directions in which people differ, found in noisy pairs: the eigenvectors that stand above the noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recveil.dp.denoise import independence
from recveil.mechanisms.dp_ratings.features import feature_directions

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

MOST_TASTES, MOST_DIRECTIONS = 8, 12
_BLOCKS = (64, 128, 256, 512, 1024)
_SMALL = 300  # items up to which all eigenvectors are computed
_DEPTH, _SPARE = 12, 4  # of the space in which those of larger tables are found: passes, and vectors beyond those asked


def top_vectors(E: Singles, k: int) -> tuple[Floats, Floats]:
    """The k largest eigenvalues, falling, and their vectors; each vector's largest entry is positive."""
    values, vectors = np.linalg.eigh(E.astype(np.float64)) if len(E) <= _SMALL else extremes(E, k)
    order = np.argsort(-values)[:k]
    values, vectors = values[order], vectors[:, order]
    largest = vectors[np.abs(vectors).argmax(0), np.arange(vectors.shape[1])]
    return values, vectors * np.where(largest < 0, -1.0, 1.0)


def extremes(E: Singles, k: int) -> tuple[Floats, Floats]:
    """About 12 k eigenvalues of a large table, rising, and their vectors; the outermost k on each side are near exact.

    By a block Krylov space, in a few passes over the table: what stands clear of the noise is found to many digits, and
    what does not is noise anyway. It begins with fixed vectors, so that the same table gives the same ones.
    """
    block = np.cos(np.outer(np.arange(len(E)) + 1.0, np.arange(1, k + _SPARE + 1) * 0.7))
    basis = np.empty((len(E), 0))
    for _ in range(min(_DEPTH, len(E) // block.shape[1])):
        for _ in range(2):  # once leaves some of what is there already
            block = np.linalg.qr(block - basis @ (basis.T @ block))[0]
        basis = np.hstack([basis, block])
        block = (E @ block.astype(np.float32)).astype(np.float64)
    values, inner = np.linalg.eigh(basis.T @ (E @ basis.astype(np.float32)))
    return values, basis @ inner


def tastes(G: Singles, kept: Ints, have: Floats, sigma: float) -> Floats:
    """Directions of who has what, over all items: from pairs of kept items beyond their popularity.

    Of the most popular 64, 128, ... kept items, as many as show the most directions.
    """
    q = independence(G)
    E = np.outer(q, q).astype(np.float32)
    np.subtract(G, E, out=E)
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


def directions(R: Singles, top: Ints, psi: Floats, sigma: float, features: Floats | None = None) -> Floats:
    """Orthonormal directions of ratings, over all items: from products of ratings of top items, tastes, features."""
    values, vectors = top_vectors(R, MOST_DIRECTIONS)
    above = max(int((values > 2 * sigma * np.sqrt(len(top))).sum()), 1)
    mine = np.zeros((len(psi), above))
    mine[top] = vectors[:, :above]
    U, strength, _ = np.linalg.svd(np.hstack([mine, psi]), full_matrices=False)
    found = U[:, strength > 0.1][:, :MOST_DIRECTIONS]
    return found if features is None else feature_directions(features, found)
