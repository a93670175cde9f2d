"""Ratings counted with bounded contributions: in every table one person is a vector of L2 norm at most `unit`.

A person's numbers are computed in floats from her own ratings and published numbers alone, cut to integers toward zero,
and checked in integers: a vector that rounding made too long is halved. So the bound holds whatever floats do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recveil.kernels.baskets import isqrt

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

LEAST_SPREAD = 0.05  # of a person's ratings; whoever rates all alike is not blown up


@njit(cache=True)
def first_ratings(
    item: Codes, rating: Floats, begin: int, end: int, seen: Ints, mark: int, place: Ints, y: Floats
) -> Any:
    """A person's different items and her first rating of each; how many there are."""
    s = 0
    for at in range(begin, end):
        p = item[at]
        if seen[p] != mark:
            seen[p] = mark
            place[s] = p
            y[s] = rating[at]
            s += 1
    return s


@njit(cache=True)
def standardise(z: Floats, s: int) -> Any:
    """Centre and scale the first s numbers, in place; their mean and root mean square before."""
    mean = 0.0
    for a in range(s):
        mean += z[a]
    mean /= s
    squares = 0.0
    for a in range(s):
        z[a] -= mean
        squares += z[a] * z[a]
    spread = np.sqrt(squares / s)
    scale = max(spread, LEAST_SPREAD)
    for a in range(s):
        z[a] /= scale
    return mean, spread


@njit(cache=True)
def fits(v: Ints, n: int, unit: int) -> Any:
    """Whether the norm is at most `unit`. Each number is compared first: the square of the least integer wraps to 0."""
    total = np.int64(0)
    for a in range(n):
        if v[a] < -unit or v[a] > unit:
            return False
        total += v[a] * v[a]
    return total <= unit * unit


@njit(cache=True)
def bound(v: Ints, n: int, unit: int) -> None:
    """Halve a vector, in place, until its norm is at most `unit`."""
    while not fits(v, n, unit):
        for a in range(n):
            v[a] = np.int64(v[a] / 2.0)


@njit(cache=True)
def count_effects(starts: Ints, item: Codes, rating: Floats, n: int, unit: int) -> tuple[Ints, Ints]:
    """For each of n items: how many have it, and how far above their own mean they rate it, in their own spread."""
    have, like = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    seen, place, z, v = np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n), np.empty(n, np.int64)
    for u in range(len(starts) - 1):
        s = first_ratings(item, rating, starts[u], starts[u + 1], seen, u, place, z)
        if s == 0:
            continue
        standardise(z, s)
        w = isqrt(unit * unit // s)
        root = np.sqrt(np.float64(s))
        for a in range(s):
            v[a] = np.int64(unit * (z[a] / root))
        bound(v, s, unit)
        for a in range(s):
            have[place[a]] += w
            like[place[a]] += v[a]
    return have, like


@njit(cache=True)
def count_rest(
    starts: Ints, item: Codes, rating: Floats, effect: Floats, level_of: Any, unit: int
) -> tuple[Ints, Ints, Ints]:
    """What the effects of items leave (sums for each), levels, and profiles.

    level_of: the ends of the classes of ratings, of a person's height and of her spread. A profile is where she stands
    once the items' effects are taken out, and how far she spreads about it: a matrix of classes.
    """
    levels, heights, spreads = level_of
    n = len(effect)
    rest, shares = np.zeros(n, dtype=np.int64), np.zeros(len(levels) + 1, dtype=np.int64)
    profiles = np.zeros((len(heights) + 1) * (len(spreads) + 1), dtype=np.int64)
    seen, place, z, v = np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n), np.empty(n, np.int64)
    tally = np.empty(len(levels) + 1, dtype=np.int64)
    for u in range(len(starts) - 1):
        s = first_ratings(item, rating, starts[u], starts[u + 1], seen, u, place, z)
        if s == 0:
            continue
        tally[:] = 0
        for a in range(s):
            tally[np.searchsorted(levels, z[a], side="right")] += 1
        for k in range(len(tally)):
            shares[k] += unit * tally[k] // s
        height, spread = left_over(z, s, place, effect)
        cell = np.searchsorted(heights, height, side="right") * (len(spreads) + 1)
        profiles[cell + np.searchsorted(spreads, spread, side="right")] += unit
        root = np.sqrt(np.float64(s))
        for a in range(s):
            v[a] = np.int64(unit * (z[a] / root))
        bound(v, s, unit)
        for a in range(s):
            rest[place[a]] += v[a]
    return rest, shares, profiles


