"""Spreading preferences over a graph, many at a time: FolkRank's iteration."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_BLOCK = 64  # preferences spread together: each edge is read once for all of them


@njit(cache=True)
def _pull(starts: Ints, nodes: NDArray[np.int32], edge: Any, v: Any, scale: Any, first: int, out: Any) -> None:
    """out = scale * (W v), for the nodes from `first` on."""
    width = v.shape[1]
    for i in range(first, len(starts) - 1):
        for b in range(width):
            out[i, b] = 0
        for k in range(starts[i], starts[i + 1]):
            weight, j = edge[k], nodes[k]
            for b in range(width):
                out[i, b] += weight * v[j, b]
        for b in range(width):
            out[i, b] *= scale[i]


@njit(cache=True, parallel=True)
def spread(
    starts: Ints,
    nodes: NDArray[np.int32],
    edge: Any,
    preference_starts: Ints,
    preferred: NDArray[np.int32],
    amount: Any,
    first: int,
    damping: Any,
    steps: int,
) -> Any:
    """For each preference, what lies on the nodes from `first` on after 2 or more steps of w = d A w + (1 - d) p.

    The symmetric edge weights W are given by rows; A is W with each column divided by its sum. A preference p, from
    which w starts, is `amount` on the `preferred` nodes and 0 elsewhere; so the first step touches their neighbours
    alone. Between steps, what lies on a node stands divided by the sum of its edges.
    """
    n, count = len(starts) - 1, len(preference_starts) - 1
    inverse, last = np.zeros(n, edge.dtype), np.full(n, damping, edge.dtype)
    for i in range(n):
        if starts[i] < starts[i + 1]:
            inverse[i] = 1 / edge[starts[i] : starts[i + 1]].sum()
    scale, kept = inverse * last, 1 - last[0]
    found = np.empty((count, n - first), edge.dtype)
    for block in prange((count + _BLOCK - 1) // _BLOCK):
        begin, end = block * _BLOCK, min((block + 1) * _BLOCK, count)
        v, out = np.zeros((n, end - begin), edge.dtype), np.zeros((n, end - begin), edge.dtype)
        for c in range(begin, end):
            for k in range(preference_starts[c], preference_starts[c + 1]):
                j = preferred[k]
                v[j, c - begin] += kept * amount[k] * inverse[j]
                for e in range(starts[j], starts[j + 1]):
                    v[nodes[e], c - begin] += edge[e] * amount[k] * inverse[j] * scale[nodes[e]]
        for step in range(1, steps):
            if step < steps - 1:
                _pull(starts, nodes, edge, v, scale, 0, out)
            else:
                _pull(starts, nodes, edge, v, last, first, out)
            for c in range(begin, end):
                for k in range(preference_starts[c], preference_starts[c + 1]):
                    j = preferred[k]
                    out[j, c - begin] += kept * amount[k] * (inverse[j] if step < steps - 1 else 1)
            v, out = out, v
        for c in range(begin, end):
            for i in range(first, n):
                found[c, i - first] = v[i, c - begin]
    return found
