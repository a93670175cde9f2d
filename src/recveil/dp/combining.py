"""Noisy tables of one window combined with what earlier windows published: by their variances, and with a drift that
the tables themselves tell. All of it is post-processing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CARRIED = "carried."  # begins the name of what the next window is told
_STANDS = 3.0  # deviations by which a cell must stand out of what is unknown of it to tell of drift


@dataclass(frozen=True)
class CarriedTable:
    """What is known of a table: values, the variance of each (infinite: nothing is), and what is known of its drift.

    A cell drifts from window to window by a variance in proportion to its level, as counts do. `drift` is the ratio's
    numerator and denominator, summed up over the windows so far.
    """

    value: Floats
    variance: Floats
    drift: tuple[float, float] = (0.0, 0.0)

    @property
    def rate(self) -> float:
        """The variance of a window's drift for one unit of level; 0 where it does not stand out of the noise."""
        above, below = self.drift
        return max(0.0, above - np.sqrt(2 * below)) / below if below > 0 else 0.0

    def after(self, noisy: Floats, variance: float) -> CarriedTable:
        """With one more window, whose noise has this variance in every cell."""
        known = np.isfinite(self.variance)
        spread = np.where(known, self.variance, 0.0)
        level = np.where(known & (self.value > _STANDS * np.sqrt(spread)), self.value, 0.0)
        unknown, surprise = spread + variance, noisy - self.value
        above = self.drift[0] + float((level * (surprise**2 - unknown) / unknown**2).sum())
        below = self.drift[1] + float((level**2 / unknown**2).sum())
        told = CarriedTable(self.value, self.variance, (above, below))
        ahead = spread + told.rate * level
        gain = np.where(known, ahead / (ahead + variance), 1.0)
        return CarriedTable(self.value + gain * surprise, gain * variance, told.drift)

    def at(self, places: NDArray[np.int64]) -> CarriedTable:
        """The same cells at other places; -1: a cell of which nothing is known."""
        known = places >= 0
        value = np.where(known, self.value[np.maximum(places, 0)], 0.0) if len(self.value) else np.zeros(len(places))
        spread = self.variance[np.maximum(places, 0)] if len(self.value) else np.full(len(places), np.inf)
        return CarriedTable(value, np.where(known, spread, np.inf), self.drift)


def nothing_known(cells: int) -> CarriedTable:
    """A table before its first window."""
    return CarriedTable(np.zeros(cells), np.full(cells, np.inf))


def evened(found: CarriedTable, prior: Floats) -> tuple[Floats, float]:
    """Values as if all had the smallest deviation, which is returned: where less is known a cell stays nearer to the
    prior, so that it stands out of the noise as much as before.
    """
    least = float(found.variance.min(initial=np.inf))
    known = np.isfinite(found.variance)
    share = np.sqrt(least / np.where(known, found.variance, 1.0)) * known
    return prior + (found.value - prior) * share, float(np.sqrt(least))


def told_next(rounds: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Of a window's published tables those that the next one is told."""
    named = {name: table for tables in rounds for name, table in tables.items()}
    return {name.removeprefix(CARRIED): table for name, table in named.items() if name.startswith(CARRIED)}
