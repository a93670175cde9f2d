"""Neighbourhoods of what a baseline leaves of ratings, from sparse rows: no table of pairs is ever held."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import get_num_threads, njit, prange
from numpy.typing import NDArray

from recveil.kernels.neighbourhoods import insert


def weighted_residuals(
    rows: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]],
    columns: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]],
    asked: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]],
    k: int,
    shrinkage: float,
) -> NDArray[np.float64]:
    """For each question (row, column): the mean residual in the column of the k rows most like this one.

    The matrix of residuals comes by rows and by columns: (starts, codes, values). Questions come by rows: (starts, the
    rows, their columns). The similarity of two rows is their correlation about zero over the n columns that they share,
    times (n - 1) / (n - 1 + shrinkage); it is the weight, and only positive ones count. 0 where there is none.
    """
    found: NDArray[np.float64] = _weighted(*rows, *columns, *asked, k, float(shrinkage), get_num_threads())
    return found


@njit(cache=True, parallel=True)
def _weighted(
    starts: Any,
    codes: Any,
    values: Any,
    column_starts: Any,
    members: Any,
    theirs: Any,
    asked_starts: Any,
    askers: Any,
    asked: Any,
    k: int,
    shrinkage: float,
    threads: int,
) -> Any:
    found = np.zeros(len(asked))
    for thread in prange(threads):
        shared = np.zeros((len(starts) - 1, 4))  # with each row: columns shared, products, squares here, squares there
        near, nearness = np.empty(k, dtype=np.int32), np.empty(k)
        for n in range(thread, len(askers), threads):
            x = askers[n]
            for at in range(starts[x], starts[x + 1]):
                mine = values[at]
                for cell in range(column_starts[codes[at]], column_starts[codes[at] + 1]):
                    other, line = theirs[cell], shared[members[cell]]
                    line[0] += 1.0
                    line[1] += mine * other
                    line[2] += mine * mine
                    line[3] += other * other
            for question in range(asked_starts[n], asked_starts[n + 1]):
                first, last = column_starts[asked[question]], column_starts[asked[question] + 1]
                size = 0
                for cell in range(first, last):
                    common, products, here, there = shared[members[cell]]
                    if common >= 2.0 and products > 0.0 and members[cell] != x:
                        likeness = products / np.sqrt(here * there) * ((common - 1.0) / (common - 1.0 + shrinkage))
                        size = insert(near, nearness, size, cell, likeness)
                weight, total = 0.0, 0.0
                for place in range(size):
                    weight += nearness[place]
                    total += nearness[place] * theirs[near[place]]
                if weight > 0.0:
                    found[question] = total / weight
            for at in range(starts[x], starts[x + 1]):
                for cell in range(column_starts[codes[at]], column_starts[codes[at] + 1]):
                    shared[members[cell]] = 0.0
    return found
