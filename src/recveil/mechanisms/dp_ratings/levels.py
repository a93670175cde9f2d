"""Shares of levels for each item: a common shape, tilted until the item has its mean, that all together show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recveil import kernels

Floats = NDArray[np.float64]

_ROUNDS, _STEPS, _LAST, _POWER = 40, 2, 10, 0.7
_MOST_TILT = 40.0


def item_shares(mean: Floats, weight: Floats, wanted: Floats, values: Floats) -> Floats:
    """One row an item: shares g_k exp(tilt v_k) with the item's mean, g such that the weighted mixture is `wanted`."""
    inner = np.abs(values).max() - 0.02
    mean = np.clip(mean, -inner, inner)
    mixing = weight / max(float(weight.sum()), 1e-12)
    found: Floats = kernels.rating_levels.tilted_shares(
        mean, mixing, wanted, values, (_ROUNDS, _STEPS, _LAST), _POWER, _MOST_TILT
    )
    return found
