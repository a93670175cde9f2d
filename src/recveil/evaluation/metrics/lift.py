"""Lift: how much of what the real data teach beyond popularity a release still teaches. The headline.

(release - most-popular) / (real - most-popular), over the same test people, so that 1 is the real data and 0 is what
anyone could do with a list of best sellers. A ratio to the real score misleads, because popularity alone earns most of
it: data whose items were permuted across users keep three quarters of the real recall, and a lift of nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recveil.data import Floats
from recveil.evaluation.metrics.ranking import REFEREES, N, arms
from recveil.evaluation.recommenders.ranker import Ranker
from recveil.intervals import bootstrap, paired_difference
from recveil.measurement import Measurement, Trial

METRIC = "ndcg"
ALL = "all"


def lift(
    trial: Trial, rng: np.random.Generator, referees: Sequence[Ranker] = REFEREES, n: int = N, metric: str = METRIC
) -> list[Measurement]:
    """For each referee and for all together ("all": the mean of their scores): `advantage` and, where defined, `lift`.

    advantage is real - most-popular. Where its interval reaches 0, lift is undefined, and the note there says so.
    """
    rows = [[s.values[metric] for s in arms(trial, ranker, n)] for ranker in referees]
    found: list[Measurement] = []
    for name, scores in zip((ALL, *(r.name for r in referees)), (np.mean(rows, axis=0), *rows), strict=True):
        release, real, popular = scores
        found += of(release, real, popular, rng, {"referee": name, "metric": metric, "n": n})
    return found


def of(
    release: Floats,
    real: Floats,
    popular: Floats,
    rng: np.random.Generator,
    params: dict[str, object],
    prefix: str = "",
) -> list[Measurement]:
    """advantage and lift of three scores per person, under names with this prefix."""
    ahead, low, high = paired_difference(real, popular, rng)
    if low <= 0:
        note = (
            f"{prefix}lift is undefined: trained on the real data, {params['referee']} does not for certain beat "
            f"most-popular ({real.mean():.3f} against {popular.mean():.3f}), so there is nothing that a release could "
            "keep"
        )
        return [Measurement(f"{prefix}advantage", ahead, low, high, n=len(real), params=params, note=note)]
    value, least, most = bootstrap(_lift, [release, real, popular], rng)
    note = f"release {release.mean():.3f}, real {real.mean():.3f}, most-popular {popular.mean():.3f}"
    return [
        Measurement(f"{prefix}advantage", ahead, low, high, n=len(real), params=params),
        Measurement(f"{prefix}lift", value, least, most, n=len(real), params=params, note=note),
    ]


def _lift(release: Floats, real: Floats, popular: Floats) -> float:
    base = popular.mean()
    return float((release.mean() - base) / (real.mean() - base))
