"""What lies behind noisy sums over items: how many have an item, how much they like it, and where they stand.

Everything here sees noisy numbers and public constants alone, so it spends no privacy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recveil.dp.denoise import mixture
from recveil.mechanisms.dp_ratings.features import explained, ridge

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_EFFECT = 2.5  # deviations of a person's own ratings
_GRID, _STEPS, _LEVELS = 60, 300, 16
_ROUNDS = 8
_CLASSES, _IN_CLASS = 8, 150
_LEAST_SPREAD, _MOST_SPREAD = 1e-6, 1.0


def popularity(noisy: Floats, sigma: float) -> Floats:
    """The posterior mean of noisy counts under a prior fitted to all of them; never quite 0."""
    top = max(float(noisy.max(initial=0.0)), 8 * sigma)
    support = np.append(0.0, np.geomspace(0.1 * sigma, top, _GRID))
    levels, which, counts = np.unique(np.rint(noisy / sigma * _LEVELS), return_inverse=True, return_counts=True)
    exponent = 0.5 * (levels[:, None] / _LEVELS - support / sigma) ** 2
    likelihood = np.exp(exponent.min(1, keepdims=True) - exponent)
    joint = likelihood * mixture(likelihood, counts, np.full(len(support), 1 / len(support)), _STEPS)
    found: Floats = np.maximum(joint @ support / joint.sum(1), 0.02 * sigma)[which]
    return found


def effects(
    have: Floats, like: Floats, sigma: float, extra: Floats | None = None, features: Floats | None = None
) -> Floats:
    """like / have without its noise: a curve in popularity (and in `extra`), features, and what stands out of it.

    have: counts without noise. like: have * effect + noise of deviation sigma.
    """
    x = np.clip(np.log(have / np.median(have)), -4, 4)
    columns = [np.ones_like(x), x, x * x, *([] if extra is None else [extra])]
    known = np.hstack([np.stack(columns, axis=1), *([] if features is None else [features])])
    kinds = classes(have)
    tau, slack = np.full(len(have), 0.05), 0.01
    prior, rest = np.zeros_like(have), like
    for _ in range(_ROUNDS):
        weight = 1 / (sigma**2 + have**2 * tau)
        weights, slack = ridge(have[:, None] * known, like, weight, len(columns), slack)
        prior = known @ weights
        rest = like - have * prior
        tau = spreads(have, rest[:, None], sigma, kinds, weight)
    found: Floats = prior + rest * have * tau / (have**2 * tau + sigma**2)
    return found


def loadings(sums: Floats, have: Floats, directions: Floats, sigma: float, features: Floats | None = None) -> Floats:
    """sums / have without its noise: a linear function of directions, features, and what stands out; rows are items."""
    d = directions.shape[1]
    L = np.linalg.lstsq(have[:, None] * directions, sums, rcond=None)[0]
    strength = ((have[:, None] * (directions @ L)) ** 2).sum(0)
    L = L * np.maximum(0.0, 1 - d * sigma**2 / np.maximum(strength, 1e-12))
    fit = directions @ L
    if features is not None:
        fit += explained(sums - have[:, None] * fit, have, features, sigma)
    rest = sums - have[:, None] * fit
    tau = spreads(have, rest, sigma, classes(have), np.ones_like(have))
    found: Floats = fit + rest * (have * tau / (have**2 * tau + sigma**2))[:, None]
    return found


def spreads(have: Floats, rest: Floats, sigma: float, kinds: Ints, weight: Floats) -> Floats:
    """For each item the variance of true deviations in its class; that of all items where the class cannot tell."""
    excess = (weight[:, None] ** 2 * have[:, None] ** 2 * (rest**2 - sigma**2)).sum(1)
    scale = rest.shape[1] * weight**2 * have**4
    pooled = np.clip(excess.sum() / scale.sum(), _LEAST_SPREAD, _MOST_SPREAD)
    total, size = np.bincount(kinds, excess), np.bincount(kinds, scale)
    doubt = rest.shape[1] * weight**4 * have**4 * 2 * (sigma**2 + have**2 * pooled) ** 2
    sure = total > 2 * np.sqrt(np.bincount(kinds, doubt))
    found = np.where(sure, np.clip(total / np.maximum(size, 1e-300), _LEAST_SPREAD, _MOST_SPREAD), pooled)
    return np.asarray(found[kinds])


def classes(have: Floats) -> Ints:
    """Classes of equally many items, by how many people have them."""
    number = max(1, min(_CLASSES, len(have) // _IN_CLASS))
    rank = np.empty(len(have), dtype=np.int64)
    rank[np.argsort(have, kind="stable")] = np.arange(len(have))
    return rank * number // len(have)
