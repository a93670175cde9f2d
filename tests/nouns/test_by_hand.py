"""Small cases whose answers are known by hand: attacks, metrics, tables of many items."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from math import log
from typing import Any

import naive
import numpy as np
import polars as pl
import pytest
from attacked import people, same
from epsilons import lower_bound

from recveil.data import from_ids
from recveil.dp import continual
from recveil.dp.denoise import common_neighbours
from recveil.dp.noise import Law, _cumulated, gaussian, laplace
from recveil.errors import RecveilError
from recveil.evaluation.attacks.additions import additions
from recveil.evaluation.attacks.attributes import attributes
from recveil.evaluation.attacks.linkage import linkage
from recveil.evaluation.attacks.one_run import OneRun
from recveil.evaluation.attacks.one_run import judge as judge_once
from recveil.evaluation.attacks.reconstruction import reconstruction
from recveil.evaluation.attacks.roc import auc_between
from recveil.evaluation.attacks.shadow import _between
from recveil.evaluation.attacks.traces import suspects, traces
from recveil.evaluation.attacks.truth import truth
from recveil.evaluation.audit import _excess
from recveil.evaluation.audit.one_run import audit_in_one_run
from recveil.evaluation.audit.verdict import verdict
from recveil.evaluation.audit.watching import Watch
from recveil.evaluation.metrics.challenge import challenge
from recveil.evaluation.metrics.exposure import REPEATS, _three, exposure, head
from recveil.evaluation.metrics.hiding import released_ratings
from recveil.evaluation.metrics.in_house import over_splits
from recveil.evaluation.metrics.next_item import asked_of
from recveil.evaluation.metrics.ranking import arms
from recveil.evaluation.recommenders import RATERS
from recveil.evaluation.recommenders.popular import MostPopular
from recveil.guarantee import Guarantee
from recveil.kernels.membership import CLOSENESS
from recveil.measurement import Trial, trial
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_streams import DENSE, UNIT, pair_table
from recveil.mechanisms.dp_streams.pairs import Above, cut
from recveil.mechanisms.dp_tags.cells import MOST_CELLS, most_tags, vocabulary
from recveil.mechanisms.spec import parse
from recveil.views.records import records


def test_pairs_of_many_items_are_in_units_of_a_person() -> None:
    cells = np.array([5, 9])
    found = pair_table({"cells": cells, "values": np.array([3 * UNIT, 7 * UNIT])}, DENSE + 1, UNIT**2, UNIT)
    assert isinstance(found, Above)
    assert found.values.tolist() == [3.0, 7.0] and found.threshold == cut(DENSE + 1, UNIT**2) / UNIT


def test_an_attacker_claims_those_who_are_left_alone() -> None:
    """Everybody has an item of her own: who knows it, and nothing else, claims all and is right."""
    data = from_ids(pl.Series(range(40)), pl.Series(range(40)))
    rows = linkage(Trial(data, data, owner=np.arange(40, dtype=np.int32)), np.random.default_rng(0), known=(1,))
    notes = [m.note for m in rows if m.params.get("attacker") == "intersection" and m.name == "linkage"]
    assert notes and all("claims to have found 100.0%, and is right in 100.0%" in note for note in notes)


def test_ratings_are_weighed_by_how_many_others_gave_them(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    user, item = np.divmod(np.arange(60), 6)
    data = from_ids(pl.Series(user), pl.Series(item), rng.integers(1, 4, 60).astype(float))
    seen: list[Any] = []

    def tilt(table: Any, *_: Any) -> Any:
        seen.append(table)
        return table.argmax(1)

    monkeypatch.setitem(reconstruction.__globals__, "_tilt", tilt)
    reconstruction(replace(trial(data, data), owner=np.arange(10, dtype=np.int32)), rng, rank=2)
    assert all(np.array_equal(table.sum(1), np.full(60, 9.0)) for table in seen)  # nine others rated each item
    assert len(seen) == 2 and np.array_equal(seen[0], np.rint(seen[0]))


def test_traces_of_closeness_see_every_record() -> None:
    """Also the last one, whose copy is looked for."""
    known, made = people(12, 0, items=20, size=5), people(9, 1, items=20, size=4)
    made = made.over_items(known.items)
    both = [[set(d.item[d.user == u].tolist()) for u in range(d.n_users)] for d in (known, made)]
    both[1][-1] = set(both[0][3])
    rows = [(u, i) for u, items in enumerate(both[1]) for i in items]
    made = from_ids(*map(pl.Series, zip(*rows, strict=True)), time=np.arange(len(rows)))
    made = made.over_items(pl.Series(range(known.n_items)))
    found = traces(suspects(known, np.arange(12), False), replace(made, items=known.items))
    weights = 1.0 / np.log(2.0 + records(known).popularity())
    for person, row in zip(both[0], found[:, : len(CLOSENESS)], strict=True):
        assert row == pytest.approx(naive.closeness(person, both[1], weights.tolist()))


def test_intervals_of_exposure_are_two_deviations_of_resamples() -> None:
    subject, ranker = same(60), MostPopular()
    query, result = (people(20, seed, first=500).over_items(subject.train.items) for seed in (7, 8))
    subject = replace(subject, query=query, result=result)
    rng = np.random.default_rng(5)
    again = deepcopy(rng)
    found = exposure(subject, rng, (ranker,), n=5)[:3]
    made, popular = arms(subject, ranker, 5)[0], head(subject.train)
    everything = np.bincount(subject.train.item, minlength=subject.train.n_items) > 0
    n = len(made.lists)
    drawn = [_three(made.lists[again.integers(0, n, n)], popular, everything) for _ in range(REPEATS)]
    for m, spread in zip(found, 1.96 * np.std(drawn, axis=0), strict=True):
        assert (m.low, m.high) == pytest.approx((max(m.value - spread, 0.0), min(m.value + spread, 1.0)))
    assert any(m.high > m.low for m in found)


def test_two_raters_make_a_challenge() -> None:
    data = people(60, 1)
    subject = replace(trial(data, data), owner=np.arange(60, dtype=np.int32))
    found = challenge(
        subject, np.random.default_rng(0), [RATERS[n] for n in ("item-average", "user-average")], splits=1
    )
    assert {m.params["algorithms"] for m in found if m.name == "challenge"} == {2}
    assert len([m for m in found if m.name == "challenge rmse"]) == 4


# --- audits and budgets -------------------------------------------------------------------------------------------


def test_every_run_of_an_audit_is_a_step() -> None:
    steps: list[int] = []
    lower_bound(lambda d, s: d, (0, 1), lambda out: {"x": float(out)}, runs=20, tick=steps.append)  # noqa: ARG005
    assert steps == [1] * 40


def test_tables_without_a_law_are_no_part_of_an_audit() -> None:
    watch = Watch({"a": gaussian(4)})
    counts = {"a": np.zeros(3), "b": np.zeros(3), "c": np.zeros(2)}
    moved = {name: table + 1 for name, table in counts.items()}
    watch.look({"a": np.ones(3), "b": np.ones(3), "c": np.ones(5), "d": np.ones(1)}, counts, (moved, counts))
    assert set(watch.scores) == {"table a"} and watch.cost == 3 / 8
    promise = Guarantee("For tests.", "proved", 1.0, 1e-6, "user", "any", None, "tests", rho=0.25)
    assert _excess(watch, promise) == pytest.approx(0.5)
    assert _excess(watch, replace(promise, rho=1.0)) == 0.0


@pytest.mark.parametrize(
    ("attainable", "estimate", "said"), [(2.0, None, "untested"), (2.1, 2.0, "holds"), (2.1, 2.1, "suspect")]
)
def test_what_only_equals_a_claim_says_nothing_against_it(attainable: float, estimate: Any, said: str) -> None:
    promise = Guarantee("For tests.", "proved", 2.0, 0.0, "user", "add or remove a user", None, "tests")
    assert verdict(promise, OneRun(2.0, attainable, 20, 1, 1, 0.95, 0.0), estimate, False) == said


def test_a_score_of_nothing_is_a_guess_of_out() -> None:
    inside = np.arange(20) < 7
    assert judge_once(np.zeros(20), inside, delta=0.0).right == 0  # the clearest is guessed first, and it is the first
    assert judge_once(np.zeros(20), ~inside, delta=0.0).right == 1


def test_a_counter_needs_a_budget() -> None:
    with pytest.raises(RecveilError, match="a budget must be positive"):
        continual.variance(3, 1, 0.0)


def test_half_of_delta_may_fail_beside_rho_at_user_level() -> None:
    ids = pl.Series(["a"])
    listed, none = (PublicInfo("tags", "user", ids, ids, True, lists) for lists in (("tags",), ()))
    user, record = parse("dp-tags:epsilon=2,delta=1e-4,unit=user"), parse("dp-tags:epsilon=2,delta=1e-4")
    assert [user.guarantee(p).rho_fails for p in (listed, none)] == [0.0, 5e-5]
    assert [record.guarantee(p).rho_fails for p in (listed, none)] == [0.0, 0.0]
    assert [record.guarantee(p).delta for p in (listed, none)] == [0.0, 1e-4]


def test_tags_of_a_list_stand_out_of_half_as_many_noises() -> None:
    noisy = np.random.default_rng(0).permutation(300)
    found = vocabulary(noisy, laplace(40), 1000)
    assert sorted(noisy[found]) == [x for x in range(300) if x > 10 * log(150)]


def test_a_table_may_have_one_tag() -> None:
    assert most_tags(MOST_CELLS) == 1
    with pytest.raises(RecveilError, match="too many for noise on every cell"):
        most_tags(MOST_CELLS + 1)


@pytest.mark.parametrize(("spec", "n"), [("dp-post-tags:epsilon=8", 2), ("mask:p=0.99", 2)])
def test_one_run_takes_data_of_two_tags_or_two_items(spec: str, n: int) -> None:
    made = parse(spec)
    user, item = np.divmod(np.arange(80), 2)
    tag = pl.Series([f"t{t}" for t in np.arange(80) % n]) if "tag" in made.needs else None
    found = audit_in_one_run(made, from_ids(pl.Series(user), pl.Series(item), tag=tag), canaries=100, seed=1)
    assert found.found.right > 0.9 * found.found.guesses
    assert np.mean(found.found.guesses) > 20


def test_controls_are_the_middle_of_what_an_attribute_attack_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(attributes.__globals__, "auc", lambda *_: (0.5, 0.4, 0.6))
    found = attributes(same(80), np.random.default_rng(0))
    assert {m.control for m in found if m.name == "attributes-auc"} == {0.5}
    added = [m for m in found if m.name == "attributes-additions"]
    assert all(m.n == 40 for m in added)


def test_half_of_the_people_are_judged_by_what_was_added() -> None:
    data = people(80, 1)
    more = people(80, 2)
    both = pl.concat([data.frame(), more.frame()]).unique(["user", "item"], keep="first", maintain_order=True)
    made = from_ids(both["user"], both["item"]).over_items(data.items)
    subject = replace(trial(data, made), owner=np.arange(80, dtype=np.int32))
    train, released = records(subject.train), records(subject.released)
    found = additions(data, train, released, truth(train, released, subject.owner), np.random.default_rng(0))
    assert found and {m.n for m in found} == {40}


def test_a_low_end_beyond_the_ceiling_is_above_it() -> None:
    rng = np.random.default_rng(0)
    inside = rng.random((4, 200)) < 0.5
    scores = inside + rng.normal(0, 1.0, (4, 200))
    value, low, high = auc_between(scores, inside, np.random.default_rng(1))
    for ceiling, words in ((high + 0.01, "below"), ((low + high) / 2, "below"), (low - 0.01, "ABOVE")):
        found = _between(scores, inside, ceiling, {}, np.random.default_rng(1))
        assert found.note.startswith(words) and found.value == value


def test_an_interval_over_splits_ends_where_tau_does() -> None:
    assert over_splits([-1.0, -0.8])[1] == -1.0


def test_of_two_items_that_everybody_has_the_one_seen_is_believed_more(monkeypatch: pytest.MonkeyPatch) -> None:
    bits = np.random.default_rng(3).random((40, 5)) < 0.3
    bits[:, :2], bits[0, 0], bits[1, 1] = True, False, False
    data = from_ids(*map(pl.Series, np.nonzero(bits)))
    seen: list[Any] = []
    monkeypatch.setitem(reconstruction.__globals__, "_recovered", lambda score, *_: seen.append(score.copy()) or 0.5)
    subject = replace(trial(data, data), owner=np.arange(40, dtype=np.int32))
    reconstruction(subject, np.random.default_rng(0), keep=0.9)
    place = np.random.default_rng(0).permutation(40).tolist()
    first, second = (seen[40 + place.index(person)] for person in (0, 1))
    assert first[1] > first[0] and second[0] > second[1]


@pytest.mark.parametrize("law", [laplace(20), gaussian(50), laplace(700), Law("gaussian", Fraction(90), 12)])
def test_bounds_of_few_bits_enclose_the_law_as_well(law: Law) -> None:
    """With few bits what lies beyond the table is a large part: it must be reckoned with."""
    step, first = 1 << law.bits, law.start or 0
    weight = np.exp(-law.exponents(first + step * np.arange(law.end(60) // step)))
    true = np.cumsum(weight) / weight.sum()
    for bits in range(1, 10):
        low, high = _cumulated(law, bits)
        share = true[: len(low)] * 2**bits
        assert np.all(np.array(low) <= share + 1e-9) and np.all(np.array(high) >= share - 1e-9)


def test_ratings_are_found_again_wherever_they_stand() -> None:
    """Of three rated pairs one is released; its rating changed."""
    data = from_ids(pl.Series([1, 1, 2]), pl.Series([1, 2, 1]), np.array([3.0, 4.0, 5.0]))
    made = data.take(np.array([2]))
    subject = Trial(data, replace(made, rating=np.array([1.0])), owner=np.arange(2, dtype=np.int32))
    assert np.array_equal(released_ratings(subject), [np.nan, np.nan, 1.0], equal_nan=True)  # type: ignore[arg-type]


def test_items_below_the_prior_are_no_neighbours() -> None:
    M = np.array([[0.0, 9, 1], [9, 0, 1], [1, 1, 0]])
    prior = np.array([[0.0, 2, 5], [2, 0, 5], [5, 5, 0]])
    found = common_neighbours(M, prior, 1.0)
    assert np.count_nonzero(found) == 2 and found[0, 0] == found[1, 1] == pytest.approx((7 / 10) ** 2)


def test_what_is_new_to_one_of_many_people_is_asked_of_her() -> None:
    """Four people and three items: each saw the first; the last one is asked for another than the others."""
    rows = [from_ids(pl.Series(range(4)), pl.Series(items), time=np.arange(4)) for items in ([0] * 4, [2, 2, 2, 1])]
    query, result = (part.over_items(pl.Series([0, 1, 2])) for part in rows)
    assert asked_of(query, result).person.tolist() == [0, 1, 2, 3]
