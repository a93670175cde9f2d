"""The public scale of ratings: its levels, told by the owner and never read off the ratings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recveil.errors import RecveilError
from recveil.scales import parse_scale

Floats = NDArray[np.float64]

BY_TYPE = "type"
UNTOLD = (
    "dp-ratings must be told the scale of ratings, which it never reads off them: --scale 1,2,3,4,5, scale=1..5 in the "
    "spec, a schema (--schema), or a column of ratings whose type declares its levels (Boolean, or an Enum of numbers)"
)


@dataclass(frozen=True)
class Scale:
    """Levels in rising order. Inside, ratings run from -1 (the lowest level) to 1 (the highest)."""

    levels: tuple[float, ...]

    @property
    def values(self) -> Floats:
        """The levels between -1 and 1."""
        levels = np.array(self.levels)
        found: Floats = 2 * (levels - levels[0]) / (levels[-1] - levels[0]) - 1
        return found

    @property
    def ends(self) -> Floats:
        """What lies between two levels of `values`, half way."""
        return (self.values[1:] + self.values[:-1]) / 2

    def inside(self, rating: Floats) -> Floats:
        """Every rating as the value of the level nearest to it; what lies outside goes to the end of the scale."""
        levels = np.array(self.levels)
        nearest = np.searchsorted((levels[1:] + levels[:-1]) / 2, rating, side="right")
        found: Floats = self.values[nearest]
        return found

    def outside(self, value: Floats) -> Floats:
        """Numbers between -1 and 1 on the scale of the ratings; not rounded to levels."""
        low, high = self.levels[0], self.levels[-1]
        found: Floats = low + (np.clip(value, -1, 1) + 1) / 2 * (high - low)
        return found


def scale(text: str) -> Scale:
    """A scale from what the owner wrote."""
    try:
        return Scale(parse_scale(text))
    except RecveilError as wrong:
        raise RecveilError(f"dp-ratings: {wrong}") from None
