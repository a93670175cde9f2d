"""AUC and true positive rates over several releases of the same people, with intervals over people and releases.

scores[t, p] and inside[t, p] belong to person p and release t. A resample draws people and releases with replacement,
so that neither the choice of people nor the luck of one release is taken for certain.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recveil.data import Floats
from recveil.errors import RecveilError
from recveil.guarantee import Guarantee
from recveil.intervals import Estimate

REPEATS = 400
FEWEST_FALSE = 3  # outsiders that a false positive rate must stand for


@dataclass(frozen=True, eq=False)
class Ranked:
    """Scores of people in some releases, ranked once; a resample is then a weight for each entry."""

    inside: NDArray[np.bool_]
    place: NDArray[np.int64]  # of each entry among the distinct scores, ascending
    levels: int

    def auc(self, weight: Floats) -> float:
        """The weighted share of pairs, a member and an outsider, in which the member scores higher; ties count half."""
        member = np.bincount(self.place, weights=weight * self.inside, minlength=self.levels)
        other = np.bincount(self.place, weights=weight * ~self.inside, minlength=self.levels)
        below = np.cumsum(other) - other
        pairs = member.sum() * other.sum()
        return float((member * (below + other / 2)).sum() / pairs) if pairs else np.nan

    def tpr(self, weight: Floats, fpr: float) -> float:
        """The share of members above the score that `fpr` of the outsiders exceed; ties there are claimed in part."""
        member = np.bincount(self.place, weights=weight * self.inside, minlength=self.levels)[::-1]
        other = np.bincount(self.place, weights=weight * ~self.inside, minlength=self.levels)[::-1]
        over = np.cumsum(other)
        if not over[-1] or not member.sum():
            return np.nan
        allowed = fpr * over[-1]
        at = int(np.searchsorted(over, allowed))
        part = (allowed - over[at] + other[at]) / other[at] if other[at] else 0.0
        return float((member[:at].sum() + part * member[at]) / member.sum())


def ranked(scores: Floats, inside: NDArray[np.bool_]) -> Ranked:
    distinct, place = np.unique(scores, return_inverse=True)
    return Ranked(inside.ravel(), place.ravel(), len(distinct))


def mean_auc(scores: Floats, inside: NDArray[np.bool_], rng: np.random.Generator) -> Estimate:
    """The mean AUC of the releases."""
    each = [ranked(s, i) for s, i in zip(scores, inside, strict=True)]

    def statistic(people: Floats, releases: Floats) -> float:
        return float(np.average([r.auc(people) for r in each], weights=releases))

    return resampled(statistic, scores.shape, rng)


def auc_between(scores: Floats, inside: NDArray[np.bool_], rng: np.random.Generator) -> Estimate:
    """Members of one release against outsiders of another: what a guarantee for one person bounds.

    Within one release a member and an outsider differ in two people, and the bound for one does not cover that.
    """
    n = len(scores)
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    joined = []
    for a, b in pairs:
        who = np.concatenate([np.flatnonzero(inside[a]), np.flatnonzero(~inside[b])])
        label = np.arange(len(who)) < np.count_nonzero(inside[a])
        joined.append((who, ranked(np.concatenate([scores[a][inside[a]], scores[b][~inside[b]]]), label)))

    def statistic(people: Floats, releases: Floats) -> float:
        weight = [releases[a] * releases[b] for a, b in pairs]
        if not sum(weight):
            return np.nan
        found = [r.auc(people[who]) if w else 0.0 for (who, r), w in zip(joined, weight, strict=True)]
        return float(np.average(found, weights=weight))

    return resampled(statistic, scores.shape, rng)


def pooled_tpr(scores: Floats, inside: NDArray[np.bool_], fpr: float, rng: np.random.Generator) -> Estimate | None:
    """The true positive rate at `fpr` over all releases together; None where too few outsiders stand for that rate."""
    if fpr * np.count_nonzero(~inside) < FEWEST_FALSE:
        return None
    whole = ranked(scores, inside)
    return resampled(lambda people, releases: whole.tpr(np.outer(releases, people).ravel(), fpr), scores.shape, rng)


def resampled(
    statistic: Callable[[Floats, Floats], float], shape: tuple[int, ...], rng: np.random.Generator
) -> Estimate:
    """statistic(weights of people, weights of releases), and its 95% percentile interval over resamples of both."""
    releases, people = shape
    value = statistic(np.ones(people), np.ones(releases))
    if not np.isfinite(value):
        raise RecveilError("there is nobody to compare: every person is on the same side")
    draws = []
    for _ in range(REPEATS):
        who = np.bincount(rng.integers(0, people, people), minlength=people).astype(np.float64)
        which = np.bincount(rng.integers(0, releases, releases), minlength=releases).astype(np.float64)
        draws.append(statistic(who, which))
    low, high = np.nanquantile(draws, [0.025, 0.975])
    return value, min(float(low), value), max(float(high), value)


def ceiling(promise: Guarantee) -> float | None:
    """The largest AUC of telling a member that a proved guarantee allows; None where its unit is not a person.

    Gaussian noise of budget rho: Phi(sqrt(rho)). Else 1 - (1 - delta)^2 / (1 + e^epsilon), which is
    e^epsilon / (1 + e^epsilon) where delta is 0. A seeded release has the ceiling of what it experiments with.
    """
    if promise.status not in ("proved", "experiment") or promise.unit not in ("user", "session"):
        return None
    if promise.rho is not None:
        return 0.5 * (1 + math.erf(math.sqrt(promise.rho / 2)))
    if promise.epsilon is None:
        return None
    return 1 - (1 - promise.delta) ** 2 / (1 + math.exp(min(promise.epsilon, 700.0)))
