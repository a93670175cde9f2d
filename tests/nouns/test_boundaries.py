"""The last case that still counts, and small formulas spelled out a second time: attacks, estimates, noise, audits."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from recveil.data import from_ids
from recveil.dp import posterior
from recveil.dp.denoise import classes
from recveil.dp.noise import gaussian, laplace
from recveil.dp.vocabulary import exceeded, select, threshold_of_sums
from recveil.errors import RecveilError
from recveil.evaluation.attacks import roc
from recveil.evaluation.attacks.attributes import SHARP, _linked
from recveil.evaluation.attacks.linkage import levels_of
from recveil.evaluation.attacks.lists import REFEREES, lists
from recveil.evaluation.attacks.outcomes import LinkageOutcome, Side, strongest
from recveil.evaluation.attacks.reconstruction import _VALUES, _scale, reconstruction
from recveil.evaluation.attacks.shadow import FLOOR, PSEUDO, _bent, _standard, check
from recveil.evaluation.audit import audit, toy
from recveil.evaluation.audit.selecting import audit_selection
from recveil.evaluation.audit.signs import _in_rows
from recveil.evaluation.audit.watching import SIGMAS, NoiseTally
from recveil.evaluation.metrics.agreement import JUDGES, Scores, agreement, kendall
from recveil.evaluation.metrics.skill import ITEMS, OWN, folded
from recveil.measurement import trial
from recveil.mechanisms.mask import _sample
from recveil.mechanisms.spec import parse
from recveil.randomness import source
from recveil.releases.catalogue import Catalogue, shared
from recveil.views.records import Records


def test_traces_are_standardised_by_the_shadows_that_a_person_is_not_in() -> None:
    rng = np.random.default_rng(1)
    shadows, inside = rng.normal(3.0, 2.0, (40, 4, 2)), rng.random((40, 4)) < 0.5
    inside[:, 0], inside[1:, 1], inside[0, 1] = (
        True,
        True,
        False,
    )  # one person is in all of them, one in all but the first
    shadows[5, 3, 1] = np.nan
    shadows[:, 2] *= 0.01  # her traces hardly vary
    found = _standard(shadows[:2], shadows, inside)
    assert not _standard(np.full((1, 4, 2), np.nan), shadows, inside).any()
    for k in range(2):
        hers = [[x for x in shadows[~inside[:, p], p, k] if np.isfinite(x)] for p in range(4)]
        squares = [sum((x - np.mean(v)) ** 2 for x in v) if v else 0.0 for v in hers]
        freedom = [max(len(v) - 1, 0) for v in hers]
        pooled = sum(squares) / sum(freedom)
        for p in range(4):
            n, mean = len(hers[p]), np.mean(hers[p]) if hers[p] else 0.0
            variance = (squares[p] + PSEUDO * pooled) / (freedom[p] + PSEUDO)
            spread = sqrt(max(variance, FLOOR * pooled) * (1 + 1 / max(n, 1)))
            assert found[:, p, k] == pytest.approx((shadows[:2, p, k] - mean) / spread)


def test_a_trace_counts_more_beyond_the_knees() -> None:
    bent = _bent(np.array([[-9.0], [-1.0], [2.0], [5.0], [50.0]]))
    assert bent.tolist() == [[-6, 0, 0], [-1, 0, 0], [2, 0.5, 0], [5, 3.5, 1], [6, 4.5, 2]]


def test_rates_are_those_of_their_definition() -> None:
    """Walk down the scores until the allowed outsiders are used up; the last score is claimed in part."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        scores, inside = rng.integers(0, 6, 30), rng.random(30) < 0.4
        weight, fpr = rng.integers(0, 4, 30).astype(float), float(rng.choice([0.01, 0.1, 0.5]))
        allowed, right = fpr * weight[~inside].sum(), 0.0
        for level in sorted(set(scores), reverse=True):
            mine, others = (weight[(scores == level) & side].sum() for side in (inside, ~inside))
            part = min(1.0, allowed / others) if others else 1.0
            if allowed <= 0 and others == 0:
                break
            right += part * mine
            allowed -= part * others
            if part < 1:
                break
        found = roc.ranked(scores.astype(float), inside).tpr(weight, fpr)
        assert found == pytest.approx(right / weight[inside].sum())


def test_three_outsiders_may_stand_for_a_rate() -> None:
    inside = np.arange(400) < 100
    rng = np.random.default_rng(0)
    assert roc.pooled_tpr(np.zeros((1, 400)), inside[None], 0.01, rng) is not None
    assert roc.pooled_tpr(np.zeros((1, 399)), inside[None, :399], 0.01, rng) is None


def test_eight_shadows_are_enough() -> None:
    check(8, 20)


def test_an_attacker_knows_as_much_as_half_of_the_people_have() -> None:
    assert levels_of(None, np.ones(9, dtype=np.int64)) == [1]
    assert levels_of(None, np.zeros(9, dtype=np.int64)) == [1]


