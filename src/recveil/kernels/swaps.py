"""Baskets whose items, then whose order, are exchanged until pairs and moves occur as often as a table says.

A table of errors is whole and small, frequent items first: what is looked at most lies together. An error of pairs
weighs 1 / (the product of what its two items have + softness), which needs no table. Kernels hold no lock: blocks of
baskets, each with a table of its own, run side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import get_num_threads as get_num_threads
from numba import njit
from numpy.typing import NDArray

from recveil.kernels.chacha import below, restart, stream, word

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Singles = NDArray[np.float32]

TRIES = 4  # proposals for an item in a sweep
FEW = 0.05  # of the items: a sweep that changes fewer is the last
GUIDES = 256  # parts of a cumulated row whose ends are noted


@njit(cache=True, nogil=True)
def guides(rows: NDArray[np.uint32]) -> NDArray[np.uint16]:
    """Where each part of a cumulated row begins: what is frequent is found there alone, and the row is not read."""
    m = rows.shape[1]
    found = np.empty((len(rows), GUIDES + 1), dtype=np.uint16)
    for i in range(len(rows)):
        at = 0
        for part in range(GUIDES):
            while at < m - 1 and rows[i, at] <= np.uint32(part << 24):
                at += 1
            found[i, part] = at
        found[i, GUIDES] = m - 1
    return found


@njit(inline="always")
def found_in(i: Any, u: Any, rows: Any, guide: Any) -> Any:
    """The first column of row i whose cumulated weight exceeds u of 32 bits, or the last."""
    part = np.int64(u >> np.uint32(24))
    low, high = np.int64(guide[i, part]), np.int64(guide[i, part + 1])
    while low < high:
        middle = (low + high) // 2
        if rows[i, middle] <= u:
            low = middle + 1
        else:
            high = middle
    return low


@njit(inline="always")
def _two(s: Any) -> Any:
    """Two numbers of 32 random bits."""
    both = word(s)
    return np.uint32(both), np.uint32(both >> np.uint64(32))


@njit(inline="always")
def _part(x: Any, n: Any) -> Any:
    """A number below n out of 32 random bits."""
    return np.int64((np.uint64(x) * np.uint64(n)) >> np.uint64(32))


@njit(cache=True, nogil=True)
def walk(key: NDArray[np.uint64], starts: Ints, rows: NDArray[np.uint32], guide: NDArray[np.uint16]) -> Codes:
    """New baskets of the given sizes: an item by popularity, then each by the row of a random member; none twice.

    The last row of `rows` is popularity.
    """
    item = np.empty(starts[-1], dtype=np.int32)
    m, s = rows.shape[1], stream(key, 0)
    for k in range(len(starts) - 1):
        restart(s, k)
        begin = starts[k]
        for at in range(begin, starts[k + 1]):
            for tries in range(1 << 30):
                x, u = _two(s)
                near = np.int64(m) if at == begin or tries >= 20 else np.int64(item[begin + _part(x, at - begin)])
                new = found_in(near, u, rows, guide) if tries < 60 else _part(u, m)
                held = False
                for other in range(begin, at):
                    held |= item[other] == new
                if not held:
                    break
            item[at] = new
    return item


@njit(cache=True, nogil=True)
def pair_excess(starts: Ints, item: Codes, target: Singles, scale: float) -> Singles:
    """What the baskets weigh together in each pair, a basket of s items 1 / sqrt(s (s - 1) / 2), less its target."""
    excess = target * np.float32(-scale)
    for k in range(len(starts) - 1):
        begin, end = starts[k], starts[k + 1]
        if end - begin > 1:
            w = np.float32(1.0 / np.sqrt((end - begin) * (end - begin - 1) / 2))
            for a in range(begin, end):
                for b in range(begin, a):
                    excess[item[a], item[b]] += w
                    excess[item[b], item[a]] += w
    return excess


@njit(cache=True, nogil=True, fastmath=True)
def _without(mine: Ints, share: Singles, excess: Singles, softness: Any, w: Any, out: Singles) -> None:
    """What the weighted squares change by if an item goes, for each of a basket."""
    for a in range(len(mine)):
        row, q, gain = excess[mine[a]], share[mine[a]], np.float32(0.0)
        for c in mine:
            gain += (w - 2 * row[c]) / (q * share[c] + softness)
        out[a] = gain - (w - 2 * row[mine[a]]) / (q * q + softness)


@njit(cache=True, nogil=True, fastmath=True)
def _with(mine: Ints, a: Any, new: Any, share: Singles, excess: Singles, softness: Any, w: Any) -> Any:
    """What they change by if a new item stands beside all but the one at a."""
    row, q, gain = excess[new], share[new], np.float32(0.0)
    for c in mine:
        gain += (w + 2 * row[c]) / (q * share[c] + softness)
    return gain - (w + 2 * row[mine[a]]) / (q * share[mine[a]] + softness)


@njit(cache=True, nogil=True, fastmath=True)
def _replace(mine: Ints, a: Any, new: Any, share: Singles, excess: Singles, softness: Any, w: Any, out: Any) -> None:
    less, more, old, total = excess[mine[a]], excess[new], mine[a], np.float32(0.0)
    for b in range(len(mine)):
        if b != a:
            c = mine[b]
            out[b] -= (w - 2 * less[c]) / (share[old] * share[c] + softness)
            less[c] -= w
            more[c] += w
            excess[c, old], excess[c, new] = less[c], more[c]
            gain = (w - 2 * more[c]) / (share[new] * share[c] + softness)
            out[b] += gain
            total += gain
    mine[a], out[a] = new, total


@njit(cache=True, nogil=True)
def swap_items(
    key: NDArray[np.uint64],
    starts: Ints,
    item: Codes,
    excess: Singles,
    share: Singles,
    softness: float,
    rows: NDArray[np.uint32],
    guide: NDArray[np.uint16],
    sweeps: int,
) -> int:
    """Replace items, in place, wherever that brings the baskets' weighted pairs nearer to a target.

    excess is kept up to date. In a sweep each item has a few proposals until one is taken, from the row of another
    member with which it occurs too seldom so far (four of five), or from popularity, the last row. Returns how many
    were taken.
    """
    s, soft, taken, before, longest = stream(key, 0), np.float32(softness), 0, 0, 0
    for k in range(len(starts) - 1):
        longest = max(longest, starts[k + 1] - starts[k])
    members, gains = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.float32)
    for sweep in range(sweeps):
        for k in range(len(starts) - 1):
            begin, size = starts[k], starts[k + 1] - starts[k]
            if size < 2:
                continue
            restart(s, sweep * (len(starts) - 1) + k)
            w = np.float32(1.0 / np.sqrt(size * (size - 1) / 2))
            mine, out = members[:size], gains[:size]
            for a in range(size):
                mine[a] = item[begin + a]
            _without(mine, share, excess, soft, w, out)
            for a in range(size):
                for _ in range(TRIES):
                    x, u = _two(s)
                    other = _part(x, 5 * (size - 1)) // 4
                    near = np.int64(len(share)) if other >= size - 1 else mine[other if other < a else other + 1]
                    new = found_in(near, u, rows, guide)
                    if near < len(share) and excess[new, near] >= 0:
                        continue
                    held = False
                    for c in mine:
                        held |= c == new
                    if not held and out[a] + _with(mine, a, new, share, excess, soft, w) < 0:
                        _replace(mine, a, new, share, excess, soft, w, out)
                        taken += 1
                        break
            for a in range(size):
                item[begin + a] = mine[a]
        if taken - before < FEW * len(item):
            break
        before = taken
    return taken


@njit(cache=True, nogil=True)
def shuffle(key: NDArray[np.uint64], starts: Ints, item: Codes) -> None:
    """The items of each basket in an order that tells nothing, in place."""
    s = stream(key, 0)
    for k in range(len(starts) - 1):
        restart(s, k)
        for last in range(starts[k + 1] - 1, starts[k], -1):
            at = starts[k] + below(s, last - starts[k] + 1)
            item[at], item[last] = item[last], item[at]


@njit(cache=True, nogil=True)
def move_errors(starts: Ints, item: Codes, target: Singles, scale: float, softness: float) -> Singles:
    """Of each move: what the baskets that have it weigh together, one of s items 1 / sqrt(s - 1), less its target; and
    1 / (target + softness)."""
    error = np.empty((*target.shape, 2), dtype=np.float32)
    for i in range(len(target)):
        for j in range(target.shape[1]):
            wanted = target[i, j] * np.float32(scale)
            error[i, j, 0], error[i, j, 1] = -wanted, 1 / (wanted + np.float32(softness))
    for k in range(len(starts) - 1):
        w = np.float32(1.0 / np.sqrt(max(starts[k + 1] - starts[k] - 1, 1)))
        for at in range(starts[k] + 1, starts[k + 1]):
            error[item[at - 1], item[at], 0] += w
    return error


@njit(inline="always")
def _ends(mine: Any, i: Any, j: Any, number: Any) -> Any:
    """Of the moves that end or begin at i and j > i: two places whose items are joined, -1 where there are none."""
    before = (i - 1, i, j - 1, j)[number]
    there = 0 <= before < len(mine) - 1 and not (number == 2 and j == i + 1)
    return before if there else -1


@njit(cache=True, nogil=True)
def _change(mine: Any, i: Any, j: Any, error: Any, w: Any) -> Any:
    """What the weighted squares change by if the moves around i and j get w more: no two of them are alike."""
    gain, sign = np.float32(0.0), np.sign(w)
    for number in range(4):
        at = _ends(mine, i, j, number)
        if at >= 0:
            cell = error[mine[at], mine[at + 1]]
            gain += (w * sign + 2 * sign * cell[0]) * cell[1]
    return gain


@njit(cache=True, nogil=True)
def _note(mine: Any, i: Any, j: Any, error: Any, w: Any) -> None:
    for number in range(4):
        at = _ends(mine, i, j, number)
        if at >= 0:
            error[mine[at], mine[at + 1], 0] += w


@njit(cache=True, nogil=True)
def swap_order(key: NDArray[np.uint64], starts: Ints, item: Codes, error: Singles, sweeps: int) -> int:
    """Exchange places within baskets, in place, wherever that brings the moves nearer to a target.

    error is kept up to date. Returns how many exchanges were made.
    """
    s, taken = stream(key, 0), 0
    for sweep in range(sweeps):
        for k in range(len(starts) - 1):
            mine = item[starts[k] : starts[k + 1]]
            size = len(mine)
            if size < 2:
                continue
            restart(s, sweep * (len(starts) - 1) + k)
            w = np.float32(1.0 / np.sqrt(size - 1.0))
            for _ in range(size):
                x, u = _two(s)
                i, j = _part(x, size), _part(u, size)
                if i == j:
                    continue
                i, j = min(i, j), max(i, j)
                gain = _change(mine, i, j, error, -w)
                mine[i], mine[j] = mine[j], mine[i]
                gain += _change(mine, i, j, error, w)
                if gain >= 0:
                    mine[i], mine[j] = mine[j], mine[i]
                    continue
                _note(mine, i, j, error, w)
                mine[i], mine[j] = mine[j], mine[i]
                _note(mine, i, j, error, -w)
                mine[i], mine[j] = mine[j], mine[i]
                taken += 1
    return taken
