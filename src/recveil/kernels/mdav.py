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
    from that one with its k - 1 nearest. Products with a record are summed over those alone who share an item with it.
    So are changes of the products with the centre (the sum of the records that are left), or all of these products are
    summed again for every second group, whichever is less work.
    """
    n = len(starts) - 1
    heads, owners, owned = _by_item(starts, items, values, n_items)
    size, central, product = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    centre = np.zeros(n_items, dtype=np.int64)
    for u in range(n):
        for p in range(starts[u], starts[u + 1]):
            size[u] += values[p] * values[p]
            centre[items[p]] += values[p]
    group = np.full(n, -1, dtype=np.int64)
    shared = np.sum(np.diff(heads) ** 2) / n  # entries of a record's items, on average
    changing = 4 * k * shared < len(items)
    left, found = n, 0
    while left >= 2 * k:
        if left == n or not changing:
            _sum(starts, items, values, centre, group, central)
        end = _farthest(left, size, central, group)
        for _ in range(2 if left >= 3 * k else 1):
            _add(1, end, starts, items, values, heads, owners, owned, product)
            chosen = _nearest(end, k, size, product, group)
            for u in chosen:
                group[u] = found
                for p in range(starts[u], starts[u + 1]):
                    centre[items[p]] -= values[p]
                if changing:
                    _add(-1, u, starts, items, values, heads, owners, owned, central)
            opposite = _farthest(1, size, product, group)
            _add(-1, end, starts, items, values, heads, owners, owned, product)
            left -= k
            found += 1
            end = opposite
    group[group < 0] = found
    return group


@njit(cache=True, nogil=True)
def _by_item(starts: Any, items: Any, values: Any, n_items: Any) -> Any:
    """Where the entries of each item begin, whose they are, and their values."""
    heads = np.zeros(n_items + 1, dtype=np.int64)
    for item in items:
        heads[item + 1] += 1
    heads = np.cumsum(heads)
    at = heads[:-1].copy()
    owners, owned = np.empty(len(items), dtype=np.int64), np.empty(len(items), dtype=np.int64)
    for u in range(len(starts) - 1):
        for p in range(starts[u], starts[u + 1]):
            owners[at[items[p]]], owned[at[items[p]]] = u, values[p]
            at[items[p]] += 1
    return heads, owners, owned


@njit(cache=True, nogil=True)
def _add(
    sign: Any, u: Any, starts: Any, items: Any, values: Any, heads: Any, owners: Any, owned: Any, product: Any
) -> None:
    """Add everybody's product with record u, or take it away."""
    for p in range(starts[u], starts[u + 1]):
        for q in range(heads[items[p]], heads[items[p] + 1]):
            product[owners[q]] += sign * values[p] * owned[q]


@njit(cache=True, nogil=True)
def _sum(starts: Any, items: Any, values: Any, point: Any, group: Any, product: Any) -> None:
    """The product of every record that is left with a point."""
    for u in range(len(product)):
        if group[u] < 0:
            found = 0
            for p in range(starts[u], starts[u + 1]):
                found += values[p] * point[items[p]]
            product[u] = found


@njit(cache=True, nogil=True)
def _farthest(weight: Any, size: Any, product: Any, group: Any) -> Any:
    """The first of the farthest records that are left; -1 where none is."""
    best, most = -1, 0
    for u in range(len(size)):
        if group[u] < 0:
            apart = weight * size[u] - 2 * product[u]
            if best < 0 or apart > most:
                best, most = u, apart
    return best


@njit(cache=True, nogil=True)
def _nearest(end: Any, k: Any, size: Any, product: Any, group: Any) -> Any:
    """A record, first even among equals, and the k - 1 that are left and nearest to it; the nearest are kept in order
    while records pass by."""
    chosen, apart = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
    chosen[0] = end
    filled = 1
    for u in range(len(size)):
        if group[u] < 0 and u != end:
            here = size[u] - 2 * product[u]
            if filled < k:
                filled += 1
            elif k == 1 or here >= apart[k - 1]:
                continue
            at = filled - 1
            while at > 1 and apart[at - 1] > here:
                chosen[at], apart[at] = chosen[at - 1], apart[at - 1]
                at -= 1
            chosen[at], apart[at] = u, here
    return chosen
