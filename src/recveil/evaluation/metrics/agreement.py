"""Agreement: does the ranking of algorithms survive? Kendall's tau of their order on the real data and on a release.

Two algorithms whose difference is within noise are tied, not ordered: a tau that rests on gaps in the third digit says
nothing. The noise is that of the test people, who are resampled whole with all their splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from recveil.data import Floats, Interactions
from recveil.evaluation.metrics.ranking import N, arms
from recveil.evaluation.metrics.ratings import JUDGES, able, errors
from recveil.evaluation.recommenders import RANKERS
from recveil.evaluation.recommenders.ranker import Ranker
from recveil.evaluation.recommenders.rater import Rater
from recveil.measurement import NO_TEST_PEOPLE, Measurement, SkippedError, Trial

SPLITS = 5
REPEATS = 1000
Z = 1.96


class Scores(NamedTuple):
    """What each algorithm earned: the sum over a person's splits (algorithms x people), and of how many cases."""

    total: Floats
    cases: Floats


class Tau(NamedTuple):
    value: float | None  # None where one side orders no pair at all
    low: float
    high: float
    real_pairs: int
    release_pairs: int


def agreement(
    trials: Sequence[Trial] | Trial,
    rng: np.random.Generator,
    rankers: Sequence[Ranker] = tuple(RANKERS.values()),
    raters: Sequence[Rater] = JUDGES,
    n: int = N,
    metric: str = "ndcg",
) -> list[Measurement]:
    """tau of the rankers (by `metric`) and, where there are ratings, of the raters (by RMSE), over all trials together.

    Each trial is one split. With fewer than five the note says that this is not enough.
    """
    trials = [trials] if isinstance(trials, Trial) else list(trials)
    if any(t.query is None or t.result is None for t in trials):
        raise SkippedError(NO_TEST_PEOPLE)
    found: list[Measurement] = []
    if len(rankers) > 1:
        found += _measured(_ranked(trials, rankers, n, metric), rng, f"{metric}@{n}", len(rankers), len(trials))
    rated = all(
        d is not None and d.rating is not None for t in trials for d in (t.train, t.released, t.query, t.result)
    )
    raters = [r for r in raters if all(r in able(raters, t) for t in trials)] if rated else []
    if len(raters) > 1:
        found += _measured(_rated(trials, raters), rng, "rmse", len(raters), len(trials))
    return found


def kendall(real: Scores, release: Scores, rng: np.random.Generator, repeats: int = REPEATS) -> Tau:
    """tau-b in which a pair counts as tied where its difference is within 1.96 standard errors over people."""
    algorithms, people = real.total.shape
    first, second = np.array(list(combinations(range(algorithms), 2))).T
    weights = rng.multinomial(people, np.full(people, 1 / people), size=repeats)
    weights = np.vstack([np.ones(people), weights])  # the first line is the data as they are
    signs = []
    for side in (real, release):
        means = (weights @ side.total.T) / (weights @ side.cases)[:, None]
        gap = means[:, first] - means[:, second]
        noise = Z * gap[1:].std(axis=0)
        signs.append(np.where(np.abs(gap) > np.maximum(noise, 1e-12), np.sign(gap), 0.0))
    s, t = signs
    ordered = np.count_nonzero(s, axis=1) * np.count_nonzero(t, axis=1)
    tau = np.divide((s * t).sum(axis=1), np.sqrt(ordered), out=np.full(len(s), np.nan), where=ordered > 0)
    pairs = int(np.count_nonzero(s[0])), int(np.count_nonzero(t[0]))
    drawn = tau[1:][np.isfinite(tau[1:])]
    if not np.isfinite(tau[0]) or not len(drawn):
        return Tau(None, 0.0, 0.0, *pairs)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Tau(float(tau[0]), min(float(low), float(tau[0])), max(float(high), float(tau[0])), *pairs)


def _measured(
    sides: tuple[Scores, Scores], rng: np.random.Generator, by: str, algorithms: int, splits: int
) -> list[Measurement]:
    people = sides[0].total.shape[1]
    if people < 2:
        raise SkippedError("fewer than two held-out people have something to find")
    tau = kendall(*sides, rng)
    all_pairs = algorithms * (algorithms - 1) // 2
    params = {"by": by, "algorithms": algorithms, "splits": splits}
    words = f"of {all_pairs} pairs the real data tell {tau.real_pairs} apart, the release {tau.release_pairs}"
    if splits < SPLITS:
        words += f"; {splits} split{'s' * (splits > 1)} only, {SPLITS} are needed to trust it"
    if tau.value is None:
        share = tau.release_pairs / all_pairs
        note = f"agreement is undefined: {words}"
        return [Measurement("algorithms told apart", share, share, share, n=people, params=params, note=note)]
    return [Measurement("agreement", tau.value, tau.low, tau.high, n=people, params=params, note=words)]


def _ranked(trials: Sequence[Trial], rankers: Sequence[Ranker], n: int, metric: str) -> tuple[Scores, Scores]:
    rows: list[tuple[pl.Series, Floats, Floats]] = []
    for trial in trials:
        served = [arms(trial, ranker, n) for ranker in rankers]
        if trial.query is None:
            raise SkippedError(NO_TEST_PEOPLE)
        values = [np.array([s[k].values[metric] for s in served]) for k in (0, 1)]
        rows.append((trial.query.users.gather(served[0][0].users), values[1], values[0]))
    return _per_person(rows)


def _rated(trials: Sequence[Trial], raters: Sequence[Rater]) -> tuple[Scores, Scores]:
    rows = []
    for trial in trials:
        query, result = trial.query, trial.result
        if query is None or result is None:
            raise SkippedError(NO_TEST_PEOPLE)
        values = [_minus_squares(trial_data, query, result, raters) for trial_data in (trial.train, trial.released)]
        rows.append((result.users.gather(result.user), values[0], values[1]))
    return _per_person(rows)


def _minus_squares(data: Interactions, query: Interactions, result: Interactions, raters: Sequence[Rater]) -> Floats:
    return -np.array([e**2 for e in errors(tuple(raters), data, query, result, 0).values()])


def _per_person(rows: list[tuple[pl.Series, Floats, Floats]]) -> tuple[Scores, Scores]:
    """Sums by person over all splits: the same person in two splits is one person."""
    names, person = np.unique(pl.concat([r[0] for r in rows]).to_numpy(), return_inverse=True)
    cases = np.bincount(person, minlength=len(names)).astype(np.float64)

    def total(values: Floats) -> Floats:
        return np.array([np.bincount(person, weights=line, minlength=len(names)) for line in values])

    real, release = (np.concatenate([r[k] for r in rows], axis=1) for k in (1, 2))
    return Scores(total(real), cases), Scores(total(release), cases)
