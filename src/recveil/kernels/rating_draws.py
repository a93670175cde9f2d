"""Baskets by taste: items whose weights depend on the person, then swapped until pairs occur as often as wanted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import get_num_threads, njit, prange
from numpy.typing import NDArray

from recveil.kernels.chacha import below, restart, stream, uniform, word
from recveil.kernels.swaps import found_in, guides

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

FEWEST_TOGETHER, PARTS = 16, 256  # people who are swapped side by side: so many, or one part of all


def choose(key: NDArray[np.uint64], starts: Ints, weight: Floats, taste: Floats) -> Codes:
    """Baskets of different items, person by person, each chosen one after the other in proportion to their weights.

    A person of taste g (standard normal) weighs an item as weight exp(u g - |u|^2 / 2), u its row of `taste`. What she
    has already is drawn in vain; after too many of those it gets no weight any more, which changes no chance.
    """
    found: Codes = _choose(key, starts, weight, taste, get_num_threads())
    return found


@njit(cache=True)
def _cumulate(own: Floats, sums: Floats) -> None:
    total = 0.0
    for i in range(len(own)):
        total += own[i]
        sums[i] = total


@njit(cache=True, parallel=True)
def _choose(key: Any, starts: Any, weight: Any, taste: Any, threads: int) -> Any:
    m, d = taste.shape
    item, half = np.empty(starts[-1], dtype=np.int32), np.zeros(m)
    for i in range(m):
        for k in range(d):
            half[i] += taste[i, k] * taste[i, k] / 2
    for thread in prange(threads):
        s = stream(key, 0)
        g, own, sums, mine = np.empty(d), weight.copy(), np.empty(m), np.zeros(m, dtype=np.bool_)
        _cumulate(own, sums)
        for person in range(thread, len(starts) - 1, threads):
            begin, end = starts[person], starts[person + 1]
            restart(s, person)
            for k in range(d):
                g[k] = np.sqrt(-2 * np.log(1.0 - uniform(s))) * np.cos(2 * np.pi * uniform(s))
            if d > 0 and end > begin:
                for i in range(m):
                    lean = -half[i]
                    for k in range(d):
                        lean += taste[i, k] * g[k]
                    own[i] = weight[i] * np.exp(lean)
                _cumulate(own, sums)
            at, vain, emptied = begin, 0, False
            while at < end:
                new = min(np.int64(np.searchsorted(sums, uniform(s) * sums[m - 1], side="right")), m - 1)
                if not mine[new]:
                    mine[new] = True
                    item[at] = new
                    at += 1
                    continue
                vain += 1
                if vain > 8 + m // 32:
                    for a in range(begin, at):
                        own[item[a]] = 0.0
                    _cumulate(own, sums)
                    vain, emptied = 0, True
            for a in range(begin, end):
                mine[item[a]] = False
            item[begin:end].sort()
            if emptied and d == 0:
                own[:] = weight
                _cumulate(own, sums)
    return item


def swap(
    key: NDArray[np.uint64],
    starts: Ints,
    item: Codes,
    error: NDArray[np.float32],
    first: NDArray[np.uint32],
    rows: NDArray[np.uint32],
    sweeps: int,
    together: int = 0,
) -> int:
    """Replace items, in place, wherever that brings the baskets' weighted pair counts nearer to a target.

    error[i, j] = (pair counts of the baskets - target, the weight of an error there); the former is kept up to date.
    Proposals come from the row of another member (four of five; `rows` holds cumulated weights) or from popularity
    (`first`). So many people as go together (0: as suits their number) do not see each other's changes, and the result
    depends on no number of threads. Returns how many were accepted.
    """
    together = together or max(FEWEST_TOGETHER, (len(starts) - 1) // PARTS)
    lots = (first[None], guides(first[None]), rows, guides(rows))
    return int(_swap(key, starts, item, error, lots, sweeps, together, get_num_threads()))


@njit(cache=True)
def _shared(starts: Ints, begin: int, end: int, threads: int) -> Ints:
    """Which thread takes which person: the longest basket first, each to whom least was given."""
    size = starts[begin + 1 : end + 1] - starts[begin:end]
    whose, given = np.empty(len(size), dtype=np.int64), np.zeros(threads)
    for k in np.argsort(-size):
        whose[k] = np.argmin(given)
        given[whose[k]] += np.float64(size[k]) * size[k]
    return whose


@njit(cache=True)
def _gain(item: Any, begin: int, end: int, less: Any, more: Any, fresh: Any, was: Any, places: Any, w: Any) -> Any:
    """What it adds to the weighted squares if new stands where old does.

    Errors are those before this person's own changes: a pair which she did not have then counts w more by now, and one
    which she had then and has no more counts w less.
    """
    old, new = places
    gain = np.float32(0.0)
    for o in range(begin, end):
        c = item[o]
        if c != old:
            late = fresh[o - begin] if was[old] else w
            gone = w - fresh[o - begin] if was[new] else np.float32(0.0)
            gain += (w - 2 * (less[c, 0] + late)) * less[c, 1] + (w + 2 * (more[c, 0] - gone)) * more[c, 1]
    return gain


@njit(cache=True)
def _swap_one(s: Any, item: Any, begin: int, end: int, error: Any, lots: Any, mine: Any, was: Any) -> Any:
    """One person's sweep; how many proposals were accepted. lots: cumulated popularity, and rows, with their guides."""
    size, accepted = end - begin, 0
    first, first_guide, rows, guide = lots
    w = np.float32(1.0 / np.sqrt(size * (size - 1) / 2))
    fresh = np.zeros(size, dtype=np.float32)
    for at in range(begin, end):
        mine[item[at]] = was[item[at]] = True
    before = item[begin:end].copy()
    for at in range(begin, end):
        old, near = item[at], np.int64(-1)
        if uniform(s) < 0.8:
            other = begin + below(s, size - 1)
            near = np.int64(item[other if other < at else other + 1])
        u = np.uint32(word(s) >> np.uint64(32))
        new = found_in(0, u, first, first_guide) if near < 0 else found_in(near, u, rows, guide)
        if mine[new]:
            continue
        if _gain(item, begin, end, error[old], error[new], fresh, was, (old, new), w) < 0:
            accepted += 1
            item[at] = new
            fresh[at - begin] = np.float32(0.0) if was[new] else w
            mine[old], mine[new] = False, True
    for a in range(size):
        mine[item[begin + a]] = was[before[a]] = False
    return accepted


