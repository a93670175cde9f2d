"""Uniform integers and Laplace noise, one keyed stream per group of rows."""

from __future__ import annotations

from math import log

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from recveil.kernels.chacha import below, stream, uniform, word


@njit(cache=True, parallel=True)
def laplace_per_group(
    starts: NDArray[np.int64], keys: NDArray[np.uint64], key: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """For every row Laplace noise of scale 1 in floating point, from the group's own stream."""
    drawn = np.empty(starts[-1])
    for g in prange(len(starts) - 1):
        if starts[g] == starts[g + 1]:
            continue
        s = stream(key, keys[g])
        for row in range(starts[g], starts[g + 1]):
            far = -log(1.0 - uniform(s))
            drawn[row] = far if word(s) & np.uint64(1) else -far
    return drawn


@njit(cache=True, parallel=True)
def below_per_group(
    starts: NDArray[np.int64], keys: NDArray[np.uint64], bounds: NDArray[np.int64], key: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """For every row an integer in [0, bound of the row), exactly uniform, from the group's own stream."""
    drawn = np.empty(starts[-1], dtype=np.int64)
    for g in prange(len(starts) - 1):
        if starts[g] == starts[g + 1]:
            continue
        s = stream(key, keys[g])
        for row in range(starts[g], starts[g + 1]):
            drawn[row] = below(s, bounds[row])
    return drawn
