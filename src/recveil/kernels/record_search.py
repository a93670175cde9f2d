"""Cosine between binary records: the exact nearest record, and whether any reaches Theta.

Records are sets of items. The index numbers items from the rarest to the most popular and records from the shortest to
the longest. A query first counts its overlap in rare items through their postings; the popular items of a record, its
head, are a bitmap, so that their overlap is a popcount. Whoever shares no rare item with the query overlaps in the head
alone, which bounds the cosine: only records of certain lengths are still worth a look, and fewer the better the best
one found so far. Memory is linear in the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import config, get_num_threads, njit, prange, types
from numba.extending import intrinsic
from numpy.typing import NDArray

HEAD = 256  # popular items in the bitmap: four words a record
_WORDS = HEAD // 64
_SLACK = 1.0 - 1e-12  # so that 7 of 10 and 10 items reach .7, although .7 * .7 * 100 exceeds 49 in floating point


class Index(NamedTuple):
    """Records prepared for search; everything within is in terms of ranks."""

    record: NDArray[np.int64]  # the record at each rank: shortest first
    length: NDArray[np.int64]  # its number of items
    first: NDArray[np.int64]  # the first rank with at least so many items
    rank: NDArray[np.int64]  # of each item: rarest first
    starts: NDArray[np.int64]  # of the postings of each item rank
    postings: NDArray[np.int32]  # record ranks, ascending
    heads: NDArray[np.uint64]  # bitmap of the HEAD most popular items, one row a record
    columns: NDArray[np.uint64]  # the same, one row a word: to be scanned


if config.DISABLE_JIT:

    def _ones(word: Any) -> Any:
        return int(word).bit_count()

else:

    @intrinsic
    def _ones(typing: Any, word: Any) -> Any:  # noqa: ARG001
        def build(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ARG001
            return builder.ctpop(values[0])

        return types.uint64(types.uint64), build


def index(starts: NDArray[np.int64], items: NDArray[np.int32], n_items: int) -> Index:
    """An index of records given as sets: the items of record r are items[starts[r]:starts[r + 1]], without repeats."""
    length = np.diff(starts)
    record = np.argsort(length, kind="stable")
    rank = np.empty(n_items, dtype=np.int64)
    rank[np.argsort(np.bincount(items, minlength=n_items), kind="stable")] = np.arange(n_items)
    longest = int(length.max()) if len(length) else 0
    first = np.searchsorted(length[record], np.arange(longest + 2))
    sizes = np.bincount(rank[items], minlength=n_items)
    posting_starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    postings, heads = _fill(starts, items, record, rank, posting_starts)
    columns = np.ascontiguousarray(heads.T)
    return Index(record, length[record], first.astype(np.int64), rank, posting_starts, postings, heads, columns)


def nearest(at: Index, starts: NDArray[np.int64], items: NDArray[np.int32]) -> tuple[NDArray[Any], NDArray[Any]]:
    """For each query the largest cosine to any record, and a record that has it (-1 where nothing is shared)."""
    cosine, record = _find(at, starts, items, 0.0, 8 * get_num_threads())
    return cosine, record


def reaches(at: Index, starts: NDArray[np.int64], items: NDArray[np.int32], theta: float) -> NDArray[np.bool_]:
    """For each query whether some record has a cosine of at least theta, 0 < theta <= 1, with it."""
    record: NDArray[np.int64] = _find(at, starts, items, theta, 8 * get_num_threads())[1]
    return record >= 0


@njit(cache=True)
def _fill(starts: Any, items: Any, record: Any, rank: Any, posting_starts: Any) -> Any:
    postings = np.empty(posting_starts[-1], dtype=np.int32)
    heads = np.zeros((len(record), _WORDS), dtype=np.uint64)
    free = posting_starts[:-1].copy()
    head = len(rank) - HEAD
    for r in range(len(record)):
        for k in range(starts[record[r]], starts[record[r] + 1]):
            item = rank[items[k]]
            postings[free[item]] = r
            free[item] += 1
            if item >= head:
                bit = item - head
                heads[r, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
    return postings, heads


@njit(cache=True)
def _shared(heads: Any, r: Any, query: Any) -> Any:
    shared = np.int64(0)
    for w in range(_WORDS):
        shared += np.int64(_ones(heads[r, w] & query[w]))
    return shared


@njit(cache=True)
def _first_longer(first: Any, length: Any) -> Any:
    """The first rank with at least `length` items; lengths beyond the longest are past the end."""
    return first[min(np.int64(length), len(first) - 1)]


@njit(cache=True)
def _sort_query(at: Any, items: Any, begin: Any, end: Any, query: Any) -> Any:
    """The query's item ranks, rarest first; fills its head bitmap and says how many of them lie in the head."""
    ranks = np.sort(at.rank[items[begin:end]])
    head = len(at.rank) - HEAD
    query[:] = np.uint64(0)
    n_head = np.int64(0)
    for item in ranks:
        if item >= head:
            bit = item - head
            query[bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
            n_head += 1
    return ranks, n_head


@njit(cache=True)
def _count_tail(at: Any, tail: Any, low: Any, high: Any, floor: Any, size: Any, counts: Any, touched: Any) -> Any:
    """Overlaps in rare items with the records of ranks low to high; says how many records were touched.

    A record met for the first time when m items are left to look at shares m at most: below `floor` it cannot matter.
    """
    n = 0
    for k in range(len(tail)):
        begin, end = at.starts[tail[k]], at.starts[tail[k] + 1]
        begin += np.searchsorted(at.postings[begin:end], low)
        opening = size - k >= floor
        for p in range(begin, end):
            r = at.postings[p]
            if r >= high:
                break
            if counts[r] == 0:
                if not opening:
                    continue
                touched[n] = r
                n += 1
            counts[r] += 1
    return n


@njit(cache=True)
def _search(at: Any, ranks: Any, n_head: Any, query: Any, best: Any, stop: Any, counts: Any, touched: Any) -> Any:
    """The largest overlap**2 / length above `best`, with its rank; with `stop`, the first one found."""
    size = len(ranks)
    found = np.int64(-1)
    low = _first_longer(at.first, max(np.ceil(best), 1.0))
    high = np.int64(len(at.length))
    if best > 0.0:
        high = _first_longer(at.first, np.floor(size * size / best) + 1.0)
    n = _count_tail(at, ranks[: size - n_head], low, high, best, size, counts, touched)
    for k in range(n):
        r = touched[k]
        length = at.length[r]
        if found < 0 or not stop:
            most = np.float64(counts[r] + n_head)
            if most * most > best * length:
                overlap = np.float64(counts[r] + _shared(at.heads, r, query))
                if overlap * overlap > best * length:
                    best = overlap * overlap / length
                    found = r
        counts[r] = 0
    if found >= 0 and stop:
        return best, found
    for k in range(n_head):  # records that share head items alone
        m = np.float64(n_head - k)
        if m <= best:
            break
        low = _first_longer(at.first, np.floor(best) + 1.0)
        high = np.int64(len(at.length))
        if best > 0.0:
            high = _first_longer(at.first, np.ceil(m * m / best))
        listed = np.int64(0)
        for item in ranks[size - n_head + k :]:
            listed += at.starts[item + 1] - at.starts[item]
        if 2 * listed > high - low:  # a scan in order is that much cheaper than a jump to a posting
            return _scan(at, low, m, query, best, found, stop)
        item = ranks[size - n_head + k]
        begin, end = at.starts[item], at.starts[item + 1]
        begin += np.searchsorted(at.postings[begin:end], low)
        for p in range(begin, end):
            r = np.int64(at.postings[p])
            if r >= high:
                break
            overlap = np.float64(_shared(at.heads, r, query))
            length = at.length[r]
            if overlap * overlap > best * length:
                best = overlap * overlap / length
                found = r
                if stop:
                    return best, found
                high = min(high, _first_longer(at.first, np.ceil(m * m / best)))
    return best, found


@njit(cache=True)
def _scan(at: Any, low: Any, m: Any, query: Any, best: Any, found: Any, stop: Any) -> Any:
    """Every record from rank `low` that can still win with m shared head items, one length after the other."""
    q0, q1, q2, q3 = query[0], query[1], query[2], query[3]
    c0, c1, c2, c3 = at.columns[0], at.columns[1], at.columns[2], at.columns[3]
    while low < len(at.length):
        length = at.length[low]
        if m * m <= best * length:
            break
        end = at.first[length + 1]
        top = np.int64(0)
        for r in range(low, end):
            shared = _ones(c0[r] & q0) + _ones(c1[r] & q1) + _ones(c2[r] & q2) + _ones(c3[r] & q3)
            top = max(top, np.int64(shared))
        if top * top > best * length:
            best = np.float64(top * top) / length
            while np.int64(_shared(at.heads, low, query)) != top:
                low += 1
            found = low
            if stop:
                break
        low = end
    return best, found


@njit(cache=True, parallel=True)
def _find(at: Any, starts: Any, items: Any, theta: Any, blocks: Any) -> Any:
    """The nearest record of each query; with theta > 0, any record that reaches it."""
    n = len(starts) - 1
    cosine = np.zeros(n)
    record = np.full(n, -1, dtype=np.int64)
    for block in prange(blocks):
        counts = np.zeros(len(at.length), dtype=np.int32)
        touched = np.empty(len(at.length), dtype=np.int32)
        query = np.zeros(_WORDS, dtype=np.uint64)
        for q in range(n * block // blocks, n * (block + 1) // blocks):
            size = starts[q + 1] - starts[q]
            if size == 0:
                continue
            ranks, n_head = _sort_query(at, items, starts[q], starts[q + 1], query)
            floor = theta * theta * size * _SLACK
            best, found = _search(at, ranks, n_head, query, floor, theta > 0.0, counts, touched)
            if found >= 0:
                cosine[q] = np.sqrt(best / size)
                record[q] = at.record[found]
    return cosine, record


@njit(cache=True, parallel=True)
def cosines(
    starts: NDArray[np.int64], items: NDArray[np.int32], other_starts: Any, other_items: Any, pairs: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The cosine of each pair (record here, record there); items of a record ascend. A missing record (-1) gives 0."""
    cosine = np.zeros(len(pairs))
    for k in prange(len(pairs)):
        if pairs[k, 0] < 0 or pairs[k, 1] < 0:
            continue
        a, end_a = starts[pairs[k, 0]], starts[pairs[k, 0] + 1]
        b, end_b = other_starts[pairs[k, 1]], other_starts[pairs[k, 1] + 1]
        size = np.float64(end_a - a) * np.float64(end_b - b)
        shared = 0
        while a < end_a and b < end_b:
            if items[a] == other_items[b]:
                shared += 1
                a += 1
                b += 1
            elif items[a] < other_items[b]:
                a += 1
            else:
                b += 1
        if shared:
            cosine[k] = shared / np.sqrt(size)
    return cosine
