"""The public scale of ratings: its levels, told by the owner and never read off the ratings."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

from recveil.errors import RecveilError

Floats = NDArray[np.float64]

MOST_LEVELS = 201
BY_TYPE = "type"
UNTOLD = (
    "dp-ratings must be told the scale of ratings, which it never reads off them: --scale 1,2,3,4,5, scale=1..5 in the "
    "spec, or a column of ratings whose type declares its levels (Boolean, or an Enum of numbers)"
)
REMEDY = "write it as 1..5, as 0.5..5/0.5 (in steps of one half), or as (1,2,3,4,5)"


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
    bare = text.strip().removeprefix("(").removesuffix(")")
    try:
        levels = _listed(bare) if ".." not in text else _stepped(bare)
    except (InvalidOperation, ValueError):
        raise RecveilError(f"dp-ratings: a scale of ratings cannot be {text!r}; {REMEDY}") from None
    if not 2 <= len(levels) <= MOST_LEVELS or len(set(levels)) < len(levels) or not all(map(np.isfinite, levels)):
        raise RecveilError(f"dp-ratings: a scale needs 2 to {MOST_LEVELS} different levels, unlike {text!r}; {REMEDY}")
    return Scale(tuple(sorted(levels)))


def _listed(text: str) -> list[float]:
    return [float(Decimal(part.strip())) for part in text.split(",")]


def _stepped(text: str) -> list[float]:
    ends, _, step_text = text.partition("/")
    low, high = (Decimal(part.strip()) for part in ends.split(".."))
    step = Decimal(step_text.strip() or "1")
    if step <= 0 or (high - low) % step or high <= low:
        raise ValueError
    many = int((high - low) / step)
    return [float(low + step * k) for k in range(min(many, MOST_LEVELS) + 1)]
