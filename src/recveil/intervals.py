"""Intervals: Wilson and Clopper-Pearson for shares, the bootstrap over people for everything else.

People are the unit: an array holds one value per person, and a resample draws people, so that several arrays of the
same people stay paired.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.errors import RecveilError

Interval = tuple[float, float]
Estimate = tuple[float, float, float]  # value, low, high
Values = NDArray[np.float64]

CONFIDENCE = 0.95
REPEATS = 1000
_BLOCK = 1_000_000  # values drawn at once


def wilson(successes: float, n: int, confidence: float = CONFIDENCE) -> Interval:
    """The Wilson interval of a share.

    `successes` may be a sum of values in [0, 1], such as probabilities of success: their variance is at most that of
    coin tosses with the same mean, so the interval is then too wide rather than too narrow.
    """
    _counts(successes, n)
    z2 = _z(confidence) ** 2
    share = successes / n
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    # where nothing or everything succeeded the bound is exact; rounding must not move it past the value
    return min(max(float(middle - half), 0.0), share), max(min(float(middle + half), 1.0), share)


def clopper_pearson(successes: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """The exact interval of a share: it covers with at least this confidence, whatever the share is."""
    from scipy.stats import beta

    _counts(successes, n)
    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else float(beta.ppf(tail, successes, n - successes + 1))
    high = 1.0 if successes == n else float(beta.ppf(1 - tail, successes + 1, n - successes))
    return low, high


def difference(one: Estimate, other: Estimate) -> Estimate:
    """One share less another that was measured on other people, by Newcombe's square-and-add of their intervals."""
    value = one[0] - other[0]
    low = value - float(np.hypot(one[0] - one[1], other[2] - other[0]))
    high = value + float(np.hypot(one[2] - one[0], other[0] - other[1]))
    return value, low, high


def share(values: ArrayLike, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of values in [0, 1], one per person, with its Wilson interval."""
    data = _column(values)
    value = float(data.mean())
    return (value, *wilson(value * len(data), len(data), confidence))


def bootstrap_mean(
    values: ArrayLike, rng: np.random.Generator, *, repeats: int = REPEATS, confidence: float = CONFIDENCE
) -> Estimate:
    """The mean of one value per person, with its percentile bootstrap interval."""
    data = _column(values)
    n = len(data)
    at_once = max(1, _BLOCK // n)
    means = [
        data[rng.integers(0, n, size=(min(at_once, repeats - done), n))].mean(axis=1)
        for done in range(0, repeats, at_once)
    ]
    return _percentiles(float(data.mean()), np.concatenate(means), confidence)


def student_share(values: ArrayLike, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of shares of few people, with Student's interval: a bootstrap of few is too narrow."""
    from scipy.stats import t

    data = _column(values)
    mean, n = float(data.mean()), len(data)
    if n == 1:
        return mean, 0.0, 1.0
    reach = float(t.ppf((1 + confidence) / 2, n - 1) * data.std(ddof=1) / np.sqrt(n))
    return mean, max(mean - reach, 0.0), min(mean + reach, 1.0)


def bootstrap(
    statistic: Callable[..., float],
    arrays: Sequence[ArrayLike],
    rng: np.random.Generator,
    *,
    repeats: int = REPEATS,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """statistic(*arrays) and its percentile interval over resamples of people; the arrays stay paired."""
    columns = [_column(a) for a in arrays]
    n = len(columns[0])
    if any(len(c) != n for c in columns):
        raise ValueError(f"paired arrays have one value per person: lengths {[len(c) for c in columns]}")

    def again() -> float:
        people = rng.integers(0, n, size=n)
        return statistic(*[c[people] for c in columns])

    return _percentiles(float(statistic(*columns)), np.array([again() for _ in range(repeats)]), confidence)


def bootstrap_groups(
    statistic: Callable[..., float],
    groups: Sequence[ArrayLike],
    rng: np.random.Generator,
    *,
    repeats: int = REPEATS,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """statistic(*groups) where each group is other people: every group is resampled by itself."""
    columns = [_column(g) for g in groups]

    def again() -> float:
        return statistic(*[c[rng.integers(0, len(c), size=len(c))] for c in columns])

    return _percentiles(float(statistic(*columns)), np.array([again() for _ in range(repeats)]), confidence)


def paired_difference(
    ours: ArrayLike,
    theirs: ArrayLike,
    rng: np.random.Generator,
    *,
    repeats: int = REPEATS,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """mean(ours) - mean(theirs) over the same people."""
    a, b = _column(ours), _column(theirs)
    if len(a) != len(b):
        raise ValueError(f"paired arrays have one value per person: lengths {[len(a), len(b)]}")
    return bootstrap_mean(a - b, rng, repeats=repeats, confidence=confidence)


def paired_t(ours: ArrayLike, theirs: ArrayLike) -> tuple[float, float, int]:
    """Student's t of the paired differences, its two-sided p, and the degrees of freedom.

    Where all differences are alike, t is infinite, or 0 if there are none.
    """
    from scipy.stats import t as student

    difference = _column(ours) - _column(theirs)
    n = len(difference)
    if n < 2:
        raise RecveilError("a t-test needs two people at least")
    mean, error = float(difference.mean()), float(difference.std(ddof=1)) / n**0.5
    value = mean / error if error else float(np.copysign(np.inf, mean)) if mean else 0.0
    return value, float(2 * student.sf(abs(value), n - 1)), n - 1


def paired_ratio(
    numerator: ArrayLike,
    denominator: ArrayLike,
    rng: np.random.Generator,
    *,
    repeats: int = REPEATS,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """mean(numerator) / mean(denominator) over the same people, such as a lift: (release - popular) / (real - popular).

    Where the denominator cannot be told from zero a ratio says nothing, and this raises.
    """
    below = _column(denominator)
    _, low, high = bootstrap_mean(below, rng, repeats=repeats, confidence=confidence)
    if low <= 0.0 <= high:
        raise RecveilError(f"the ratio is undefined: its denominator lies in [{low:.4g}, {high:.4g}], which holds 0")
    return bootstrap(_ratio, [numerator, below], rng, repeats=repeats, confidence=confidence)


def _ratio(a: Values, b: Values) -> float:
    return float(a.mean() / b.mean())


def _percentiles(value: float, draws: Values, confidence: float) -> Estimate:
    if not np.isfinite(value):
        raise RecveilError("the statistic is undefined on these data")
    draws = draws[np.isfinite(draws)]
    if not len(draws):
        raise RecveilError("the statistic is undefined on every resample of these data")
    tail = (1 - confidence) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return value, min(float(low), value), max(float(high), value)


def _column(values: ArrayLike) -> Values:
    column = np.asarray(values, dtype=np.float64)
    if not len(column):
        raise RecveilError("there is nobody to measure")
    return column


def _counts(successes: float, n: int) -> None:
    if n <= 0:
        raise RecveilError("there is nobody to measure")
    if not -1e-9 * n <= successes <= n * (1 + 1e-9):
        raise ValueError(f"{successes} successes of {n}")


@lru_cache
def _z(confidence: float) -> float:
    from scipy.special import ndtri  # the same number as scipy.stats, a second sooner

    return float(ndtri(0.5 + confidence / 2))
