"""MDAV: records in groups of at least k that lie close together, found from the far ends inwards.

Distances are Euclidean between sparse records of small integers, and all comparisons are made in integers, so that the
groups do not depend on rounding. Of equals the first record counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


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
    size = np.zeros(n, dtype=np.int64)
    for u in range(n):
        for p in range(starts[u], starts[u + 1]):
            centre[items[p]] += values[p]
            size[u] += values[p] * values[p]
    open_ = np.arange(n)
    found = 0
    while len(open_) >= 2 * k:
        m = len(open_)
        end = open_[np.argmax(m * size[open_] - 2 * _products(starts, items, values, open_, centre))]
        for again in range(2 if m >= 3 * k else 1):
            for p in range(starts[end], starts[end + 1]):
                point[items[p]] = values[p]
            apart = size[open_] - 2 * _products(starts, items, values, open_, point)
            for p in range(starts[end], starts[end + 1]):
                point[items[p]] = 0
            rank = apart * n + open_
            rank[np.searchsorted(open_, end)] = np.iinfo(
                np.int64
            ).min  # a record is in its own group, even among equals
            near = rank <= np.partition(rank, k - 1)[k - 1]
            for u in open_[near]:
                group[u] = found
                for p in range(starts[u], starts[u + 1]):
                    centre[items[p]] -= values[p]
            found += 1
            open_, apart = open_[~near], apart[~near]
            if again == 0:
                end = open_[np.argmax(apart)]
    group[open_] = found
    return group


@njit(cache=True, nogil=True)
def _products(starts: Any, items: Any, values: Any, open_: Any, point: Any) -> Any:
    found = np.zeros(len(open_), dtype=np.int64)
    for k in range(len(open_)):
        for p in range(starts[open_[k]], starts[open_[k] + 1]):
            found[k] += values[p] * point[items[p]]
    return found
