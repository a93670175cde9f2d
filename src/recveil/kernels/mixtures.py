"""The weights of a mixture by expectation and maximisation: thousands of steps on small tables."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

LEAST = 1e-12  # a weight that once were 0 would stay so


@njit(cache=True)
def mixture_weights(
    likelihood: NDArray[np.float64], counts: NDArray[np.int64], weight: NDArray[np.float64], steps: int
) -> NDArray[np.float64]:
    """Weights of the columns after so many steps, where row r of the likelihood was seen counts[r] times."""
    rows, columns = likelihood.shape
    found = weight.copy()
    total = max(counts.sum(), 1)
    for _ in range(steps):
        gained = np.zeros(columns)
        for r in range(rows):
            if counts[r] == 0:
                continue
            whole = 0.0
            for c in range(columns):
                whole += likelihood[r, c] * found[c]
            share = counts[r] / whole
            for c in range(columns):
                gained[c] += share * likelihood[r, c]
        for c in range(columns):
            found[c] = max(gained[c] * found[c] / total, LEAST)
    return found
