"""Top-n lists out of scores, and the quality of such lists per user."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Ints = NDArray[np.int64]
FEW = 16  # wanted scores up to which passes without a branch are faster than one with searches


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
            if (size == n and s <= best[0]) or hidden[i] or s == -np.inf:
                continue
            if size < n:
                best[size], items[size] = s, i
                size += 1
                if size == n:
                    for at in range(n // 2 - 1, -1, -1):
                        _sift(best, items, at, n)
            else:  # an equal score came later, so with a higher code: it was worse
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
def place(
    scores: NDArray[np.float64], starts: Ints, seen: NDArray[np.int32], wanted: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Per row the place, from 1 on, of its wanted item among those not seen; of equal ones the lower code is first.

    Infinite where the wanted item was seen, or has a score of -inf.
    """
    rows, width = scores.shape
    places = np.full(rows, np.inf)
    for r in prange(rows):
        row, own = scores[r], scores[r, wanted[r]]
        before = 0
        for i in range(wanted[r]):
            before += row[i] >= own
        for i in range(wanted[r] + 1, width):
            before += row[i] > own
        hidden = np.zeros(width, dtype=np.bool_)
        for k in range(starts[r], starts[r + 1]):
            i = seen[k]
            if not hidden[i]:
                hidden[i] = True
                before -= row[i] > own or (row[i] == own and i < wanted[r])
        if own != -np.inf and not hidden[wanted[r]]:
            places[r] = 1.0 + before
    return places


@njit(cache=True)
def _won_by_counting(row: NDArray[np.float64], wanted: NDArray[np.float64], left_out: Ints) -> float:
    """How often a wanted score stands above one of the row, the entries left out apart; equal ones count one half."""
    won = 0.0
    for score in wanted:
        below, equal = 0, 0
        for i in range(len(row)):
            below += row[i] < score
            equal += row[i] == score
        for i in left_out:
            below -= row[i] < score
            equal -= row[i] == score
        won += below + 0.5 * equal
    return won


@njit(cache=True)
def _won_by_search(row: NDArray[np.float64], wanted: NDArray[np.float64], left_out: Ints) -> float:
    """The same in one pass over the row, for many wanted scores in ascending order."""
    out = np.zeros(len(row), dtype=np.bool_)
    out[left_out] = True
    won = 0.0
    for i in range(len(row)):
        if not out[i]:
            above = len(wanted) - np.searchsorted(wanted, row[i], side="right")
            equal = len(wanted) - np.searchsorted(wanted, row[i], side="left") - above
            won += above + 0.5 * equal
    return won


@njit(cache=True, parallel=True)
def auc(
    scores: NDArray[np.float64], starts: Ints, seen: NDArray[np.int32], bounds: Ints, relevant: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Per row the chance that a relevant item stands above another unseen one; equal scores count one half."""
    rows, width = scores.shape
    area = np.full(rows, np.nan)
    for r in prange(rows):
        out = np.zeros(width, dtype=np.bool_)
        left_out = np.empty(width, dtype=np.int64)
        left = 0
        for k in range(starts[r], starts[r + 1]):
            if not out[seen[k]]:
                out[seen[k]] = True
                left_out[left] = seen[k]
                left += 1
        known = left
        for k in range(bounds[r], bounds[r + 1]):
            if not out[relevant[k]]:
                out[relevant[k]] = True
                left_out[left] = relevant[k]
                left += 1
        left_out = left_out[:left]
        n = left - known
        wanted = np.empty(n)
        for k in range(n):
            wanted[k] = scores[r, left_out[known + k]]
        others = width - left
        if n and others:
            if n <= FEW:
                area[r] = _won_by_counting(scores[r], wanted, left_out) / (n * others)
            else:
                area[r] = _won_by_search(scores[r], np.sort(wanted), left_out) / (n * others)
    return area
