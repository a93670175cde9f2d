"""Memory biased random walks, by rejection from block bounds that tighten as they are used.

Items are coded by rank, the most common first, and cut into a few blocks of about equal DS mass. The weight of a
candidate x after `last` is DS[last, x] times CVS[c, x] for every c in memory; the mass of a block is at most
DS[last, block] times the largest CVS[c, .] in the block for every c. A block is drawn by these bounds, and only its own
candidates are weighed: one of them is chosen, or the draw fails, the bound becomes the exact mass, and blocks are drawn
again. Given that a draw succeeds the choice has exactly the law of the weights; after at most all blocks no draw fails.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint32, uint64
from numpy.typing import NDArray

from recveil.kernels.chacha import Stream, below, restart, stream, uniform

Ints = NDArray[np.int64]
Starts = NDArray[np.uint64]
Ranks = NDArray[np.uint32]
Floats = NDArray[np.float64]

STOP = np.uint32(0xFFFFFFFF)


class Graph(NamedTuple):
    """DS and CVS over ranks. CVS columns below head.shape[1] are dense; the rest is looked up in sorted rows.

    Everything is unsigned, so that no index has to be tested for its sign.
    """

    items: Ranks  # DS, row by row
    weights: Floats
    blocks: Starts  # [item, block]: where the block begins in `items`
    mass: Floats  # [item, block]: DS mass of the block
    peak: Floats  # [item, block]: the largest CVS of the item in the block
    head: NDArray[np.float32]
    cvs_starts: Starts
    cvs_items: Ranks
    cvs_counts: Floats


class Laws(NamedTuple):
    """Cumulated laws: value k is drawn where the uniform falls below entry k first. An empty `end`: uniform."""

    end: Floats
    memory: Floats
    hops: Floats
    to_length: bool  # `hops` is the law of the whole stream's length


@njit(cache=True)
def _sparse(starts: Starts, items: Ranks, counts: Floats, c: Any, x: Any) -> Any:
    """CVS[c, x] where neither has a dense column: looked up in the row of the rarer one, which is the shorter."""
    row, wanted = max(c, x), min(c, x)
    low, high = starts[row], starts[row + uint32(1)]
    end = high
    while low < high:
        middle = (low + high) >> uint64(1)
        if items[middle] < wanted:
            low = middle + uint64(1)
        else:
            high = middle
    return counts[low] if low < end and items[low] == wanted else 0.0


@njit(inline="always")
def _common(graph: Any, dense: Any, c: Any, x: Any) -> Any:
    """CVS[c, x]."""
    if x < dense:
        return np.float64(graph.head[c, x])
    if c < dense:
        return np.float64(graph.head[x, c])
    return _sparse(graph.cvs_starts, graph.cvs_items, graph.cvs_counts, c, x)


@njit(inline="always")
def _bound(graph: Any, walk: Any, first: Any, until: Any, bound: Any) -> None:
    """The largest product of CVS[c, x] over memory that any x of each block can have."""
    bound[:] = 1.0
    for j in range(first, until):
        c = walk[j]
        for g in range(len(bound)):
            bound[g] *= graph.peak[c, g]


@njit(inline="always")
def _follow(
    graph: Any, here: Any, walk: Any, first: Any, until: Any, bound: Any, share: Any, seen: Any, mark: Any, s: Any
) -> Any:
    """The next item along DS from `here` given the memory walk[first:until]; STOP where every weight is zero."""
    n = uint64(len(bound))
    dense = uint32(graph.head.shape[1])
    for g in range(n):
        share[g] = graph.mass[here, g] * bound[g]
    chosen = STOP
    while chosen == STOP:
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for g in range(uint64(0), n, uint64(4)):
            a += share[g]
            b += share[g + uint64(1)]
            c += share[g + uint64(2)]
            d += share[g + uint64(3)]
        total = (a + b) + (c + d)
        if total <= 0.0:
            break
        rest = uniform(s) * total
        g = uint64(0)  # the blocks stand in four lanes, every fourth in the same: first the lane, then the block
        if rest >= a:
            rest -= a
            g = uint64(1)
            if rest >= b:
                rest -= b
                g = uint64(2)
                if rest >= c:
                    rest -= c
                    g = uint64(3)
        while g + uint64(4) < n and rest >= share[g]:
            rest -= share[g]
            g += uint64(4)
        exact = 0.0
        for p in range(graph.blocks[here, g], graph.blocks[here, g + uint64(1)]):
            x = graph.items[p]
            if len(seen) and seen[x] == mark:
                continue
            weight = graph.weights[p]
            for j in range(first, until):
                weight *= _common(graph, dense, walk[j], x)
            exact += weight
            if exact > rest:
                chosen = x
                break
        share[g] = exact
    return chosen


@njit(inline="always")
def _leap(graph: Any, here: Any, walk: Any, first: Any, until: Any, seen: Any, mark: Any, s: Any) -> Any:
    """The next item along CVS, where nothing follows `here`; STOP where every weight is zero. Rare, so plain."""
    dense = uint32(graph.head.shape[1])
    chosen = STOP
    total, goal = 0.0, np.inf
    for choosing in range(2):  # first the total of all weights, then the item where the drawn part of it is reached
        if choosing:
            if total <= 0.0:
                break
            goal = uniform(s) * total
            total = 0.0
        for p in range(graph.cvs_starts[here], graph.cvs_starts[here + uint32(1)]):
            x = graph.cvs_items[p]
            if len(seen) and seen[x] == mark:
                continue
            weight = graph.cvs_counts[p]
            for j in range(first, until):
                weight *= _common(graph, dense, walk[j], x)
            total += weight
            if total > goal:
                chosen = x
                break
    return chosen


@njit(cache=True, _nrt=False)
def _forget(
    graph: Graph, here: Any, walk: Ranks, first: Any, until: Any, bound: Any, share: Any, seen: Any, mark: Any, s: Any
) -> Any:
    """Along DS with less memory, the oldest forgotten first; then along CVS with memory, and less of it; then STOP."""
    for oldest in range(first + 1, until + 1):
        _bound(graph, walk, oldest, until, bound)
        x = _follow(graph, here, walk, oldest, until, bound, share, seen, mark, s)
        if x != STOP:
            return x
    for oldest in range(first, until + 1):
        x = _leap(graph, here, walk, oldest, until, seen, mark, s)
        if x != STOP:
            return x
    return STOP


@njit(inline="always")
def _draw(cumulated: Any, s: Any) -> Any:
    u = uniform(s)
    k = 0
    while k < len(cumulated) - 1 and u >= cumulated[k]:
        k += 1
    return k


@njit(inline="always")
def _profile(laws: Any, length: Any, s: Any) -> Any:
    """Of a clickstream with this length: where its profile begins and ends, the memory, and the number of hops."""
    end = below(s, length) + 1 if len(laws.end) == 0 else min(max(_draw(laws.end, s), 1), length)
    memory = _draw(laws.memory, s)
    begin = max(0, end - 1 - memory)
    hops = _draw(laws.hops, s)
    if laws.to_length:
        hops = max(1, hops - (end - begin))
    return begin, end, memory, hops


@njit(cache=True, nogil=True, _nrt=False)
def _walk(
    graph: Graph,
    starts: Ints,
    clicks: Ranks,
    numbers: NDArray[np.uint64],
    who: Ints,
    laws: Laws,
    sliding: bool,
    s: Stream,
    bound: Floats,
    share: Floats,
    seen: Ints,
    out: Ranks,
    offsets: Ints,
    begin_at: int,
) -> int:
    """Walks from stream `begin_at` on until all are done or `out` is full; which stream comes next.

    Without reference counts (_nrt=False), which otherwise cost more than the walk itself.
    """
    for i in range(begin_at, len(numbers)):
        at, row = offsets[i], starts[who[i]]
        restart(s, numbers[i])
        begin, end, memory, hops = _profile(laws, starts[who[i] + 1] - row, s)
        if at + end - begin + hops > len(out):
            return i
        walk = out[at:]
        n = end - begin
        for j in range(n):
            walk[j] = clicks[row + begin + j]
            if len(seen):
                seen[walk[j]] = i
        prefix = n - 1
        if not sliding:
            _bound(graph, walk, 0, prefix, bound)
        for _ in range(hops):
            here = walk[n - 1]
            first, until = (max(0, n - 1 - memory), n - 1) if sliding else (0, prefix)
            if sliding:
                _bound(graph, walk, first, until, bound)
            x = _follow(graph, here, walk, first, until, bound, share, seen, i, s)
            if x == STOP:
                x = _forget(graph, here, walk, first, until, bound, share, seen, i, s)
                if x == STOP:
                    break
                if not sliding:
                    _bound(graph, walk, 0, prefix, bound)
            walk[n] = x
            n += 1
            if len(seen):
                seen[x] = i
        offsets[i + 1] = at + n
    return len(numbers)


@njit(cache=True, nogil=True)
def memory_walks(
    graph: Graph,
    starts: Ints,
    clicks: Ranks,
    numbers: NDArray[np.uint64],
    who: Ints,
    laws: Laws,
    sliding: bool,
    repeats: bool,
    key: NDArray[np.uint64],
) -> tuple[Ranks, Ints]:
    """The walks of the streams with these numbers: their items, and where each begins.

    Stream i is seeded by a profile of the clickstream clicks[starts[w]:starts[w + 1]], w being who[i].
    """
    out = np.empty(16 * len(numbers) + 64, dtype=np.uint32)
    offsets = np.zeros(len(numbers) + 1, dtype=np.int64)
    bound, share = np.empty(graph.mass.shape[1]), np.empty(graph.mass.shape[1])
    seen = np.full(0 if repeats else len(graph.mass), -1, dtype=np.int64)
    s = stream(key, 0)
    done = 0
    while True:
        done = _walk(graph, starts, clicks, numbers, who, laws, sliding, s, bound, share, seen, out, offsets, done)
        if done == len(numbers):
            return out[: offsets[done]], offsets
        more = np.empty(2 * len(out), dtype=np.uint32)
        more[: offsets[done]] = out[: offsets[done]]
        out = more
