"""In-house order: would those who have nothing but the release rank rating predictors as the owner does?

Predictors are trained and tested inside the release: most of its people to train on, others whose ratings are half
history and half test. Their order by RMSE is compared with that inside the real data, by Kendall's tau, split by split.
Unlike `challenge`, a release need not keep who rated what: it may hold other people altogether.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recveil.data import Floats, Interactions
from recveil.evaluation.metrics.ratings import join, rmse
from recveil.evaluation.metrics.remembering import remembered
from recveil.evaluation.recommenders.plain_raters import EIGHT
from recveil.evaluation.recommenders.rater import Rater, feasible, rated
from recveil.measurement import Measurement, SkippedError, Trial

NAME = "in-house order"
SPLITS = 5
TRAINED = 0.8  # of the people
TESTED = 400  # at most
FEWEST = 10  # people to test on


def in_house(
    trial: Trial, _: np.random.Generator, raters: Sequence[Rater] = EIGHT, splits: int = SPLITS
) -> list[Measurement]:
    """The mean over splits of Kendall's tau between the raters' order inside the release and inside the real data.

    The note says how far two splits of the real data agree, which is as good as it gets.
    """
    if trial.train.rating is None:
        raise SkippedError("the data have no ratings")
    if trial.released.rating is None:
        raise SkippedError("the release has no ratings, so nobody can rank predictors of ratings on it")
    able = tuple(r for r in raters if feasible(r, trial.train, trial.released))
    if len(able) < 3:
        raise SkippedError("fewer than three rating predictors can learn from these data")
    real = [inside(able, trial.train, number) for number in range(splits)]
    release = [inside(able, trial.released, number) for number in range(splits)]
    among = [tau(real[a], real[b]) for a in range(splits) for b in range(a)]
    each = [tau(a, b) for a, b in zip(real, release, strict=True)]
    best = " and ".join(able[int(np.argmin(np.mean(side, axis=0)))].name for side in (real, release))
    note = f"best inside the data and the release: {best}"
    if among:
        note += f"; two splits of the data agree with {np.mean(among):.2f}"
    params = {"by": "rmse", "algorithms": len(able), "splits": splits}
    people = min(len(_people(trial.released)[1]), len(_people(trial.train)[1]))
    return [Measurement(NAME, *over_splits(each), n=people, chance=0.0, params=params, note=note)]


def tau(first: Floats, second: Floats) -> float:
    """Kendall's tau of two lists of errors; 0 where one of them orders nothing."""
    from scipy.stats import kendalltau

    found = float(kendalltau(first, second)[0])
    return found if np.isfinite(found) else 0.0


def over_splits(values: Sequence[float]) -> tuple[float, float, float]:
    """The mean with Student's interval; of one value alone nothing is known."""
    from scipy.stats import t as student

    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return mean, -1.0, 1.0
    half = float(student.ppf(0.975, n - 1)) * float(np.std(values, ddof=1)) / np.sqrt(n)
    return mean, max(mean - half, -1.0), min(mean + half, 1.0)


@remembered
def inside(raters: tuple[Rater, ...], data: Interactions, number: int) -> Floats:
    """The RMSE of each rater, trained and tested in the split of this number. Remembered: the data are judged once."""
    train, query, result = halves(data, number)
    joined, first = join(train, query)
    users = result.user + np.int32(first)
    found = []
    for rater in raters:
        error = rater.fit(joined, number).predict(users, result.item) - rated(result)
        found.append(rmse(error**2, np.ones(len(error))))
    return np.array(found)


def halves(data: Interactions, number: int) -> tuple[Interactions, Interactions, Interactions]:
    """People to train on; of others, what is history and what is test: each half of what they rated."""
    rng = np.random.default_rng([number, *b"in-house"])
    train, tested = _people(data, rng)
    if len(tested) < FEWEST:
        raise SkippedError(
            f"{len(train) + len(tested)} people are too few to train and test inside: {FEWEST} are tested"
        )
    rows = data.take_users(tested)
    rows = rows.take(rng.permutation(len(rows))).compact().over_items(data.items)
    rows = rows.take(np.argsort(rows.user, kind="stable"))
    starts = rows.starts()
    early = np.arange(len(rows)) - starts[rows.user] < np.diff(starts)[rows.user] // 2
    return data.take_users(train).compact().over_items(data.items), rows.take(early), rows.take(~early)


def _people(data: Interactions, rng: np.random.Generator | None = None) -> tuple[Floats, Floats]:
    """Codes of those to train on, and of those to test on."""
    rng = rng or np.random.default_rng(0)
    people = rng.permutation(np.unique(data.user))
    cut = int(TRAINED * len(people))
    return people[:cut], people[cut:][:TESTED]
