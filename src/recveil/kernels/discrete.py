"""Exact draws from a discrete law with log-concave weights: integers only, whatever lies in doubt is left open.

A law on start, start + 1, ... is cut into buckets of 2**bits values. A bucket is found by comparing 64 random bits with
certified bounds of the cumulative law, a value inside it by rejection with a coin that shows heads with probability
exp(-gamma), gamma a fraction of integers. docs/guarantees/noise.md has the proof.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange, uint64
from numpy.typing import NDArray

from recveil.kernels.chacha import Stream, below, restart, stream, word

BLOCK = 256  # cells that share a stream
GUIDE_BITS = 10


@njit(cache=True)
def coin(s: Stream, numerator: Any, denominator: Any) -> Any:
    """Heads with probability exp(-numerator / denominator), for 0 <= numerator <= denominator."""
    k = 1
    while below(s, denominator) < numerator and (k == 1 or below(s, k) == 0):
        k += 1
    return k % 2 == 1


@njit(cache=True)
def bucket(u: Any, low: NDArray[np.uint64], high: NDArray[np.uint64], guide: NDArray[np.int64]) -> Any:
    """The bucket in which a uniform number that begins with the 64 bits u must lie; -1 where these do not decide."""
    j = guide[u >> uint64(64 - GUIDE_BITS)]
    while j < len(low) and u >= low[j]:
        j += 1
    if j == len(low) or (j > 0 and u < high[j - 1]):
        return np.int64(-1)
    return np.int64(j)


@njit(cache=True)
def _draw_block(
    values: NDArray[np.int64],
    left_open: NDArray[np.bool_],
    b: int,
    key: NDArray[np.uint64],
    first: int,
    low: NDArray[np.uint64],
    high: NDArray[np.uint64],
    guide: NDArray[np.int64],
    start: int,
    bits: int,
    numerator: int,
    denominator: int,
    gaussian: bool,
    signed: bool,
) -> None:
    s = stream(key, b)
    mask = (uint64(1) << uint64(bits)) - uint64(1)
    for i in range(b * BLOCK, min((b + 1) * BLOCK, first + len(values))):
        x, found = np.int64(0), False
        while not found:
            u = word(s)
            j = bucket(u, low, high, guide)
            if j < 0:
                x = np.int64(u)
                break
            y = start + (j << bits)
            rest = word(s) if signed or bits > 0 else uint64(0)
            r = np.int64(rest & mask)
            above = r * (2 * y + r) if gaussian else r
            x = y + r
            if signed and (rest >> uint64(63)) != 0:
                x = -x
                if x == 0:
                    continue
            found = r == 0 or coin(s, numerator * above, denominator)
        if i >= first:
            values[i - first] = x
            left_open[i - first] = not found


@njit(cache=True, nogil=True)
def draw_few(
    values: NDArray[np.int64],
    left_open: NDArray[np.bool_],
    key: NDArray[np.uint64],
    first: int,
    table: tuple[Any, ...],
) -> None:
    """`draw_many` on one core: threads would cost more than they save."""
    for b in range(first // BLOCK, (first + len(values) + BLOCK - 1) // BLOCK):
        _draw_block(values, left_open, b, key, first, *table)


@njit(cache=True, parallel=True)
def draw_many(
    values: NDArray[np.int64],
    left_open: NDArray[np.bool_],
    key: NDArray[np.uint64],
    first: int,
    table: tuple[Any, ...],
) -> None:
    """Fill in the values of the cells from `first` on, and which of them are open: these hold the 64 bits drawn.

    Cell i is drawn from the stream numbered i // BLOCK, after the cells that stand before it in its block. table: low,
    high, guide, start, bits, then numerator and denominator of the coins, gaussian or not, signed or not.
    """
    for b in prange(first // BLOCK, (first + len(values) + BLOCK - 1) // BLOCK):
        _draw_block(values, left_open, b, key, first, *table)


@njit(cache=True)
def zero_cells(
    key: NDArray[np.uint64], number: int, n: int, n_cells: int, nonzero: NDArray[np.int64]
) -> NDArray[np.int64]:
    """n cells drawn uniformly, with repetition, among those of 0 .. n_cells - 1 that are not in `nonzero` (sorted)."""
    cells = np.empty(n, dtype=np.int64)
    s = stream(key, number)
    for i in range(n):
        while True:
            c = below(s, n_cells)
            at = np.searchsorted(nonzero, c)
            if at == len(nonzero) or nonzero[at] != c:
                break
        cells[i] = c
    return cells


@njit(cache=True, nogil=True)
def words(key: NDArray[np.uint64], number: int, n: int) -> NDArray[np.uint64]:
    """The first n words of a stream."""
    s = stream(key, number)
    restart(s, number)
    drawn = np.empty(n, dtype=np.uint64)
    for i in range(n):
        drawn[i] = word(s)
    return drawn
