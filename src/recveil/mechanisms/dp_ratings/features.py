"""Public features of items in the tables: films of a genre are liked alike, and by the same people.

What features explain of a noisy table is believed as far as it stands out of the noise: their coefficients have a
common variance, which the table itself tells.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.items import PublicItems

Floats = NDArray[np.float64]

MOST, FEWEST_ITEMS = 64, 5  # features in all; items that must share one
MOST_DIRECTIONS = 8
_ROUNDS = 8
_LEAST, _FIRST = 1e-8, 0.01  # variance of the coefficients


def feature_matrix(features: PublicItems | None, items: pl.Series) -> Floats | None:
    """A row an item, features centred and of one spread; an item of which nothing is known is at the mean."""
    if features is None:
        return None
    facts = features.most_shared(MOST, FEWEST_ITEMS).over(items)
    table = facts.table.toarray().astype(np.float64)
    unknown = ~table.any(axis=1)
    table[unknown] = table[~unknown].mean(axis=0) if not unknown.all() else 0.0
    table = np.hstack([table, *([] if facts.vectors is None else [facts.vectors[:, :MOST]])])
    spread = table.std(axis=0)
    table = (table - table.mean(axis=0))[:, spread > 0] / np.maximum(spread[spread > 0], 0.05)
    return table if table.shape[1] else None


def ridge(design: Floats, wanted: Floats, weight: Floats, free: int, slack: float) -> tuple[Floats, float]:
    """Weighted least squares whose coefficients beyond the first `free` have variance `slack`; and a better slack.

    design and wanted in the same units, weight: one over the variance of the noise.
    """
    precision = (design * weight[:, None]).T @ design
    held = np.arange(len(precision)) >= free
    precision[held, held] += 1 / slack
    precision[~held, ~held] += 1e-9
    inverse = np.linalg.inv(precision)
    found: Floats = inverse @ (design.T @ (weight * wanted))
    if held.any():
        slack = max(float((found[held] ** 2).sum() + np.trace(inverse[np.ix_(held, held)])) / held.sum(), _LEAST)
    return found, slack


def explained(sums: Floats, have: Floats, features: Floats, sigma: float) -> Floats:
    """What features explain of sums / have, column by column."""
    weight = np.full(len(have), 1 / sigma**2)
    found = np.zeros((len(have), sums.shape[1]))
    for k in range(sums.shape[1]):
        slack = _FIRST
        for _ in range(_ROUNDS):
            weights, slack = ridge(have[:, None] * features, sums[:, k], weight, 0, slack)
        found[:, k] = features @ weights
    return found


def feature_directions(features: Floats, directions: Floats) -> Floats:
    """Directions with the strongest ones of features beside them: orthonormal to each other."""
    unit = features / np.maximum(np.linalg.norm(features, axis=0), 1e-12)
    beside, strength, _ = np.linalg.svd(unit - directions @ (directions.T @ unit), full_matrices=False)
    return np.hstack([directions, beside[:, strength > 0.1][:, :MOST_DIRECTIONS]])
