"""Rating skill: how much of what the real data teach of ratings, beyond items' averages, a release still teaches.

(RMSE of the real items' averages - RMSE on the release) / (RMSE of the real items' averages - RMSE of the best real
predictor), over the same test people: 0 is a table of averages, 1 is the best predictor that the real data make. Test
people are judged by their own history; no predictor learns from it, so that a release which teaches nothing has none.
Skill flatters: a person's own mean needs no release at all, and has a skill too. It stands beside as chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recveil.data import Floats, Interactions
from recveil.evaluation.metrics.ratings import rated_people, rmse
from recveil.evaluation.metrics.remembering import remembered
from recveil.evaluation.recommenders.likeness import ItemLikeness
from recveil.evaluation.recommenders.plain_raters import Biases, Factors, ResidualEase, SlopeOne
from recveil.evaluation.recommenders.rater import feasible, rated
from recveil.intervals import bootstrap
from recveil.measurement import Measurement, SkippedError, Trial

FOLDED: tuple[Biases | SlopeOne | ResidualEase | ItemLikeness | Factors, ...] = (
    Biases(), SlopeOne(), ResidualEase(), ItemLikeness(), Factors(),
)  # fmt: skip
NAME, OWN, ITEMS = "rating skill", "own mean", "item-average"


def skill(trial: Trial, rng: np.random.Generator, raters: Sequence[object] = FOLDED) -> list[Measurement]:
    """Of a person's own mean, which needs no release; then of each rater on it, the best on the real data first."""
    query, result = rated_people(trial)
    able = tuple(r for r in raters if feasible(r, trial.train, trial.released))  # type: ignore[arg-type]
    if not able:
        raise SkippedError("no rating predictor can learn from these data within memory")
    person = np.unique(result.user, return_inverse=True)[1]
    real, release = (
        {name: np.bincount(person, e**2) for name, e in folded(able, data, query, result).items()}
        for data in (trial.train, trial.released)
    )
    count = np.bincount(person)
    best = min(real, key=lambda name: float(real[name].sum()))
    ends = [real[ITEMS], real[best]]
    ahead, low, high = bootstrap(_ahead, [*ends, count], rng)
    if low <= 0:
        raise SkippedError(
            f"skill is undefined: on the real data {best} does not for certain predict ratings better than the items' "
            f"averages (by {ahead:.3f} from {low:.3f} to {high:.3f})"
        )
    floor = bootstrap(_skill, [*ends, real[OWN], count], rng)
    estimates = {OWN: floor} | {
        name: bootstrap(_skill, [*ends, release[name], count], rng)
        for name in sorted(real, key=lambda name: float(real[name].sum()))
        if name not in (ITEMS, OWN)
    }
    note = f"1 is {best} on the real data, 0 their items' averages; a person's own mean has {floor[0]:.2f}"
    return [
        Measurement(NAME, *estimate, n=len(count), chance=floor[0], params={"referee": name}, note=note)
        for name, estimate in estimates.items()
    ]


@remembered
def folded(
    raters: tuple[object, ...], data: Interactions, query: Interactions, result: Interactions
) -> dict[str, Floats]:
    """Predicted minus real rating of every row of `result`: by raters fitted to `data`, items' averages, own means."""
    truth = rated(result)
    value, mean = rated(data), float(rated(data).mean())
    count = np.bincount(data.item, minlength=data.n_items)
    items = np.where(count > 0, np.bincount(data.item, value, data.n_items) / np.maximum(count, 1), mean)
    hers = np.bincount(query.user, minlength=query.n_users)
    own = np.where(hers > 0, np.bincount(query.user, rated(query), query.n_users) / np.maximum(hers, 1), mean)
    found = {ITEMS: items[result.item] - truth, OWN: own[result.user] - truth}
    for rater in raters:
        model = rater.fit(data, 0).among(query)  # type: ignore[attr-defined]
        found[rater.name] = model.predict(result.user, result.item) - truth  # type: ignore[attr-defined]
    return found


def _ahead(zero: Floats, best: Floats, count: Floats) -> float:
    return rmse(zero, count) - rmse(best, count)


def _skill(zero: Floats, best: Floats, release: Floats, count: Floats) -> float:
    base = rmse(zero, count)
    return (base - rmse(release, count)) / (base - rmse(best, count))
