"""Rating skill and the order of predictors inside a release: formulas, placebos, what cannot be measured; raters."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from recveil.data import Interactions, from_ids
from recveil.evaluation.metrics.in_house import halves, in_house, inside, over_splits, tau
from recveil.evaluation.metrics.skill import folded, skill
from recveil.evaluation.recommenders.likeness import ItemLikeness
from recveil.evaluation.recommenders.plain_raters import EIGHT, Biases, Factors, ResidualEase, SlopeOne, inverse
from recveil.evaluation.recommenders.rater import Average, feasible
from recveil.evaluation.recommenders.residuals import Neighbours
from recveil.measurement import SkippedError, Trial
from recveil.report.sheets import kind, sheet
from recveil.report.table import Entry, Report
from recveil.splits import before_and_after

FOLDED = (Biases(), SlopeOne(), ResidualEase(penalty=50.0), ItemLikeness(k=10), Factors(factors=3))
FEW = (Average("item"), Average("user"), Biases(), ResidualEase(penalty=50.0), Factors(factors=3))


def tastes(people: int = 300, items: int = 30, seed: int = 0) -> Interactions:
    """Heights of people, effects of items, and two camps who like other halves."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(people), 15)
    item = np.concatenate([rng.choice(items, 15, replace=False) for _ in range(people)])
    height, effect = rng.normal(size=people) * 0.4, np.linspace(-1, 1, items)
    camp = np.where((user + item) % 2 == 0, 0.8, -0.8)
    value = 3 + height[user] + effect[item] + camp + rng.normal(size=len(user)) * 0.5
    return from_ids(pl.Series(user), pl.Series(item), np.clip(np.rint(value), 1, 5))


def subject(released: Interactions | None = None) -> Trial:
    data = tastes()
    train = data.take_users(np.arange(240)).compact().over_items(data.items)
    held = data.take_users(np.arange(240, 300)).compact().over_items(data.items)
    query, result = before_and_after(held, np.random.default_rng(0))
    return Trial(train, train if released is None else released, held, query=query, result=result)


def permuted(data: Interactions) -> Interactions:
    return replace(data, rating=np.random.default_rng(1).permutation(data.rating))


def test_skill_is_what_its_formula_says() -> None:
    case = subject(permuted(subject().train))
    found = {m.params["referee"]: m for m in skill(case, np.random.default_rng(0), FOLDED)}
    assert case.query is not None and case.result is not None
    real, release = (
        {name: np.sqrt(np.mean(e**2)) for name, e in folded(FOLDED, data, case.query, case.result).items()}
        for data in (case.train, case.released)
    )
    zero, best = real["item-average"], min(real.values())
    assert found["biases"].value == pytest.approx((zero - release["biases"]) / (zero - best))
    assert found["own mean"].value == pytest.approx((zero - real["own mean"]) / (zero - best))
    assert all(m.chance == found["own mean"].value and m.low <= m.value <= m.high for m in found.values())
    assert list(found)[1] == min(real, key=lambda name: real[name])  # the best on the real data comes first


def test_the_real_data_have_the_best_skill_and_a_release_that_teaches_nothing_has_none() -> None:
    same = skill(subject(), np.random.default_rng(0), FOLDED)
    assert same[1].value == pytest.approx(1.0) and (same[1].low, same[1].high) == (1.0, 1.0)
    null = {m.params["referee"]: m for m in skill(subject(permuted(subject().train)), np.random.default_rng(0), FOLDED)}
    assert all(m.value < null["own mean"].value + 0.1 for m in null.values())


def test_people_are_judged_by_their_own_history_alone() -> None:
    """Nothing is learnt from those who are asked about: without the others each gets the same prediction."""
    case = subject()
    assert case.query is not None and case.result is not None
    for rater in FOLDED:
        model = rater.fit(case.train, 0)
        some = case.query.take(case.query.user < 5)
        result = case.result.take(case.result.user < 5)
        alone, all_of_them = (model.among(history).predict(result.user, result.item) for history in (some, case.query))
        assert np.allclose(alone, all_of_them), rater.name
        error = all_of_them - np.asarray(result.rating)
        assert np.sqrt(np.mean(error**2)) < np.std(np.asarray(result.rating))


