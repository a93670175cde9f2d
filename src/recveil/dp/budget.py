"""Budgets of Gaussian noise: rho, which adds up, and what it is in epsilon.

Discrete Gaussian noise of variance v on integer queries that one person moves by at most D in L2 norm is as private as
continuous Gaussian noise of variance v - SPARE. Its budget is rho = D^2 / (2 (v - SPARE)). Rhos of successive queries
add up, also where a query depends on earlier answers, and all of them together are as private as one Gaussian that is
shifted by sqrt(2 rho) deviations. docs/guarantees/noise.md has the proof.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import ceil, erfc, exp, inf, log, log1p, pi, sqrt

from recveil.errors import RecveilError

SPARE = 8  # of a variance: what a discrete Gaussian has beyond the continuous one that is no less private
_SAFE = 1e-9  # relative; far above what rounding can do here, and what is left of the step from discrete to continuous
_WIDE = 1e-12  # relative; above the error of both terms of delta, which nearly cancel


def delta_of(rho: float, epsilon: float) -> float:
    """At least the delta of a Gaussian shifted by m = sqrt(2 rho), at this epsilon (Balle and Wang 2018, theorem 8).

    It is P(Y > a) - e^epsilon P(Y > b) for a normal Y, a = epsilon / m - m / 2 and b = a + m. Since b^2 - a^2 is twice
    epsilon, both terms are the density at a times tails over densities, at a and at b, which no large number spoils.
    """
    m = sqrt(2 * rho)
    a, b = epsilon / m - m / 2, epsilon / m + m / 2
    density = exp(-a * a / 2) / sqrt(2 * pi)
    tail = [sqrt(pi / 2) * _scaled_erfc(max(x, 0.0) / sqrt(2)) for x in (a, b)]
    above = density * tail[0] if a > 0 else erfc(a / sqrt(2)) / 2
    return above * (1 + _WIDE) - density * tail[1] * (1 - _WIDE)


def _scaled_erfc(x: float) -> float:
    """e^(x^2) erfc(x) for x >= 0, with a relative error far below 1e-12; scipy's takes .2 s to load."""
    if x < 20:
        return exp(x * x) * erfc(x)
    term = total = 1.0
    for n in range(1, 8):  # the asymptotic series: what follows is below 1e-14
        term *= -(2 * n - 1) / (2 * x * x)
        total += term
    return total / (x * sqrt(pi))


def epsilon_of(rho: float, delta: float) -> float:
    """An epsilon with which Gaussian noise of budget rho is (epsilon, delta)-private, on the safe side."""
    if rho == 0 or delta_of(rho, 0.0) <= delta * (1 - _SAFE):
        return 0.0
    return _last(lambda epsilon: delta_of(rho, epsilon) > delta * (1 - _SAFE))[1] * (1 + _SAFE)


@lru_cache
def rho_of(epsilon: float, delta: float) -> float:
    """A rho whose epsilon, at this delta, is at most the given one; ends on the safe side."""
    low = _last(lambda rho: delta_of(rho, epsilon * (1 - 2 * _SAFE)) <= delta * (1 - _SAFE))[0]
    if low == 0.0:
        raise RecveilError(f"epsilon {epsilon:g} with delta {delta:g} leaves no budget to spend")
    return low


def variance(norm: int, rho: float) -> int:
    """The least integer variance with which a query of this L2 norm spends at most rho."""
    if not 0 < rho < inf:
        raise RecveilError(f"a budget must be positive, not {rho:g}")
    return ceil(norm * norm / (2 * rho) * (1 + _SAFE)) + SPARE


def cost(norm: int, variance: int) -> float:
    """The budget that noise of this variance costs, on a query of this L2 norm."""
    return norm * norm / (2 * (variance - SPARE))


def rho_of_pure(epsilon: float) -> float:
    """A pure epsilon as a budget of Gaussian noise: whoever tells two Gaussians so far apart can imitate it."""
    from scipy.special import ndtri

    if epsilon > 700:  # what the other is always below: P(Y > x) <= e^(-x^2 / 2) / 2
        return 4 * epsilon
    return 2 * float(ndtri(1 / (1 + exp(epsilon)))) ** 2 * (1 + _SAFE)


def epsilon_of_zcdp(rho: float, delta: float) -> float:
    """An epsilon for which rho-zCDP, of whatever noise, implies (epsilon, delta)-differential privacy.

    Every order alpha > 1 gives one (Canonne, Kamath and Steinke 2020, proposition 12); a search finds a small one.
    """
    if rho == 0:
        return 0.0

    def at(alpha: float) -> float:
        return alpha * rho + log1p(-1 / alpha) - log(delta * alpha) / (alpha - 1)

    low, high = log(1e-6), log(1e12)  # of alpha - 1
    for _ in range(100):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if at(1 + exp(a)) < at(1 + exp(b)) else (a, high)
    return max(0.0, at(1 + exp(low)) * (1 + _SAFE))


def upwards(epsilon: float) -> float:
    """With two digits for readers, never less than it is."""
    return ceil(100 * epsilon) / 100


def _last(holds: Callable[[float], bool]) -> tuple[float, float]:
    """Where a condition that holds near zero ends: a number for which it does, and one close above for which not."""
    low, high = 0.0, 1.0
    while holds(high):
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high
