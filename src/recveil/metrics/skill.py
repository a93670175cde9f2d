"""Rating skill: how much of what the real data teach of ratings, beyond items' averages, a release still teaches.

(RMSE of the real items' averages - RMSE on the release) / (RMSE of the real items' averages - RMSE of the best real
predictor), over the same test people: 0 is a table of averages, 1 is the best predictor that the real data make.
Skill flatters: a person's own mean needs no release at all, and has a skill too. It stands beside as chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recveil.data import Floats
from recveil.intervals import bootstrap
from recveil.measurement import LeftOutError, Measurement, Trial
from recveil.metrics.ratings import JUDGES, errors, rated_people, rmse
from recveil.metrics.ratings import able as able_raters
from recveil.recommenders.rater import Average, Rater

ZERO, FLOOR = Average("item"), Average("user")
NAME, OWN = "rating skill", "own mean"


def skill(trial: Trial, rng: np.random.Generator, raters: Sequence[Rater] = JUDGES) -> list[Measurement]:
    """Of a person's own mean, which needs no release; then of each rater on it, the best on the real data first."""
    query, result = rated_people(trial)
    able = tuple(dict.fromkeys([*able_raters(raters, trial), ZERO, FLOOR]))
    person = np.unique(result.user, return_inverse=True)[1]
    squares = {
        source: {name: np.bincount(person, e**2) for name, e in errors(able, data, query, result, 0).items()}
        for source, data in (("real", trial.train), ("release", trial.released))
    }
    real, count = squares["real"], np.bincount(person)
    best = min(real, key=lambda name: real[name].sum())
    ends = [real[ZERO.name], real[best]]
    ahead, low, high = bootstrap(_ahead, [*ends, count], rng)
    if low <= 0:
        raise LeftOutError(
            f"skill is undefined: on the real data {best} does not for certain predict ratings better than the items' "
            f"averages (by {ahead:.3f} from {low:.3f} to {high:.3f})"
        )
    floor = bootstrap(_skill, [*ends, real[FLOOR.name], count], rng)
    estimates = {OWN: floor} | {
        name: bootstrap(_skill, [*ends, squares["release"][name], count], rng)
        for name in sorted(real, key=lambda name: float(real[name].sum()))
        if name not in (ZERO.name, FLOOR.name)
    }
    note = f"1 is {best} on the real data, 0 their items' averages; a person's own mean has {floor[0]:.2f}"
    return [
        Measurement(NAME, *estimate, n=len(count), chance=floor[0], params={"referee": name}, note=note)
        for name, estimate in estimates.items()
    ]


def _ahead(zero: Floats, best: Floats, count: Floats) -> float:
    return rmse(zero, count) - rmse(best, count)


def _skill(zero: Floats, best: Floats, release: Floats, count: Floats) -> float:
    base = rmse(zero, count)
    return (base - rmse(release, count)) / (base - rmse(best, count))
