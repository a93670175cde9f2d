"""Baskets by taste: who has what, each item with a weight that depends on the person."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from recveil.kernels.chacha import restart, stream, uniform

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


@njit(cache=True, parallel=True)
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
    people = len(starts) - 1
    blocks = (people + 63) // 64
    for block in prange(blocks):
        s = stream(key, 0)
        g, times = np.empty(d), np.empty(m)
        for person in range(block * 64, min(people, block * 64 + 64)):
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
