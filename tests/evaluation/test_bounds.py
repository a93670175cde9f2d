"""Small rules that nothing else pins down: the audit's bounds, pairs of algorithms, Bayes' rule, kept times."""

from __future__ import annotations

from math import log

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta

from recveil.data import Interactions, from_ids
from recveil.evaluation.attacks.epsilon import _high, _hits, _low, attainable, judge
from recveil.intervals import clopper_pearson
from recveil.releases.release import time_rule


def test_the_bounds_that_choose_events_are_those_that_judge_them() -> None:
    hits = np.array([0, 1, 7, 49, 50])
    for confidence in (0.9, 0.999):
        tail = (1 - confidence) / 2
        exact = [clopper_pearson(int(k), 50, confidence) for k in hits]
        assert _low(beta, hits, 50, tail) == pytest.approx([low for low, _ in exact])
        assert _high(beta, hits, 50, tail) == pytest.approx([high for _, high in exact])


def test_hits_are_counted_on_the_threshold_too() -> None:
    values = np.array([1.0, 2.0, 2.0, 3.0])
    assert _hits(values, np.array([1.0, 2.0, 2.5, 3.5]), True).tolist() == [4, 3, 1, 0]
    assert _hits(values, np.array([0.5, 1.0, 2.0, 3.0]), False).tolist() == [0, 1, 3, 4]


def test_total_disclosure_gives_the_attainable_bound_in_closed_form() -> None:
    """One statistic that tells all, and its combination: two events, each at half of what may fail."""
    one, other = np.ones((100, 1)), np.zeros((100, 1))
    found = judge(one, other, ["told"], delta=0.01, confidence=0.95)
    tail = 0.05 / 2 / 2
    low, high = tail ** (1 / 50), 1 - tail ** (1 / 50)
    assert found.lower == pytest.approx(log((low - 0.01) / high))
    assert found.lower == pytest.approx(found.attainable) == pytest.approx(attainable(100, 2, 0.01, 0.95))


def test_tau_speaks_of_all_pairs_of_algorithms() -> None:
    from recveil.evaluation.metrics.agreement import Scores, _measured

    rng = np.random.default_rng(1)
    people = 60
    means = np.array([0.1, 0.3, 0.5, 0.7])
    scores = Scores(means[:, None] + 0.01 * rng.normal(size=(4, people)), np.ones(people))
    (found,) = _measured((scores, scores), rng, "ndcg@10", 4, 5)
    assert found.value == pytest.approx(1.0)
    assert found.note.startswith("of 6 pairs the real data tell 6 apart, the release 6")
    blind = Scores(np.full((4, people), 0.5), np.ones(people))
    (lost,) = _measured((scores, blind), rng, "ndcg@10", 4, 5)
    assert (lost.name, lost.value) == ("algorithms told apart", 0.0)


def test_reconstruction_guesses_by_bayes_rule() -> None:
    """Bits kept with probability p: popular items that are silent beat rare ones that are not, as Bayes says."""
    from recveil.evaluation.attacks.reconstruction import reconstruction
    from recveil.measurement import trial
    from recveil.mechanisms.mask import Mask
    from recveil.releases.release import release

    rng = np.random.default_rng(2)
    likely = np.r_[np.full(6, 0.9), np.full(40, 0.03)]
    has = rng.random((400, 46)) < likely
    has[:, 0] = True
    user, item = np.nonzero(has)
    data = from_ids(pl.Series(user), pl.Series(item))
    made = release(data, Mask(p=0.7), seed=1)
    found = {
        m.params["attacker"]: m.value
        for m in reconstruction(trial(data, made.data, id_map=made.id_map), np.random.default_rng(1))
    }
    best = np.mean([has[u, np.argsort(-likely, kind="stable")[: has[u].sum()]].mean() for u in range(400)])
    assert found["bayes"] > best - 0.03  # the truth is nearly all in the popular items
    assert found["bayes"] > found["released"] + 0.1


@pytest.mark.parametrize(
    ("kind", "timed", "rule"),
    [("clicks", True, "order"), ("clicks", False, "drop"), ("ratings", True, "drop"), ("tags", True, "drop")],
)
def test_times_of_clicks_become_an_order_and_all_others_go(kind: str, timed: bool, rule: str) -> None:
    rows = rows_of(kind, timed)
    assert rows.kind == kind
    assert time_rule("auto", rows) == rule
    assert time_rule("keep", rows) == "keep"


def rows_of(kind: str, timed: bool) -> Interactions:
    return from_ids(
        pl.Series([1, 1, 2]),
        pl.Series([1, 2, 1]),
        np.array([1, 2, 3]) if kind == "ratings" else None,
        np.arange(3) if timed else None,
        pl.Series(["a", "b", "c"]) if kind == "tags" else None,
    )
