"""Levels for the rows of new people: how each leans, then each item's rows in rising order, cut by its shares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from recveil.kernels.rating_counts import LEAST_SPREAD

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]


@njit(cache=True, parallel=True)
def leanings(
    starts: Ints, item: Codes, loading: Floats, alone: Floats, stand: Floats, chance: Floats, spread: Floats
) -> Floats:
    """How far each row leans from what is expected of it: a person's are centred, with her spread about 0.

    loading . stand: what she thinks of an item in the directions that people differ in; alone: how much chance adds.
    """
    found, d = np.empty(len(item)), loading.shape[1]
    for person in prange(len(starts) - 1):
        begin, end = starts[person], starts[person + 1]
        mean = 0.0
        for row in range(begin, end):
            z = 0.0
            for k in range(d):
                z += loading[item[row], k] * stand[person, k]
            found[row] = z + alone[item[row]] * chance[row]
            mean += found[row]
        mean /= max(end - begin, 1)
        squares = 0.0
        for row in range(begin, end):
            found[row] -= mean
            squares += found[row] * found[row]
        size = spread[person] / max(np.sqrt(squares / max(end - begin, 1)), LEAST_SPREAD)
        for row in range(begin, end):
            found[row] *= size
    return found


@njit(cache=True, parallel=True)
def heights(
    starts: Ints, rows: Ints, user: Ints, lean: Floats, effect: Floats, height: Floats, spread: Floats
) -> tuple[Floats, Floats]:
    """What each row would be on a scale without levels, item by item (starts, rows), and each item's mean of it.

    What the leanings of an item's rows have in common is taken out: it is chance, and no effect of the item.
    """
    n = len(starts) - 1
    found, mean = np.empty(len(rows)), np.zeros(n)
    for i in prange(n):
        size = max(starts[i + 1] - starts[i], 1)
        common = 0.0
        for at in range(starts[i], starts[i + 1]):
            common += lean[rows[at]]
        common /= size
        for at in range(starts[i], starts[i + 1]):
            row = rows[at]
            found[at] = height[user[row]] + spread[user[row]] * effect[i] + lean[row] - common
            mean[i] += found[at]
        mean[i] /= size
    return found, mean


@njit(cache=True, parallel=True)
def cut_by_shares(starts: Ints, rows: Ints, height: Floats, shares: Floats, offset: Floats, values: Floats) -> Floats:
    """Every row's level: of an item's rows in rising order the first get the lowest one, as many as its share says."""
    found = np.empty(len(rows))
    for i in prange(len(starts) - 1):
        begin, end = starts[i], starts[i + 1]
        rising = np.argsort(height[begin:end])
        level, below = 0, shares[i, 0]
        for rank in range(end - begin):
            place = (rank + offset[i]) / (end - begin)
            while level < len(values) - 1 and place > below:
                level += 1
                below += shares[i, level]
            found[rows[begin + rising[rank]]] = values[level]
    return found


@njit(cache=True)
def _tilt(logs: Floats, tilt: float, mean: float, values: Floats, shares: Floats, most: float) -> Any:
    """Shares at this tilt of a shape (its logarithms), and a tilt nearer to the wanted mean, by Newton's rule."""
    top = -np.inf
    for k in range(len(values)):
        shares[k] = tilt * values[k] + logs[k]
        top = max(top, shares[k])
    total, first, second = 0.0, 0.0, 0.0
    for k in range(len(values)):
        shares[k] = np.exp(shares[k] - top)
        total += shares[k]
    for k in range(len(values)):
        shares[k] /= total
        first += shares[k] * values[k]
        second += shares[k] * values[k] * values[k]
    step = (mean - first) / max(second - first * first, 0.02)
    return min(max(tilt + min(max(step, -2.0), 2.0), -most), most)


@njit(cache=True)
def tilted_shares(
    mean: Floats, mixing: Floats, wanted: Floats, values: Floats, turns: Any, power: float, most: float
) -> Floats:
    """One row an item: shares g_k exp(tilt v_k) with the item's mean, g such that the weighted mixture is `wanted`.

    turns: how often g is changed, how many steps of the tilts go before each change, and how many after the last.
    """
    rounds, steps, last = turns
    n = len(mean)
    shape, tilt, shares = wanted.copy(), np.zeros(n), np.empty((n, len(values)))
    for number in range(rounds + 1):
        logs = np.log(shape)
        for i in range(n):
            for _ in range(steps if number < rounds else last):
                tilt[i] = _tilt(logs, tilt[i], mean[i], values, shares[i], most)
        if number < rounds:
            mixture = np.zeros(len(values))
            for i in range(n):
                for k in range(len(values)):
                    mixture[k] += mixing[i] * shares[i, k]
            for k in range(len(values)):
                shape[k] = max(shape[k] * (wanted[k] / max(mixture[k], 1e-12)) ** power, 1e-9)
            shape /= shape.sum()
    return shares