@njit(cache=True)
def _change(error: Any, basket: Any, there: Any, w: Any, thread: int, threads: int) -> None:
    """Add w to all pairs of a basket that have a member which is not `there`; of the rows that this thread has."""
    others = basket[np.array([not there[c] for c in basket])]
    for x in basket:
        if x % threads == thread:
            for c in others if there[x] else basket:
                if c != x:
                    error[x, c, 0] += w


@njit(cache=True, parallel=True)
def _swap(key: Any, starts: Any, item: Any, error: Any, lots: Any, sweeps: int, together: int, threads: int) -> Any:
    m, people = len(lots[2]), len(starts) - 1
    mine, was = np.zeros((threads, m), dtype=np.bool_), np.zeros((threads, m), dtype=np.bool_)
    streams = np.empty((threads, len(stream(key, 0))), dtype=np.uint32)
    for thread in range(threads):
        streams[thread] = stream(key, 0)
    accepted = np.zeros(threads, dtype=np.int64)
    for number in range(sweeps * ((people + together - 1) // together)):
        sweep, group = number // ((people + together - 1) // together), number % ((people + together - 1) // together)
        low, high = group * together, min((group + 1) * together, people)
        whose = _shared(starts, low, high, threads)
        before = item[starts[low] : starts[high]].copy()
        for thread in prange(threads):
            for k in range(low, high):
                if whose[k - low] == thread and starts[k + 1] - starts[k] > 1:
                    s = streams[thread]
                    restart(s, sweep * people + k)
                    accepted[thread] += _swap_one(
                        s, item, starts[k], starts[k + 1], error, lots, mine[thread], was[thread]
                    )
        for thread in prange(threads):
            for k in range(low, high):
                now, then = (
                    item[starts[k] : starts[k + 1]],
                    before[starts[k] - starts[low] : starts[k + 1] - starts[low]],
                )
                if len(now) < 2 or (now == then).all():
                    continue
                w = np.float32(1.0 / np.sqrt(len(now) * (len(now) - 1) / 2))
                for a in range(len(now)):
                    mine[thread, now[a]] = was[thread, then[a]] = True
                _change(error, then, mine[thread], -w, thread, threads)
                _change(error, now, was[thread], w, thread, threads)
                for a in range(len(now)):
                    mine[thread, now[a]] = was[thread, then[a]] = False
    return accepted.sum()
