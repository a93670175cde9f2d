"""Tables of baskets where one person has several of them, all of them bounded together.

A person's vector is the sum of what her baskets add one by one (baskets.py). Where its norm exceeds the unit, the whole
of it is scaled down, in integers and rounded down. The vector of a person with one basket never is: it is as there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recveil.kernels.baskets import distinct, isqrt

Ints = NDArray[np.int64]

MOST_BASKETS = 10_000  # of one person, the first ones; squares of sums of more would not fit into 64 bits


@njit(cache=True)
def give(total: Ints, hers: Ints, touched: Ints, n: int, share: int) -> None:
    """Add a person's n cells to the total, scaled down to a squared norm of at most `share`; hers are emptied."""
    square = 0
    for a in range(n):
        square += hers[touched[a]] * hers[touched[a]]
    norm = isqrt(square)
    if norm * norm < square:
        norm += 1
    most = isqrt(share)
    for a in range(n):
        cell = touched[a]
        total[cell] += hers[cell] if square <= share else hers[cell] * most // norm
        hers[cell] = 0


@njit(cache=True)
def _touch(hers: Ints, touched: Ints, n: int, cell: Any, weight: Any) -> Any:
    """Add to a cell of hers; how many cells she has then."""
    if hers[cell] == 0:
        touched[n] = cell
        n += 1
    hers[cell] += weight
    return n


@njit(cache=True)
def count_items_of_people(people: Ints, starts: Ints, item: NDArray[np.int32], n_items: int, unit: int) -> Ints:
    """Items of people whose baskets are people[p] to people[p + 1]."""
    total, hers, touched = np.zeros(n_items, np.int64), np.zeros(n_items, np.int64), np.empty(n_items, np.int64)
    keep = np.arange(n_items).astype(np.int32)
    seen, out = np.full(n_items, -1, dtype=np.int64), np.empty(n_items, dtype=np.int64)
    for p in range(len(people) - 1):
        n = 0
        for k in range(people[p], min(people[p + 1], people[p] + MOST_BASKETS)):
            s = distinct(item[starts[k] : starts[k + 1]], keep, seen, k, out)
            for a in range(s):
                n = _touch(hers, touched, n, out[a], isqrt(unit * unit // s))
        give(total, hers, touched, n, unit * unit)
    return total


@njit(cache=True)
def most_pairs(people: Ints, starts: Ints, cells: int) -> Any:
    """How many pairs one person has at most."""
    most = 0
    for p in range(len(people) - 1):
        n = 0
        for k in range(people[p], people[p + 1]):
            rows = starts[k + 1] - starts[k]
            n += rows * (rows - 1) // 2
        most = max(most, n)
    return min(most, cells)


@njit(cache=True)
def count_pairs_of_people(
    people: Ints,
    starts: Ints,
    item: NDArray[np.int32],
    keep: NDArray[np.int32],
    m: int,
    edges: Ints,
    numbers: Ints,
    pair_share: int,
    length_share: int,
    unit: int,
    ordered: bool,
) -> tuple[Ints, Ints, Ints, Ints]:
    """Pairs, lengths and transitions as in count_pairs, within baskets; and people by their number of baskets.

    Only baskets with two kept items or more count. `numbers`: where the classes of numbers begin.
    """
    pairs, lengths = np.zeros(m * (m - 1) // 2, dtype=np.int64), np.zeros(len(edges), dtype=np.int64)
    moves, many = np.zeros(m * m if ordered else 0, dtype=np.int64), np.zeros(len(numbers), dtype=np.int64)
    her_pairs, her_lengths, her_moves = np.zeros_like(pairs), np.zeros_like(lengths), np.zeros_like(moves)
    touched = np.empty(most_pairs(people, starts, len(pairs)), dtype=np.int64)
    moved, sized = np.empty(min(len(item), len(moves)), np.int64), np.empty(len(edges), np.int64)
    seen, out = np.full(m, -1, dtype=np.int64), np.empty(m, dtype=np.int64)
    for p in range(len(people) - 1):
        n_pairs, n_moves, n_sizes, n = 0, 0, 0, 0
        for k in range(people[p], min(people[p + 1], people[p] + MOST_BASKETS)):
            s = distinct(item[starts[k] : starts[k + 1]], keep, seen, k, out)
            if s < 2:
                continue
            n += 1
            size = np.searchsorted(edges, s, side="right") - 1
            n_sizes = _touch(her_lengths, sized, n_sizes, size, isqrt(length_share))
            if ordered:
                for a in range(s - 1):
                    cell = out[a] * m + out[a + 1]
                    n_moves = _touch(her_moves, moved, n_moves, cell, isqrt(unit * unit // (s - 1)))
            w = isqrt(pair_share // (s * (s - 1) // 2))
            members = np.sort(out[:s])
            for a in range(s):
                row = members[a] * (2 * m - members[a] - 1) // 2 - members[a] - 1
                for b in range(a + 1, s):
                    n_pairs = _touch(her_pairs, touched, n_pairs, row + members[b], w)
        if n > 0:
            many[np.searchsorted(numbers, n, side="right") - 1] += unit
            give(lengths, her_lengths, sized, n_sizes, length_share)
            give(pairs, her_pairs, touched, n_pairs, pair_share)
            if ordered:
                give(moves, her_moves, moved, n_moves, unit * unit)
    return pairs, lengths, moves, many