def test_skill_says_why_it_is_undefined() -> None:
    case = subject()
    noise = permuted(tastes())
    train = noise.take_users(np.arange(240)).compact().over_items(noise.items)
    held = noise.take_users(np.arange(240, 300)).compact().over_items(noise.items)
    query, result = before_and_after(held, np.random.default_rng(0))
    flat = replace(case, train=train, released=train, query=query, result=result)
    with pytest.raises(SkippedError, match="skill is undefined"):
        skill(flat, np.random.default_rng(0), (ResidualEase(),))
    with pytest.raises(SkippedError, match="release has no ratings"):
        skill(replace(case, released=replace(case.released, rating=None)), np.random.default_rng(0), FOLDED)


def test_the_order_inside_is_kept_by_a_copy_and_not_by_noise() -> None:
    (same,) = in_house(subject(), np.random.default_rng(0), FEW, splits=3)
    assert (same.value, same.low, same.high) == pytest.approx((1.0, 1.0, 1.0))
    assert "two splits of the data agree with" in same.note
    other = tastes(seed=3)  # other people of the same kind: they need not be those of the data
    (alike,) = in_house(subject(other), np.random.default_rng(0), FEW, splits=3)
    (null,) = in_house(subject(permuted(other)), np.random.default_rng(0), FEW, splits=3)
    assert alike.value > 0.7 > null.value
    assert null.low <= null.value <= null.high


def test_people_inside_are_trained_on_or_tested_and_their_ratings_split() -> None:
    data = tastes()
    train, query, result = halves(data, 0)
    people = [set(part.users.gather(np.unique(part.user))) for part in (train, query, result)]
    assert not people[0] & people[2] and people[1] == people[2] and len(people[0]) == 240
    assert len(query) + len(result) + len(train) == len(data)
    assert abs(len(result) - len(query)) <= len(people[2])
    assert all(not a.equals(b) for a, b in pairwise(halves(data, n)[0].users for n in (0, 1)))
    with pytest.raises(SkippedError, match="too few"):
        halves(tastes(20), 0)


def test_intervals_over_splits_and_ties() -> None:
    mean, low, high = over_splits([0.5, 0.7, 0.6])
    assert mean == pytest.approx(0.6) and (low, high) == pytest.approx(
        (0.6 - 4.303 * 0.1 / 3**0.5, 0.6 + 4.303 * 0.1 / 3**0.5), abs=1e-3
    )
    assert over_splits([0.9]) == (0.9, -1.0, 1.0)
    assert over_splits([1.0, 0.8])[2] == 1.0
    assert tau(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])) == -1.0
    assert tau(np.ones(3), np.array([1.0, 2.0, 3.0])) == 0.0


def test_in_house_needs_ratings_and_predictors() -> None:
    case = subject()
    with pytest.raises(SkippedError, match="release has no ratings"):
        in_house(replace(case, released=replace(case.released, rating=None)), np.random.default_rng(0), FEW)
    with pytest.raises(SkippedError, match="fewer than three"):
        in_house(case, np.random.default_rng(0), FEW[:2])


# --- the raters -------------------------------------------------------------------------------------------------


def test_slope_one_weighs_differences_by_how_many_rated_both() -> None:
    data = tastes(40)
    X = data.matrix().toarray()
    made = SlopeOne().fit(data, 0)
    for u, i in ((0, 3), (7, 12), (33, 29)):
        total = weight = 0.0
        for j in np.flatnonzero(X[u]):
            both = (X[:, i] > 0) & (X[:, j] > 0)
            if j != i:
                total += (X[both, i] - X[both, j]).sum() + both.sum() * X[u, j]
                weight += both.sum()
        assert made.predict(np.array([u]), np.array([i]))[0] == pytest.approx(np.clip(total / weight, 1, 5))


def test_biases_are_the_baseline_of_neighbours() -> None:
    data = tastes(60)
    far = Neighbours("item", 40, shrinkage=1e12).fit(data, 0)
    user, item = data.user, data.item
    plain = np.clip(far.mean + far.user[user] + far.item[item], *far.scale)
    assert np.allclose(Biases().fit(data, 0).predict(user, item), plain)


