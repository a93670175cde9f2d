"""Streams drawn from noisy tables: lengths, baskets whose pairs occur as often as the tables say, then their order.

All of it is post-processing: it sees published tables and public facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import Interactions
from recveil.dp import denoise
from recveil.errors import RecveilError
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_streams import pairs as sparse_pairs
from recveil.mechanisms.dp_streams.crowds import draw_crowd, part_of, square_of
from recveil.mechanisms.dp_streams.loadings import SpaceTables, Tastes, expected_pairs
from recveil.mechanisms.dp_streams.pairs import Above
from recveil.randomness import Source

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SWEEPS = 10
POWERS = (1.0, 1.5, 2.0)  # of pairs that moves may follow: neighbours in a stream are alike beyond what pairs show
SOFTNESS = 30  # errors of pair counts weigh 1 / (target + 30 typical contributions)
MANY, SHARP = 2048, 0.3  # of more items most moves are rare: their errors weigh 1 / (target + 0.3 contributions)


@dataclass(frozen=True)
class Numbers:
    """People by how many sessions they have: noisy counts of the classes that begin at `edges`."""

    people: Floats
    sigma: float
    edges: Ints

    def total(self) -> float:
        """How many sessions there are, about; a class that does not stand out of the noise counts for none."""
        counts = np.where(self.people > 3 * self.sigma, self.people, 0.0)
        return float((counts * (self.edges + np.append(self.edges[1:] - 1, self.edges[-1])) / 2).sum())


@dataclass(frozen=True)
class StreamTables:
    """Published tables in units of one person. A length counts `one_length` of a unit."""

    kept: Ints  # codes of the items that the tables are about
    items: Floats
    pairs: Floats | Above
    lengths: Floats
    transitions: Floats | None
    pair_sigma: float
    move_sigma: float
    edges: Ints
    one_length: float
    sessions: Numbers | None = None  # where people have several streams
    sizes: Floats | None = None  # where facts of items are public: how many people there are of each class of lengths
    known: SpaceTables | None = None  # likewise, tables in the space of these facts, if they tell anything of people


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


def expected(tables: StreamTables) -> Pairs:
    """What lies behind the noisy pairs."""
    if tables.known is not None and not isinstance(tables.pairs, Above):
        return Pairs(*expected_pairs(tables.known, tables.pairs.astype(np.float32), tables.pair_sigma))
    if isinstance(tables.pairs, Above):
        sizes = (tables.edges + last_lengths(tables.edges)) / 2
        total = (people(tables) * np.sqrt((1 - tables.one_length**2) * sizes * (sizes - 1) / 2)).sum()
        found = sparse_pairs.expected(tables.pairs, tables.items, total, tables.pair_sigma)
        return Pairs(kernels.baskets.PairTable(found[0], found[1]), found[2], found[3])
    M = denoise.pairs(tables.pairs, tables.pair_sigma)
    table = kernels.baskets.PairTable(np.arange(len(M) + 1, dtype=np.int64) * len(M), np.empty(0, dtype=np.int32))
    return Pairs(table, M.ravel(), M.sum(1))


def draw_streams(
    tables: StreamTables,
    public: PublicInfo,
    k: int | None,
    source: Source,
    sweeps: int = SWEEPS,
    pairs: Pairs | None = None,
) -> Interactions:
    """k new streams over the public catalogue; None: as many as the noisy lengths tell, to two digits."""
    pairs = pairs or expected(tables)
    sizes = draw_lengths(tables, k, source.derive("lengths").generator())
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    if tables.known is None:
        item = draw_baskets(pairs, starts, source, sweeps)
    else:
        lots = (cumulated(pairs.strength[None])[0], cumulated_rows(pairs))
        shape = (pairs.table, pairs.weight, pairs.strength, pairs.tastes)
        item = draw_crowd(*shape, starts, tables.known.paired, lots, source)
    user = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    item = item[np.lexsort((source.derive("shuffle").words(len(item)), user))]
    if tables.transitions is not None and tables.known is None:
        draw_order(item, starts, pairs.square, tables, source, sweeps)
    elif tables.transitions is not None and tables.known is not None:
        n, paired = len(pairs.strength), tables.known.paired
        there, part, begins = part_of(item, starts, paired, n)
        draw_order(part, begins, square_of(pairs.table, pairs.weight, n, paired), tables, source, sweeps)
        item[there] = paired[part]
    position = np.arange(len(item), dtype=np.int64) - starts[user]
    return Interactions(
        user,
        tables.kept[item].astype(np.int32),
        pl.Series(np.arange(len(sizes))),
        public.items,
        time=None if tables.transitions is None else position,
        unit="session" if public.unit == "session" or public.sessions else "user",
    )


def people(tables: StreamTables) -> Floats:
    """How many there are of each class of length; classes that do not stand out of the noise are left out."""
    if tables.sizes is not None:
        return tables.sizes
    counts = np.where(tables.lengths > 3 * tables.pair_sigma, tables.lengths, 0.0) / tables.one_length
    if not counts.any():
        raise RecveilError("no length of streams stands out of the noise; more people or a larger epsilon would help")
    return counts


def last_lengths(edges: Ints) -> Ints:
    """The largest length of each class."""
    return np.append(edges[1:], 2 * edges[-1]) - 1


def draw_lengths(tables: StreamTables, k: int | None, rng: np.random.Generator) -> Ints:
    """Lengths of the new streams."""
    counts = people(tables)
    n = counts.sum()
    if k is None:
        streams = n if tables.sessions is None else max(tables.sessions.total(), 1.0)
        digits = 10.0 ** max(np.floor(np.log10(streams)) - 1, 0)
        k = max(int(np.round(streams / digits) * digits), 1)
    kind = rng.choice(len(counts), size=k, p=counts / n)
    sizes = rng.integers(tables.edges[kind], last_lengths(tables.edges)[kind] + 1)
    return np.minimum(sizes, len(tables.kept))


def draw_baskets(pairs: Pairs, starts: Ints, source: Source, sweeps: int) -> NDArray[np.int32]:
    """Sets of items whose weighted pair counts come near those expected, scaled to as many baskets."""
    rows, first = cumulated_rows(pairs), cumulated(pairs.strength[None])[0]
    item: NDArray[np.int32] = kernels.baskets.walk(source.derive("walk").key(), starts, first, rows, pairs.table)
    sizes = np.diff(starts)
    weight = 1 / np.sqrt(np.maximum(sizes * (sizes - 1) / 2, 1))
    target = (pairs.weight * ((sizes * (sizes - 1) * weight).sum() / pairs.strength.sum())).astype(np.float32)
    excess = pair_counts(starts, item, weight, pairs.table) - target
    softness = SOFTNESS * float(weight.mean())
    kernels.baskets.swap_items(
        source.derive("swap").key(), starts, item, excess, target, first, rows, pairs.table, softness, sweeps
    )
    return item


def draw_order(
    item: NDArray[np.int32], starts: Ints, M: Floats, tables: StreamTables, source: Source, sweeps: int
) -> None:
    """Put the items of every basket in order, in place, so that transitions occur as often as the table says."""
    assert tables.transitions is not None
    D = tables.transitions
    off = ~np.eye(len(M), dtype=bool)
    prior = moves_of_pairs(M, D)
    clean = np.zeros_like(D)
    clean[off] = np.maximum(
        prior[off] + denoise.shrink((D - prior)[off], denoise.classes(prior[off]), tables.move_sigma), 0.0
    )
    sizes = np.diff(starts)
    weight = 1 / np.sqrt(np.maximum(sizes - 1, 1))
    target = (clean * (((sizes - 1) * weight).sum() / max(clean.sum(), 1e-12))).astype(np.float32)
    excess = -target
    follows = np.ones(len(item), dtype=bool)
    follows[starts[:-1]] = False
    second = np.flatnonzero(follows)
    np.add.at(excess, (item[second - 1], item[second]), np.repeat(weight, sizes - 1).astype(np.float32))
    softness, turns = (SOFTNESS, sweeps) if len(M) <= MANY else (SHARP, 2 * sweeps)
    kernels.baskets.swap_order(
        source.derive("order").key(), starts, item, excess, target, softness * float(weight.mean()), turns
    )


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


def pair_counts(
    starts: Ints, item: NDArray[Any], weight: Floats, table: kernels.baskets.PairTable
) -> NDArray[np.float32]:
    """The sum over baskets of their pairs, each with its weight, in the cells of a table; no item with itself."""
    from scipy import sparse

    m = len(table.indptr) - 1
    user = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    X = sparse.csr_array((np.sqrt(weight)[user].astype(np.float32), (user, item)), shape=(len(starts) - 1, m))
    counts = sparse.csr_array(X.T @ X)
    if not len(table.indices):
        S: NDArray[np.float32] = counts.toarray()
        np.fill_diagonal(S, 0.0)
        return S.ravel()
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
