"""Supports by counting bits: one row of bits per item, one bit per user.

Two rows against four at a time, so that every word loaded is used more than once; items in tiles and words in strips,
so that what is used again is still in the cache. Rows come padded to a multiple of four (columns.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange, types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

Bits = NDArray[np.uint64]

_TILE = 128  # items in a tile
_STRIP = 512  # words of a row that are looked at together


@intrinsic
def _ctpop(context: Any, word: Any) -> Any:  # noqa: ARG001
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), build


def ones(word: Any) -> Any:
    """How many bits of a word are set."""
    return np.uint64(np.bitwise_count(word))


@overload(ones)
def _ones(word: Any) -> Any:  # noqa: ARG001
    def count(word: Any) -> Any:
        return _ctpop(word)

    return count


@njit(cache=True)
def _tile(bits: Bits, others: Bits, i0: int, i1: int, j0: int, j1: int, out: NDArray[np.int32]) -> None:
    """Add to `out` what rows i0 to i1 have in common with the other rows j0 to j1."""
    words = bits.shape[1]
    for start in range(0, words, _STRIP):
        end = min(words, start + _STRIP)
        for i in range(i0, i1, 2):
            a, b = bits[i, start:end], bits[i + 1, start:end]
            for j in range(j0, j1, 4):
                c, d = others[j, start:end], others[j + 1, start:end]
                e, f = others[j + 2, start:end], others[j + 3, start:end]
                ac = ad = ae = af = bc = bd = be = bf = np.uint64(0)
                for k in range(end - start):
                    x, y = a[k], b[k]
                    ac += ones(x & c[k])
                    ad += ones(x & d[k])
                    ae += ones(x & e[k])
                    af += ones(x & f[k])
                    bc += ones(y & c[k])
                    bd += ones(y & d[k])
                    be += ones(y & e[k])
                    bf += ones(y & f[k])
                upper, lower = out[i], out[i + 1]
                upper[j] += np.int32(ac)
                upper[j + 1] += np.int32(ad)
                upper[j + 2] += np.int32(ae)
                upper[j + 3] += np.int32(af)
                lower[j] += np.int32(bc)
                lower[j + 1] += np.int32(bd)
                lower[j + 2] += np.int32(be)
                lower[j + 3] += np.int32(bf)


@njit(cache=True, parallel=True)
def pair_counts(bits: Bits) -> NDArray[np.int32]:
    """How many users have both items, for every pair; the diagonal has the items' own counts."""
    m = bits.shape[0]
    out = np.zeros((m, m), dtype=np.int32)
    tiles = (m + _TILE - 1) // _TILE
    for task in prange(tiles * (tiles + 1) // 2):
        row, left = 0, task + 0
        while left >= tiles - row:
            left -= tiles - row
            row += 1
        column = row + left
        i0, j0 = row * _TILE, column * _TILE
        i1, j1 = min(m, i0 + _TILE), min(m, j0 + _TILE)
        _tile(bits, bits, i0, i1, j0, j1, out)
        if row != column:
            for i in range(i0, i1):
                for j in range(j0, j1):
                    out[j, i] = out[i, j]
    return out


@njit(cache=True, parallel=True)
def add_counts(bits: Bits, others: Bits, out: NDArray[np.int32]) -> None:
    """Add to `out` how many users have both items, for every row of bits and every other row, of the same users."""
    m = others.shape[0]
    for tile in prange((m + _TILE - 1) // _TILE):
        j0 = tile * _TILE
        j1 = min(m, j0 + _TILE)
        for i0 in range(0, bits.shape[0], _TILE):
            _tile(bits, others, i0, min(bits.shape[0], i0 + _TILE), j0, j1, out)


def stripe_counts(bits: Bits, first: int, last: int) -> NDArray[np.int32]:
    """The rows `first` to `last` (multiples of two) of pair_counts, for matrices too large to hold."""
    out = np.zeros((last - first, len(bits)), dtype=np.int32)
    add_counts(bits[first:last], bits, out)
    return out


@njit(cache=True, parallel=True)
def single_counts(bits: Bits) -> NDArray[np.int64]:
    """How many users have each item."""
    out = np.zeros(bits.shape[0], dtype=np.int64)
    for i in prange(bits.shape[0]):
        row = bits[i]
        total = np.uint64(0)
        for k in range(len(row)):
            total += ones(row[k])
        out[i] = np.int64(total)
    return out
