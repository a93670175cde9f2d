"""Walks over DS and CVS: the graph in the form the kernels want, and streams of items drawn from it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray
from scipy import sparse

from recveil.data import Codes
from recveil.kernels.alias import alias_tables, alias_walks
from recveil.kernels.walks import Graph, Laws, memory_walks
from recveil.randomness import Source
from recveil.transitions import Transitions

BLOCKS = 32
DENSE_ITEMS = (
    10_000  # up to here CVS is held dense as well; beyond, only as many columns as keep it linear in non-zeros
)


@dataclass(frozen=True, eq=False)
class Walkable:
    """DS and CVS ready to be walked. Kernels name items by rank, the most common first."""

    rank: NDArray[np.uint32]  # of each item code
    code: Codes  # of each rank
    graph: Graph


@dataclass(frozen=True, eq=False)
class Streams:
    """Stream numbers[i] is items[starts[i]:starts[i + 1]], seeded by clickstream seed[i]."""

    numbers: NDArray[np.int64]
    starts: NDArray[np.int64]
    items: Codes
    seed: NDArray[np.int64]

    def take(self, wanted: NDArray[np.bool_]) -> Streams:
        lengths = np.diff(self.starts)
        starts = np.concatenate([[0], np.cumsum(lengths[wanted])])
        return Streams(self.numbers[wanted], starts, self.items[np.repeat(wanted, lengths)], self.seed[wanted])


@dataclass(frozen=True, eq=False)
class Seeds:
    """Real clickstreams that may seed a walk: the i-th is items[starts[i]:starts[i + 1]]."""

    starts: NDArray[np.int64]
    items: Codes


def walkable(moves: Transitions) -> Walkable:
    """DS and CVS over ranks, with block bounds."""
    n = len(moves.items)
    order = np.argsort(-_largest(moves.cvs), kind="stable").astype(np.int32)
    rank = np.empty(n, dtype=np.uint32)
    rank[order] = np.arange(n, dtype=np.uint32)
    ds, cvs = _ranked(moves.ds, rank), _ranked(moves.cvs, rank)
    mass = np.cumsum(np.asarray(ds.sum(axis=0), dtype=np.float64))
    cuts = np.searchsorted(mass, mass[-1] * np.arange(1, BLOCKS) / BLOCKS) + 1
    block = np.searchsorted(cuts, np.arange(n), side="right")  # of each rank
    member = sparse.csr_array((np.ones(n), (np.arange(n), block)), shape=(n, BLOCKS))
    blocks = np.zeros((n, BLOCKS + 1), dtype=np.uint64)
    np.cumsum((_ones(ds) @ member).toarray(), axis=1, out=blocks[:, 1:], dtype=np.uint64)
    blocks += ds.indptr[:-1, None].astype(np.uint64)
    graph = Graph(
        ds.indices.astype(np.uint32),
        ds.data.astype(np.float64),
        blocks,
        (ds.astype(np.float64) @ member).toarray(),
        _peaks(cvs, block),
        cvs[:, : _dense_columns(cvs)].astype(np.float32).toarray(),
        cvs.indptr.astype(np.uint64),
        cvs.indices.astype(np.uint32),
        cvs.data.astype(np.float64),
    )
    return Walkable(rank, order, graph)


def memory_streams(
    over: Walkable,
    seeds: Seeds,
    who: NDArray[np.int64],
    numbers: NDArray[np.int64],
    laws: Laws,
    source: Source,
    *,
    sliding: bool,
    repeats: bool = True,
) -> Streams:
    """Memory biased walks, each seeded by clickstream who[i], and drawn from stream numbers[i] under the key."""
    clicks = over.rank[seeds.items]
    walk = partial(_walk, over.graph, seeds, clicks, laws, sliding, repeats, source.key())
    threads = max(1, min(get_num_threads(), len(numbers) // 1000))
    with ThreadPoolExecutor(threads) as pool:
        done = list(pool.map(walk, np.array_split(numbers, threads), np.array_split(who, threads)))
    lengths = np.concatenate([np.diff(offsets) for _, offsets in done])
    items = over.code[np.concatenate([items for items, _ in done])]
    return Streams(numbers, np.concatenate([[0], np.cumsum(lengths)]), items, who)


def cvs_walks(cvs: sparse.csr_array, first: Codes, hops: int, source: Source, *, weighted: bool) -> Codes:
    """Random walks on the CVS graph: to any neighbour alike, or in proportion to CVS if `weighted`; -1: at an end."""
    starts, items = cvs.indptr.astype(np.int64), cvs.indices.astype(np.int32)
    weights = cvs.data.astype(np.float64) if weighted else np.ones(cvs.nnz)
    walks: Codes = alias_walks(starts, items, *alias_tables(starts, weights), first, hops, source.key())
    return walks


def _walk(
    graph: Graph,
    seeds: Seeds,
    clicks: NDArray[np.uint32],
    laws: Laws,
    sliding: bool,
    repeats: bool,
    key: NDArray[np.uint64],
    numbers: NDArray[np.int64],
    who: NDArray[np.int64],
) -> Any:
    return memory_walks(graph, seeds.starts, clicks, numbers.astype(np.uint64), who, laws, sliding, repeats, key)


def _largest(matrix: sparse.csr_array) -> NDArray[np.int64]:
    largest = np.zeros(matrix.shape[0], dtype=np.int64)
    np.maximum.at(largest, np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.data)
    return largest


def _ranked(matrix: sparse.csr_array, rank: NDArray[np.uint32]) -> sparse.csr_array:
    cells = matrix.tocoo()
    ranked = sparse.coo_array((cells.data, (rank[cells.row], rank[cells.col])), shape=matrix.shape).tocsr()
    ranked.sort_indices()
    return ranked


def _ones(matrix: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)


def _peaks(cvs: sparse.csr_array, block: NDArray[np.int64]) -> NDArray[np.float64]:
    peak = np.zeros((cvs.shape[0], BLOCKS))
    rows = np.repeat(np.arange(cvs.shape[0]), np.diff(cvs.indptr))
    np.maximum.at(peak, (rows, block[cvs.indices]), cvs.data)
    return peak


def _dense_columns(cvs: sparse.csr_array) -> int:
    n = int(cvs.shape[0])
    return n if n <= DENSE_ITEMS else min(n, max(1, cvs.nnz // n))
