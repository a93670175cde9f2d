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
    share,
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
