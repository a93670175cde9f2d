"""lists: was this person in the data that a recommender was trained on? The attacker sees the lists that it gives out.

He knows what a person did and shows the model a part of it, as the person herself would (Zhang et al. 2021: what is
recommended comes nearer to the history of members). A model that learnt from her names more of the rest. Members are
held against people whom the model never saw.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recveil.data import Floats, Interactions
from recveil.evaluation.attacks.membership import auc
from recveil.evaluation.attacks.verdict import measured
from recveil.evaluation.recommenders import RANKERS
from recveil.evaluation.recommenders.ranker import Ranker, recommend
from recveil.measurement import Measurement, SkippedError, Trial
from recveil.splits import before_and_after

REFEREES = tuple(RANKERS[name] for name in ("item-knn", "user-knn", "ease"))
TARGETS = 1000
LENGTH = 50  # of a list


def lists(trial: Trial, rng: np.random.Generator, *, referees: Sequence[Ranker] = REFEREES) -> list[Measurement]:
    """AUC of telling members by their lists, of each referee trained on the release and on the data themselves.

    control: one half of the people who are not in the data against the other.
    """
    if trial.holdout is None:
        raise SkippedError("lists needs people who are not in the data; give some as holdout")
    sides = [_asked(part, rng) for part in (trial.train, trial.holdout)]
    if len(np.unique(sides[1][0].user)) < 4:
        raise SkippedError("lists needs at least 4 people who are not in the data, with two items or more")
    found = []
    for ranker in referees:
        for source, taught in (("release", trial.released), ("data", trial.train)):
            model = ranker.fit(taught, 0)
            inside, outside = (_scores(recommend(model, shown, LENGTH), rest) for shown, rest in sides)
            outside = outside[rng.permutation(len(outside))]
            note = "" if source == "release" else "the model learnt from the data themselves: no release protects it"
            found.append(
                measured(
                    "lists-auc",
                    auc(inside, outside),
                    len(inside),
                    chance=0.5,
                    control=auc(outside[::2], outside[1::2])[0],
                    params={"referee": ranker.name, "trained_on": source},
                    note=note,
                )
            )
    return found


def _asked(data: Interactions, rng: np.random.Generator) -> tuple[Interactions, Interactions]:
    """What some people who have two items or more show to a recommender, and the rest of what they did."""
    able = np.flatnonzero(np.bincount(data.user, minlength=data.n_users) >= 2)
    people = data.take_users(rng.permutation(able)[:TARGETS])
    some = people.compact().over_items(data.items)
    shown, rest = before_and_after(some, rng)
    return shown, rest


def _scores(named: np.ndarray[tuple[int, ...], np.dtype[np.int32]], rest: Interactions) -> Floats:
    """Of each person how much of the rest is named, early places counting more, out of what could be named at best."""
    hidden = np.zeros((rest.n_users, rest.n_items + 1), dtype=bool)
    hidden[rest.user, rest.item] = True
    hit = hidden[np.arange(len(named))[:, None], named]  # the last column stands for no item, code -1
    worth = 1.0 / np.log2(np.arange(LENGTH) + 2.0)
    best = np.concatenate([[0.0], np.cumsum(worth)])[np.minimum(hidden.sum(axis=1), LENGTH)]
    return np.asarray((hit * worth).sum(axis=1) / np.maximum(best, 1e-12))
