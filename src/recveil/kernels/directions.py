"""Where people stand in a public space of items, counted in integers: each person is a vector of at most one unit.

A person has baskets people[p] to people[p + 1]; what they add one by one is summed up and scaled down as a whole where
its norm exceeds the unit. Numbers are rounded toward zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recveil.kernels.baskets import distinct, isqrt
from recveil.kernels.sessions import MOST_BASKETS

Ints = NDArray[np.int64]
Singles = NDArray[np.float32]


@njit(cache=True)
def give_signed(total: Ints, hers: Ints, touched: Ints, n: int, unit: int) -> None:
    """Add a person's n cells to the total, brought toward zero until their norm is at most `unit`; hers are emptied."""
    square = 0
    for a in range(n):
        square += hers[touched[a]] * hers[touched[a]]
    norm = isqrt(square)
    if norm * norm < square:
        norm += 1
    for a in range(n):
        cell = touched[a]
        v = hers[cell]
        if square > unit * unit:
            v = v * unit // norm if v >= 0 else -(-v * unit // norm)
        total[cell] += v
        hers[cell] = 0


@njit(cache=True)
def give_whole(total: Ints, hers: Ints, unit: int) -> None:
    """The same of all cells in their order, which is quicker."""
    square = 0
    for cell in range(len(hers)):
        square += hers[cell] * hers[cell]
    norm = isqrt(square)
    if norm * norm < square:
        norm += 1
    for cell in range(len(hers)):
        v = hers[cell]
        if square > unit * unit:
            v = v * unit // norm if v >= 0 else -(-v * unit // norm)
        total[cell] += v
        hers[cell] = 0


@njit(cache=True)
def _stand(out: Ints, s: int, vectors: Singles, z: Any) -> None:
    """The sum of the vectors of s items."""
    z[:] = 0.0
    for a in range(s):
        for k in range(len(z)):
            z[k] += vectors[out[a], k]


@njit(cache=True)
def _length(z: Any) -> Any:
    square = 0.0
    for k in range(len(z)):
        square += z[k] * z[k]
    return np.sqrt(square)


@njit(cache=True)
def count_sizes(people: Ints, starts: Ints, item: NDArray[np.int32], n_items: int, edges: Ints, unit: int) -> Ints:
    """A unit to the class of each basket's number of different items; classes begin at `edges`."""
    total, hers, touched = np.zeros(len(edges), np.int64), np.zeros(len(edges), np.int64), np.arange(len(edges))
    keep = np.arange(n_items).astype(np.int32)
    seen, out = np.full(n_items, -1, dtype=np.int64), np.empty(n_items, dtype=np.int64)
    for p in range(len(people) - 1):
        for k in range(people[p], min(people[p + 1], people[p] + MOST_BASKETS)):
            s = distinct(item[starts[k] : starts[k + 1]], keep, seen, k, out)
            if s > 0:
                hers[np.searchsorted(edges, s, side="right") - 1] += unit
        give_signed(total, hers, touched, len(edges), unit)
    return total


@njit(cache=True)
def count_products(people: Ints, starts: Ints, item: NDArray[np.int32], vectors: Singles, unit: int) -> Ints:
    """z z' of every basket's direction z: the upper triangle row by row, cells off the diagonal times sqrt(2)."""
    n_items, d = vectors.shape
    cells = d * (d + 1) // 2
    total, hers = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
    keep, z, root = np.arange(n_items).astype(np.int32), np.empty(d), np.sqrt(2.0)
    seen, out = np.full(n_items, -1, dtype=np.int64), np.empty(n_items, dtype=np.int64)
    for p in range(len(people) - 1):
        for k in range(people[p], min(people[p + 1], people[p] + MOST_BASKETS)):
            _stand(out, distinct(item[starts[k] : starts[k + 1]], keep, seen, k, out), vectors, z)
            length = _length(z)
            if length < 1e-9:
                continue
            z /= length
            cell = 0
            for i in range(d):
                hers[cell] += np.int64(unit * z[i] * z[i])
                scale = unit * root * z[i]
                for j in range(i + 1, d):
                    hers[cell + j - i] += np.int64(scale * z[j])
                cell += d - i
        give_whole(total, hers, unit)
    return total


