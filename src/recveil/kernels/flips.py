"""Exact randomised response by skipping: which cells of a row of bits are flipped, each with probability k / 2^32.

The number of cells before the next flip is geometric: it is at most i with probability c(i) = 1 - (1 - k/2^32)^(i+1).
Cells are looked at 64 at a time, and c(i) for i < 64 is a binary fraction of at most 2048 bits, so it can be written
down exactly. A uniform number u in [0, 1), of which only as many bits are drawn as are needed to compare it with these
fractions (32 nearly always), gives the first i with u < c(i), or "none of the 64"; then the next cells are looked at
with a fresh number. No floating-point number is involved.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from recveil.kernels.chacha import Stream, restart, stream, word
from recveil.kernels.popcount import Bits

SPAN = 64  # cells looked at with one number
_LEAD = 12
_LOW = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
_BLOCK = 512  # users whose bits make up one cache line of an item's row


def skip_table(k: int) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """The fractions c(0), ..., c(63), a row for each 32 bits of them, highest first; and the first i that is possible
    for each value of u's leading 12 bits."""
    bits = 32 * SPAN
    exact = [(1 << bits) - (((1 << 32) - k) ** (i + 1) << (bits - 32 * (i + 1))) for i in range(SPAN)]
    parts = [[(c >> (32 * (SPAN - 1 - w))) & (2**32 - 1) for c in exact] for w in range(SPAN)]
    guide = [bisect_right(exact, lead << (bits - _LEAD)) for lead in range(1 << _LEAD)]
    return np.array(parts, dtype=np.uint32), np.array(guide, dtype=np.uint8)


@njit(cache=True)
def _search(s: Stream, fractions: NDArray[np.uint32], first: int, u: Any) -> int:
    """The first index from `first` on with u < c; only 32 bits of u are known, and on a tie the rest is drawn."""
    i = first
    while i < SPAN and u > fractions[0, i]:
        i += 1
    if i == SPAN or u < fractions[0, i]:
        return i
    rest = np.empty(SPAN + 1, dtype=np.uint32)
    rest[0] = u
    for w in range(1, SPAN, 2):
        x = word(s)
        rest[w], rest[w + 1] = x >> np.uint64(32), x & _LOW
    for j in range(i, SPAN):
        for w in range(SPAN):
            if rest[w] != fractions[w, j]:
                if rest[w] < fractions[w, j]:
                    return j
                break
    return SPAN


@njit(inline="always")
def skip(s: Stream, held: Any, fractions: NDArray[np.uint32], guide: NDArray[np.uint8]) -> Any:
    """How many cells to leave as they are before the next flip (64: leave 64 and draw again), and what to hold.

    A word serves twice: its lower half is held for the next time, under a bit that says so. 0: nothing is held.
    """
    if held:
        u, held = held & _LOW, np.uint64(0)
    else:
        x = word(s)
        u, held = x >> np.uint64(32), (x & _LOW) | (_ONE << np.uint64(32))
    i = np.int64(guide[u >> np.uint64(32 - _LEAD)])
    if i == SPAN or u >= fractions[0, i]:
        i = _search(s, fractions, i, np.uint32(u))
    return i, held


@njit(cache=True, parallel=True)
def flip_profiles(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    keys: NDArray[np.uint64],
    m: int,
    fractions: NDArray[np.uint32],
    guide: NDArray[np.uint8],
    key: NDArray[np.uint64],
) -> Bits:
    """Each user's profile over m items as a row of bits, every bit flipped by the user's own stream."""
    out = np.zeros((len(keys), (m + 63) >> 6), dtype=np.uint64)
    for u in prange(len(keys)):
        row = out[u]
        for at in range(starts[u], starts[u + 1]):
            row[items[at] >> 6] |= _ONE << np.uint64(items[at] & 63)
        s = stream(key, keys[u])
        cell, held = 0, np.uint64(0)
        while True:
            step, held = skip(s, held, fractions, guide)
            cell += step
            if cell >= m:
                break
            if step < SPAN:
                row[cell >> 6] ^= _ONE << np.uint64(cell & 63)
                cell += 1
    return out


@njit(cache=True, parallel=True)
def flip_columns(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    keys: NDArray[np.uint64],
    m: int,
    fractions: NDArray[np.uint32],
    guide: NDArray[np.uint8],
    key: NDArray[np.uint64],
    out: Bits,
) -> None:
    """The same bits with a row for every item, written into `out` (of zeros), a cache line of users at a time."""
    n = len(keys)
    for block in prange((n + _BLOCK - 1) // _BLOCK):
        local = np.zeros((m, _BLOCK >> 6), dtype=np.uint64)
        s = stream(key, np.uint64(0))
        for u in range(block * _BLOCK, min(n, (block + 1) * _BLOCK)):
            column, bit = (u >> 6) & 7, _ONE << np.uint64(u & 63)
            for at in range(starts[u], starts[u + 1]):
                local[items[at], column] |= bit
            restart(s, keys[u])
            cell, held = 0, np.uint64(0)
            while True:
                step, held = skip(s, held, fractions, guide)
                cell += step
                if cell >= m:
                    break
                if step < SPAN:
                    local[cell, column] ^= bit
                    cell += 1
        first = block * (_BLOCK >> 6)
        last = min(out.shape[1], first + (_BLOCK >> 6))
        out[:m, first:last] = local[:, : last - first]


@njit(cache=True)
def flip_cells(
    cells: int, fractions: NDArray[np.uint32], guide: NDArray[np.uint8], s: Stream, room: int
) -> NDArray[np.int64]:
    """The flipped ones among `cells` cells, in order; `room` is a first guess at how many."""
    out = np.empty(room, dtype=np.int64)
    found, cell, held = 0, 0, np.uint64(0)
    while True:
        step, held = skip(s, held, fractions, guide)
        cell += step
        if cell >= cells:
            return out[:found]
        if step < SPAN:
            if found == len(out):
                larger = np.empty(2 * found + 16, dtype=np.int64)
                larger[:found] = out
                out = larger
            out[found] = cell
            found += 1
            cell += 1
