"""Scales of ratings: levels that their owner declares, and which well-known scale fits what somebody sees."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from recveil.errors import RecveilError

MOST_LEVELS = 201
REMEDY = "write it as 1..5, as 0.5..5/0.5 (in steps of one half), or as (1,2,3,4,5)"
WELL_KNOWN = (  # fewer levels first: the first that has all of the ratings is proposed
    *("0..1", "-1..1", "1..5", "0..5", "1..6", "1..7", "1..10", "0.5..5/0.5", "0..10", "0..5/0.5"),
    *("0.5..10/0.5", "0..10/0.5", "-10..10", "1..100", "0..100"),
)


def parse_scale(text: str) -> tuple[float, ...]:
    """The levels that an owner wrote, in rising order."""
    bare = text.strip().removeprefix("(").removesuffix(")")
    try:
        levels = _listed(bare) if ".." not in text else _stepped(bare)
    except (InvalidOperation, ValueError):
        raise RecveilError(f"a scale of ratings cannot be {text!r}; {REMEDY}") from None
    if not 2 <= len(levels) <= MOST_LEVELS or len(set(levels)) < len(levels) or not all(map(isfinite, levels)):
        raise RecveilError(f"a scale needs 2 to {MOST_LEVELS} different levels, unlike {text!r}; {REMEDY}")
    return tuple(sorted(levels))


def fitting_scale(ratings: Sequence[float]) -> str | None:
    """The smallest well-known scale with all these ratings as levels, or else between its ends; or None."""
    scales = {text: parse_scale(text) for text in WELL_KNOWN}
    exact = (text for text, levels in scales.items() if set(ratings) <= set(levels))
    around = (text for text, levels in scales.items() if levels[0] <= min(ratings) and max(ratings) <= levels[-1])
    return next(exact, None) or next(around, None) if len(ratings) else None


def outside_scale(ratings: NDArray[np.float64], levels: Sequence[float]) -> int:
    """How many ratings lie below the lowest level or above the highest."""
    return int(np.count_nonzero((ratings < levels[0]) | (ratings > levels[-1])))


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
