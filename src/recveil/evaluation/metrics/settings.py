"""Settings of a referee that learns nothing with its usual ones: a small public search, on the real data alone.

Where a referee, trained on the real data, does not for certain beat most-popular, its few other settings are tried on
people of the training data who are kept out for it. The best is taken for the real data and for every release alike: no
release and no test person has a say in the choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from recveil.data import Interactions
from recveil.evaluation.metrics.remembering import remembered
from recveil.evaluation.recommenders.ranker import Ranker
from recveil.splits import before_and_after, holdout_users

SHARE, MOST, FEWEST = 0.2, 1000, 20  # people kept out to choose on, and how many at most and at least
SURE = 2.0  # standard errors by which a mean must lie above zero
Judge = Callable[[Ranker, Interactions, Interactions, Interactions], float]


def is_ahead(better: Any, worse: Any) -> bool:
    """Whether scores of the same people are higher for certain."""
    gap = np.asarray(better) - np.asarray(worse)
    return len(gap) > 1 and float(gap.mean()) > SURE * float(gap.std(ddof=1)) / len(gap) ** 0.5


@remembered
def settled(ranker: Any, data: Interactions, judge: Judge) -> Ranker:
    """The settings that serve people of the real data best who were kept out; its own where these are too few.

    `judge`: what a model fitted to the first data is worth to the others, who are asked by halves of what they did.
    """
    rng = np.random.default_rng(0)
    candidates: list[Ranker] = [ranker]
    if SHARE * data.n_users < FEWEST:
        return candidates[0]
    kept, held = holdout_users(data, SHARE, rng)
    if held.n_users > MOST:
        held = held.take_users(np.sort(rng.choice(held.n_users, MOST, replace=False))).compact()
    asked = before_and_after(held.over_items(data.items), rng)
    candidates += [replace(ranker, **other) for other in ranker.others]
    scores = [judge(one, kept.over_items(data.items), *asked) for one in candidates]
    return candidates[int(np.argmax(scores))]
