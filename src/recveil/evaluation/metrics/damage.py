"""Who pays: what a release takes from light and heavy users, and from head and tail items."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.data import Floats
from recveil.evaluation.metrics.exposure import head
from recveil.evaluation.metrics.ranking import REFEREES, N, Outcome, arms, liked, relevant
from recveil.evaluation.recommenders.ranker import Ranker
from recveil.intervals import paired_difference
from recveil.measurement import NO_TEST_PEOPLE, Measurement, SkippedError, Trial


def damage(
    trial: Trial, rng: np.random.Generator, referees: Sequence[Ranker] = REFEREES, n: int = N
) -> list[Measurement]:
    """recall@n trained on the real data minus trained on the release, for each group; more is worse.

    Light users are the half with the shorter histories. Head items are the fewest that draw half of all interactions;
    recall of a group of items counts only those, over the people who have one of them to find.
    """
    if trial.query is None or trial.result is None:
        raise SkippedError(NO_TEST_PEOPLE)
    wanted = relevant(trial.query, trial.result, liked(trial.train))
    length = np.diff(trial.query.matrix(binary=True).indptr)
    popular = head(trial.train)
    found: list[Measurement] = []
    for ranker in referees:
        release, real, _ = arms(trial, ranker, n)
        light = length[real.users] <= np.median(length[real.users])
        everyone, every = np.ones_like(light), np.ones_like(popular)
        for name, people, items in (
            ("light users", light, every),
            ("heavy users", ~light, every),
            ("head items", everyone, popular),
            ("tail items", everyone, ~popular),
        ):
            before, after = (_recall(o, wanted, items)[people] for o in (real, release))
            known = np.isfinite(before)
            if not known.any():
                continue
            before, after = before[known], after[known]
            note = f"recall@{n} {before.mean():.3f} with the real data, {after.mean():.3f} with the release"
            params = {"referee": ranker.name, "group": name, "n": n}
            found.append(
                Measurement("damage", *paired_difference(before, after, rng), n=len(before), params=params, note=note)
            )
    return found


def _recall(made: Outcome, wanted: sparse.csr_array, items: NDArray[np.bool_]) -> Floats:
    """Of each person's relevant items in the group, the share on the list; NaN for who has none."""
    target = sparse.csr_array(wanted[made.users].multiply(items[None, :].astype(np.float64)))
    row = np.repeat(np.arange(len(made.lists)), made.lists.shape[1])
    item = made.lists.ravel()
    listed = sparse.coo_array((np.ones(np.count_nonzero(item >= 0)), (row[item >= 0], item[item >= 0])), target.shape)
    total = np.asarray(target.sum(axis=1)).ravel()
    hits = np.asarray(target.multiply(listed.tocsr()).sum(axis=1)).ravel()
    recall: Floats = np.divide(hits, total, out=np.full(len(total), np.nan), where=total > 0)
    return recall
