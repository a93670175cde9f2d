"""Intervals against known values, and their coverage over many seeds."""

from __future__ import annotations

import numpy as np
import pytest

from recveil.errors import RecveilError
from recveil.intervals import (
    bootstrap,
    bootstrap_groups,
    bootstrap_mean,
    clopper_pearson,
    paired_difference,
    paired_ratio,
    paired_t,
    share,
    student_share,
    wilson,
)


def test_wilson_known_values() -> None:
    low, high = wilson(8, 10)
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)
    assert wilson(0, 20)[0] == 0.0 and wilson(20, 20)[1] == 1.0


def test_clopper_pearson_known_values() -> None:
    low, high = clopper_pearson(8, 10)
    assert (round(low, 4), round(high, 4)) == (0.4439, 0.9748)
    assert clopper_pearson(0, 10, 0.95) == (0.0, pytest.approx(1 - 0.025**0.1))


def test_coverage_of_shares() -> None:
    rng = np.random.default_rng(1)
    for p, n in ((0.02, 200), (0.3, 60), (0.5, 400)):
        hits = rng.binomial(n, p, size=1500)
        inside = {k: np.mean([f(int(h), n)[0] <= p <= f(int(h), n)[1] for h in hits]) for k, f in _BOTH.items()}
        assert 0.93 <= inside["wilson"] <= 0.985, (p, n, inside)
        assert inside["clopper-pearson"] >= 0.945, (p, n, inside)


_BOTH = {"wilson": wilson, "clopper-pearson": clopper_pearson}


def test_fractional_successes_are_covered_at_least_as_well() -> None:
    rng = np.random.default_rng(2)
    values = rng.beta(0.5, 1.5, size=(600, 80))
    inside = [low <= 0.25 <= high for _, low, high in map(share, values)]
    assert np.mean(inside) >= 0.95


def test_coverage_of_the_bootstrap() -> None:
    rng = np.random.default_rng(3)
    inside = []
    for _ in range(300):
        _, low, high = bootstrap_mean(rng.normal(2.0, 1.0, size=60), rng, repeats=300)
        inside.append(low <= 2.0 <= high)
    assert 0.90 <= np.mean(inside) <= 0.98


def test_pairs_stay_together() -> None:
    rng = np.random.default_rng(4)
    base = rng.normal(10, 5, size=100)
    value, low, high = paired_difference(base + 1, base, rng)
    assert value == pytest.approx(1) and high - low < 1e-9
    value, low, high = paired_ratio(2 * base, base, rng)
    assert value == pytest.approx(2) and high - low < 1e-9


def test_groups_are_resampled_apart() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(1, 1, 200), rng.normal(0, 1, 300)
    value, low, high = bootstrap_groups(lambda x, y: x.mean() - y.mean(), [a, b], rng)
    assert low < value < high
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(1 / 200 + 1 / 300), rel=0.25)


def test_same_seed_same_interval() -> None:
    values = np.arange(50.0)
    once, twice = (bootstrap(np.median, [values], np.random.default_rng(6)) for _ in range(2))
    assert once == twice


def test_what_cannot_be_computed_raises() -> None:
    rng = np.random.default_rng(7)
    with pytest.raises(RecveilError, match="nobody"):
        wilson(0, 0)
    with pytest.raises(RecveilError, match="nobody"):
        bootstrap_mean([], rng)
    with pytest.raises(RecveilError, match="undefined"):
        paired_ratio(np.ones(30), np.tile([-1.0, 1.0], 15), rng)
    with pytest.raises(ValueError, match="successes"):
        wilson(11, 10)


def test_a_small_denominator_that_is_surely_not_zero_is_divided_by() -> None:
    rng = np.random.default_rng(8)
    below = rng.uniform(0.3, 0.6, 200)
    for sign in (1, -1):
        value, low, high = paired_ratio(sign * below / 4, sign * below, rng)
        assert value == pytest.approx(0.25) and high - low < 1e-9


def test_students_t_is_that_of_scipy() -> None:
    from scipy.stats import ttest_rel

    rng = np.random.default_rng(9)
    for n in (2, 3, 40):
        a, b = rng.normal(size=(2, n)) + 0.3
        value, p, freedom = paired_t(a, b)
        theirs = ttest_rel(a, b)
        assert (value, p, freedom) == (pytest.approx(theirs.statistic), pytest.approx(theirs.pvalue), n - 1)
    assert paired_t([2, 3], [1, 2]) == (np.inf, 0.0, 1)
    assert paired_t([1, 2], [2, 3]) == (-np.inf, 0.0, 1)
    assert paired_t([1, 2], [1, 2]) == (0.0, 1.0, 1)
    with pytest.raises(RecveilError, match="two people"):
        paired_t([1], [2])


def test_percentiles_are_those_of_the_resamples() -> None:
    """Exactly: the quantiles of what is drawn, and never past the value itself."""
    rng = np.random.default_rng(10)
    values = rng.normal(size=40)
    _, low, high = bootstrap_mean(values, np.random.default_rng(1), repeats=500, confidence=0.8)
    again = values[np.random.default_rng(1).integers(0, 40, size=(500, 40))].mean(axis=1)
    assert (low, high) == (pytest.approx(np.quantile(again, 0.1)), pytest.approx(np.quantile(again, 0.9)))
    odd = iter([5.0, *[7.0] * 20])
    assert bootstrap(lambda _: next(odd), [values], rng, repeats=20) == (5.0, 5.0, 7.0)
    gaps = iter([5.0, *[np.nan] * 3, *[6.0] * 17])
    assert bootstrap(lambda _: next(gaps), [values], rng, repeats=20) == (5.0, 5.0, 6.0)
    none = iter([1.0, *[np.nan] * 5])
    with pytest.raises(RecveilError, match="on every resample"):
        bootstrap(lambda _: next(none), [values], rng, repeats=5)
    with pytest.raises(ValueError, match="lengths"):
        bootstrap(lambda *_: 0.0, [values, values[1:]], rng)
    with pytest.raises(ValueError, match="lengths"):
        paired_difference(values, values[1:], rng)


def test_successes_may_be_off_by_rounding_alone() -> None:
    assert wilson(10 * (1 + 5e-10), 10)[1] >= 1.0
    assert wilson(-5e-9, 10)[0] <= 0.0
    for wrong in (10.1, -0.1, 10 * (1 + 5e-9), -5e-8):
        with pytest.raises(ValueError, match="successes"):
            wilson(wrong, 10)


def test_students_interval_of_few_shares_is_wider_than_their_bootstrap() -> None:
    values = np.array([0.4, 0.5, 0.7, 0.9])
    mean, low, high = student_share(values)
    assert mean == pytest.approx(0.625) and high - mean == pytest.approx(3.182 * values.std(ddof=1) / 2, rel=1e-3)
    _, inner, outer = bootstrap_mean(values, np.random.default_rng(0))
    assert low < inner and outer < high
    assert student_share([0.5]) == (0.5, 0.0, 1.0)
    assert student_share([0.9, 1.0])[2] == 1.0
