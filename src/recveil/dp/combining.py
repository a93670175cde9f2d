"""Noisy tables of one window combined with what earlier windows published: by their variances, and forgotten as fast as
would have foretold the windows so far best. All of it is post-processing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CARRIED = "carried."  # begins the name of what the next window is told
FORGET = (0.0, 0.1, 0.3, 0.6, 1.0)  # of what is known, from window to window
_CERTAIN = 2.0  # deviations by which forgetting must have foretold better than the mean of all windows


@dataclass(frozen=True)
class CarriedTable:
    """What is known of a table: values, and the variance of each (infinite: nothing is)."""

    value: Floats
    variance: Floats

    def after(self, noisy: Floats, variance: float, forget: float = 0.0) -> CarriedTable:
        """With one more window, whose noise has this variance in every cell; of what was known a part is forgotten."""
        sure = (1 - forget) / self.variance
        gain = 1 / (1 + sure * variance)
        return CarriedTable(self.value + gain * (noisy - self.value), gain * variance)

    def at(self, places: NDArray[np.int64]) -> CarriedTable:
        """The same cells at other places; -1: a cell of which nothing is known."""
        known = places >= 0
        value = np.where(known, self.value[np.maximum(places, 0)], 0.0) if len(self.value) else np.zeros(len(places))
        spread = self.variance[np.maximum(places, 0)] if len(self.value) else np.full(len(places), np.inf)
        return CarriedTable(value, np.where(known, spread, np.inf))


def nothing_known(cells: int) -> CarriedTable:
    """A table before its first window."""
    return CarriedTable(np.zeros(cells), np.full(cells, np.inf))


def foretold(tables: list[CarriedTable], noisy: Floats, variance: float, cells: NDArray[np.int64]) -> Floats:
    """By how much each table foretold a new window's cells better than the first one did, and its variance by noise.

    The new window's noise is none of the tables' own, so a table that stood out by luck has no advantage.
    """
    both = np.isfinite(tables[0].variance[cells])
    cells = cells[both]
    base = tables[0].value[cells]
    found = np.zeros((2, len(tables)))
    for k, table in enumerate(tables):
        apart = table.value[cells] - base
        found[0, k] = float((apart * (2 * noisy[cells] - base - table.value[cells])).sum()) / variance
        found[1, k] = 4 * float((apart**2).sum()) / variance
    return found


def best_forgetting(skill: Floats) -> int:
    """Which of FORGET has foretold best, by sums of `foretold`; the first unless another one surely did."""
    return int(np.argmax(skill[0] - _CERTAIN * np.sqrt(skill[1])))


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