def test_factors_solve_every_regression() -> None:
    """In the last half sweep each person's factors are her ridge regression on the items' factors."""
    data = tastes(40)
    made = Factors(factors=3, sweeps=4).fit(data, 0)
    for u in (0, 17):
        row = made.base.left[[u]]
        V, y = made.items[row.indices], row.data
        expected = np.linalg.solve(V.T @ V + (0.05 * len(y) + 2.0) * np.eye(3), V.T @ y)
        assert np.allclose(made.users[u], expected)


def test_likeness_of_items_is_their_shrunk_correlation() -> None:
    data = tastes(50)
    made = ItemLikeness(k=3, shrinkage=7.0).fit(data, 0)
    E = made.base.left.toarray()
    there = data.matrix(binary=True).toarray() > 0
    both = there[:, 3] & there[:, 11]
    plain = (E[both, 3] @ E[both, 11]) / np.sqrt((E[both, 3] @ E[both, 3]) * (E[both, 11] @ E[both, 11]))
    assert made.alike[3, 11] == pytest.approx(max(plain * both.sum() / (both.sum() + 7.0), 0.0))
    user = 4
    hers = np.flatnonzero(there[user])
    near = sorted(hers, key=lambda j: -made.alike[0, j])[:3]
    weight = made.alike[0, near]
    lean = float(weight @ E[user, near] / (weight.sum() + 0.5))
    asked = made.predict(np.array([user]), np.array([0]))[0]
    assert asked == pytest.approx(made.base.guess(np.array([user]), np.array([0]), lean)[0])


def test_residual_ease_is_its_closed_form() -> None:
    data = tastes(50)
    made = ResidualEase(penalty=20.0).fit(data, 0)
    E = made.base.left.toarray()
    P = np.linalg.inv(E.T @ E + 20.0 * np.var(made.base.left.data) * np.eye(30))
    expected = -P / np.diag(P)
    np.fill_diagonal(expected, 0.0)
    assert np.allclose(made.weights, expected)
    with pytest.raises(np.linalg.LinAlgError):
        inverse(-np.eye(3))


@pytest.mark.parametrize("rater", EIGHT, ids=lambda r: r.name)
def test_every_plain_rater_stays_on_the_scale_and_knows_strangers(rater: object) -> None:
    data = tastes(60).over_items(pl.Series(range(33)))
    made = rater.fit(data, 0)  # type: ignore[attr-defined]
    wide = replace(data, users=pl.Series(range(61)))
    guess = rater.fit(wide, 0).predict(np.array([60, 0, 3]), np.array([0, 32, 5]))  # type: ignore[attr-defined]
    assert np.isfinite(guess).all() and guess.min() >= 1 and guess.max() <= 5
    error = made.predict(data.user, data.item) - data.rating
    assert np.sqrt(np.mean(error**2)) < np.std(data.rating) * 0.98


def test_what_needs_too_much_memory_is_left_out() -> None:
    shop = from_ids(pl.Series([1]), pl.Series([1]), np.array([3.0])).over_items(pl.Series(range(20_000)))
    assert [r.name for r in EIGHT if not feasible(r, shop)] == ["slope-one", "residual-ease"]
    assert len(inside(tuple(r for r in FEW if feasible(r, tastes())), tastes(), 0)) == len(FEW)


# --- in the report ----------------------------------------------------------------------------------------------


def test_one_table_of_the_report_has_skill_floor_and_order() -> None:
    from recveil.guarantee import nothing
    from recveil.report.html import html

    case = subject()
    numbers = [*skill(case, np.random.default_rng(0), FOLDED), *in_house(case, np.random.default_rng(0), FEW, splits=2)]
    numbers = [replace(m, mechanism="pseudonymise") for m in numbers]
    entry = Entry("pseudonymise", nothing("nothing"), "done", 10, 5)
    report = Report({"kind": "ratings"}, (entry,), tuple(numbers))
    assert {kind(m, report) for m in numbers} == {"ratings"}
    rows = sheet(report, "ratings").rows
    assert next(r.detail for r in rows if r.title == "rating skill") == "own mean"
    assert [r.detail for r in rows if r.title == "in-house order"] == ["by rmse, algorithms 5, splits 2"]
    page = html(report)
    assert "own mean without any release" in page and "rating predictors keep their order with" in page
