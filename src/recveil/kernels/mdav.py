"""MDAV: records in groups of at least k that lie close together, found from the far ends inwards.

Distances are Euclidean between sparse records of small integers, and all comparisons are made in integers, so that the
groups do not depend on rounding. Of equals the first record counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

_FIRST = np.iinfo(np.int64).min


@njit(cache=True, nogil=True)
def mdav(
    starts: NDArray[np.int64], items: NDArray[np.int32], values: NDArray[np.int64], n_items: int, k: int
) -> NDArray[np.int64]:
    """The group of each record: all of k records, but the last of k to 2k - 1; fewer records than 2k are one group.

    While 3k are left: the record farthest from the centre with its k - 1 nearest is a group, then the record farthest
    from that one with its k - 1 nearest. Time is records x entries / k.
    """
    n = len(starts) - 1
    group = np.full(n, -1, dtype=np.int64)
    centre = np.zeros(n_items, dtype=np.int64)  # sum over the records that are left
    point = np.zeros(n_items, dtype=np.int64)
    size, apart = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for u in range(n):
        for p in range(starts[u], starts[u + 1]):
            centre[items[p]] += values[p]
            size[u] += values[p] * values[p]
    left, found = n, 0
    while left >= 2 * k:
        for u in range(n):
            if group[u] < 0:
                apart[u] = left * size[u] - 2 * _product(starts, items, values, u, centre)
        end = _farthest(apart, group)
        for _ in range(2 if left >= 3 * k else 1):
            for p in range(starts[end], starts[end + 1]):
                point[items[p]] = values[p]
            rank = np.empty(left, dtype=np.int64)
            at = 0
            for u in range(n):
                if group[u] < 0:
                    apart[u] = size[u] - 2 * _product(starts, items, values, u, point)
                    rank[at] = apart[u] * n + u if u != end else _FIRST  # in its own group, even among equals
                    at += 1
            for p in range(starts[end], starts[end + 1]):
                point[items[p]] = 0
            rank.sort()
            for j in range(k):
                u = end if j == 0 else rank[j] % n
                group[u] = found
                for p in range(starts[u], starts[u + 1]):
                    centre[items[p]] -= values[p]
            left -= k
            found += 1
            end = _farthest(apart, group)
    for u in range(n):
        if group[u] < 0:
            group[u] = found
    return group


@njit(cache=True, nogil=True)
def _product(starts: Any, items: Any, values: Any, u: Any, point: Any) -> Any:
    found = 0
    for p in range(starts[u], starts[u + 1]):
        found += values[p] * point[items[p]]
    return found


@njit(cache=True, nogil=True)
def _farthest(apart: Any, group: Any) -> Any:
    """The first of the farthest records that are left; -1 where none is."""
    best = -1
    for u in range(len(apart)):
        if group[u] < 0 and (best < 0 or apart[u] > apart[best]):
            best = u
    return best
