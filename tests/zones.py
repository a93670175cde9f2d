"""What the noise of the advisor's public counters does to zones, at the end of a year of daily looks."""

from __future__ import annotations

from typing import Any

import numpy as np

from recveil.advisor.counter_noise import closing_spread
from recveil.advisor.noisy_counters import CounterBudget, too_few
from recveil.clicks.profiles import Clicks, profiles
from recveil.dp import continual
from recveil.randomness import seeded


def zones_of(a: Any, b: Any, n: Any) -> tuple[Any, ...]:
    c, d, r = a + 1 - b, n - 2 * a - b - 1, n - a - 2 * b - 1
    zone = np.where(c > 0, np.where(d < 0, 0, 1), np.where(d < 0, 1, np.where(r < 0, 2, 3)))
    return zone, c, d, r


def drawn(log: Clicks, seed: int, budget: CounterBudget | None = None, years: int = 1) -> tuple[float, float, float]:
    """Shares of (item, sign) pairs: of shown ones in a wrong zone, of all told without a doubt, of these wrong.

    After several years, each of which has noise of its own, the log is what they brought together.
    """
    budget = budget or CounterBudget()
    exact, last = profiles(log), budget.looks - 1
    truth = exact.likes.astype(int), exact.dislikes.astype(int)
    n, (variance, crowd) = len(truth[0]), budget.variances()
    running, spread = (continual.deviation(last, budget.looks, v) for v in (variance, crowd))
    closed = closing_spread(
        {"looks": budget.looks, "done": last, "variance": variance, "closing_variance": budget.closing_variance()}
    )
    sd, spread = np.sqrt(running**2 + (years - 1) * closed), np.sqrt(years) * spread

    def noise(name: str, of_z: int, cells: int) -> Any:
        """Of the year that runs; what closed years ended with is as noisy as it is stated to be."""
        return continual.whole(continual.noise(seeded(seed).derive(name), last, budget.looks, of_z, cells))

    rng = np.random.default_rng(seed)
    z = noise("items", variance, 2 * n) + np.rint(rng.normal(0, np.sqrt((years - 1) * closed), 2 * n)).astype(int)
    more = rng.normal(0, continual.deviation(last, budget.looks, crowd) * np.sqrt(years - 1))
    people = log.users + int(noise("people", crowd, 1)[0]) + round(more)
    noisy = truth[0] + z[:n], truth[1] + z[n:]
    shown = noisy[0] + noisy[1] >= too_few(sd)
    far = np.hypot(spread, np.sqrt(5) * sd)
    told = wrong = sure = surely_wrong = 0
    for one, other in ((0, 1), (1, 0)):
        a, b = np.maximum(noisy[one], 0), np.maximum(noisy[other], 0)
        zone, c, d, r = zones_of(a, b, np.maximum(people, a + b + 1))
        near = (abs(c) < 1.64 * np.sqrt(2) * sd) | (abs(d) < 1.64 * far) | ((c <= 0) & (d >= 0) & (abs(r) < 1.64 * far))
        off = zone != zones_of(truth[one], truth[other], log.users)[0]
        told, wrong = told + shown.sum(), wrong + (off & shown).sum()
        sure, surely_wrong = sure + (shown & ~near).sum(), surely_wrong + (off & shown & ~near).sum()
    return float(wrong / told), float(sure / (2 * n)), float(surely_wrong / sure)
