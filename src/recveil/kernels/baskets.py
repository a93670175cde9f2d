"""Baskets: counting their pairs with bounded contributions, and drawing new ones that have given pair counts.

Counts are integers: a basket adds floor(sqrt(unit^2 / cells)) to each of its cells, so its L2 norm is at most `unit`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from recveil.kernels.chacha import Stream, below, restart, stream, uniform, word

Ints = NDArray[np.int64]


class PairTable(NamedTuple):
    """Which cells a symmetric table has, row by row: the columns in indices[indptr[i]:indptr[i + 1]], ascending.

    No indices at all: every row is whole.
    """

    indptr: Ints
    indices: NDArray[np.int32]


@njit(cache=True)
def isqrt(x: Any) -> Any:
    """floor(sqrt(x)), exactly."""
    r = np.int64(np.sqrt(np.float64(x)))
    while r * r > x:
        r -= 1
    while (r + 1) * (r + 1) <= x:
        r += 1
    return r


@njit(cache=True)
def distinct(items: NDArray[np.int32], keep: NDArray[np.int32], seen: Ints, mark: int, out: Ints) -> Any:
    """The kept items of a basket in order of first occurrence, as positions in the kept list; how many there are."""
    s = 0
    for item in items:
        place = keep[item]
        if place >= 0 and seen[place] != mark:
            seen[place] = mark
            out[s] = place
            s += 1
    return s


@njit(cache=True)
def count_items(starts: Ints, item: NDArray[np.int32], n_items: int, unit: int) -> Ints:
    """Every basket adds floor(unit / sqrt(s)) to each of its s different items."""
    total = np.zeros(n_items, dtype=np.int64)
    keep = np.arange(n_items).astype(np.int32)
    seen, out = np.full(n_items, -1, dtype=np.int64), np.empty(n_items, dtype=np.int64)
    for u in range(len(starts) - 1):
        s = distinct(item[starts[u] : starts[u + 1]], keep, seen, u, out)
        if s > 0:
            w = isqrt(unit * unit // s)
            for a in range(s):
                total[out[a]] += w
    return total


@njit(cache=True)
def count_pairs(
    starts: Ints,
    item: NDArray[np.int32],
    keep: NDArray[np.int32],
    m: int,
    edges: Ints,
    pair_share: int,
    length_share: int,
    unit: int,
    ordered: bool,
) -> tuple[Ints, Ints, Ints]:
    """Pairs (upper triangle, row by row), lengths by class, and transitions (m x m, empty unless ordered).

    pair_share and length_share are the squared norms that the pairs and the length of one basket may have.
    """
    pairs, lengths = np.zeros(m * (m - 1) // 2, dtype=np.int64), np.zeros(len(edges), dtype=np.int64)
    moves = np.zeros(m * m if ordered else 0, dtype=np.int64)
    seen, out = np.full(m, -1, dtype=np.int64), np.empty(m, dtype=np.int64)
    one_length = isqrt(length_share)
    for u in range(len(starts) - 1):
        s = distinct(item[starts[u] : starts[u + 1]], keep, seen, u, out)
        if s < 2:
            continue
        lengths[np.searchsorted(edges, s, side="right") - 1] += one_length
        if ordered:
            w = isqrt(unit * unit // (s - 1))
            for a in range(s - 1):
                moves[out[a] * m + out[a + 1]] += w
        w = isqrt(pair_share // (s * (s - 1) // 2))
        members = np.sort(out[:s])
        for a in range(s):
            row = members[a] * (2 * m - members[a] - 1) // 2 - members[a] - 1
            for b in range(a + 1, s):
                pairs[row + members[b]] += w
    return pairs, lengths, moves


@njit(cache=True)
def list_pairs(
    starts: Ints,
    item: NDArray[np.int32],
    keep: NDArray[np.int32],
    m: int,
    edges: Ints,
    pair_share: int,
    length_share: int,
) -> tuple[Ints, Ints, Ints]:
    """What count_pairs adds to which cells of the upper triangle, one by one, and the lengths: for very large m."""
    lengths = np.zeros(len(edges), dtype=np.int64)
    seen, out = np.full(m, -1, dtype=np.int64), np.empty(m, dtype=np.int64)
    n = 0
    for u in range(len(starts) - 1):
        s = distinct(item[starts[u] : starts[u + 1]], keep, seen, u, out)
        n += s * (s - 1) // 2
    cells, weights = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    seen[:] = -1
    n = 0
    for u in range(len(starts) - 1):
        s = distinct(item[starts[u] : starts[u + 1]], keep, seen, u, out)
        if s < 2:
            continue
        lengths[np.searchsorted(edges, s, side="right") - 1] += isqrt(length_share)
        w = isqrt(pair_share // (s * (s - 1) // 2))
        members = np.sort(out[:s])
        for a in range(s):
            row = members[a] * (2 * m - members[a] - 1) // 2 - members[a] - 1
            for b in range(a + 1, s):
                cells[n], weights[n] = row + members[b], w
                n += 1
    return cells, weights, lengths


@njit(inline="always")
def _holds(item: NDArray[np.int32], begin: Any, end: Any, new: Any) -> Any:
    found = False
    for at in range(begin, end):
        found |= item[at] == new
    return found


@njit(inline="always")
def _pick(s: Stream, row: NDArray[np.uint32]) -> Any:
    """A column with probability proportional to its weight; the row holds cumulated weights, up to 2**32 - 1."""
    u = np.uint32(word(s) >> uint64(32))
    return min(np.int64(np.searchsorted(row, u, side="right")), len(row) - 1)


@njit(inline="always")
def _step(s: Stream, i: Any, first: NDArray[np.uint32], rows: NDArray[np.uint32], table: PairTable) -> Any:
    """An item by the row of item i, or by popularity with the weight that the row leaves open."""
    begin, end = table.indptr[i], table.indptr[i + 1]
    u = np.uint32(word(s) >> uint64(32))
    at = np.int64(np.searchsorted(rows[begin:end], u, side="right"))
    if at == end - begin:
        return _pick(s, first)
    return at if len(table.indices) == 0 else np.int64(table.indices[begin + at])


@njit(inline="always")
def _cell(table: PairTable, i: Any, j: Any) -> Any:
    """Where (i, j) stands in a flat table; -1 where it does not."""
    low, end = table.indptr[i], table.indptr[i + 1]
    if len(table.indices) == 0:
        return low + j
    high = end
    while low < high:
        middle = (low + high) // 2
        if table.indices[middle] < j:
            low = middle + 1
        else:
            high = middle
    return low if low < end and table.indices[low] == j else np.int64(-1)


@njit(cache=True, nogil=True)
def walk(
    key: NDArray[np.uint64], starts: Ints, first: NDArray[np.uint32], rows: NDArray[np.uint32], table: PairTable
) -> NDArray[np.int32]:
    """New baskets of the given sizes: an item by popularity, then each by the row of a random member; none twice."""
    item = np.empty(starts[-1], dtype=np.int32)
    m, s = len(first), stream(key, 0)
    for k in range(len(starts) - 1):
        restart(s, k)
        begin = starts[k]
        for at in range(begin, starts[k + 1]):
            tries = 0
            while True:
                if at == begin or tries >= 20:
                    new = _pick(s, first) if tries < 60 else below(s, m)
                else:
                    new = _step(s, item[begin + below(s, at - begin)], first, rows, table)
                tries += 1
                if not _holds(item, begin, at, new):
                    break
            item[at] = new
    return item


@njit(inline="always")
def _add(excess: Any, table: PairTable, i: Any, j: Any, w: float) -> None:
    for a in (_cell(table, i, j), _cell(table, j, i)):
        if a >= 0:
            excess[a] += w


@njit(cache=True, nogil=True)
def swap_listed(
    key: NDArray[np.uint64],
    starts: Ints,
    item: NDArray[np.int32],
    excess: NDArray[np.float32],
    target: NDArray[np.float32],
    first: NDArray[np.uint32],
    rows: NDArray[np.uint32],
    table: PairTable,
    softness: float,
    sweeps: int,
) -> int:
    """Replace items, in place, wherever that brings the baskets' weighted pair counts nearer to the target.

    excess = pair counts of the baskets - target, kept up to date; an error weighs 1 / (target + softness). Of a pair
    outside the table each basket is taken to be the only one that holds it. Proposals come from the row of another
    member (four of five) or from popularity. Returns how many were accepted.
    """
    s = stream(key, 0)
    accepted = 0
    for sweep in range(sweeps):
        for k in range(len(starts) - 1):
            begin, end = starts[k], starts[k + 1]
            size = end - begin
            if size < 2:
                continue
            restart(s, sweep * (len(starts) - 1) + k)
            w = 1.0 / np.sqrt(size * (size - 1) / 2)
            for at in range(begin, end):
                old = item[at]
                if uniform(s) < 0.8:
                    other = begin + below(s, size - 1)
                    new = _step(s, item[other if other < at else other + 1], first, rows, table)
                else:
                    new = _pick(s, first)
                if _holds(item, begin, end, new):
                    continue
                gain = 0.0
                for o in range(begin, end):
                    c = item[o]
                    if c != old:
                        a, b = _cell(table, old, c), _cell(table, new, c)
                        gain += w * (w - 2 * excess[a]) / (target[a] + softness) if a >= 0 else -w * w / softness
                        gain += w * (w + 2 * excess[b]) / (target[b] + softness) if b >= 0 else w * w / softness
                if gain < 0:
                    accepted += 1
                    item[at] = new
                    for o in range(begin, end):
                        c = item[o]
                        if c != new:
                            _add(excess, table, old, c, -w)
                            _add(excess, table, new, c, w)
    return accepted
