"""Budgets of Gaussian noise: epsilon on the safe side of the exact value, close to it, and as dp-accounting has it."""

from __future__ import annotations

import re
from math import exp, pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import erfcx, ndtr

from recveil.dp.budget import (
    SPARE,
    _scaled_erfc,
    cost,
    delta_of,
    epsilon_of,
    epsilon_of_zcdp,
    rho_of,
    rho_of_pure,
    variance,
)
from recveil.errors import RecveilError

GRID = [(e, d) for e in (0.01, 0.1, 0.5, 1.0, 4.0, 8.0, 30.0, 100.0) for d in (1e-2, 1e-4, 1e-6, 1e-9)]


def exact(rho: float, epsilon: float) -> Any:
    """The delta of a shifted Gaussian with sixty digits."""
    import mpmath as mp

    with mp.workdps(60):
        m, e = mp.sqrt(2 * mp.mpf(rho)), mp.mpf(epsilon)
        tail = lambda x: mp.erfc(x / mp.sqrt(2)) / 2  # noqa: E731
        return tail(e / m - m / 2) - mp.exp(e) * tail(e / m + m / 2)


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_a_budget_is_all_that_epsilon_and_delta_allow_and_no_more(epsilon: float, delta: float) -> None:
    rho = rho_of(epsilon, delta)
    assert delta * (1 - 1e-6) < exact(rho, epsilon) <= delta
    assert epsilon * (1 - 1e-7) < epsilon_of(rho, delta) <= epsilon
    stated = epsilon_of(3 * rho, delta)
    assert delta * (1 - 1e-6) < exact(3 * rho, stated) <= delta
    unspent = delta * (1 - 0.99e-9)  # the page says that so much of epsilon and delta is left
    assert exact(rho, epsilon * (1 - 1.9e-9)) <= unspent
    assert exact(3 * rho, stated * (1 - 0.9e-9)) <= unspent


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-3), (1e-3, 1e-12), (2.0, 1e-15), (300.0, 1e-6), (5.0, 0.3)])
def test_delta_is_never_below_the_exact_one(epsilon: float, delta: float) -> None:
    """Also where its two terms nearly cancel, and where the shift exceeds epsilon."""
    for rho in (1e-9, 1e-6, 1e-3, 0.1, 2.0, 40.0, 1000.0):
        true = exact(rho, epsilon)
        assert true <= delta_of(rho, epsilon) + 1e-300 <= true * (1 + 1e-9) + 3e-12
    if epsilon:
        assert exact(rho_of(epsilon, delta), epsilon) <= delta


def test_nothing_costs_nothing_and_less_than_nothing_is_refused() -> None:
    assert epsilon_of(0.0, 1e-6) == 0.0
    assert epsilon_of(1e-9, 0.01) == 0.0  # delta pays for all of it
    with pytest.raises(RecveilError, match="leaves no budget"):
        rho_of(1e-9, 1e-15)
    with pytest.raises(RecveilError, match="must be positive"):
        variance(1, 0.0)


def test_variances_are_whole_and_spend_at_most_their_budget() -> None:
    for norm, rho in ((2**16, 0.0123), (2**16, 33.0), (1, 0.5), (7, 1e-6)):
        v = variance(norm, rho)
        assert isinstance(v, int)
        assert cost(norm, v) <= rho
        assert v < norm**2 / (2 * rho) * (1 + 2e-9) + SPARE + 1


@pytest.mark.parametrize("shares", [(1.0,), (0.1, 0.75, 0.15), (0.5, 0.25, 0.125, 0.125)])
def test_sums_agree_with_privacy_loss_distributions(shares: tuple[float, ...]) -> None:
    from dp_accounting import GaussianDpEvent
    from dp_accounting.pld import PLDAccountant

    for epsilon, delta in ((0.5, 1e-6), (4.0, 1e-6), (8.0, 1e-3)):
        rho = rho_of(epsilon, delta)
        accountant = PLDAccountant()
        for share in shares:
            accountant.compose(GaussianDpEvent(1 / sqrt(2 * share * rho)))
        assert accountant.get_epsilon(delta) == pytest.approx(epsilon, rel=2e-3)
        assert epsilon_of_zcdp(rho, delta) > 1.05 * epsilon  # what the sum of Renyi divergences would have stated


def test_the_table_of_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guarantees" / "noise.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d.]+) \| (.+) \| (.+) \| (.+) \| (.+) \|$", page, re.MULTILINE)
    assert len(rows) == 4
    for epsilon, *columns in rows:
        for k, delta in enumerate((1e-6, 1e-3)):
            ours, zcdp, less, stated = (float(column.split(", ")[k].rstrip("%")) for column in columns)
            assert rho_of(float(epsilon), delta) == pytest.approx(ours, rel=5e-3)
            assert epsilon_of_zcdp(zcdp, delta) == pytest.approx(float(epsilon), rel=5e-3)
            assert epsilon_of_zcdp(rho_of(float(epsilon), delta), delta) == pytest.approx(stated, rel=5e-3)
            assert 1 - sqrt(zcdp / ours) == pytest.approx(less / 100, abs=3e-3)


# --- from discrete noise to continuous noise ---------------------------------------------------------------------


