"""Baskets drawn in a space of items: people stand in it, and their items bring pairs near what is expected."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil import kernels
from recveil.mechanisms.dp_streams.loadings import Tastes
from recveil.randomness import Source

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

_SWEEPS, _LAST_SWEEPS = 6, 10  # of exchanges: among all items, then among those whose pairs were counted
_PART, _SOFTNESS = 0.08, 30  # of its items a basket gives in a sweep; errors below so many contributions matter less
_RARE = 0.02  # of its popularity: what an item has at least, however far from a person's taste
_CELLS = 1 << 22


def draw_crowd(
    table: kernels.baskets.PairTable,
    weight: Floats,
    strength: Floats,
    tastes: Tastes | None,
    starts: Ints,
    paired: Ints,
    lots: tuple[NDArray[np.uint32], NDArray[np.uint32]],
    source: Source,
) -> Codes:
    """Items of baskets. lots: cumulated popularity, and cumulated rows of the table.

    Where pairs of all items are held, people are placed first and items are then exchanged; else they walk from item to
    item, which in sparse tables loses next to nothing.
    """
    item: Codes
    if tastes is None:
        item = kernels.baskets.walk(source.derive("walk").key(), starts, lots[0], lots[1], table)
    else:
        item = place_people(tastes, strength, starts, source.derive("places").generator())
    if len(table.indices) or not len(item):
        return item
    n = len(strength)
    _nearer(item, starts, weight.reshape(n, n), _SWEEPS)
    there, part, begins = part_of(item, starts, paired, n)
    _nearer(part, begins, square_of(table, weight, n, paired), _LAST_SWEEPS)
    item[there] = paired[part]
    return item


def _nearer(item: Codes, starts: Ints, weight: Floats, sweeps: int) -> None:
    """Exchange items, in place, until pairs occur about as often as their weights say."""
    sizes = np.diff(starts)
    each = 1 / np.sqrt(np.maximum(sizes * (sizes - 1) / 2, 1))
    scale = float((sizes * (sizes - 1) * each).sum()) / max(float(weight.sum()), 1e-12)
    target = np.ascontiguousarray((weight * scale).astype(np.float32))
    errors = kernels.pair_tables.pair_errors(starts, item, each, target, _SOFTNESS * float(each.mean()))
    excess, importance = np.ascontiguousarray(errors[..., 0]), np.ascontiguousarray(errors[..., 1])
    np.fill_diagonal(importance, 0.0)
    kernels.directions.exchange(starts, item, excess, importance, sweeps, _PART)


def place_people(tastes: Tastes, strength: Floats, starts: Ints, rng: np.random.Generator) -> Codes:
    """Everybody stands where the moments say, and has items by popularity and by how much they pull there."""
    values, axes = np.linalg.eigh(tastes.moments)
    pull = tastes.mean @ np.linalg.inv(tastes.firm)
    sizes, n = np.diff(starts), len(strength)
    item = np.empty(starts[-1], dtype=np.int32)
    many = max(1, _CELLS // n)
    for begin in range(0, len(sizes), many):
        size = sizes[begin : begin + many]
        at = (rng.standard_normal((len(size), len(values))) * np.sqrt(np.maximum(values, 0.0))) @ axes.T
        chance = np.maximum(1 + at @ pull.T, _RARE) * np.maximum(strength, 1e-12)
        wait = rng.standard_exponential(chance.shape) / chance  # those who come first are in
        order = np.argpartition(wait, min(int(size.max()), n - 1), axis=1)
        for row in range(len(size)):
            near = order[row, : int(size.max())]
            first = (
                near[np.argpartition(wait[row, near], size[row] - 1)[: size[row]]] if size[row] < len(near) else near
            )
            item[starts[begin + row] : starts[begin + row + 1]] = first[: size[row]]
    return item


def part_of(item: Codes, starts: Ints, chosen: Ints, n: int) -> tuple[NDArray[np.bool_], Codes, Ints]:
    """Of baskets their chosen items, as numbers among these, without baskets that have none: which, what, and where."""
    place = np.full(n, -1, dtype=np.int32)
    place[chosen] = np.arange(len(chosen), dtype=np.int32)
    there = place[item] >= 0
    basket = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[there]
    sizes = np.bincount(basket, minlength=len(starts) - 1)
    return there, place[item[there]], np.append(0, np.cumsum(sizes[sizes > 0])).astype(np.int64)


def square_of(table: kernels.baskets.PairTable, weight: Floats, n: int, chosen: Ints) -> Any:
    """The chosen rows and columns of a table, whole."""
    from scipy import sparse

    if not len(table.indices):
        return weight.reshape(n, n)[np.ix_(chosen, chosen)]
    return sparse.csr_array((weight, table.indices, table.indptr), shape=(n, n))[chosen][:, chosen].toarray()
