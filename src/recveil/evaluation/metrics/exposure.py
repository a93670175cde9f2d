"""Which items the lists show: coverage of the catalogue, Gini of the exposure, share of the long tail."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recveil.data import Codes, Floats, Interactions
from recveil.evaluation.metrics.ranking import REFEREES, N, arms
from recveil.evaluation.recommenders.ranker import Ranker
from recveil.measurement import Measurement, Trial

REPEATS = 200


def head(data: Interactions) -> NDArray[np.bool_]:
    """The fewest items that draw half of all interactions; all others are the long tail."""
    drawn = np.bincount(data.item, minlength=data.n_items)
    order = np.argsort(-drawn, kind="stable")
    few = int(np.searchsorted(np.cumsum(drawn[order]), len(data) / 2)) + 1
    mask = np.zeros(data.n_items, dtype=bool)
    mask[order[:few]] = True
    return mask


def coverage(shown: NDArray[np.int64]) -> float:
    """The share of items that are on some list; `shown` counts per item of the catalogue on how many."""
    return float(np.count_nonzero(shown) / len(shown))


def gini(shown: NDArray[np.int64]) -> float:
    """0 where all items are shown equally often, almost 1 where one takes all places."""
    ordered = np.sort(shown)
    places = np.arange(1, len(ordered) + 1)
    return float((2 * places - len(ordered) - 1) @ ordered / (len(ordered) * max(int(ordered.sum()), 1)))


def tail_share(shown: NDArray[np.int64], popular: NDArray[np.bool_]) -> float:
    """The share of places that items of the long tail take."""
    return float(shown[~popular].sum() / max(int(shown.sum()), 1))


def exposure(
    trial: Trial, rng: np.random.Generator, referees: Sequence[Ranker] = REFEREES, n: int = N
) -> list[Measurement]:
    """Coverage, Gini and long-tail share of each referee's lists, trained on the release and on the real data."""
    popular = head(trial.train)
    catalogue = np.bincount(trial.train.item, minlength=trial.train.n_items) > 0
    found: list[Measurement] = []
    for ranker in referees:
        for source, made in zip(("release", "real"), arms(trial, ranker, n), strict=False):
            params = {"referee": ranker.name, "trained_on": source, "n": n}
            names = ("coverage", "gini", "tail share")
            whole = _three(made.lists, popular, catalogue)
            people = len(made.lists)
            drawn = [_three(made.lists[rng.integers(0, people, people)], popular, catalogue) for _ in range(REPEATS)]
            # resamples show fewer items than the lists themselves: their spread is right, their middle is not
            spread = 1.96 * np.std(drawn, axis=0)
            found += [
                Measurement(name, v, max(v - s, 0.0), min(v + s, 1.0), n=people, params=params)
                for name, v, s in zip(names, whole.tolist(), spread.tolist(), strict=True)
            ]
    return found


def _three(lists: Codes, popular: NDArray[np.bool_], catalogue: NDArray[np.bool_]) -> Floats:
    shown = np.bincount(lists[lists >= 0], minlength=len(popular))[catalogue]
    return np.array([coverage(shown), gini(shown), tail_share(shown, popular[catalogue])])
