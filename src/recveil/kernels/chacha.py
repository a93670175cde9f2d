"""Keyed random streams inside kernels: the ChaCha cipher with 12 rounds, counter mode, one stream per record.

A stream is addressed by (key, number): whoever draws for record number i draws the same values on any thread, in any
chunk, on any engine. The number stands in the cipher's nonce; stream 0 is randomgen's ChaCha(key=key, rounds=12).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, uint32, uint64
from numpy.typing import NDArray

Stream = NDArray[np.uint64]  # key (4 words), number, next block, words used, unused, then the block's 8 words

_DOUBLE_ROUNDS = 6
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_TO_UNIT = 2.0**-53


@njit(inline="always")
def _turn(x: Any, by: int) -> Any:
    return uint32((x << uint32(by)) | (x >> uint32(32 - by)))


@njit(inline="always")
def _quarter(a: Any, b: Any, c: Any, d: Any) -> Any:
    a = uint32(a + b)
    d = _turn(uint32(d ^ a), 16)
    c = uint32(c + d)
    b = _turn(uint32(b ^ c), 12)
    a = uint32(a + b)
    d = _turn(uint32(d ^ a), 8)
    c = uint32(c + d)
    b = _turn(uint32(b ^ c), 7)
    return a, b, c, d


@njit(inline="always")
def _join(low: Any, high: Any) -> Any:
    return uint64(low) | (uint64(high) << _HALF)


@njit(cache=True)
def _refill(s: Stream) -> None:
    c0, c1, c2, c3 = uint32(0x61707865), uint32(0x3320646E), uint32(0x79622D32), uint32(0x6B206574)
    k0, k1 = uint32(s[0] & _LOW), uint32(s[0] >> _HALF)
    k2, k3 = uint32(s[1] & _LOW), uint32(s[1] >> _HALF)
    k4, k5 = uint32(s[2] & _LOW), uint32(s[2] >> _HALF)
    k6, k7 = uint32(s[3] & _LOW), uint32(s[3] >> _HALF)
    b0, b1 = uint32(s[5] & _LOW), uint32(s[5] >> _HALF)
    n0, n1 = uint32(s[4] & _LOW), uint32(s[4] >> _HALF)
    x0, x1, x2, x3 = c0, c1, c2, c3
    x4, x5, x6, x7 = k0, k1, k2, k3
    x8, x9, x10, x11 = k4, k5, k6, k7
    x12, x13, x14, x15 = b0, b1, n0, n1
    for _ in range(_DOUBLE_ROUNDS):
        x0, x4, x8, x12 = _quarter(x0, x4, x8, x12)
        x1, x5, x9, x13 = _quarter(x1, x5, x9, x13)
        x2, x6, x10, x14 = _quarter(x2, x6, x10, x14)
        x3, x7, x11, x15 = _quarter(x3, x7, x11, x15)
        x0, x5, x10, x15 = _quarter(x0, x5, x10, x15)
        x1, x6, x11, x12 = _quarter(x1, x6, x11, x12)
        x2, x7, x8, x13 = _quarter(x2, x7, x8, x13)
        x3, x4, x9, x14 = _quarter(x3, x4, x9, x14)
    s[8] = _join(uint32(x0 + c0), uint32(x1 + c1))
    s[9] = _join(uint32(x2 + c2), uint32(x3 + c3))
    s[10] = _join(uint32(x4 + k0), uint32(x5 + k1))
    s[11] = _join(uint32(x6 + k2), uint32(x7 + k3))
    s[12] = _join(uint32(x8 + k4), uint32(x9 + k5))
    s[13] = _join(uint32(x10 + k6), uint32(x11 + k7))
    s[14] = _join(uint32(x12 + b0), uint32(x13 + b1))
    s[15] = _join(uint32(x14 + n0), uint32(x15 + n1))
    s[5] += uint64(1)
    s[6] = uint64(0)


@njit(cache=True)
def stream(key: NDArray[np.uint64], number: Any) -> Stream:
    """The stream with this number under a key of four words."""
    s = np.zeros(16, dtype=np.uint64)
    s[:4] = key
    restart(s, number)
    return s


@njit(cache=True)
def restart(s: Stream, number: Any) -> None:
    """Turn a stream into the one with another number, without allocating."""
    s[4] = uint64(number)
    s[5] = uint64(0)
    s[6] = uint64(8)


@njit(inline="always")
def word(s: Stream) -> Any:
    """The next 64 random bits."""
    if s[6] == uint64(8):
        _refill(s)
    at = s[6]
    s[6] = at + uint64(1)
    return s[uint64(8) + at]


@njit(inline="always")
def uniform(s: Stream) -> Any:
    """The next double in [0, 1), with 53 random bits."""
    return (word(s) >> uint64(11)) * _TO_UNIT


@njit(cache=True)
def below(s: Stream, n: Any) -> Any:
    """The next integer in [0, n), exactly uniform (words that would favour some value are thrown away)."""
    bound = uint64(n)
    unfair = uint64(0xFFFFFFFFFFFFFFFF) - uint64(0xFFFFFFFFFFFFFFFF) % bound
    x = word(s)
    while x >= unfair:
        x = word(s)
    return np.int64(x % bound)
