"""Cosine similarities from counts of perturbed bits: their error, each item's nearest items, and top-N lists.

p is the probability with which bits were kept; p = 1 takes counts as they are. `single` are supports clipped to [0, n].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@njit(inline="always")
def _pair(both: Any, ci: Any, cj: Any, si: Any, sj: Any, n: Any, p: Any) -> Any:
    q, w = 1.0 - p, 2.0 * p - 1.0
    return min(max((both - q * (ci + cj) + n * q * q) / (w * w), 0.0), min(si, sj))


@njit(inline="always")
def _cosine(sij: Any, si: Any, sj: Any) -> Any:
    return min(sij / np.sqrt(max(si, 1.0) * max(sj, 1.0)), 1.0)


@njit(cache=True, parallel=True)
def cosine_error(
    true: NDArray[np.int32], seen: NDArray[np.int32], m: int, n: int, p: float, single_true: Floats, single: Floats
) -> float:
    """Mean over unordered pairs of |cosine in the true data - cosine from the perturbed data|, given pair counts."""
    errors = np.zeros(m)
    q, w = 1.0 - p, 2.0 * p - 1.0
    scale_true, scale = 1.0 / np.sqrt(np.maximum(single_true, 1.0)), 1.0 / np.sqrt(np.maximum(single, 1.0))
    ones = np.diag(seen)[:m].astype(np.float64)
    for i in prange(m):
        total = 0.0
        for j in range(i + 1, m):
            both = (seen[i, j] - q * (ones[i] + ones[j]) + n * q * q) / (w * w)
            both = min(max(both, 0.0), min(single[i], single[j]))
            total += abs(true[i, j] * (scale_true[i] * scale_true[j]) - min(both * (scale[i] * scale[j]), 1.0))
        errors[i] = total
    return float(errors.sum() / (m * (m - 1) / 2.0))


@njit(cache=True, parallel=True)
def nearest(
    counts: NDArray[np.int32],
    ones: Ints,
    single: Floats,
    other_ones: Ints,
    other_single: Floats,
    itself: int,
    n: int,
    p: float,
    k: int,
) -> tuple[NDArray[np.int32], Floats, Floats]:
    """For each item the k most similar others, whose pair counts are given: places (-1: no more), cosines, supports.

    Ordered by similarity, then support, then the lower place. An item whose single support is 0 has no list and stands
    in none. Item i is the other at place itself + i, which may lie outside.
    """
    m = len(other_ones)
    neighbour = np.full((len(ones), k), -1, dtype=np.int32)
    similarity, support = np.zeros((len(ones), k)), np.zeros((len(ones), k))
    for i in prange(len(ones)):
        if single[i] <= 0.0:
            continue
        sims, sups = np.full(m, -1.0), np.zeros(m)
        found = 0
        for j in range(m):
            if j != itself + i:
                sups[j] = _pair(
                    float(counts[i, j]), float(ones[i]), float(other_ones[j]), single[i], other_single[j], float(n), p
                )
                sims[j] = _cosine(sups[j], single[i], other_single[j])
                if sims[j] > 0.0:
                    found += 1
        length = min(k, found)
        if length == 0:
            continue
        least = np.partition(sims, m - length)[m - length]
        close = np.flatnonzero(sims >= least)
        close = close[np.argsort(-sups[close], kind="mergesort")]
        close = close[np.argsort(-sims[close], kind="mergesort")]
        for at in range(length):
            neighbour[i, at] = close[at]
            similarity[i, at] = sims[close[at]]
            support[i, at] = sups[close[at]]
    return neighbour, similarity, support


@njit(cache=True, parallel=True)
def top_items(
    starts: Ints,
    history: NDArray[np.int32],
    neighbour: NDArray[np.int32],
    similarity: Floats,
    support: Floats,
    top: int,
    add: bool,
) -> tuple[NDArray[np.int32], Floats]:
    """For each history the `top` items outside it, best first (-1 where there are no more), and their scores.

    add: the score is the sum of similarities to the history. Otherwise it is the largest of them, ties broken by its
    support; then nobody beyond place top + len(history) of a list can win. Last ties go to the lower code.
    """
    m, k = neighbour.shape
    best = np.full((len(starts) - 1, top), -1, dtype=np.int32)
    scores = np.zeros((len(starts) - 1, top))
    for u in prange(len(starts) - 1):
        mine = history[starts[u] : starts[u + 1]]
        score, second = np.zeros(m), np.zeros(m)
        depth = k if add else min(k, top + len(mine))
        for i in mine:
            for at in range(depth):
                j = neighbour[i, at]
                if j < 0:
                    break
                s = similarity[i, at]
                if add:
                    score[j] += s
                elif s > score[j] or (s == score[j] and support[i, at] > second[j]):
                    score[j], second[j] = s, support[i, at]
        for i in mine:
            score[i] = 0.0
        filled = 0
        for j in range(m):
            if score[j] <= 0.0:
                continue
            place = filled
            while place > 0:
                other = best[u, place - 1]
                if score[j] < score[other] or (score[j] == score[other] and second[j] <= second[other]):
                    break
                place -= 1
            if place >= top:
                continue
            filled = min(filled + 1, top)
            for at in range(filled - 1, place, -1):
                best[u, at] = best[u, at - 1]
            best[u, place] = j
        for at in range(filled):
            scores[u, at] = score[best[u, at]]
    return best, scores
