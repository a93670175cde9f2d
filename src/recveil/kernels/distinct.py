"""Sequences as sets: the items of each, once and in ascending order."""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, njit, prange
from numpy.typing import NDArray


def distinct(starts: NDArray[np.int64], items: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The different items of each sequence, ascending: where each set begins, and all of them in a row."""
    ordered, sizes = _ordered(starts, items, 8 * get_num_threads())
    begins = np.zeros(len(starts), dtype=np.int64)
    np.cumsum(sizes, out=begins[1:])
    return begins, _packed(starts, ordered, begins)


@njit(cache=True, parallel=True)
def _ordered(
    starts: NDArray[np.int64], items: NDArray[np.int32], tasks: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Each sequence sorted in its place with its repeats left out, and how many items remain."""
    out = np.empty_like(items)
    sizes = np.empty(len(starts) - 1, dtype=np.int64)
    for task in prange(tasks):
        for r in range(len(sizes) * task // tasks, len(sizes) * (task + 1) // tasks):
            begin = starts[r]
            n = begin
            for p in range(begin, starts[r + 1]):  # insertion: sequences are short
                item = items[p]
                q = n
                while q > begin and out[q - 1] > item:
                    q -= 1
                if q > begin and out[q - 1] == item:
                    continue
                for move in range(n, q, -1):
                    out[move] = out[move - 1]
                out[q] = item
                n += 1
            sizes[r] = n - begin
    return out, sizes


@njit(cache=True, parallel=True)
def _packed(starts: NDArray[np.int64], ordered: NDArray[np.int32], begins: NDArray[np.int64]) -> NDArray[np.int32]:
    out = np.empty(begins[-1], dtype=np.int32)
    for r in prange(len(starts) - 1):
        for j in range(begins[r + 1] - begins[r]):
            out[begins[r] + j] = ordered[starts[r] + j]
    return out
