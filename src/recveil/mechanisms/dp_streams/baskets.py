"""Baskets and their order drawn block by block, from a table of expected pairs and one of expected moves.

A block is drawn against its own share of the tables, so that blocks need nothing of each other: they run side by side,
and any number of streams takes the memory of one block for each core.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recveil import kernels
from recveil.dp import denoise
from recveil.mechanisms.dp_streams.crowds import draw_crowd, part_of
from recveil.mechanisms.dp_streams.loadings import Tastes
from recveil.randomness import Source

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

BLOCK = 50_000  # streams, about
SWEEPS = 3  # of exchanges of items; pairs that are listed have more, since each has one proposal
LISTED_SWEEPS = 10 / 3
ORDER_SWEEPS = 4
POWERS = (1.0, 1.5, 2.0)  # of pairs that moves may follow: neighbours in a stream are alike beyond what pairs show
SOFTNESS = 30  # errors of pair counts weigh 1 / (target + 30 typical contributions)
MANY, SHARP = 2048, 0.3  # of more items most moves are rare: their errors weigh 1 / (target + 0.3 contributions)


@dataclass(frozen=True)
class Pairs:
    """Expected counts of pairs, flat, and the sums of whole rows: what the table lacks there follows popularity."""

    table: kernels.baskets.PairTable
    weight: Floats
    strength: Floats
    tastes: Tastes | None = None  # where people are placed in a space of items before they have any

    @property
    def square(self) -> Floats:
        """A table whose rows are whole, as a matrix."""
        return self.weight.reshape(len(self.strength), -1)


@dataclass(frozen=True)
class Moves:
    """How often one item is expected after another."""

    weight: Singles

    @cached_property
    def total(self) -> float:
        return max(float(self.weight.sum(dtype=np.float64)), 1e-12)

    def among(self, order: Ints) -> Moves:
        """The same with items in another order."""
        return Moves(np.ascontiguousarray(self.weight[np.ix_(order, order)]))


class Drawer(Protocol):
    """What draws the items of one block of streams, in their order."""

    alone: bool  # whether it takes all cores by itself

    def draw(self, starts: Ints, source: Source) -> Codes: ...


def draw_all(drawer: Drawer, sizes: Ints, source: Source) -> Codes:
    """The items of streams of these sizes, one after the other. Neither threads nor their number change them."""
    number = max(1, round(len(sizes) / BLOCK))

    def one(block: int, part: Ints) -> Codes:
        return drawer.draw(np.append(0, np.cumsum(part)).astype(np.int64), source.derive("block", block))

    parts = np.array_split(sizes, number)
    if number == 1 or drawer.alone:
        return np.concatenate([one(block, part) for block, part in enumerate(parts)])
    with ThreadPoolExecutor(min(number, kernels.swaps.get_num_threads())) as pool:
        return np.concatenate(list(pool.map(one, range(number), parts)))


class BasketDrawer:
    """Draws from a table of pairs; where its rows are whole, frequent items come first in it."""

    alone = False

    def __init__(self, pairs: Pairs, moves: Moves | None, sweeps: int) -> None:
        self.listed = len(pairs.table.indices) > 0
        self.sweeps, self.order = sweeps, np.arange(len(pairs.strength))
        if not self.listed:
            self.order = np.argsort(-pairs.strength, kind="stable")
            square = np.ascontiguousarray(pairs.square[np.ix_(self.order, self.order)])
            pairs = Pairs(pairs.table, square.ravel(), pairs.strength[self.order])
            moves = None if moves is None else moves.among(self.order)
        self.moves, self.table, self.strength = moves, pairs.table, pairs.strength
        self.weight = pairs.weight.astype(np.float32)
        self.rows, self.first = cumulated_rows(pairs), cumulated(pairs.strength[None])[0]
        if not self.listed:  # popularity is one row more
            self.rows = np.vstack([self.rows.reshape(len(self.order), -1), self.first])
            self.guide = kernels.swaps.guides(self.rows)

    def draw(self, starts: Ints, source: Source) -> Codes:
        sizes = np.diff(starts)
        weight = 1 / np.sqrt(np.maximum(sizes * (sizes - 1) / 2, 1))
        scale = float((sizes * (sizes - 1) * weight).sum() / self.strength.sum())
        made = self._of_list if self.listed else self._of_table
        item = made(starts, scale, SOFTNESS * float(weight.mean()), source)
        kernels.swaps.shuffle(source.derive("shuffle").key(), starts, item)
        if self.moves is not None:
            draw_order(item, starts, self.moves, source, self.sweeps)
        return self.order[item].astype(np.int32)

    def _of_table(self, starts: Ints, scale: float, softness: float, source: Source) -> Codes:
        """Sets of items whose weighted pair counts come near those expected, scaled to as many baskets."""
        key, swap = source.derive("walk").key(), source.derive("swap").key()
        item: Codes = kernels.swaps.walk(key, starts, self.rows, self.guide)
        excess = kernels.swaps.pair_excess(starts, item, self.weight.reshape(len(self.order), -1), scale)
        share = (self.strength * np.sqrt(scale / self.strength.sum())).astype(np.float32)
        kernels.swaps.swap_items(swap, starts, item, excess, share, softness, self.rows, self.guide, self.sweeps)
        return item

    def _of_list(self, starts: Ints, scale: float, softness: float, source: Source) -> Codes:
        """The same where of very many items some pairs are listed, and all others follow popularity."""
        key, swap = source.derive("walk").key(), source.derive("swap").key()
        chance = self.first, self.rows, self.table
        item: Codes = kernels.baskets.walk(key, starts, *chance)
        target = self.weight * np.float32(scale)
        excess = pair_counts(starts, item, self.table) - target
        sweeps = round(LISTED_SWEEPS * self.sweeps)
        kernels.baskets.swap_listed(swap, starts, item, excess, target, *chance, softness, sweeps)
        return item


@dataclass(frozen=True)
class CrowdDrawer:
    """Draws people in a space of items; of the items `paired`, moves are known."""

    pairs: Pairs
    paired: Ints
    moves: Moves | None
    sweeps: int
    alone = True

    @cached_property
    def _lots(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        return cumulated(self.pairs.strength[None])[0], cumulated_rows(self.pairs)

    def draw(self, starts: Ints, source: Source) -> Codes:
        pairs, n = self.pairs, len(self.pairs.strength)
        shape = (pairs.table, pairs.weight, pairs.strength, pairs.tastes)
        item = draw_crowd(*shape, starts, self.paired, self._lots, source)
        kernels.swaps.shuffle(source.derive("shuffle").key(), starts, item)
        if self.moves is not None:
            there, part, begins = part_of(item, starts, self.paired, n)
            draw_order(part, begins, self.moves, source, self.sweeps)
            item[there] = self.paired[part]
        return item


def draw_order(item: Codes, starts: Ints, moves: Moves, source: Source, sweeps: int) -> None:
    """Put the items of every basket in order, in place, so that moves occur as often as expected."""
    sizes = np.diff(starts)
    weight = 1 / np.sqrt(np.maximum(sizes - 1, 1))
    scale = float(((sizes - 1) * weight).sum()) / moves.total
    softness = (SOFTNESS if len(moves.weight) <= MANY else SHARP) * float(weight.mean())
    error = kernels.swaps.move_errors(starts, item, moves.weight, scale, softness)
    kernels.swaps.swap_order(source.derive("order").key(), starts, item, error, ORDER_SWEEPS * sweeps)


def expected_moves(M: Floats, D: Floats, sigma: float) -> Moves:
    """What lies behind noisy moves D, given expected pairs M."""
    off = ~np.eye(len(M), dtype=bool)
    prior = moves_of_pairs(M, D)[off]
    found = denoise.shrink(D[off] - prior, denoise.classes(prior), sigma)
    found += prior
    clean = np.zeros(D.shape, dtype=np.float32)
    clean[off] = np.maximum(found, 0.0, out=found)
    return Moves(clean)


def moves_of_pairs(M: Floats, D: Floats) -> Floats:
    """What pairs tell of moves: the power of them that fits the noisy moves best, each item as frequent as in pairs."""
    sums, best, most = M.sum(1), np.zeros_like(M), 0.0
    for power in POWERS:
        found = M**power
        scale = np.ones(len(M))
        for _ in range(20):
            scale = np.sqrt(scale * sums / np.maximum(found @ scale, 1e-12))
        found *= scale * scale[:, None]
        length = float(np.sqrt((found * found).sum()))
        fit = float((D * found).sum()) / max(length, 1e-12)
        if fit > most:
            best, most = found * (fit / length), fit
    return best


def pair_counts(starts: Ints, item: NDArray[Any], table: kernels.baskets.PairTable) -> Singles:
    """The sum over baskets of their pairs, each with its weight, in the cells that a table lists."""
    from scipy import sparse

    m, sizes = len(table.indptr) - 1, np.diff(starts)
    weight = 1 / np.sqrt(np.maximum(sizes * (sizes - 1) / 2, 1))
    user = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    X = sparse.csr_array((np.sqrt(weight)[user].astype(np.float32), (user, item)), shape=(len(starts) - 1, m))
    counts = sparse.csr_array(X.T @ X)
    counts.sort_indices()
    there = rows_of(kernels.baskets.PairTable(counts.indptr, counts.indices)) * m + counts.indices
    wanted = rows_of(table) * m + table.indices
    at = np.minimum(np.searchsorted(there, wanted), len(there) - 1)
    return np.where(there[at] == wanted, counts.data[at], np.float32(0.0))


def rows_of(table: kernels.baskets.PairTable) -> Ints:
    """The row of each cell."""
    return np.repeat(np.arange(len(table.indptr) - 1, dtype=np.int64), np.diff(table.indptr))


def cumulated_rows(pairs: Pairs) -> NDArray[np.uint32]:
    """The rows of a table summed up, flat; they end at the share of the whole row that the table holds."""
    if not len(pairs.table.indices):
        return cumulated(pairs.square).ravel()
    row, sums = rows_of(pairs.table), np.append(0.0, np.cumsum(pairs.weight))
    share = (sums[1:] - sums[pairs.table.indptr[row]]) / pairs.strength[row]
    rows: NDArray[np.uint32] = (np.minimum(share, 1.0) * (2**32 - 1)).astype(np.uint32)
    return rows


def cumulated(weights: Floats) -> NDArray[np.uint32]:
    """Rows of weights summed up from left to right and scaled to 32 bits; a row of zeros becomes uniform."""
    sums = np.cumsum(weights, axis=1)
    empty = sums[:, -1] <= 0
    sums[empty] = np.arange(1, weights.shape[1] + 1)
    return (sums * ((2**32 - 1) / sums[:, -1:])).astype(np.uint32)
