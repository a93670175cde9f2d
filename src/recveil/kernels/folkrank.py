"""Spreading preference over a graph, many preferences at a time: FolkRank's iteration."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_BLOCK = 32  # preferences spread together: their weights at a node share cache lines, and a block stays in the cache


@njit(cache=True)
def _step(
    starts: Ints,
    nodes: NDArray[np.int32],
    weight: Floats,
    w: Floats,
    p: Floats,
    first: int,
    damping: float,
    out: Floats,
) -> None:
    """out = damping * A w + (1 - damping) * p, for the nodes from `first` on."""
    width = w.shape[1]
    for i in range(first, len(starts) - 1):
        for b in range(width):
            out[i, b] = (1.0 - damping) * p[i, b]
        for k in range(starts[i], starts[i + 1]):
            share, j = damping * weight[k], nodes[k]
            for b in range(width):
                out[i, b] += share * w[j, b]


@njit(cache=True, parallel=True)
def spread(
    starts: Ints,
    nodes: NDArray[np.int32],
    weight: Floats,
    preference_starts: Ints,
    preferred: NDArray[np.int32],
    amount: Floats,
    first: int,
    damping: float,
    steps: int,
) -> Floats:
    """For each preference, what lies on the nodes from `first` on after `steps` rounds of w = d A w + (1 - d) p.

    A is given by rows. A preference p, from which w starts, is `amount` on the `preferred` nodes and 0 elsewhere.
    """
    n, count = len(starts) - 1, len(preference_starts) - 1
    found = np.empty((count, n - first))
    for block in prange((count + _BLOCK - 1) // _BLOCK):
        begin, end = block * _BLOCK, min((block + 1) * _BLOCK, count)
        p = np.zeros((n, end - begin))
        for c in range(begin, end):
            for k in range(preference_starts[c], preference_starts[c + 1]):
                p[preferred[k], c - begin] += amount[k]
        w, out = p.copy(), np.empty_like(p)
        for step in range(steps):
            _step(starts, nodes, weight, w, p, first if step == steps - 1 else 0, damping, out)
            w, out = out, w
        for c in range(begin, end):
            for i in range(first, n):
                found[c, i - first] = w[i, c - begin]
    return found
