"""Walks over DS and CVS: streams of items drawn from the graph."""

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
from recveil.views.walkable import Walkable


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
