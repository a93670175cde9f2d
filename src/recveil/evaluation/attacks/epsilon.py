"""epsilon: a lower confidence bound from repeated runs on two neighbouring data sets.

(epsilon, delta)-differential privacy says of every event E: P(E | one) <= exp(epsilon) P(E | other) + delta. So any
event whose probabilities are known to differ more than that refutes the claim. Events are thresholds on statistics of
the output: chosen on one half of the runs, judged on the other, so that the choice costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from recveil.intervals import clopper_pearson

Data = TypeVar("Data")
Statistics = Callable[[Any], Mapping[str, float]]
Values = NDArray[np.float64]
_THRESHOLDS = 400  # at most so many are tried per statistic


@dataclass(frozen=True)
class EpsilonBound:
    """Epsilon is at least `lower`, at the given confidence, if delta is as stated."""

    lower: float
    runs: int  # on each of the two data sets
    confidence: float
    delta: float
    event: str  # the event that gave the bound, in words
    attainable: float = 0.0  # the bound that an event which tells all would have given


@dataclass(frozen=True)
class _Event:
    """A threshold on one statistic, and which of the two data sets makes it likelier."""

    above: bool
    threshold: float
    first: bool

    def holds(self, values: Values) -> NDArray[np.bool_]:
        return values >= self.threshold if self.above else values <= self.threshold


def judge(one: Values, other: Values, names: list[str], *, delta: float, confidence: float) -> EpsilonBound:
    """The bound from statistics (runs x names) of both data sets: half of the runs chooses, the other half judges."""
    half = len(one) // 2
    weights = discriminant(one[:half], other[:half])
    one, other = np.column_stack([one, one @ weights]), np.column_stack([other, other @ weights])
    names = [*names, "all of them, weighted"]
    each = 1 - (1 - confidence) / len(names)
    best = EpsilonBound(0.0, len(one), confidence, delta, "none", attainable(len(one), len(names), delta, confidence))
    for column, name in enumerate(names):
        a, b = one[:, column], other[:, column]
        event = _choose(a[:half], b[:half], delta, each)
        if event is None:
            continue
        likely, unlikely = (a, b) if event.first else (b, a)
        hits = [int(event.holds(x[half:]).sum()) for x in (likely, unlikely)]
        n = len(one) - half
        lower = _epsilon(clopper_pearson(hits[0], n, each)[0], clopper_pearson(hits[1], n, each)[1], delta)
        if lower > best.lower:
            words = f"{name} {'>=' if event.above else '<='} {event.threshold:g}: {hits[0]} against {hits[1]} of {n}"
            best = replace(best, lower=lower, event=words)
    return best


def attainable(runs: int, events: int, delta: float, confidence: float) -> float:
    """The bound from so many runs on each side if one of the events told the two apart every time."""
    n, each = runs - runs // 2, 1 - (1 - confidence) / events
    return _epsilon(clopper_pearson(n, n, each)[0], clopper_pearson(0, n, each)[1], delta)


def _epsilon(low: float, high: float, delta: float) -> float:
    return float(np.log((low - delta) / high)) if low > delta and high > 0 else 0.0


def _choose(a: Values, b: Values, delta: float, confidence: float) -> _Event | None:
    """The event that would give the best bound on these runs."""
    from scipy.stats import beta

    values = np.unique(np.concatenate([a, b]))
    if len(values) == 1:
        return None
    if len(values) > _THRESHOLDS:
        values = np.unique(np.quantile(values, np.linspace(0, 1, _THRESHOLDS), method="nearest"))
    tail, n = (1 - confidence) / 2, len(a)
    best: tuple[float, _Event] | None = None
    for above in (True, False):
        hits = [_hits(x, values, above) for x in (a, b)]
        low, high = [_low(beta, k, n, tail) for k in hits], [_high(beta, k, n, tail) for k in hits]
        for first in (True, False):
            p, q = (low[0], high[1]) if first else (low[1], high[0])
            gain = np.log(np.maximum(p - delta, 1e-300) / q)
            at = int(np.argmax(gain))
            if best is None or gain[at] > best[0]:
                best = float(gain[at]), _Event(above, float(values[at]), first)
    return None if best is None else best[1]


def _hits(x: Values, thresholds: Values, above: bool) -> NDArray[np.int64]:
    ordered = np.sort(x)
    if above:
        return len(x) - np.searchsorted(ordered, thresholds, "left")
    return np.searchsorted(ordered, thresholds, "right")


def _low(beta: Any, hits: NDArray[np.int64], n: int, tail: float) -> Values:
    return np.where(hits == 0, 0.0, beta.ppf(tail, np.maximum(hits, 1), n - np.maximum(hits, 1) + 1))


def _high(beta: Any, hits: NDArray[np.int64], n: int, tail: float) -> Values:
    return np.where(hits == n, 1.0, beta.ppf(1 - tail, np.minimum(hits, n - 1) + 1, n - np.minimum(hits, n - 1)))


def discriminant(a: Values, b: Values) -> Values:
    """Weights of the statistics that separate the two sides best on these runs (Fisher's discriminant)."""
    spread = np.cov(np.concatenate([a - a.mean(0), b - b.mean(0)]), rowvar=False).reshape(a.shape[1], a.shape[1])
    ridge = 1e-6 * max(float(np.trace(spread)), 1e-12)
    return np.linalg.solve(spread + ridge * np.eye(len(spread)), a.mean(0) - b.mean(0))
