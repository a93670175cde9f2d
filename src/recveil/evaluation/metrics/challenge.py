"""Challenge: would a competition on the release name the winners that it names on the data?

The protocol of Shuffle-NNN: rows are split, raters are trained and tested on the real ratings, and, in the same split,
trained and tested on the released ones. It needs a release that keeps who rated what. Unlike `agreement`, the test
ratings are masked too: an organiser publishes both. It trains every rater ten times, so it is for tuning and
reproduction, and does not stand among the METRICS of every comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recveil.data import Floats, Interactions
from recveil.evaluation.metrics.agreement import SPLITS, Scores, kendall
from recveil.evaluation.metrics.hiding import released_ratings
from recveil.evaluation.metrics.ratings import WORTH_A_PROCESS, rmse
from recveil.evaluation.metrics.remembering import remembered
from recveil.evaluation.recommenders import RATERS
from recveil.evaluation.recommenders.ranker import extra
from recveil.evaluation.recommenders.rater import Rater, feasible
from recveil.intervals import bootstrap
from recveil.measurement import Measurement, SkippedError, Trial

QUICK: tuple[Rater, ...] = tuple(
    RATERS[name] for name in ("item-average", "user-average", "slope-one", "co-clustering", "item-knn", "biased-mf")
)
TEST = 0.2  # of the rows


def challenge(
    trial: Trial, rng: np.random.Generator, raters: Sequence[Rater] = QUICK, splits: int = SPLITS
) -> list[Measurement]:
    """Kendall's tau of the raters' order by RMSE on the data and on the release; the RMSE of each on both.

    The release must hold every rated pair of the data.
    """
    masked = beside(trial)
    raters = tuple(r for r in raters if feasible(r, trial.train))
    if masked is None:
        raise SkippedError("the release does not hold every rated pair of the data")
    if len(raters) < 2:
        raise SkippedError("fewer than two raters can learn from these data")
    real, release = (scores(raters, data, splits) for data in (trial.train, masked))
    tau = kendall(real, release, rng)
    people = real.total.shape[1]
    pairs = len(raters) * (len(raters) - 1) // 2
    params = {"by": "rmse", "algorithms": len(raters), "splits": splits}
    note = f"of {pairs} pairs the real data tell {tau.real_pairs} apart, the release {tau.release_pairs}"
    found = []
    if tau.value is not None:
        found.append(Measurement("challenge", tau.value, tau.low, tau.high, n=people, params=params, note=note))
    for where, side in (("real", real), ("release", release)):
        for rater, total in zip(raters, side.total, strict=True):
            estimate = bootstrap(rmse, [-total, side.cases], rng)
            params = {"referee": rater.name, "trained_and_tested_on": where, "splits": splits}
            found.append(Measurement("challenge rmse", *estimate, n=people, params=params))
    return found


def beside(trial: Trial) -> Interactions | None:
    """The data with the released ratings in place of their own; None where some pair has none."""
    after = released_ratings(trial)
    if after is None or not len(after) or np.isnan(after).any():
        return None
    return replace(trial.train, rating=after)


def scores(raters: tuple[Rater, ...], data: Interactions, splits: int) -> Scores:
    """Minus the squared errors of each rater, added up for each person over all splits; and how many they are."""
    people, person = np.unique(data.user, return_inverse=True)
    total, cases = np.zeros((len(raters), len(people))), np.zeros(len(people))
    for number in range(splits):
        tested = person[_tested(len(data), number)]
        cases += np.bincount(tested, minlength=len(people))
        for line, error in zip(total, errors(raters, data, number), strict=True):
            line -= np.bincount(tested, error**2, len(people))
    seen = cases > 0
    return Scores(total[:, seen], cases[seen])


@remembered
def errors(raters: tuple[Rater, ...], data: Interactions, number: int) -> list[Floats]:
    """Predicted minus held-out ratings in the split of this number. Remembered: the data are judged once."""
    assert data.rating is not None
    chosen = np.ones(len(data), dtype=bool)
    tested = _tested(len(data), number)
    chosen[tested] = False
    train = data.take(chosen)
    side_by_side = 1 if len(train) < WORTH_A_PROCESS else -1
    guesses = extra("joblib").Parallel(n_jobs=side_by_side)(
        extra("joblib").delayed(_guess)(rater, train, data.user[tested], data.item[tested], number) for rater in raters
    )
    return [guess - data.rating[tested] for guess in guesses]


def _tested(rows: int, number: int) -> NDArray[np.int64]:
    """The rows to test on: the same ones for all data of so many rows."""
    return np.sort(np.random.default_rng([rows, number]).permutation(rows)[: round(TEST * rows)])


def _guess(rater: Rater, train: Interactions, users: NDArray[np.int32], items: NDArray[np.int32], seed: int) -> Floats:
    return rater.fit(train, seed).predict(users, items)