def weights(v: float, shift: int, reach: int) -> np.ndarray:
    found = np.exp(-((np.arange(-reach, reach + 1) - shift) ** 2) / (2 * v))
    return found / found.sum()


@pytest.mark.parametrize(("v", "spare"), [(3.0, 1.0), (2.0, 0.5), (12.0, 0.7), (0.4, 0.2)])
def test_a_discrete_gaussian_is_a_continuous_one_rounded_at_random(v: float, spare: float) -> None:
    """The lemma, with so little to spare that its error can be seen: an integer drawn about a Gaussian of less."""
    reach, fine = 40, 200
    at = np.arange(-reach * fine, reach * fine + 1) / fine
    k = np.arange(-reach - 20, reach + 21)
    bell = np.exp(-((k[None] - at[:, None]) ** 2) / (2 * spare))
    drawn = (np.exp(-(at**2) / (2 * (v - spare)))[:, None] * bell / bell.sum(1, keepdims=True)).sum(0)
    drawn = (drawn / drawn.sum())[20:-20]
    inner = slice(reach - 8, reach + 9)
    ratio = np.abs(np.log(drawn[inner] / weights(v, 0, reach)[inner]))
    error = 2 * exp(-2 * pi**2 * spare)
    assert ratio.max() < 3 * error + 1e-12
    assert ratio.max() > 1e-3 or v > 1  # where least is spared
    assert 3 * 2.01 * exp(-2 * pi**2 * SPARE) * 2.0**62 < 1e-48  # with what we spare, over any number of cells


@pytest.mark.parametrize(("v", "shift"), [(20, 1), (60, 7), (400, 20), (10_000, 130)])
def test_discrete_noise_in_one_cell_keeps_the_delta_of_its_budget(v: int, shift: int) -> None:
    reach = 12 * int(sqrt(v)) + abs(shift)
    one, other = weights(v, 0, reach), weights(v, shift, reach)
    for epsilon in (0.05, 0.5, 1.0, 3.0):
        stated = delta_of(cost(shift, v), epsilon)
        assert np.maximum(one - exp(epsilon) * other, 0).sum() <= stated
        assert np.maximum(other - exp(epsilon) * one, 0).sum() <= stated


@pytest.mark.parametrize("cells", [1, 4, 16])
def test_discrete_noise_in_many_cells_agrees_with_dp_accounting(cells: int) -> None:
    """A vector of equal entries: their distributions of discrete noise, composed, from below and from above."""
    from dp_accounting.pld.privacy_loss_distribution import from_discrete_gaussian_mechanism

    v, shift, delta = 40_000, 60, 1e-6
    ours = epsilon_of(cells * cost(shift, v), delta)
    below, above = (
        from_discrete_gaussian_mechanism(sqrt(v), shift, pessimistic_estimate=side, value_discretization_interval=1e-4)
        .self_compose(cells)
        .get_epsilon_for_delta(delta)
        for side in (False, True)
    )
    assert below <= ours
    assert ours == pytest.approx(above, rel=0.01)


def test_shifts_that_follow_earlier_answers_keep_the_sum() -> None:
    """An attacker who spends the rest of the budget only where the first answer pleases him."""
    rho, first = 0.5, 0.2
    y = np.linspace(-12, 12, 48_001)
    density = np.exp(-(y**2) / 2) / sqrt(2 * pi) * (y[1] - y[0])
    loss = first + sqrt(2 * first) * y
    m = sqrt(2 * (rho - first))
    for epsilon in (0.5, 1.5, 3.0):
        left = epsilon - loss
        spent = ndtr(-left / m + m / 2) - np.exp(left) * ndtr(-left / m - m / 2)
        kept = np.maximum(1 - np.exp(left), 0)
        for where in (y > 0, y < 0.5, np.abs(y) < 1, y > 9):
            assert (density * np.where(where, spent, kept)).sum() <= delta_of(rho, epsilon) * (1 + 1e-6)
        assert (density * spent).sum() == pytest.approx(delta_of(rho, epsilon), rel=1e-4)


def test_a_pure_epsilon_is_imitated_by_its_gaussian() -> None:
    """Randomised response is the most that a pure epsilon may tell; at one number the Gaussian tells no more."""
    for epsilon in (0.1, 1.0, 4.0, 30.0):
        rho = rho_of_pure(epsilon)
        for other in np.linspace(0, epsilon, 20)[:-1]:
            told = (exp(epsilon) - exp(other)) / (1 + exp(epsilon))
            assert told <= delta_of(rho, float(other)) * (1 + 1e-9)
    assert rho_of_pure(0.01) == pytest.approx(pi / 4 * 0.01**2, rel=1e-3)
    assert rho_of_pure(0.0) == 0.0
    assert rho_of_pure(699.0) < rho_of_pure(701.0) == 4 * 701


def test_tails_over_densities_are_those_of_scipy_wherever_they_are_asked_for() -> None:
    x = np.concatenate([np.linspace(0, 30, 3001), np.geomspace(30, 1e6, 50)])
    ours = np.array([_scaled_erfc(float(one)) for one in x])
    assert np.abs(ours / erfcx(x) - 1).max() < 1e-13
