"""Formulas of attacks and estimates spelled out a second time, item by item, from their definitions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import log, sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from scipy.special import ndtri

from recveil.data import Interactions, from_ids
from recveil.dp import budget, continual, denoise
from recveil.evaluation.attacks import scorings
from recveil.evaluation.attacks.across import _Matching, across
from recveil.evaluation.attacks.epsilon import attainable, judge
from recveil.evaluation.attacks.lists import LENGTH, _scores
from recveil.evaluation.attacks.one_run import epsilon_of_shift, gaussian_estimate
from recveil.evaluation.attacks.reconstruction import _factors
from recveil.intervals import clopper_pearson
from recveil.kernels import pair_tables
from recveil.measurement import SecondRelease, Trial, trial
from recveil.views.records import Records


def some_records(n: int, items: int, share: float, seed: int) -> tuple[Records, np.ndarray]:
    """Random sets, each with an item at least; and the same as a table of bits."""
    rng = np.random.default_rng(seed)
    bits = rng.random((n, items)) < rng.uniform(0.3, 1.7, items) * share
    bits[np.arange(n), rng.integers(0, items, n)] = True
    starts = np.append(0, np.cumsum(bits.sum(axis=1))).astype(np.int64)
    found = np.nonzero(bits)[1].astype(np.int32)
    return Records(starts, found, np.full(len(found), np.nan), items), bits


def test_two_flipped_records_fit_as_the_likelihood_ratio_says() -> None:
    """P(both bits | one person) / P(both bits | two people), summed over all items, for every pair of records."""
    (first, one), (second, two) = some_records(40, 12, 0.3, 1), some_records(30, 12, 0.3, 2)
    p, r = 0.9, 0.8
    found = _Matching(first, second, (p, r)).rows(np.arange(40))
    shares = [(one.mean(0) - (1 - p)) / (2 * p - 1), (two.mean(0) - (1 - r)) / (2 * r - 1)]
    pi = np.clip(np.mean(shares, axis=0), 1e-4, 0.99)

    def chance(a: bool, kept: float, has: bool) -> float:
        return kept if a == has else 1 - kept

    def ratio(i: int, a: bool, b: bool) -> float:
        prior = {True: pi[i], False: 1 - pi[i]}
        same = sum(prior[has] * chance(a, p, has) * chance(b, r, has) for has in (True, False))
        apart = [sum(prior[has] * chance(x, k, has) for has in (True, False)) for x, k in ((a, p), (b, r))]
        return log(same / (apart[0] * apart[1]))

    none = sum(ratio(i, False, False) for i in range(12))
    for x, y in ((0, 0), (3, 7), (39, 29), (11, 2)):
        expected = sum(ratio(i, bool(one[x, i]), bool(two[y, i])) for i in range(12)) - none
        assert found[x, y] == pytest.approx(expected)


def test_a_record_is_hers_as_the_likelihood_says() -> None:
    """log P(bit | hers, who has the item) / P(bit | anybody's of that length), for known items."""
    released, bits = some_records(200, 30, 0.2, 3)
    kept = 0.9
    law = scorings.likelihood(released, kept)
    p, q, n = kept, 1 - kept, len(released)
    true = np.clip((bits.mean(0) - q) / (p - q), 1 / (2 * n), 1.0)
    length = np.maximum((bits.sum(1) - q * 30) / (p - q), 1.0)
    for r in (0, 50, 199):
        middle = length[law.kind == law.kind[r]].mean()
        for i in (0, 7, 29):
            m = q + (p - q) * min(true[i] * middle / length.mean(), 0.95)
            assert law.gains[i, law.kind[r]] + law.misses[i, law.kind[r]] == pytest.approx(
                log(p / m) + log((1 - m) / q) - log(1 - m)
            )
            assert law.misses[i, law.kind[r]] == pytest.approx(-log(1 - m))


def test_nobody_has_an_item_more_surely_than_19_times_in_20() -> None:
    """A frequent item in long records: the likelihood stops short of certainty."""
    bits = np.ones((20, 4), dtype=bool)
    bits[:10, 1:] = False
    starts = np.append(0, np.cumsum(bits.sum(axis=1))).astype(np.int64)
    released = Records(starts, np.nonzero(bits)[1].astype(np.int32), np.full(int(bits.sum()), np.nan), 4)
    law = scorings.likelihood(released, 0.99)
    assert np.exp(-law.misses).min() == pytest.approx(1 - (0.01 + 0.98 * 0.95))


def test_plain_scores_weigh_rare_items() -> None:
    released, bits = some_records(50, 10, 0.3, 4)
    law = scorings.plain(released)
    assert law.gains[:, 0] == pytest.approx(1 / np.log(1 + np.maximum(bits.sum(0), 1)))
    assert scorings.normalised(released).scale == pytest.approx(1 / np.sqrt(bits.sum(1)))


def test_lists_are_scored_by_what_they_name_early() -> None:
    rest = Interactions(np.array([0, 0, 1], np.int32), np.array([2, 5, 3], np.int32), *ids(2, 9))
    named = np.full((2, LENGTH), -1, dtype=np.int32)
    named[0, :3], named[1, :2] = [5, 1, 2], [4, 6]
    first = (1 + 1 / np.log2(4)) / (1 + 1 / np.log2(3))
    assert _scores(named, rest) == pytest.approx([first, 0.0])


def ids(users: int, items: int) -> tuple[object, object]:
    return pl.Series(range(users)), pl.Series(range(items))


def test_the_gaussian_estimate_is_that_of_its_definition() -> None:
    rng = np.random.default_rng(5)
    for n1, n0 in ((5, 7), (400, 300)):
        one, other = rng.normal(2.0, 1.0, n1), rng.normal(0.0, 1.0, n0)
        n = n1 + n0
        pooled = sqrt(((one - one.mean()) ** 2).sum() / (n - 2) + ((other - other.mean()) ** 2).sum() / (n - 2))
        d = abs(one.mean() - other.mean()) / pooled
        error = sqrt(1 / n1 + 1 / n0 + d * d / (2 * (n - 2)))
        shift = max(d - ndtri(0.9) * error, 0.0)
        assert gaussian_estimate(one, other, 1e-4, 0.9) == pytest.approx(epsilon_of_shift(shift, 1e-4))
        assert gaussian_estimate(other, one, 1e-4, 0.9) == pytest.approx(gaussian_estimate(one, other, 1e-4, 0.9))
    assert gaussian_estimate(np.ones(9), np.ones(9), 1e-4, 0.9) == 0.0
    assert gaussian_estimate(np.ones(9), np.zeros(9), 1e-4, 0.9) == np.inf


def test_a_bound_from_many_runs_is_that_of_its_event() -> None:
    """One statistic that tells the sides apart nine times in ten: the bound is that of two Clopper-Pearson ends."""
    one, other = np.zeros((400, 1)), np.zeros((400, 1))
    one[np.arange(400) % 10 > 0] = 1.0
    other[np.arange(400) % 10 == 0] = 1.0
    found = judge(one, other, ["x"], delta=0.01, confidence=0.9)
    low, high = clopper_pearson(180, 200, 0.95)[0], clopper_pearson(20, 200, 0.95)[1]
    assert found.lower == pytest.approx(log((low - 0.01) / high))
    assert judge(other, one, ["x"], delta=0.01, confidence=0.9).lower == pytest.approx(found.lower)
    assert attainable(400, 2, 0.01, 0.9) == pytest.approx(
        log((clopper_pearson(200, 200, 0.95)[0] - 0.01) / clopper_pearson(0, 200, 0.95)[1])
    )
    assert judge(one, one, ["x"], delta=0.01, confidence=0.9).lower == 0.0


def test_levels_of_deviations_and_what_they_stand_for_are_one() -> None:
    """A class is that of the deviation nearest to it, in steps that are equal up to 8 and then grow with it."""
    z = np.concatenate([np.linspace(0, 8, 2001), 8 * 2 ** np.linspace(0, 6, 400)])
    level = denoise._levels(z)
    height = denoise._heights(int(level.max()) + 1)
    step = 1 / pair_tables.STEPS
    assert np.abs(height[level] - z)[z <= 8].max() <= step / 2 + 1e-9
    assert np.abs(np.log2(height[level][z > 8] / z[z > 8])).max() <= step / 2 + 1e-9
    assert np.all(np.diff(level) >= 0) and np.array_equal(denoise._levels(height), np.arange(len(height)))


def test_a_direction_that_noise_made_longer_is_shortened() -> None:
    """Of a planted direction of length t, noise makes t + n sigma^2 / t: what is kept is close to t."""
    rng = np.random.default_rng(6)
    n, sigma, t = 400, 1.0, 120.0
    v = rng.normal(size=n)
    v /= np.linalg.norm(v)
    noise = np.triu(rng.normal(0, sigma, (n, n)), 1)
    R = t * np.outer(v, v) + noise + noise.T
    found = denoise.low_rank(R, sigma)
    kept = v @ found @ v + t * (v**4).sum()  # the diagonal is left empty
    edge = 2 * sigma * np.sqrt(n)
    assert kept == pytest.approx(t * (1 - (edge / 2) ** 2 / t**2), rel=0.02)
    assert not denoise.low_rank(noise + noise.T, sigma * 1.1).any()


def test_a_bound_sees_what_is_rare_on_either_side() -> None:
    """An event that happens on one side alone, and seldom there."""
    never, seldom = np.zeros((400, 1)), (np.arange(400) % 10 < 3).astype(float)[:, None]
    expected = log((clopper_pearson(60, 200, 0.95)[0] - 0.01) / clopper_pearson(0, 200, 0.95)[1])
    for sides in ((never, seldom), (seldom, never), (-never, -seldom), (-seldom, -never)):
        assert judge(*sides, ["x"], delta=0.01, confidence=0.9).lower == pytest.approx(expected)


@pytest.mark.parametrize("variance", [budget.variance, lambda norm, rho: continual.variance(1, norm, rho)])
def test_noise_costs_no_more_than_its_budget_in_exact_arithmetic(variance: Any) -> None:
    """Also where the quotient lies above a whole number by less than floating point can say."""
    for norm in (1, 3, 65536):
        moved = norm**2 if variance is budget.variance else norm * continual.squared_norm(1)
        for whole in (1, 7, 10**6):
            rho = float(np.nextafter(moved / (2 * whole), 0))
            least = Fraction(moved) / (2 * Fraction(rho))
            assert least + budget.SPARE <= variance(norm, rho) <= least + budget.SPARE + 2


def two_people(same: bool) -> Trial:
    data = from_ids(pl.Series([1, 1, 2, 2]), pl.Series([1, 2, 1, 2] if same else [1, 2, 3, 4]))
    owner = np.arange(2, dtype=np.int32)
    return replace(trial(data, data), owner=owner, also=SecondRelease(data, owner))


@pytest.mark.parametrize(("same", "right", "wrong"), [(False, 1.0, 0.0), (True, 0.5, 0.5)])
def test_two_people_are_matched_across_releases_unless_they_are_alike(same: bool, right: float, wrong: float) -> None:
    """The control is what is named of one of them, taken for the other's."""
    found = {m.name: m for m in across(two_people(same), np.random.default_rng(0))}
    for name in ("across-matched", "across-linkage"):
        assert (found[name].value, found[name].control) == (right, wrong), name
    assert ("across-alone" in found) == same  # of people who are alone in each release nothing is said


def test_factors_of_nothing_are_nothing() -> None:
    rng = np.random.default_rng(0)
    for table in (np.zeros((5, 4)), np.ones((5, 1)), np.ones((1, 5))):
        left, right = _factors(sparse.csr_array(table), 3, rng)
        assert not left.any() and not right.any() and (len(left), len(right)) == table.shape
    left, right = _factors(sparse.csr_array(np.outer([1.0, 2, 3], [1.0, 0, 2])), 3, rng)
    assert left @ right.T == pytest.approx(np.outer([1.0, 2, 3], [1.0, 0, 2]), abs=1e-9)
