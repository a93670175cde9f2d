"""Baskets by taste: items whose weights depend on the person, then swapped until pairs occur as often as wanted."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recveil.kernels.chacha import below, restart, stream, uniform, word

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@njit(cache=True)
def winners(times: Floats, n: int, out: NDArray[np.int32]) -> None:
    """The n smallest, as places in rising order."""
    last = np.partition(times, n - 1)[n - 1]
    found = 0
    for i in range(len(times)):
        if times[i] <= last and found < n:
            out[found] = i
            found += 1


@njit(cache=True)
def race(key: NDArray[np.uint64], starts: Ints, weight: Floats, taste: Floats) -> NDArray[np.int32]:
    """Baskets of different items, person by person, each chosen one after the other in proportion to their weights.

    A person of taste g (standard normal) weighs an item as weight exp(u g - |u|^2 / 2), u its row of `taste`. Every
    item has an exponential time of arrival; the first ones are hers.
    """
    m, d = taste.shape
    item = np.empty(starts[-1], dtype=np.int32)
    half = np.empty(m)
    for i in range(m):
        half[i] = 0.0
        for k in range(d):
            half[i] += taste[i, k] * taste[i, k] / 2
    s = stream(key, 0)
    g, times = np.empty(d), np.empty(m)
    for person in range(len(starts) - 1):
        n = starts[person + 1] - starts[person]
        if n == 0:
            continue
        restart(s, person)
        for k in range(d):
            g[k] = np.sqrt(-2 * np.log(1.0 - uniform(s))) * np.cos(2 * np.pi * uniform(s))
        for i in range(m):
            lean = -half[i]
            for k in range(d):
                lean += taste[i, k] * g[k]
            times[i] = -np.log(1.0 - uniform(s)) / (weight[i] * np.exp(lean))
        winners(times, n, item[starts[person] : starts[person + 1]])
    return item


@njit(cache=True)
def swap(
    key: NDArray[np.uint64],
    starts: Ints,
    item: NDArray[np.int32],
    error: NDArray[np.float32],
    first: NDArray[np.uint32],
    rows: NDArray[np.uint32],
    sweeps: int,
) -> int:
    """Replace items, in place, wherever that brings the baskets' weighted pair counts nearer to a target.

    error[i, j] = (pair counts of the baskets - target, the weight of an error there); the former is kept up to date.
    Proposals come from the row of another member (four of five; `rows` holds cumulated weights) or from popularity
    (`first`). Returns how many were accepted.
    """
    m = len(first)
    s = stream(key, 0)
    mine = np.zeros(m, dtype=np.bool_)
    accepted = 0
    for sweep in range(sweeps):
        for k in range(len(starts) - 1):
            begin, end = starts[k], starts[k + 1]
            size = end - begin
            if size < 2:
                continue
            restart(s, sweep * (len(starts) - 1) + k)
            w = np.float32(1.0 / np.sqrt(size * (size - 1) / 2))
            for at in range(begin, end):
                mine[item[at]] = True
            for at in range(begin, end):
                old, row = item[at], first
                if uniform(s) < 0.8:
                    other = begin + below(s, size - 1)
                    row = rows[item[other if other < at else other + 1]]
                u = np.uint32(word(s) >> np.uint64(32))
                new = np.int64(np.searchsorted(row, u, side="right"))
                if new == m:
                    new -= 1
                if mine[new]:
                    continue
                gain = np.float32(0.0)
                less, more = error[old], error[new]
                for o in range(begin, end):
                    c = item[o]
                    gain += (w - 2 * less[c, 0]) * less[c, 1] + (w + 2 * more[c, 0]) * more[c, 1]
                gain -= (w - 2 * less[old, 0]) * less[old, 1] + (w + 2 * more[old, 0]) * more[old, 1]
                if gain < 0:
                    accepted += 1
                    item[at] = new
                    mine[old], mine[new] = False, True
                    for o in range(begin, end):
                        c = item[o]
                        if c != new:
                            error[old, c, 0] -= w
                            error[c, old, 0] -= w
                            error[new, c, 0] += w
                            error[c, new, 0] += w
            for at in range(begin, end):
                mine[item[at]] = False
    return accepted
