"""Lists for people who are judged on, out of submitted numbers: a person's list follows from her own history alone.

Whatever is summed is summed in an order that no other person changes, in plain IEEE arithmetic: else one person more
could turn a tie in somebody else's list. A person for whom a score is not finite gets an empty list.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from recveil.kernels.ranking import _sift, _worse

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
PEOPLE = 64  # at a time in one thread
TILE = 1024  # items whose vectors stay in the cache for all of them


@njit(cache=True)
def _offer(best: NDArray[np.float64], items: NDArray[np.int32], size: int, score: float, item: int) -> int:
    """Put a candidate among the best, a heap with the worst on top once it is full; their number."""
    n = len(best)
    if size < n:
        best[size], items[size] = score, item
        if size + 1 == n:
            for at in range(n // 2 - 1, -1, -1):
                _sift(best, items, at, n)
        return size + 1
    if _worse(best[0], items[0], score, item):
        best[0], items[0] = score, item
        _sift(best, items, 0, n)
    return size


@njit(cache=True)
def _settle(best: NDArray[np.float64], items: NDArray[np.int32], size: int, row: NDArray[np.int32]) -> None:
    """The candidates from best to worst."""
    if size < len(best):
        for at in range(size // 2 - 1, -1, -1):
            _sift(best, items, at, size)
    for last in range(size - 1, -1, -1):
        row[last] = items[0]
        best[0], items[0] = best[last], items[last]
        _sift(best, items, 0, last)


@njit(cache=True, parallel=True)
def by_weights(
    starts: Ints, history: NDArray[np.int32], rows: Ints, others: NDArray[np.int32], weights: Floats, width: int, n: int
) -> NDArray[np.int32]:
    """Per person the n unseen items with the largest sums of weights from her items; -1 where fewer are reached."""
    people = len(starts) - 1
    lists = np.full((people, n), -1, dtype=np.int32)
    for block in prange((people + PEOPLE - 1) // PEOPLE):
        total = np.zeros(width, dtype=np.float64)
        state = np.zeros(width, dtype=np.int8)  # 1: reached, 2: hers
        reached = np.empty(width, dtype=np.int32)
        best, items = np.empty(n, dtype=np.float64), np.empty(n, dtype=np.int32)
        for p in range(block * PEOPLE, min(people, (block + 1) * PEOPLE)):
            count, finite = 0, True
            for at in range(starts[p], starts[p + 1]):
                state[history[at]] = 2
            for at in range(starts[p], starts[p + 1]):
                for k in range(rows[history[at]], rows[history[at] + 1]):
                    other = others[k]
                    if state[other] == 0:
                        state[other] = 1
                        reached[count] = other
                        count += 1
                    total[other] += weights[k]
            size = 0
            for k in range(count):
                score = total[reached[k]]
                finite &= np.isfinite(score)
                size = _offer(best, items, size, score, reached[k])
            if finite:
                _settle(best, items, size, lists[p])
            for k in range(count):
                total[reached[k]], state[reached[k]] = 0.0, 0
            for at in range(starts[p], starts[p + 1]):
                total[history[at]], state[history[at]] = 0.0, 0
    return lists


@njit(cache=True)
def _means(starts: Ints, history: NDArray[np.int32], vectors: Floats, known: NDArray[np.bool_], first: int) -> Floats:
    """Of the people from `first` on the means of the vectors of their known items; 0 where there is none."""
    depth = vectors.shape[0]
    last = min(len(starts) - 1, first + PEOPLE)
    means = np.zeros((PEOPLE, depth), dtype=np.float32)
    for p in range(first, last):
        count = 0
        for at in range(starts[p], starts[p + 1]):
            if known[history[at]]:
                count += 1
                for d in range(depth):
                    means[p - first, d] += vectors[d, history[at]]
        for d in range(depth):
            means[p - first, d] /= np.float32(max(count, 1))
    return means


@njit(cache=True)
def _add(scores: Floats, mean: Floats, vectors: Floats, begin: int, end: int) -> None:
    """Add the products of one mean with the vectors of the items from begin to end: dimension after dimension."""
    depth, d = len(mean), 0
    while d + 4 <= depth:
        a, b, c, e = mean[d], mean[d + 1], mean[d + 2], mean[d + 3]
        first, second = vectors[d, begin:end], vectors[d + 1, begin:end]
        third, fourth = vectors[d + 2, begin:end], vectors[d + 3, begin:end]
        for j in range(end - begin):
            scores[j] = (((scores[j] + a * first[j]) + b * second[j]) + c * third[j]) + e * fourth[j]
        d += 4
    while d < depth:
        a, first = mean[d], vectors[d, begin:end]
        for j in range(end - begin):
            scores[j] = scores[j] + a * first[j]
        d += 1


@njit(cache=True, parallel=True)
def by_vectors(
    starts: Ints, history: NDArray[np.int32], vectors: Floats, bias: Floats, known: NDArray[np.bool_], n: int
) -> NDArray[np.int32]:
    """Per person the n unseen known items with the largest bias + vector x mean of hers."""
    people, width = len(starts) - 1, vectors.shape[1]
    lists = np.full((people, n), -1, dtype=np.int32)
    for block in prange((people + PEOPLE - 1) // PEOPLE):
        first = block * PEOPLE
        last = min(people, first + PEOPLE)
        means = _means(starts, history, vectors, known, first)
        best, items = np.empty((PEOPLE, n), dtype=np.float64), np.empty((PEOPLE, n), dtype=np.int32)
        size, finite = np.zeros(PEOPLE, dtype=np.int64), np.ones(PEOPLE, dtype=np.bool_)
        scores = np.empty(TILE, dtype=np.float32)
        for begin in range(0, width, TILE):
            end = min(width, begin + TILE)
            for p in range(first, last):
                q = p - first
                scores[: end - begin] = bias[begin:end]
                _add(scores, means[q], vectors, begin, end)
                for j in range(end - begin):
                    score = scores[j]
                    if size[q] == n and score <= best[q, 0]:  # false for NaN
                        continue
                    if not np.isfinite(score):
                        finite[q] = finite[q] and not known[begin + j]
                    elif known[begin + j] and not np.any(history[starts[p] : starts[p + 1]] == begin + j):
                        size[q] = _offer(best[q], items[q], size[q], score, begin + j)
        for p in range(first, last):
            if finite[p - first]:
                _settle(best[p - first], items[p - first], size[p - first], lists[p])
    return lists
