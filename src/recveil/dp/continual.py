"""Continual counters: running totals that are published look after look, with exact noise and one budget for all looks.

The table of running totals is A x, where x holds what came in between two looks and A adds up. A is written as L R:
both are lower triangular, constant along their diagonals and close to the square root of A. Published is L (R x + v) =
A x + L v, where v is exact discrete Gaussian noise on whole numbers plus a uniform number between -1/2 and 1/2, so that
R x need not be whole. One change moves R x by one column of R, so the budget holds for all looks together.

The first column of the square root is the sequence of moments of the arcsine law. L takes a law on O(log looks) points
instead, so that L v is as many sums, each of which a look multiplies by its point and adds to: no look needs the
entries of earlier ones. docs/guarantees/advisor.md has the proof.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, log

import numpy as np
from numpy.typing import NDArray

from recveil.dp.budget import SPARE
from recveil.dp.noise import draw, gaussian
from recveil.errors import RecveilError
from recveil.randomness import Source

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SCALE = 4096  # how much finer the whole numbers are on which noise is drawn than those that are counted
MOST_LOOKS = 10_000
RATIO = 4.0  # of the distances from 1 at which the arcsine law is cut; at 365 looks 2 would save .2% of a deviation
BLOCK = 1 << 14  # counters that share a stream of uniform numbers
_SAFE = 1e-9  # relative; far above what rounding can do here


@lru_cache(maxsize=8)
def points(looks: int) -> tuple[Floats, Floats]:
    """The arcsine law on few points: its share of each stretch, and the mean there. Together O(log looks) of them."""
    if not 1 <= looks <= MOST_LOOKS:
        raise RecveilError(f"a counter is looked at 1 to {MOST_LOOKS:,} times, not {looks:,}")
    cuts = ceil(log(4 * looks) / log(RATIO))
    edge = np.concatenate([[0.0], 1 - RATIO ** -np.arange(1.0, cuts + 1), [1.0]])
    angle = np.arcsin(np.sqrt(edge))
    share = np.diff(angle) * (2 / np.pi)
    return share, np.diff(angle - np.sqrt(edge * (1 - edge))) / np.pi / share


@lru_cache(maxsize=8)
def answers(looks: int) -> Floats:
    """The first column of L: how the noise of a look, and of those before it, enters a total."""
    share, point = points(looks)
    found: Floats = (share @ point[:, None] ** np.arange(looks)) / SCALE
    return found


@lru_cache(maxsize=8)
def weights(looks: int) -> Floats:
    """The first column of R = L^-1 A: never negative and never rising, since that of L is a sequence of moments."""
    column = answers(looks)
    inverse = np.zeros(looks)
    for k in range(looks):  # sum over j of column[j] inverse[k - j] is 1 for k = 0, and 0 for all others
        inverse[k] = ((k == 0) - column[1 : k + 1] @ inverse[:k][::-1]) / column[0]
    return np.cumsum(inverse)


def squared_norm(looks: int) -> float:
    """What one change moves at most, squared, over all looks: the longest column of R, to whole numbers beyond it."""
    return float(np.sum((weights(looks) + 1) ** 2))


def variance(looks: int, changes: int, rho: float) -> int:
    """The least integer variance of z with which `changes` of one unit, over all looks, spend at most rho."""
    if not rho > 0:
        raise RecveilError(f"a budget must be positive, not {rho:g}")
    return ceil(changes * squared_norm(looks) / (2 * rho) * (1 + _SAFE)) + SPARE


def deviation(look: int, looks: int, of_z: int) -> float:
    """The standard deviation of a total at a look (1, 2, ...)."""
    return float(np.sqrt((of_z + 1 / 12) * np.sum(answers(looks)[:look] ** 2)))


def entries(source: Source, look: int, of_z: int, first: int, n: int) -> Floats:
    """v of the counters first .. first + n - 1 at a look: a counter's is the same from the same source, whenever it is
    asked for and however many there are."""
    from recveil.kernels.discrete import words

    at = source.derive("look", look)
    found = draw(gaussian(of_z), n, at, first).astype(np.float64)
    key = at.derive("between").key()
    for block in range(first // BLOCK, (first + n - 1) // BLOCK + 1):
        begin, end = max(first, block * BLOCK), min(first + n, (block + 1) * BLOCK)
        drawn = words(key, block, end - block * BLOCK)[begin - block * BLOCK :]
        found[begin - first : end - first] += (drawn >> np.uint64(11)) * 2.0**-53 - 0.5
    return found


def add(sums: Floats, v: Floats, looks: int) -> None:
    """Bring sums (one row for each point) from a look to the next, whose entries these are."""
    sums *= points(looks)[1][:, None]
    sums += v


def total(sums: Floats, looks: int) -> Floats:
    """L v, of the look that the sums have come to; row after row, so that a counter's is the same beside any other."""
    found = np.zeros(sums.shape[1])
    for share, row in zip(points(looks)[0], sums, strict=True):
        found += share * row
    return found / SCALE


def noise(source: Source, look: int, looks: int, of_z: int, n: int) -> Floats:
    """L v for the counters 0 .. n - 1 at a look, from the first look on."""
    sums = np.zeros((len(points(looks)[0]), n))
    for s in range(1, look + 1):
        add(sums, entries(source, s, of_z, 0, n), looks)
    return total(sums, looks)


def whole(values: Floats) -> Ints:
    """To the nearest whole number, halves upwards: a whole number that is added before or after makes no difference.
    (np.rint goes to the even one of two, and whether the noise alone is even is nobody's to see.)"""
    found: Ints = np.floor(values + 0.5).astype(np.int64)
    return found
