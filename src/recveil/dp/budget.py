"""Budgets of Gaussian noise: zero-concentrated differential privacy (rho), which adds up, and what it is in epsilon.

Discrete Gaussian noise of variance v on integer queries that one person moves by at most D in L2 norm satisfies
rho-zCDP with rho = D^2 / (2 v), and rhos of successive queries add up, also where a query depends on earlier answers
(Canonne, Kamath and Steinke 2020, Bun and Steinke 2016).
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, exp, inf, log, log1p

from recveil.errors import RecveilError

_SAFE = 1e-9  # relative; far above what rounding can do here


def epsilon_of(rho: float, delta: float) -> float:
    """An epsilon for which rho-zCDP implies (epsilon, delta)-differential privacy.

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


@lru_cache
def rho_of(epsilon: float, delta: float) -> float:
    """A rho whose epsilon, at this delta, is at most the given one; ends on the safe side."""
    low, high = 0.0, 1.0
    while epsilon_of(high, delta) <= epsilon:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of(middle, delta) <= epsilon else (low, middle)
    if low == 0.0:
        raise RecveilError(f"epsilon {epsilon:g} with delta {delta:g} leaves no budget to spend")
    return low


def variance(norm: int, rho: float) -> int:
    """The least integer variance with which a query of this L2 norm spends at most rho."""
    if not 0 < rho < inf:
        raise RecveilError(f"a budget must be positive, not {rho:g}")
    return ceil(norm * norm / (2 * rho) * (1 + _SAFE))
