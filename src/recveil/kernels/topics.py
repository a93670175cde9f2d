"""Topics drawn for records, and tags drawn for tags by how alike their topics are; one keyed stream per user."""

from __future__ import annotations

from math import exp, log2

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from recveil.kernels.chacha import below, stream, uniform

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]


@njit(cache=True, parallel=True)
def draw_topics(starts: Ints, keys: Keys, item: Codes, tag: Codes, by_item: Floats, by_tag: Floats, key: Keys) -> Ints:
    """For every row a topic k, with probability proportional to by_item[item, k] * by_tag[tag, k]."""
    drawn = np.empty(starts[-1], dtype=np.int64)
    for g in prange(len(starts) - 1):
        s = stream(key, keys[g])
        for row in range(starts[g], starts[g + 1]):
            left, right = by_item[item[row]], by_tag[tag[row]]
            rest = uniform(s) * np.sum(left * right)
            k = 0
            while k < len(left) - 1 and rest >= left[k] * right[k]:
                rest -= left[k] * right[k]
                k += 1
            drawn[row] = k
    return drawn


@njit(cache=True)
def divergence(a: Floats, b: Floats) -> float:
    """Jensen-Shannon divergence of two laws, in bits."""
    total = 0.0
    for k in range(len(a)):
        middle = (a[k] + b[k]) / 2
        if a[k] > 0:
            total += a[k] * log2(a[k] / middle)
        if b[k] > 0:
            total += b[k] * log2(b[k] / middle)
    return max(total / 2, 0.0)


@njit(cache=True, parallel=True)
def draw_tags(
    starts: Ints,
    keys: Keys,
    topic: Ints,
    tag: Codes,
    candidate_starts: Ints,
    candidates: Codes,
    laws: Floats,
    sharpness: float,
    key: Keys,
) -> Codes:
    """For every row a candidate c of its topic, with probability proportional to exp(-sharpness * JS(tag, c)).

    Exact by rejection: a uniform candidate is taken with that probability, which is at least exp(-sharpness), so that
    most need no divergence. laws[t] is the law of topics of tag t. -1 where a topic has no candidates.
    """
    drawn = np.full(starts[-1], -1, dtype=np.int32)
    least = exp(-sharpness)
    for g in prange(len(starts) - 1):
        s = stream(key, keys[g])
        for row in range(starts[g], starts[g + 1]):
            first = candidate_starts[topic[row]]
            number = candidate_starts[topic[row] + 1] - first
            while number > 0:
                c = candidates[first + below(s, number)]
                chance = uniform(s)
                if chance < least or chance < exp(-sharpness * divergence(laws[tag[row]], laws[c])):
                    drawn[row] = c
                    break
    return drawn
