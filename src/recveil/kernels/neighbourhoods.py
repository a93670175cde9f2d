"""Nearest neighbours of every item under a cosine, without ever holding a table of item pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import get_num_threads, njit, prange
from numpy.typing import NDArray

_STRETCH = 64  # similarities that are compared with the floor together, since few reach it
PAIRS = 1 << 22  # that may wait at once for their place among the nearest: 64 MB
_SHORT = 1e-9  # a column no longer than this has no direction: what is left of it is rounding
_GRID = 1e12  # similarities are rounded to twelve places, so that what is equal on paper (to theta, too) is equal


def reach(
    column_starts: NDArray[np.int64],
    users: NDArray[np.int32],
    values: NDArray[np.float64],
    starts: NDArray[np.int64],
    k: int,
    floor: float = -1.0,
) -> NDArray[np.float64]:
    """For each item the greatest similarity with which it stands among the k nearest of another, -inf below `floor`.

    So an item belongs to the union of neighbourhoods of threshold theta if and only if its reach is at least theta.
    The matrix of users and items comes by columns (column_starts, users, values), each of length 1 or 0; `starts` says
    where each user's cells would begin by rows. Of equally similar items the one with the lowest number is nearer; an
    item of similarity 0 is nobody's neighbour. Pairs are looked at once, item by item with those after it; what reaches
    the floor waits in a buffer of bounded size until it is sorted into the nearest of both.
    """
    n, threads = len(column_starts) - 1, get_num_threads()
    items, by_row, after = _rows(column_starts, users, values, starts)
    near, nearness = np.empty((n, k), dtype=np.int32), np.full((n, k), -np.inf)
    size = np.zeros(n, dtype=np.int64)
    blocks = 4 * threads
    room = max(PAIRS // blocks, n)
    waiting, similarity = np.empty((blocks, room, 2), dtype=np.int32), np.empty((blocks, room))
    cursor = np.arange(blocks)
    while np.any(cursor < n):
        count = _meet(column_starts, users, values, after, starts, items, by_row, floor, cursor, waiting, similarity)
        _settle(waiting, similarity, count, floor, near, nearness, size, threads)
    taken = np.arange(k) < size[:, None]
    found = np.full(n, -np.inf)
    np.maximum.at(found, near[taken], nearness[taken])
    return found


@njit(cache=True, parallel=True)
def directions(column_starts: NDArray[np.int64], values: NDArray[np.float64], centred: bool) -> NDArray[np.float64]:
    """Every column, less its mean if `centred`, at length 1; at length 0 where all are alike and so nothing is left."""
    found = np.zeros(len(values))
    for i in prange(len(column_starts) - 1):
        begin, end = column_starts[i], column_starts[i + 1]
        total = 0.0
        for at in range(begin, end):
            total += values[at]
        mean = total / (end - begin) if centred and end > begin else 0.0
        square = 0.0
        for at in range(begin, end):
            square += (values[at] - mean) * (values[at] - mean)
        length = np.sqrt(square)
        if length >= _SHORT:
            for at in range(begin, end):
                found[at] = (values[at] - mean) / length
    return found


@njit(cache=True)
def _rows(column_starts: Any, users: Any, values: Any, starts: Any) -> Any:
    """The cells by rows: their items and values; and for each cell where, by rows, those after it begin."""
    cursor = starts[:-1].copy()
    items, by_row = np.empty(len(users), dtype=np.int32), np.empty(len(users))
    after = np.empty(len(users), dtype=np.int64)
    for i in range(len(column_starts) - 1):
        for at in range(column_starts[i], column_starts[i + 1]):
            place = cursor[users[at]]
            cursor[users[at]] = after[at] = place + 1
            items[place], by_row[place] = i, values[at]
    return items, by_row, after


@njit(cache=True, parallel=True)
def _meet(
    column_starts: Any,
    users: Any,
    values: Any,
    after: Any,
    starts: Any,
    items: Any,
    by_row: Any,
    floor: float,
    cursor: Any,
    waiting: Any,
    similarity: Any,
) -> Any:
    """The similarities of items with all items after them, as long as there is room; how many each block wrote.

    Block b works on the items b, b + blocks, b + 2 blocks and so on, from its cursor, which it moves.
    """
    n, (blocks, room) = len(column_starts) - 1, similarity.shape
    count = np.zeros(blocks, dtype=np.int64)
    low = floor - 1 / _GRID
    for block in prange(blocks):
        total = np.zeros(n)
        found, i = 0, int(cursor[block])
        while i < n and found + n - i <= room:
            cells = np.int64(0)
            for at in range(column_starts[i], column_starts[i + 1]):
                weight = values[at]
                # unsigned numbers, so that no index needs a look at its sign
                first, last = np.uint64(after[at]), np.uint64(starts[users[at] + 1])
                cells += np.int64(last - first)
                for cell in range(first, last):
                    total[np.uint32(items[cell])] += weight * by_row[cell]
            if 4 * cells < n - i:  # an item of few: to walk the same cells again is less than to walk all items
                for at in range(column_starts[i], column_starts[i + 1]):
                    for cell in range(after[at], starts[users[at] + 1]):
                        j = items[cell]
                        if total[j] >= low and total[j] != 0.0:
                            waiting[block, found, 0], waiting[block, found, 1] = i, j
                            similarity[block, found] = total[j]
                            found += 1
                        total[j] = 0.0
            else:
                for begin in range(i + 1, n, _STRETCH):
                    end = min(begin + _STRETCH, n)
                    reaching = 0
                    for j in range(begin, end):
                        reaching += total[j] >= low
                    if reaching == 0:
                        continue
                    for j in range(begin, end):
                        if total[j] >= low and total[j] != 0.0:
                            waiting[block, found, 0], waiting[block, found, 1] = i, j
                            similarity[block, found] = total[j]
                            found += 1
                total[i + 1 :] = 0.0
            i += blocks
        count[block] = found
        cursor[block] = i
    return count


@njit(cache=True, parallel=True)
def _settle(
    waiting: Any, similarity: Any, count: Any, floor: float, near: Any, nearness: Any, size: Any, parts: int
) -> None:
    """Sort pairs into the nearest of both items; each thread serves the items of its own part."""
    for part in prange(parts):
        for block in range(len(waiting)):
            for at in range(count[block]):
                s = np.floor(similarity[block, at] * _GRID + 0.5) / _GRID
                if s >= floor:
                    i, j = waiting[block, at, 0], waiting[block, at, 1]
                    if i % parts == part:
                        size[i] = insert(near[i], nearness[i], size[i], j, s)
                    if j % parts == part:
                        size[j] = insert(near[j], nearness[j], size[j], i, s)


@njit(cache=True)
def add_products(
    starts: NDArray[np.int64], items: NDArray[np.int32], values: NDArray[np.float64], right: int, total: Any
) -> None:
    """Add the products of a block of pairs, user by user: total[i, j] for items i before j, counted within the block.

    The cells of user u stand from starts[u] on by item. Items below `right` belong to the rows of the block, the others
    to its columns; where `right` is 0 they are the same items.
    """
    for u in range(len(starts) - 1):
        end, middle = starts[u + 1], starts[u]
        while middle < end and items[middle] < right:
            middle += 1
        for a in range(starts[u], middle if right else end):
            for b in range(middle if right else a + 1, end):
                total[items[a], items[b] - right] += values[a] * values[b]


@njit(cache=True)
def block_nearest(total: Any, floor: float, same: bool, k: int) -> tuple[Any, Any, Any]:
    """The k nearest within a block of similarities: of its rows among its columns, then of its columns among its rows.

    Of each the others (-1 beyond the last), their similarities, and how many there are. `same`: rows and columns are
    the same items, so that what is found for a row and for a column comes together.
    """
    n, m = total.shape
    shift = 0 if same else n
    near, nearness = np.full((m + shift, k), -1, dtype=np.int32), np.full((m + shift, k), -np.inf)
    size = np.zeros(m + shift, dtype=np.int64)
    for i in range(n):
        for j in range(m):
            s = np.floor(total[i, j] * _GRID + 0.5) / _GRID
            if total[i, j] != 0.0 and s >= floor:
                size[i] = insert(near[i], nearness[i], size[i], j, s)
                size[shift + j] = insert(near[shift + j], nearness[shift + j], size[shift + j], i, s)
    return near, nearness, size


@njit(cache=True)
def insert(near: Any, nearness: Any, size: int, j: int, s: float) -> int:
    """Give item j its place among the nearest (nearest first, then lowest number), if it has one; the new size."""
    k = len(near)
    if size == k and (s < nearness[k - 1] or (s == nearness[k - 1] and j > near[k - 1])):
        return size
    size = min(size + 1, k)
    place = size - 1
    while place > 0 and (nearness[place - 1] < s or (nearness[place - 1] == s and near[place - 1] > j)):
        nearness[place] = nearness[place - 1]
        near[place] = near[place - 1]
        place -= 1
    nearness[place] = s
    near[place] = j
    return size