@njit(cache=True)
def count_loadings(people: Ints, starts: Ints, item: NDArray[np.int32], vectors: Singles, unit: int) -> Ints:
    """To the row of each of a basket's s items the direction of its other items, over sqrt(s); items x directions."""
    n_items, d = vectors.shape
    total, hers = np.zeros(n_items * d, np.int64), np.zeros(n_items * d, np.int64)
    touched, rows, mine = np.empty(n_items * d, np.int64), np.empty(n_items, np.int64), np.full(n_items, -1, np.int64)
    keep, z, rest = np.arange(n_items).astype(np.int32), np.empty(d), np.empty(d)
    seen, out = np.full(n_items, -1, dtype=np.int64), np.empty(n_items, dtype=np.int64)
    for p in range(len(people) - 1):
        n = 0
        for k in range(people[p], min(people[p + 1], people[p] + MOST_BASKETS)):
            s = distinct(item[starts[k] : starts[k + 1]], keep, seen, k, out)
            if s < 2:
                continue
            _stand(out, s, vectors, z)
            for a in range(s):
                i = out[a]
                if mine[i] != p:
                    mine[i] = p
                    rows[n] = i
                    n += 1
                for c in range(d):
                    rest[c] = z[c] - vectors[i, c]
                length = _length(rest) * np.sqrt(np.float64(s))
                if length > 1e-9:
                    for c in range(d):
                        hers[i * d + c] += np.int64(unit * (rest[c] / length))
        for r in range(n):
            for c in range(d):
                touched[r * d + c] = rows[r] * d + c
        give_signed(total, hers, touched, n * d, unit)
    return total


@njit(cache=True, fastmath=True)
def exchange(starts: Ints, item: NDArray[np.int32], excess: Singles, weight: Singles, sweeps: int, part: float) -> int:
    """Replace items of baskets, in place, by those that bring weighted pair counts nearest to their target.

    excess: pair counts less their target, kept up to date; an error counts by its weight. In every sweep a basket gives
    up to `part` of its items, each time the one that it would best be without. Returns how many were replaced.
    """
    m = len(excess)
    has, load, own = np.zeros(m, np.bool_), np.empty(m, np.float32), np.empty(m, np.float32)
    done = 0
    for _ in range(sweeps):
        for k in range(len(starts) - 1):
            begin, end = starts[k], starts[k + 1]
            if end - begin < 2:
                continue
            w = np.float32(1 / np.sqrt((end - begin) * (end - begin - 1) / 2))
            load[:] = 0
            own[:] = 0
            for at in range(begin, end):
                has[item[at]] = True
                _take(load, own, excess[item[at]], weight[item[at]], np.float32(1))
            for _turn in range(max(1, int((end - begin) * part))):
                worst = _worst(item, begin, end, load, own, w)
                old = item[worst]
                loss = -load[old] + w * own[old]
                new, gain = _best(has, load, own, excess[old], weight[old], w)
                if new < 0 or loss + gain >= 0:
                    break
                done += 1
                _take(load, own, excess[old], weight[old], np.float32(-1))
                for at in range(begin, end):
                    c = item[at]
                    if c != old:
                        excess[old, c] -= w
                        excess[c, old] -= w
                        excess[new, c] += w
                        excess[c, new] += w
                        load[old] -= 2 * w * weight[c, old]
                        load[new] += 2 * w * weight[c, new]
                has[old], has[new] = False, True
                item[worst] = new
                _take(load, own, excess[new], weight[new], np.float32(1))
            for at in range(begin, end):
                has[item[at]] = False
    return done


@njit(inline="always")
def _take(load: Singles, own: Singles, errors: Singles, weights: Singles, sign: Any) -> None:
    for j in range(len(load)):
        load[j] += sign * 2 * errors[j] * weights[j]
        own[j] += sign * weights[j]


@njit(inline="always")
def _worst(item: Any, begin: Any, end: Any, load: Singles, own: Singles, w: Any) -> Any:
    """The place of the item without which the errors are least."""
    worst, least = begin, np.float32(1e30)
    for at in range(begin, end):
        cost = -load[item[at]] + w * own[item[at]]
        if cost < least:
            worst, least = at, cost
    return worst


@njit(inline="always")
def _best(has: Any, load: Singles, own: Singles, errors: Singles, weights: Singles, w: Any) -> Any:
    """The new item with which the errors are least, once the old one (whose row is given) is gone; and its cost."""
    best, least = -1, np.float32(1e30)
    for j in range(len(load)):
        if not has[j]:
            cost = load[j] + w * own[j] - (2 * errors[j] + w) * weights[j]
            if cost < least:
                best, least = j, cost
    return best, least