def test_the_strongest_attacker_is_chosen_by_what_is_known() -> None:
    """One is better with one known item, the other with two: asked about one, the first is taken for everybody."""
    people = np.arange(8)
    side = Side(None, np.zeros(8), None, people)  # type: ignore[arg-type]
    good, bad = (
        np.column_stack([np.ones(8), np.zeros(8), np.zeros(8)]),
        np.column_stack([np.zeros(8), *[np.ones(8)] * 2]),
    )
    options = [[(side, LinkageOutcome(s, s, s.astype(np.int64)))] for s in (bad, good)]
    rng = np.random.default_rng(0)
    assert strongest(options, 1, rng)[0][1].success[:, 0].tolist() == [1.0] * 8
    assert strongest(options, 2, rng)[0][1].success[:, 1].tolist() == [1.0] * 8


def test_lists_have_two_halves_of_outsiders_for_a_control(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    data, others = (
        from_ids(pl.Series(np.repeat(np.arange(20), 4) + first), pl.Series(rng.integers(0, 30, 80)))
        for first in (0, 99)
    )
    seen: list[tuple[int, int]] = []

    def auc(a: Any, b: Any) -> Any:
        seen.append((len(a), len(b)))
        return 0.5, 0.4, 0.6

    monkeypatch.setitem(lists.__globals__, "auc", auc)
    trial = SimpleNamespace(train=data, released=data, holdout=others.over_items(data.items))
    found = lists(trial, rng, referees=REFEREES[:1])  # type: ignore[arg-type]
    (members, outsiders), halves = seen[0], seen[1]
    assert sum(halves) == outsiders and abs(halves[0] - halves[1]) <= 1 and members > 15
    assert found[0].control == 0.5


def test_records_that_fit_best_say_the_most() -> None:
    """A softmax over standardised scores, of who has some items out of three records."""
    released = Records(np.array([0, 2, 3, 6]), np.array([0, 1, 2, 0, 1, 3], np.int32), np.full(6, np.nan), 4)
    few = sparse.csr_array(np.array([[0.7, 0.7, 0, 0], [0, 0, 1.0, 0]]))
    told = np.array([1.0, -2.0, 0.5])
    gains = 1 / np.log(1 + np.array([2, 2, 1, 1]))
    bits = np.array([[1, 1, 0, 0], [0, 0, 1, 0], [1, 1, 0, 1]])
    for row, found in zip(([1, 1, 0, 0], [0, 0, 1, 0]), _linked(few, released, told), strict=True):
        score = (bits * np.array(row) * gains).sum(1) / np.sqrt(bits.sum(1))
        weight = np.exp(SHARP * (score - score.max()) / score.std())
        assert found == pytest.approx(weight @ told / weight.sum())


def test_many_values_become_a_scale_between_the_ends() -> None:
    found = _scale(np.arange(1000.0))
    assert (found[0], found[-1], len(found)) == (0.0, 999.0, _VALUES)


def test_an_interval_holds_its_own_value() -> None:
    """Of resamples of a tau the quantiles may lie on one side of it."""
    outside = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        sides = [Scores(rng.normal(np.arange(5)[:, None] * 0.1, 1.0, (5, 40)), np.ones(40)) for _ in range(2)]
        tau = kendall(*sides, rng, repeats=4)
        if tau.value is not None:
            assert tau.low <= tau.value <= tau.high
            outside += tau.value in (tau.low, tau.high)
    assert outside > 10


def test_noise_may_be_missing_by_chance_so_far() -> None:
    assert SIGMAS == 5
    assert NoiseTally(16.0, 0.0, 46).short and not NoiseTally(16.0, 1.0, 46).short


@pytest.mark.parametrize("law", [laplace(2), gaussian(3), gaussian(40_000), laplace(900)])
def test_what_may_stand_behind_a_table_is_a_grid(law: Any) -> None:
    """All small numbers where noise is small; then a quarter (or two fifths) farther each, beyond the largest seen."""
    step = posterior._step(law)
    assert step == max(1, int(law.deviation / 8))
    found = posterior._support(5000, law, step)
    first, growth = (9.0, 1.25) if step == 1 else (0.02 * law.deviation, 1.4)
    start = list(range(9)) if step == 1 else [0]
    grid = [int(np.rint(first * growth**k)) for k in range(100)]
    assert set(found) == {*start, *(x for x in grid if x <= found[-1])}
    assert grid[0] < 5000 <= found[-2] < found[-1] < 5000 * growth**3


def test_levels_are_rounded_to_the_nearest() -> None:
    assert [posterior._level(x, 4) for x in (-3, -2, 1, 2, 5, 6)] == [-1, 0, 0, 1, 1, 2]


def test_as_many_ids_as_may_be_kept() -> None:
    counts = np.array([900, 0, 800, 700])
    found = select("items", counts, laplace(Fraction(1, 100)), 5, 3, source(1))
    assert found.codes.tolist() == [0, 2, 3] and found.cut == 5
    assert select("items", counts, laplace(Fraction(1, 100)), 5, 2, source(1)).cut == 700


def test_thresholds_of_sums_and_of_laplace_noise() -> None:
    law = laplace(3)
    assert threshold_of_sums(law, 1e-3, 50, 20) == 50 + exceeded(law, 1e-3 / 20)
    for chance in (0.3, 1e-3, 1e-9):
        x = exceeded(law, chance)
        beyond = [np.exp(-(y + 1) / 3) / (1 + np.exp(-1 / 3)) for y in (x, x - 1)]
        assert beyond[0] <= chance < beyond[1] or x == 0


def test_an_items_average_may_rest_on_one_rating() -> None:
    data = from_ids(pl.Series([1, 1, 2]), pl.Series([1, 2, 2]), np.array([5.0, 1.0, 2.0]))
    found = folded((), data, data, data)
    assert found[ITEMS].tolist() == [0.0, 0.5, -0.5] and found[OWN].tolist() == [-2.0, 2.0, 0.0]


def test_bits_are_believed_as_bayes_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """P(had it | bit) from how likely bits are left alone and how many people then must have it."""
    rng = np.random.default_rng(4)
    bits = rng.random((40, 6)) < np.array([0.9, 0.6, 0.5, 0.3, 0.2, 0.15])
    bits[0] = [1, 0, 1, 0, 1, 0]
    data = from_ids(*map(pl.Series, np.nonzero(bits)))
    seen: list[Any] = []
    monkeypatch.setitem(reconstruction.__globals__, "_recovered", lambda score, *_: seen.append(score.copy()) or 0.5)
    subject = replace(trial(data, data), owner=np.arange(40, dtype=np.int32))
    reconstruction(subject, np.random.default_rng(0), keep=0.9)
    people = np.random.default_rng(0).permutation(40)
    wanted = np.clip((bits.mean(0) - 0.1) / 0.8, 0.5 / 40, 1.0)
    for person, score in zip(people, seen[40:80], strict=True):
        kept, flipped = (np.where(bits[person], a, b) for a, b in ((0.9, 0.1), (0.1, 0.9)))
        assert score == pytest.approx(kept * wanted / (kept * wanted + flipped * (1 - wanted)))


def test_two_raters_can_agree() -> None:
    from test_rating_metrics import subject

    (found,) = agreement(subject(), np.random.default_rng(0), rankers=(), raters=JUDGES[:2])
    assert found.params["algorithms"] == 2


def test_tags_of_the_canary_are_counted() -> None:
    rows = from_ids(pl.Series([1, 1, 2]), pl.Series([1, 2, 2]), tag=pl.Series(["canary", "a", "b"]))
    assert _in_rows(rows, rows.take(np.array([0])))["canary tags"] == 1.0


def test_a_selection_that_is_always_refused_is_untested(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise RecveilError("no")

    made = parse("dp-streams:epsilon=2,delta=1e-3")
    monkeypatch.setattr(type(made), "publish", refuse)
    found = audit_selection(made, toy(made), Catalogue(), 20, 0.95, 1)
    assert found is not None and (found.refused, found.verdict) == (1.0, "untested")


def test_answers_are_watched_where_hardly_any_is_replaced() -> None:
    """Less than one of a release, on average: many releases tell."""
    made = parse("dp-post-tags:epsilon=16")
    found = audit(made, toy(made).take_users(np.arange(60)).compact(), runs=20, seed=1)
    assert found.noise is not None and 0.2 < found.noise["answers replaced"] < 2.0


def test_a_sample_of_people_holds_those_who_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recveil.mechanisms.mask._SAMPLE", 2)
    few = from_ids(pl.Series([3, 5, 8]), pl.Series([1, 2, 1]))
    for first in (0, 4, 9):
        data = replace(few, user=few.user + np.int32(first), users=pl.Series(range(100, 120)))
        found = _sample(data).data
        assert len(set(found.user.tolist()) & {first, first + 1, first + 2}) == 2


def test_the_first_id_of_a_list_is_in_common() -> None:
    data = from_ids(pl.Series([1, 2]), pl.Series([4, 7]))
    assert shared(pl.Series([4, 99]), data) is not None
    assert shared(pl.Series([1, 7]), data) is not None
    with pytest.raises(RecveilError, match="belongs to other data"):
        shared(pl.Series([5, 99]), data)


def test_classes_hold_the_largest_first() -> None:
    prior = np.random.default_rng(0).permutation(2000).astype(float)
    found = classes(prior)
    assert np.bincount(found).tolist() == [256, 768, 976]
    assert prior[found == 0].min() > prior[found == 1].max() > prior[found == 2].max()
