"""Bit-packed matrices: setting, reading and flipping bits, one row per user or per item."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from recveil.kernels.popcount import Bits, ones

_ONE = np.uint64(1)


@njit(cache=True, parallel=True)
def unpack(bits: Bits) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Where each row's ones start, and their places in order."""
    starts = np.zeros(bits.shape[0] + 1, dtype=np.int64)
    for u in prange(bits.shape[0]):
        total = np.uint64(0)
        for w in range(bits.shape[1]):
            total += ones(bits[u, w])
        starts[u + 1] = np.int64(total)
    starts = np.cumsum(starts)
    places = np.empty(starts[-1], dtype=np.int32)
    for u in prange(bits.shape[0]):
        at = starts[u]
        for w in range(bits.shape[1]):
            left: Any = bits[u, w]
            while left:
                lowest = left & (~left + _ONE)
                places[at] = np.int32((w << 6) + np.int64(ones(lowest - _ONE)))
                at += 1
                left ^= lowest
    return starts, places


@njit(cache=True, parallel=True)
def pack(starts: NDArray[np.int64], users: NDArray[np.int32], out: Bits) -> None:
    """Set the bits of each item's users in `out` (of zeros), a row for every item."""
    for i in prange(len(starts) - 1):
        for at in range(starts[i], starts[i + 1]):
            out[i, users[at] >> 6] |= _ONE << np.uint64(users[at] & 63)


@njit(cache=True)
def toggle(bits: Bits, cells: NDArray[np.int64], users: int) -> None:
    """Flip the given cells in place; cell = item * users + user."""
    for cell in cells:
        item, user = cell // users, cell % users
        bits[item, user >> 6] ^= _ONE << np.uint64(user & 63)
