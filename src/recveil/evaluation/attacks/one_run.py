"""one run: a bound on epsilon from a single release of data with many canaries, each in or out by a coin.

An attacker scores the canaries, guesses "in" or "out" where the scores are clearest, and abstains elsewhere. Whoever
is (epsilon, delta)-private lets hardly more guesses be right than epsilon-randomised responses would be (Steinke, Nasr
and Jagielski 2023, theorem 5.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recveil.errors import RecveilError

SHARES = (0.02, 0.2, 1.0)  # of the canaries that are guessed; chosen before the run, each at its part of the confidence
_MOST = 60.0  # no larger epsilon is looked for


@dataclass(frozen=True)
class OneRun:
    """Epsilon is at least `lower`; no run with as many canaries could have said more than `attainable`."""

    lower: float
    attainable: float
    canaries: int
    guesses: int
    right: int
    confidence: float
    delta: float


def bound(m: int, r: int, v: int, delta: float = 0.0, p: float = 0.05) -> float:
    """The largest epsilon refuted at level p by v right ones of r guesses about m canaries."""
    if not 0 <= v <= r <= m:
        raise RecveilError(f"of {m} canaries {r} were guessed and {v} of them right: that cannot be")
    low, high = 0.0, _MOST
    if chance(m, r, v, 0.0, delta) >= p:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if chance(m, r, v, middle, delta) < p else (low, middle)
    return low


def chance(m: int, r: int, v: int, epsilon: float, delta: float) -> float:
    """At most so likely are v right ones of r guesses, if epsilon and delta hold."""
    from scipy.stats import binom

    at_least = binom.sf(np.arange(v, -2, -1), r, 1 / (1 + np.exp(-epsilon)))  # P(> v), P(> v - 1), ..., P(> -1)
    found = float(at_least[1])  # P(at least v)
    if delta and v:
        within = at_least[2:] - at_least[1]  # P(v - i <= . <= v - 1), i = 1 .. v
        found += 2 * m * delta * float((within / np.arange(1, v + 1)).max())
    return min(found, 1.0)


def judge(scores: NDArray[np.float64], inside: NDArray[np.bool_], *, delta: float, confidence: float = 0.95) -> OneRun:
    """The bound from scores: positive for "in", negative for "out", the farther from zero the clearer."""
    m = len(scores)
    if m < 20:
        raise RecveilError(f"an audit in one run needs at least 20 canaries, not {m}")
    order = np.argsort(-np.abs(scores), kind="stable")
    p = (1 - confidence) / len(SHARES)
    best = OneRun(0.0, bound(m, m, m, delta, p), m, 0, 0, confidence, delta)
    for share in SHARES:
        guessed = order[: max(1, round(share * m))]
        right = int(np.count_nonzero((scores[guessed] > 0) == inside[guessed]))
        lower = bound(m, len(guessed), right, delta, p)
        if lower > best.lower or not best.guesses:
            best = OneRun(lower, best.attainable, m, len(guessed), right, confidence, delta)
    return best


def gaussian_estimate(one: NDArray[np.float64], other: NDArray[np.float64], delta: float, confidence: float) -> float:
    """A lower estimate of epsilon, if scores are a Gaussian shifted by the canary: a model, and no proof."""
    from scipy.special import ndtri

    n = len(one) + len(other)
    pooled = np.concatenate([one - one.mean(), other - other.mean()])
    deviation = float(np.sqrt((pooled @ pooled) / max(n - 2, 1)))
    gap = abs(float(one.mean() - other.mean()))
    if deviation < 1e-9 * max(gap, 1e-300):
        return float("inf") if gap else 0.0
    d = gap / deviation
    error = np.sqrt(1 / len(one) + 1 / len(other) + d * d / (2 * max(n - 2, 1)))
    return epsilon_of_shift(max(d - float(ndtri(confidence)) * float(error), 0.0), delta)


def epsilon_of_shift(mu: float, delta: float) -> float:
    """The epsilon at this delta of a Gaussian of deviation 1 that is shifted by mu (Balle and Wang 2018)."""
    from scipy.special import log_ndtr, ndtr

    def excess(epsilon: float) -> float:
        return float(ndtr(-epsilon / mu + mu / 2) - np.exp(epsilon + log_ndtr(-epsilon / mu - mu / 2)))

    if mu == 0 or excess(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while excess(high) > delta:
        high *= 2
        if high > 1e6:
            return float("inf")
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > delta else (low, middle)
    return high
