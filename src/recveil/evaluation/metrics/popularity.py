"""Popularity: are the items that many people have in the data those that many have in the release?"""

from __future__ import annotations

import numpy as np

from recveil.data import Floats, Interactions
from recveil.evaluation.metrics.sequences import spearman
from recveil.intervals import bootstrap
from recveil.measurement import Measurement, SkippedError, Trial


def popularity(trial: Trial, rng: np.random.Generator) -> list[Measurement]:
    """Rank correlation of how many people have each item, in the data and in the release."""
    return popularity_of(holders(trial.train), holders(trial.released), rng)


def holders(data: Interactions) -> Floats:
    """How many people have each item."""
    return np.bincount(data.matrix(binary=True).indices, minlength=data.n_items).astype(np.float64)


def popularity_of(before: Floats, after: Floats, rng: np.random.Generator) -> list[Measurement]:
    """The same from how many people have each item, before and after."""
    if not np.isfinite(spearman(before, after)):
        raise SkippedError("every item has as many people as any other, in the data or in the release")
    estimate = bootstrap(spearman, [before, after], rng, repeats=200)
    return [Measurement("popularity", *estimate, n=len(before), note="rank correlation; resampled over items")]
