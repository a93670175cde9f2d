"""Shares of levels for each item: a common shape, tilted until the item has its mean, that all together show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROUNDS, _STEPS, _POWER = 40, 2, 0.7
_MOST_TILT = 40.0


def item_shares(mean: Floats, weight: Floats, wanted: Floats, values: Floats) -> Floats:
    """One row an item: shares g_k exp(tilt v_k) with the item's mean, g such that the weighted mixture is `wanted`."""
    inner = np.abs(values).max() - 0.02
    mean = np.clip(mean, -inner, inner)
    mixing = weight / max(float(weight.sum()), 1e-12)
    shape, tilt = wanted.copy(), np.zeros(len(mean))
    for _ in range(_ROUNDS):
        for _ in range(_STEPS):
            shares, tilt = _tilted(shape, tilt, mean, values)
        mixture = np.maximum(mixing @ shares, 1e-12)
        shape = np.maximum(shape * (wanted / mixture) ** _POWER, 1e-9)
        shape /= shape.sum()
    for _ in range(10):
        shares, tilt = _tilted(shape, tilt, mean, values)
    return shares


def _tilted(shape: Floats, tilt: Floats, mean: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Shares at the present tilts, and tilts nearer to the wanted means, by Newton's rule."""
    exponent = tilt[:, None] * values + np.log(shape)
    exponent -= exponent.max(1, keepdims=True)
    shares = np.exp(exponent)
    shares /= shares.sum(1, keepdims=True)
    now = shares @ values
    variance = np.maximum(shares @ values**2 - now**2, 0.02)
    return shares, np.clip(tilt + np.clip((mean - now) / variance, -2, 2), -_MOST_TILT, _MOST_TILT)
