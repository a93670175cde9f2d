"""Top-n lists out of scores, and the quality of such lists per user."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@njit(cache=True)
def _worse(score: float, item: int, other_score: float, other_item: int) -> bool:
    return score < other_score or (score == other_score and item > other_item)


@njit(cache=True)
def _sift(best: NDArray[np.float64], items: NDArray[np.int32], at: int, size: int) -> None:
    """Restore the heap (worst entry on top) below position `at`."""
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        right = child + 1
        if right < size and _worse(best[right], items[right], best[child], items[child]):
            child = right
        if not _worse(best[child], items[child], best[at], items[at]):
            return
        best[at], best[child] = best[child], best[at]
        items[at], items[child] = items[child], items[at]
        at = child


@njit(cache=True, parallel=True)
def top_n(scores: NDArray[np.float64], starts: Ints, seen: NDArray[np.int32], n: int) -> NDArray[np.int32]:
    """Per row the n best items by (score descending, item ascending), -1 where there are fewer.

    Items that the row's user has seen, and items whose score is -inf, are never listed.
    """
    rows, width = scores.shape
    lists = np.full((rows, n), -1, dtype=np.int32)
    for r in prange(rows):
        hidden = np.zeros(width, dtype=np.bool_)
        for k in range(starts[r], starts[r + 1]):
            hidden[seen[k]] = True
        best = np.empty(n, dtype=np.float64)
        items = np.empty(n, dtype=np.int32)
        size = 0
        for i in range(width):
            s = scores[r, i]
            if hidden[i] or s == -np.inf:
                continue
            if size < n:
                best[size], items[size] = s, i
                size += 1
                if size == n:
                    for at in range(n // 2 - 1, -1, -1):
                        _sift(best, items, at, n)
            elif s > best[0]:  # an equal score comes later, so with a higher code: it is worse
                best[0], items[0] = s, i
                _sift(best, items, 0, n)
        if size < n:
            for at in range(size // 2 - 1, -1, -1):
                _sift(best, items, at, size)
        for last in range(size - 1, -1, -1):
            lists[r, last] = items[0]
            best[0], items[0] = best[last], items[last]
            _sift(best, items, 0, last)
    return lists


@njit(cache=True, parallel=True)
def grade(lists: NDArray[np.int32], starts: Ints, relevant: NDArray[np.int32], n: int) -> NDArray[np.float64]:
    """Per row precision, recall, NDCG and average precision of the first n; `relevant` is sorted within each row.

    Precision divides by n, recall and average precision by the number of relevant items; NDCG has gains 0 or 1.
    Rows with nothing relevant are NaN.
    """
    rows = lists.shape[0]
    discount = 1.0 / np.log2(np.arange(n) + 2.0)
    ideal = np.cumsum(discount)
    grades = np.full((rows, 4), np.nan)
    for r in prange(rows):
        mine = relevant[starts[r] : starts[r + 1]]
        wanted = len(mine)
        if wanted == 0:
            continue
        hits, gain, precisions = 0, 0.0, 0.0
        for k in range(min(n, lists.shape[1])):
            item = lists[r, k]
            if item < 0:
                break
            at = np.searchsorted(mine, item)
            if at < wanted and mine[at] == item:
                hits += 1
                gain += discount[k]
                precisions += hits / (k + 1)
        grades[r, 0] = hits / n
        grades[r, 1] = hits / wanted
        grades[r, 2] = gain / ideal[min(wanted, n) - 1]
        grades[r, 3] = precisions / wanted
    return grades


@njit(cache=True, parallel=True)
def auc(
    scores: NDArray[np.float64], starts: Ints, seen: NDArray[np.int32], bounds: Ints, relevant: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Per row the chance that a relevant item stands above another unseen one; equal scores count one half."""
    rows, width = scores.shape
    area = np.full(rows, np.nan)
    for r in prange(rows):
        state = np.zeros(width, dtype=np.int8)  # 0 other, 1 relevant, 2 seen
        for k in range(bounds[r], bounds[r + 1]):
            state[relevant[k]] = 1
        for k in range(starts[r], starts[r + 1]):
            state[seen[k]] = 2
        wanted = np.sort(scores[r][state == 1])
        others, won = 0, 0.0
        for i in range(width):
            if state[i] == 0:
                others += 1
                above = len(wanted) - np.searchsorted(wanted, scores[r, i], side="right")
                equal = len(wanted) - np.searchsorted(wanted, scores[r, i], side="left") - above
                won += above + 0.5 * equal
        if len(wanted) and others:
            area[r] = won / (len(wanted) * others)
    return area
