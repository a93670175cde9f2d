"""Exact random permutations, one keyed stream per group of rows."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from recveil.kernels.chacha import below, stream


@njit(cache=True, parallel=True)
def shuffle_per_group(
    starts: NDArray[np.int64],
    keys: NDArray[np.uint64],
    values: NDArray[np.float64],
    fixed: NDArray[np.bool_],
    key: NDArray[np.uint64],
) -> NDArray[np.float64]:
    """The values, uniformly permuted within every group that is not fixed (Fisher and Yates), from its own stream."""
    shuffled = values.copy()
    for g in prange(len(starts) - 1):
        begin, n = starts[g], starts[g + 1] - starts[g]
        if fixed[g] or n < 2:
            continue
        s = stream(key, keys[g])
        for last in range(n - 1, 0, -1):
            other = begin + below(s, last + 1)
            shuffled[begin + last], shuffled[other] = shuffled[other], shuffled[begin + last]
    return shuffled
