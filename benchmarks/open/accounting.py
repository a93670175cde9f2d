"""What noise DP-SGD needs for a budget, by dp-accounting: no torch here, and no dp-accounting where there is a GPU."""

from __future__ import annotations

from functools import lru_cache
from typing import Any


def steps(epochs: int, people: int, batch: int) -> int:
    """Of `batch` people each, on average."""
    return max(1, round(epochs * people / batch))


@lru_cache
def noise_for(epochs: int, people: int, batch: int, selection: float, epsilon: float, delta: float) -> float:
    """The deviation that spends the budget, together with the selection of items."""
    import dp_accounting as dp
    from dp_accounting.pld import PLDAccountant

    rate, number = min(1.0, batch / people), steps(epochs, people, batch)

    def event(noise: float) -> Any:
        step = dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(noise))
        return dp.ComposedDpEvent([dp.GaussianDpEvent(selection), dp.SelfComposedDpEvent(step, number)])

    interval = dp.ExplicitBracketInterval(0.3, 60.0)
    return float(dp.calibrate_dp_mechanism(PLDAccountant, event, epsilon, delta, interval, tol=0.01))