@njit(cache=True)
def left_over(z: Floats, s: int, place: Ints, effect: Floats) -> Any:
    """Ratings become what the items' effects leave of them, centred and standardised; her height and spread."""
    mean, spread = standardise(z, s)
    for a in range(s):
        z[a] -= effect[place[a]]
    shift, rest = standardise(z, s)
    return mean + spread * shift, spread * min(rest, 1.0)


@njit(cache=True)
def count_products(starts: Ints, item: Codes, rating: Floats, effect: Floats, among: Codes, m: int, unit: int) -> Ints:
    """Products of what is left of two ratings, for pairs of the m items that `among` numbers: the upper triangle."""
    n = len(effect)
    found = np.zeros(m * (m - 1) // 2, dtype=np.int64)
    seen, place, z = np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n)
    where, x, v = np.empty(m, dtype=np.int64), np.empty(m), np.empty(max(m * (m - 1) // 2, 1), dtype=np.int64)
    for u in range(len(starts) - 1):
        s = first_ratings(item, rating, starts[u], starts[u + 1], seen, u, place, z)
        if s < 2:
            continue
        left_over(z, s, place, effect)
        t, squares = 0, 0.0
        for a in range(s):
            if among[place[a]] >= 0:
                where[t], x[t] = among[place[a]], z[a]
                squares += z[a] * z[a]
                t += 1
        if t < 2 or squares < 1e-12:
            continue
        factor = unit * (t / squares) / np.sqrt(t * (t - 1) / 2.0)
        number = 0
        for a in range(t):
            for b in range(a):
                v[number] = np.int64(factor * (x[a] * x[b]))
                number += 1
        bound(v, number, unit)
        number = 0
        for a in range(t):
            for b in range(a):
                i, j = min(where[a], where[b]), max(where[a], where[b])
                found[i * (2 * m - i - 1) // 2 + j - i - 1] += v[number]
                number += 1
    return found


@njit(cache=True)
def count_loadings(
    starts: Ints, item: Codes, rating: Floats, effect: Floats, phi: Floats, weighted: bool, unit: int
) -> Ints:
    """For each item and direction: where people stand who have it, told by their other items; one row an item.

    weighted: what is left of ratings weighs the directions phi of items, and counts; else having an item does.
    """
    n, d = phi.shape
    found = np.zeros((n, d), dtype=np.int64)
    seen, place, z = np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n)
    v, total, p = np.empty(n * d, dtype=np.int64), np.empty(d), np.empty(d)
    for u in range(len(starts) - 1):
        s = first_ratings(item, rating, starts[u], starts[u + 1], seen, u, place, z)
        if s < 2:
            continue
        if weighted:
            left_over(z, s, place, effect)
        else:
            z[:s] = 1.0
        total[:] = 0.0
        for a in range(s):
            for k in range(d):
                total[k] += z[a] * phi[place[a], k]
        root = np.sqrt(np.float64(s))
        for a in range(s):
            squares = 0.0
            for k in range(d):
                p[k] = total[k] - z[a] * phi[place[a], k]
                squares += p[k] * p[k]
            factor = unit * (z[a] / root) / np.sqrt(squares) if squares > 1e-18 else 0.0
            for k in range(d):
                v[a * d + k] = np.int64(factor * p[k])
        bound(v, s * d, unit)
        for a in range(s):
            for k in range(d):
                found[place[a], k] += v[a * d + k]
    return found


@njit(cache=True)
def profiles_of(starts: Ints, item: Codes, rating: Floats, effect: Floats) -> Floats:
    """Everybody's height and spread, once the items' effects are taken out: one row a person."""
    n = len(effect)
    seen, place, z = np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n)
    found = np.zeros((len(starts) - 1, 2))
    for u in range(len(starts) - 1):
        s = first_ratings(item, rating, starts[u], starts[u + 1], seen, u, place, z)
        if s > 0:
            found[u, 0], found[u, 1] = left_over(z, s, place, effect)
    return found
