"""Keyed random streams inside kernels: the ChaCha cipher with 12 rounds, counter mode, one stream per record.

A stream is addressed by (key, number): whoever draws for record number i draws the same values on any thread, in any
chunk, on any engine. The number stands in the cipher's nonce; stream 0 is randomgen's ChaCha(key=key, rounds=12).
Blocks are made one at a time at first, since most streams are short; a long one gets many at once, side by side in the
lanes of vector registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, uint32, uint64
from numpy.typing import NDArray

# As the cipher has it: key (8 words), next block (2), number (2); then how many pairs of words are used, and how many
# are there; from 16 on the 16 words of up to 16 blocks, word by word, so that the lanes of a word stand together.
Stream = NDArray[np.uint32]

_DOUBLE_ROUNDS = 6
_LANES = 16
_ALONE = 4  # blocks that are made one at a time
_USED, _THERE, _HEAD = 12, 13, 16
_CONSTANTS = (uint32(0x61707865), uint32(0x3320646E), uint32(0x79622D32), uint32(0x6B206574))
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
def _quarters(x: Any, a: int, b: int, c: int, d: int) -> None:
    for lane in range(_LANES):
        x[a, lane], x[b, lane], x[c, lane], x[d, lane] = _quarter(x[a, lane], x[b, lane], x[c, lane], x[d, lane])


@njit(inline="always")
def _join(low: Any, high: Any) -> Any:
    return uint64(low) | (uint64(high) << _HALF)


@njit(inline="always")
def _advance(s: Stream, blocks: int) -> None:
    block = _join(s[8], s[9]) + uint64(blocks)
    s[8], s[9] = uint32(block), uint32(block >> _HALF)
    s[_USED], s[_THERE] = uint32(0), uint32(8 * blocks)


@njit(cache=True)
def _one_block(s: Stream) -> None:
    x0, x1, x2, x3 = _CONSTANTS
    x4, x5, x6, x7 = s[0], s[1], s[2], s[3]
    x8, x9, x10, x11 = s[4], s[5], s[6], s[7]
    x12, x13, x14, x15 = s[8], s[9], s[10], s[11]
    for _ in range(_DOUBLE_ROUNDS):
        x0, x4, x8, x12 = _quarter(x0, x4, x8, x12)
        x1, x5, x9, x13 = _quarter(x1, x5, x9, x13)
        x2, x6, x10, x14 = _quarter(x2, x6, x10, x14)
        x3, x7, x11, x15 = _quarter(x3, x7, x11, x15)
        x0, x5, x10, x15 = _quarter(x0, x5, x10, x15)
        x1, x6, x11, x12 = _quarter(x1, x6, x11, x12)
        x2, x7, x8, x13 = _quarter(x2, x7, x8, x13)
        x3, x4, x9, x14 = _quarter(x3, x4, x9, x14)
    ends = (x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15)
    for j in range(16):
        s[_HEAD + _LANES * j] = uint32(ends[j] + (_CONSTANTS[j] if j < 4 else s[j - 4]))
    _advance(s, 1)


@njit(inline="always")
def _add_initial(s: Stream, x: Any) -> None:
    """Add to every lane what its rounds begin with."""
    for j in range(16):
        begin = _CONSTANTS[j] if j < 4 else s[j - 4]
        for lane in range(_LANES):
            x[j, lane] += begin
    low, high = s[8], s[9]
    first = _join(low, high)
    for lane in range(_LANES):
        block = first + uint64(lane)
        x[12, lane] += uint32(block) - low
        x[13, lane] += uint32(block >> _HALF) - high


@njit(cache=True)
def _many_blocks(s: Stream) -> None:
    x = s[_HEAD:].reshape(16, _LANES)
    x[:] = uint32(0)
    _add_initial(s, x)
    for _ in range(_DOUBLE_ROUNDS):
        _quarters(x, 0, 4, 8, 12)
        _quarters(x, 1, 5, 9, 13)
        _quarters(x, 2, 6, 10, 14)
        _quarters(x, 3, 7, 11, 15)
        _quarters(x, 0, 5, 10, 15)
        _quarters(x, 1, 6, 11, 12)
        _quarters(x, 2, 7, 8, 13)
        _quarters(x, 3, 4, 9, 14)
    _add_initial(s, x)
    _advance(s, _LANES)


@njit(cache=True)
def stream(key: NDArray[np.uint64], number: Any) -> Stream:
    """The stream with this number under a key of four words of 64 bits."""
    s = np.empty(_HEAD + 16 * _LANES, dtype=np.uint32)
    for k in range(4):
        s[2 * k], s[2 * k + 1] = uint32(key[k]), uint32(key[k] >> _HALF)
    restart(s, number)
    return s


@njit(cache=True)
def restart(s: Stream, number: Any) -> None:
    """Turn a stream into the one with another number, without allocating."""
    s[8] = s[9] = s[_USED] = s[_THERE] = uint32(0)
    s[10], s[11] = uint32(uint64(number)), uint32(uint64(number) >> _HALF)


@njit(cache=True)
def _refill(s: Stream) -> None:
    if s[9] == 0 and s[8] < _ALONE:
        _one_block(s)
    else:
        _many_blocks(s)


@njit(inline="always")
def word(s: Stream) -> Any:
    """The next 64 random bits."""
    if s[_USED] == s[_THERE]:
        _refill(s)
    at = uint64(s[_USED])
    s[_USED] = uint32(at + uint64(1))
    place = uint64(_HEAD) + (at & uint64(7)) * uint64(2 * _LANES) + (at >> uint64(3))
    return _join(s[place], s[place + uint64(_LANES)])


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
