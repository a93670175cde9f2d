"""RMSE and MAE of predicted ratings: trained on the release or the real data, tested on real people's real ratings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from recveil.data import Floats, Interactions
from recveil.evaluation.metrics.remembering import remembered
from recveil.evaluation.recommenders import RATERS
from recveil.evaluation.recommenders.ranker import extra
from recveil.evaluation.recommenders.rater import Rater, feasible
from recveil.intervals import bootstrap
from recveil.measurement import NO_TEST_PEOPLE, Measurement, SkippedError, Trial

SLOW = "svd++"
WORTH_A_PROCESS = 50_000  # rows; below, starting one takes longer than the raters do
JUDGES: tuple[Rater, ...] = tuple(r for name, r in RATERS.items() if name != SLOW)


def rmse(squares: Floats, count: Floats) -> float:
    """From the sum of squared errors and the number of ratings of each person."""
    return float(np.sqrt(squares.sum() / count.sum()))


def mae(sizes: Floats, count: Floats) -> float:
    """From the sum of the errors' sizes and the number of ratings of each person."""
    return float(sizes.sum() / count.sum())


def ratings(trial: Trial, rng: np.random.Generator, raters: Sequence[Rater] = JUDGES) -> list[Measurement]:
    """RMSE and MAE of each rater, trained on the release and on the real data, in both with the test people's query."""
    query, result = rated_people(trial)
    raters = able(raters, trial)
    people, user = np.unique(result.user, return_inverse=True)
    count = np.bincount(user)
    found: list[Measurement] = []
    for source, data in (("release", trial.released), ("real", trial.train)):
        for name, error in errors(tuple(raters), data, query, result, 0).items():
            params = {"referee": name, "trained_on": source}
            for metric, statistic, each in (("rmse", rmse, error**2), ("mae", mae, np.abs(error))):
                estimate = bootstrap(statistic, [np.bincount(user, weights=each), count], rng)
                found.append(Measurement(metric, *estimate, n=len(people), params=params))
    return found


def rated_people(trial: Trial) -> tuple[Interactions, Interactions]:
    """What test people rated before and after, where the release has ratings too."""
    query, result = trial.query, trial.result
    if query is None or result is None or not len(result):
        raise SkippedError(NO_TEST_PEOPLE)
    if any(part.rating is None for part in (trial.train, query, result)):
        raise SkippedError("the data have no ratings")
    if trial.released.rating is None:
        raise SkippedError("the release has no ratings, so none can be learned")
    return query, result


def able(raters: Sequence[Rater], trial: Trial) -> tuple[Rater, ...]:
    """The raters that can be fitted to both the release and the real data, with the test people, within memory."""
    both = [join(data, trial.query)[0] for data in (trial.released, trial.train) if trial.query is not None]
    return tuple(r for r in raters if feasible(r, *both))


@remembered
def errors(
    raters: tuple[Rater, ...], data: Interactions, query: Interactions, result: Interactions, seed: int
) -> dict[str, Floats]:
    """Predicted minus real rating of every row of `result`, for each rater trained on `data` and the query.

    The test people join the data with their query as new users: raters know nobody else. Raters run side by side.
    """
    joined, first = join(data, query)
    users = result.user + np.int32(first)
    side_by_side = 1 if len(joined) < WORTH_A_PROCESS else -1
    guess = extra("joblib").Parallel(n_jobs=side_by_side)(
        extra("joblib").delayed(_predict)(rater, joined, users, result.item, seed) for rater in raters
    )
    return {rater.name: g - result.rating for rater, g in zip(raters, guess, strict=True)}


def join(data: Interactions, query: Interactions) -> tuple[Interactions, int]:
    """The rows of both, the people of `query` as users of their own, and the code of the first of them."""
    first = data.n_users
    assert data.rating is not None and query.rating is not None
    return (
        Interactions(
            np.concatenate([data.user, query.user + np.int32(first)]),
            np.concatenate([data.item, query.item]),
            pl.Series(np.arange(first + query.n_users)),
            data.items,
            np.concatenate([data.rating, query.rating]),
        ),
        first,
    )


def _predict(rater: Rater, train: Interactions, users: Floats, items: Floats, seed: int) -> Floats:
    return rater.fit(train, seed).predict(users, items)
