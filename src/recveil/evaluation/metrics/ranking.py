"""Quality of recommendation lists: AUC, and precision, recall, NDCG and MAP at n, user by user.

Trained on the release or on the real data, tested on what real people did next. Conventions are those of trec_eval:
precision divides by n, recall and average precision by the number of relevant items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from recveil.data import Codes, Floats, Interactions
from recveil.evaluation.metrics.remembering import remembered
from recveil.evaluation.metrics.settings import is_ahead, settled
from recveil.evaluation.recommenders import RANKERS
from recveil.evaluation.recommenders.popular import MostPopular
from recveil.evaluation.recommenders.ranker import Model, Ranker, scored
from recveil.intervals import bootstrap_mean
from recveil.measurement import NO_TEST_PEOPLE, Measurement, SkippedError, Trial

N = 10  # items on a list
SOUGHT = "ndcg"  # by which settings are searched
GRADES = ("precision", "recall", "ndcg", "map")
POPULAR = MostPopular()
REFEREES: tuple[Ranker, ...] = tuple(r for r in RANKERS.values() if r != POPULAR)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a model did for the test people: those with something relevant to find, by their code in the query.

    `lists` are their recommendations; `values` has one number per person and metric ("auc", "precision", "recall",
    "ndcg", "map").
    """

    users: Codes
    lists: Codes
    values: dict[str, Floats]
    n: int


def relevant(query: Interactions, result: Interactions, like: float | None = None) -> sparse.csr_array:
    """People x items: what there is to find. Liked where there are ratings, and not already in the person's query."""
    if not query.users.equals(result.users) or query.n_items != result.n_items:
        raise ValueError("query and result need the same users and items")
    if like is not None and result.rating is not None:
        result = result.take(result.rating >= like)
    found = result.matrix(binary=True)
    fresh = sparse.csr_array(found - found.multiply(query.matrix(binary=True)))
    fresh.eliminate_zeros()
    fresh.sort_indices()
    return fresh


def liked(data: Interactions) -> float | None:
    """From which rating on an item counts as liked: the upper quarter of the scale (4 of 1 to 5)."""
    if data.rating is None or not len(data):
        return None
    low, high = float(data.rating.min()), float(data.rating.max())
    return low + 0.75 * (high - low)


def evaluate(model: Model, query: Interactions, wanted: sparse.csr_array, n: int) -> Outcome:
    """Lists of n for everyone who has something to find, and their quality."""
    from recveil.kernels.ranking import auc, grade, top_n

    users = np.flatnonzero(np.diff(wanted.indptr))
    lists, grades, areas = [], [], []
    for block, history, scores in scored(model, query, users):
        starts, seen = history.indptr.astype(np.int64), history.indices.astype(np.int32)
        target = wanted[block]
        bounds, relevant_items = target.indptr.astype(np.int64), target.indices.astype(np.int32)
        lists.append(top_n(scores, starts, seen, n))
        grades.append(grade(lists[-1], bounds, relevant_items, n))
        areas.append(auc(scores, starts, seen, bounds, relevant_items))
    if not lists:
        lists, grades, areas = [np.empty((0, n), np.int32)], [np.empty((0, 4))], [np.empty(0)]
    table = np.concatenate(grades)
    values = {"auc": np.concatenate(areas)} | {name: table[:, k] for k, name in enumerate(GRADES)}
    return Outcome(users.astype(np.int32), np.concatenate(lists), values, n)


@remembered
def outcome(
    ranker: Ranker, data: Interactions, query: Interactions, result: Interactions, like: float | None, n: int, seed: int
) -> Outcome:
    """Fit a ranker and evaluate it. Remembered per data object: the real data are judged once for all releases."""
    judge = ranker if len(data) else POPULAR  # of nothing nothing can be learned: its lists are empty
    return evaluate(judge.fit(data, seed), query, relevant(query, result, like), n)


def arms(trial: Trial, ranker: Ranker, n: int = N) -> tuple[Outcome, Outcome, Outcome]:
    """The same test people served by `ranker` trained on the release, on the real data, and by the real most-popular.

    The referees' own chance is the same in all arms. One that teaches nothing on the real data has its settings
    searched there, and is judged with those.
    """
    if trial.query is None or trial.result is None:
        raise SkippedError(NO_TEST_PEOPLE)
    like = liked(trial.train)

    def served(by: Ranker, data: Interactions) -> Outcome:
        assert trial.query is not None and trial.result is not None
        return outcome(by, data, trial.query, trial.result, like, n, 0)

    popular, real = served(POPULAR, trial.train), served(ranker, trial.train)
    if not len(popular.users):
        raise SkippedError("no held-out person has anything to find that is not in her history already")
    if getattr(ranker, "others", ()) and not is_ahead(real.values[SOUGHT], popular.values[SOUGHT]):
        ranker = settled(ranker, trial.train, Worth(like, n))
        real = served(ranker, trial.train)
    return served(ranker, trial.released), real, popular


@dataclass(frozen=True)
class Worth:
    """How well lists of n serve people who were kept out, in the mean."""

    like: float | None
    n: int

    def __call__(self, ranker: Ranker, kept: Interactions, query: Interactions, result: Interactions) -> float:
        values = evaluate(ranker.fit(kept, 0), query, relevant(query, result, self.like), self.n).values[SOUGHT]
        return float(values.mean()) if len(values) else 0.0


def ranking(
    trial: Trial, rng: np.random.Generator, referees: Sequence[Ranker] = REFEREES, n: int = N
) -> list[Measurement]:
    """Quality of the lists, for each referee: trained on the release, and on the real data; and most-popular."""
    found: list[Measurement] = []
    for k, ranker in enumerate(referees):
        release, real, popular = arms(trial, ranker, n)
        lines = [(ranker.name, "release", release), (ranker.name, "real", real)]
        for name, source, made in lines + ([(POPULAR.name, "real", popular)] if k == 0 else []):
            for metric, values in made.values.items():
                known = values[np.isfinite(values)]
                if not len(known):
                    continue
                params = {"referee": name, "trained_on": source} | ({} if metric == "auc" else {"n": n})
                found.append(Measurement(metric, *bootstrap_mean(known, rng), n=len(known), params=params))
    return found
