"""The taste of a stranger under a pairwise ranking model whose items are already learned."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from recveil.kernels.chacha import below, stream


@njit(cache=True, parallel=True)
def fold_in(
    starts: NDArray[np.int64],
    history: NDArray[np.int32],
    V: NDArray[np.float64],
    bias: NDArray[np.float64],
    epochs: int,
    rate: float,
    penalty: float,
    key: NDArray[np.uint64],
    numbers: NDArray[np.int64],
) -> NDArray[np.float64]:
    """One factor row per person: stochastic steps of BPR on her history with V and the biases fixed.

    `history` is sorted within a person; person p draws from stream numbers[p]. A drawn item that is in the history is
    skipped.
    """
    people, (n_items, k) = len(starts) - 1, V.shape
    U = np.zeros((people, k))
    for p in prange(people):
        mine = history[starts[p] : starts[p + 1]]
        s = stream(key, numbers[p])
        for _ in range(epochs):
            for i in mine:
                j = np.int64(below(s, n_items))
                at = np.searchsorted(mine, j)
                if at < len(mine) and mine[at] == j:
                    continue
                gap = bias[i] - bias[j]
                for f in range(k):
                    gap += U[p, f] * (V[i, f] - V[j, f])
                z = 1.0 / (1.0 + np.exp(gap))
                for f in range(k):
                    U[p, f] += rate * (z * (V[i, f] - V[j, f]) - penalty * U[p, f])
    return U
