"""Continual counters: running totals that are published look after look, with exact noise and one budget for all looks.

The table of running totals is A x, where x holds what came in between two looks and A adds up. A is written as L R:
R is lower triangular, constant along its diagonals, close to the square root of A. Published is R x in whole numbers
plus exact discrete Gaussian noise z; everything else is post-processing: L times that, which is the totals plus L z.
One change moves R x by one column of R, so the budget holds for all looks together. docs/guarantees/advisor.md has
the proof.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil

import numpy as np
from numpy.typing import NDArray

from recveil.dp.budget import SPARE
from recveil.dp.noise import draw, gaussian
from recveil.errors import RecveilError
from recveil.randomness import Source

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SCALE = 4096  # of R in whole numbers
MOST_LOOKS = 10_000
PART = 1 << 15  # counters at once: about a millisecond in which no other thread of this process runs
_SAFE = 1e-9  # relative; far above what rounding can do here


@lru_cache(maxsize=8)
def weights(looks: int) -> Ints:
    """The first column of R: whole numbers, never rising, close to SCALE times (1, 1/2, 3/8, 5/16, ...)."""
    if not 1 <= looks <= MOST_LOOKS:
        raise RecveilError(f"a counter is looked at 1 to {MOST_LOOKS:,} times, not {looks:,}")
    shares = np.cumprod(np.append(1.0, 1 - 1 / (2.0 * np.arange(1, looks))))
    found: Ints = np.rint(SCALE * shares).astype(np.int64)
    return found


def squared_norm(looks: int) -> int:
    """Of the first column of R, the longest one: what one change moves at most, squared, over all looks."""
    return sum(int(w) ** 2 for w in weights(looks))


def variance(looks: int, changes: int, rho: float) -> int:
    """The least integer variance of z with which `changes` of one unit, over all looks, spend at most rho."""
    if not rho > 0:
        raise RecveilError(f"a budget must be positive, not {rho:g}")
    return ceil(changes * squared_norm(looks) / (2 * rho) * (1 + _SAFE)) + SPARE


@lru_cache(maxsize=8)
def answers(looks: int) -> Floats:
    """The first column of L = A R^-1: how the noise of a look, and of those before it, enters a total."""
    r = weights(looks).astype(np.float64)
    found = np.zeros(looks)
    for k in range(looks):  # sum over j of r[j] L[k - j] is 1, for every k
        found[k] = (1.0 - r[1 : k + 1] @ found[:k][::-1]) / r[0]
    return found


def deviation(look: int, looks: int, of_z: int) -> float:
    """The standard deviation of a total at a look (1, 2, ...)."""
    return float(np.sqrt(of_z * np.sum(answers(looks)[:look] ** 2)))


def noise(source: Source, look: int, looks: int, of_z: int, n: int) -> Floats:
    """L z for the counters 0 .. n - 1 at a look: a counter's is the same from the same source, whenever it is asked for
    and however many there are."""
    column, law = answers(looks), gaussian(of_z)
    sources = [source.derive("look", s) for s in range(1, look + 1)]
    total = np.zeros(n)
    for first in range(0, n, PART):
        part = total[first : first + PART]
        for s, one in enumerate(sources, 1):
            part += column[look - s] * draw(law, len(part), one, first)
    return total


def whole(values: Floats) -> Ints:
    """To the nearest whole number, halves upwards: a whole number that is added before or after makes no difference.
    (np.rint goes to the even one of two, and whether the noise alone is even is nobody's to see.)"""
    found: Ints = np.floor(values + 0.5).astype(np.int64)
    return found
