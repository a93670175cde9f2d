"""Walks over DS and CVS: streams of items drawn from the graph."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import Codes
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
    laws: kernels.walks.Laws,
    source: Source,
    *,
    sliding: bool,
    repeats: bool = True,
) -> Streams:
    """Memory biased walks, each seeded by clickstream who[i], and drawn from stream numbers[i] under the key."""
    from numba import get_num_threads

    clicks = over.rank[seeds.items]
    walk = partial(_walk, over.graph, seeds, clicks, laws, sliding, repeats, source.key())
    threads = max(1, min(get_num_threads(), len(numbers) // 1000))
    with ThreadPoolExecutor(threads) as pool:
        done = list(pool.map(walk, np.array_split(numbers, threads), np.array_split(who, threads)))
    lengths = np.concatenate([np.diff(offsets) for _, offsets in done])
    items = over.code[np.concatenate([items for items, _ in done])]
    return Streams(numbers, np.concatenate([[0], np.cumsum(lengths)]), items, who)


def _walk(
    graph: kernels.walks.Graph,
    seeds: Seeds,
    clicks: NDArray[np.uint32],
    laws: kernels.walks.Laws,
    sliding: bool,
    repeats: bool,
    key: NDArray[np.uint64],
    numbers: NDArray[np.int64],
    who: NDArray[np.int64],
) -> Any:
    return kernels.walks.memory_walks(
        graph, seeds.starts, clicks, numbers.astype(np.uint64), who, laws, sliding, repeats, key
    )
