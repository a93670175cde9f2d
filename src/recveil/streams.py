"""Streams drawn from noisy tables: lengths, baskets whose pairs occur as often as the tables say, then their order.

All of it is post-processing: it sees published tables and public facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil import denoise
from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.kernels.baskets import swap_items, swap_order, walk
from recveil.mechanism import Public
from recveil.randomness import Source

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SWEEPS = 10
SOFTNESS = 30  # errors of pair counts weigh 1 / (target + 30 typical contributions)


@dataclass(frozen=True)
class Tables:
    """Published tables in units of one person. A length counts `one_length` of a unit."""

    kept: Ints  # codes of the items that the tables are about
    pairs: Floats
    lengths: Floats
    transitions: Floats | None
    pair_sigma: float
    move_sigma: float
    edges: Ints
    one_length: float


def draw_streams(tables: Tables, public: Public, k: int | None, source: Source, sweeps: int = SWEEPS) -> Interactions:
    """k new streams over the public catalogue; None: as many as the noisy lengths tell, to two digits."""
    M = denoise.pairs(tables.pairs, tables.pair_sigma)
    sizes = draw_lengths(tables, k, source.derive("lengths").generator())
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    item = draw_baskets(M, starts, source, sweeps)
    user = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    item = item[np.lexsort((source.derive("shuffle").words(len(item)), user))]
    if tables.transitions is not None:
        draw_order(item, starts, M, tables, source, sweeps)
    position = np.arange(len(item), dtype=np.int64) - starts[user]
    return Interactions(
        user,
        tables.kept[item].astype(np.int32),
        pl.Series(np.arange(len(sizes))),
        public.items,
        time=None if tables.transitions is None else position,
        unit="session" if public.unit == "session" else "user",
    )


def similarity(tables: Tables, neighbours: int = 15) -> Floats:
    """The direct model: how alike the kept items are, straight from the noisy pairs; each row keeps its nearest."""
    M = denoise.pairs(tables.pairs, tables.pair_sigma)
    norm = np.sqrt(np.maximum(M.sum(1), 1e-12))
    S: Floats = M / norm / norm[:, None]
    if neighbours < len(S):
        least = np.partition(S, -neighbours, axis=1)[:, [-neighbours]]
        S[least > S] = 0.0
    return S


def top_items(histories: Any, S: Floats, tables: Tables, n: int, people: int = 4096) -> Ints:
    """For each history (a sparse row over the kept items) its n best new items, filled up by popularity; else -1."""
    popular = tables.pairs.sum(1)
    popular = 1e-9 * (popular - popular.min()) / max(float(np.ptp(popular)), 1e-12)
    n_best = min(n, len(S))
    best = np.full((histories.shape[0], n), -1, dtype=np.int64)
    for begin in range(0, histories.shape[0], people):
        rows = histories[begin : begin + people]
        scores = np.asarray(rows @ S) + popular
        scores[rows.toarray() > 0] = -np.inf
        order = np.argsort(-scores, axis=1, kind="stable")[:, :n_best]
        known = np.isfinite(np.take_along_axis(scores, order, 1))
        best[begin : begin + people, :n_best] = np.where(known, order, -1)
    return best


def draw_lengths(tables: Tables, k: int | None, rng: np.random.Generator) -> Ints:
    """Lengths of the new streams; classes of length that do not stand out of the noise are left out."""
    counts = np.where(tables.lengths > 3 * tables.pair_sigma, tables.lengths, 0.0) / tables.one_length
    if not counts.any():
        raise RecveilError("no length of streams stands out of the noise; more people or a larger epsilon would help")
    n = counts.sum()
    if k is None:
        digits = 10.0 ** max(np.floor(np.log10(n)) - 1, 0)
        k = max(int(np.round(n / digits) * digits), 1)
    ends = np.append(tables.edges[1:], 2 * tables.edges[-1])
    kind = rng.choice(len(counts), size=k, p=counts / n)
    sizes = rng.integers(tables.edges[kind], ends[kind])
    return np.minimum(sizes, len(tables.kept))


def draw_baskets(M: Floats, starts: Ints, source: Source, sweeps: int) -> NDArray[np.int32]:
    """Sets of items whose weighted pair counts come near M, scaled to as many baskets."""
    rows, first = cumulated(M), cumulated(M.sum(1)[None])[0]
    item: NDArray[np.int32] = walk(source.derive("walk").key(), starts, first, rows)
    sizes = np.diff(starts)
    weight = 1 / np.sqrt(np.maximum(sizes * (sizes - 1) / 2, 1))
    target = (M * ((sizes * (sizes - 1) * weight).sum() / M.sum())).astype(np.float32)
    excess = pair_counts(starts, item, weight, len(M)) - target
    softness = SOFTNESS * float(weight.mean())
    swap_items(source.derive("swap").key(), starts, item, excess, target, first, rows, softness, sweeps)
    return item


def draw_order(item: NDArray[np.int32], starts: Ints, M: Floats, tables: Tables, source: Source, sweeps: int) -> None:
    """Put the items of every basket in order, in place, so that transitions occur as often as the table says."""
    assert tables.transitions is not None
    D = tables.transitions
    alpha = float((D * M).sum() / max((M * M).sum(), 1e-12))
    off = ~np.eye(len(M), dtype=bool)
    prior = np.maximum(alpha, 0.0) * M
    clean = np.zeros_like(D)
    clean[off] = np.maximum(prior[off] + denoise.shrink((D - prior)[off], prior[off], tables.move_sigma), 0.0)
    sizes = np.diff(starts)
    weight = 1 / np.sqrt(np.maximum(sizes - 1, 1))
    target = (clean * (((sizes - 1) * weight).sum() / max(clean.sum(), 1e-12))).astype(np.float32)
    excess = -target
    follows = np.ones(len(item), dtype=bool)
    follows[starts[:-1]] = False
    second = np.flatnonzero(follows)
    np.add.at(excess, (item[second - 1], item[second]), np.repeat(weight, sizes - 1).astype(np.float32))
    softness = SOFTNESS * float(weight.mean())
    swap_order(source.derive("order").key(), starts, item, excess, target, softness, sweeps)


def pair_counts(starts: Ints, item: NDArray[Any], weight: Floats, m: int) -> NDArray[np.float32]:
    """The sum over baskets of their pairs, each basket with its weight; the diagonal is empty."""
    from scipy import sparse

    user = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    X = sparse.csr_array((np.sqrt(weight)[user].astype(np.float32), (user, item)), shape=(len(starts) - 1, m))
    S: NDArray[np.float32] = (X.T @ X).toarray()
    np.fill_diagonal(S, 0.0)
    return S


def cumulated(weights: Floats) -> NDArray[np.uint32]:
    """Rows of weights summed up from left to right and scaled to 32 bits; a row of zeros becomes uniform."""
    sums = np.cumsum(weights, axis=1)
    empty = sums[:, -1] <= 0
    sums[empty] = np.arange(1, weights.shape[1] + 1)
    return (sums * ((2**32 - 1) / sums[:, -1:])).astype(np.uint32)
