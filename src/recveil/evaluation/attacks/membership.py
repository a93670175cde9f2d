"""membership: was this person in the data? Her profile is scored against the release; members against held-out people.

`distance` is the cosine to the closest released record. `density` compares that with the closest record among other
people who are not in the data, so that a common profile, close to everything, does not pass for a member.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from recveil import kernels
from recveil.errors import unknown
from recveil.evaluation.attacks.verdict import measured
from recveil.intervals import Estimate, bootstrap_groups, wilson
from recveil.measurement import Measurement, SkippedError, Trial
from recveil.views.records import Records, records

Score = Literal["distance", "density"]
Scores = NDArray[np.float64]
_LEAST = 1e-3  # a distance never counts as less: identical to the reference is not infinitely telling


def membership(
    trial: Trial,
    rng: np.random.Generator,
    *,
    scores: Sequence[Score] = get_args(Score),
    fpr: float = 0.01,
    targets: int = 10_000,
) -> list[Measurement]:
    """AUC of each score, and its true positive rate at a false positive rate of `fpr`.

    control: the same with one half of the held-out people in the place of the members, against the other half.
    """
    if trial.holdout is None:
        raise SkippedError("membership needs people who are not in the data; give some as holdout")
    train, held, released = records(trial.train), records(trial.holdout), records(trial.released)
    members = train.take(rng.permutation(train.people)[:targets])
    others = held.take(rng.permutation(held.people)[:targets])
    if len(others) < 4:
        raise SkippedError(f"membership needs at least 4 people who are not in the data, and there are {len(others)}")
    found = []
    for score in scores:
        if score not in get_args(Score):
            raise unknown("score", score, get_args(Score))
        inside, outside = _scored(score, members, others, released)
        a, b = outside[::2], outside[1::2]
        params = {"score": score}
        found.append(
            measured(
                "membership-auc", auc(inside, outside), len(inside), chance=0.5, control=auc(a, b)[0], params=params
            )
        )
        if fpr * len(outside) >= 1:
            found.append(
                measured(
                    "membership-tpr",
                    tpr(inside, outside, fpr, rng),
                    len(inside),
                    chance=fpr,
                    control=_tpr(a, b, fpr),
                    params={**params, "fpr": fpr},
                )
            )
    return found


def _scored(score: Score, members: Records, others: Records, released: Records) -> tuple[Scores, Scores]:
    at = kernels.record_search.index(*released.sets, released.n_items)
    inside, outside = (kernels.record_search.nearest(at, *of.sets)[0] for of in (members, others))
    if score == "distance":
        return inside, outside
    # Everybody is compared with the half of the held-out people that she is not in.
    for half in (0, 1):
        there = others.take(np.arange(len(others))[1 - half :: 2])
        reference = kernels.record_search.index(*there.sets, there.n_items)
        for of, found in ((members, inside), (others, outside)):
            mine = np.arange(len(of))[half::2]
            known = kernels.record_search.nearest(reference, *of.take(mine).sets)[0]
            found[mine] = np.log(np.maximum(1 - known, _LEAST)) - np.log(np.maximum(1 - found[mine], _LEAST))
    return inside, outside


def auc(inside: Scores, outside: Scores) -> Estimate:
    """The probability that a member scores higher than another; ties count half.

    The interval holds the values that Hanley and McNeil's variance, taken at the value itself, does not rule out
    (Newcombe 2006): like Wilson's it never collapses, not even at 1.
    """
    m, n = len(inside), len(outside)
    order = np.sort(outside)
    below, upto = (np.searchsorted(order, inside, side=side) for side in ("left", "right"))
    value = float((below + upto).sum() / (2.0 * m * n))

    def ruled_out(theta: float) -> bool:
        spread = 1 + ((m + n) / 2 - 1) * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        return (value - theta) ** 2 > 1.959963984540054**2 * theta * (1 - theta) * spread / (m * n)

    return value, _edge(0.0, value, ruled_out), _edge(1.0, value, ruled_out)


def _edge(outer: float, inner: float, ruled_out: object) -> float:
    """Where, between a value that is ruled out and one that is not, the border lies."""
    assert callable(ruled_out)
    for _ in range(60):
        middle = (outer + inner) / 2
        if ruled_out(middle):
            outer = middle
        else:
            inner = middle
    return inner


def tpr(inside: Scores, outside: Scores, fpr: float, rng: np.random.Generator) -> Estimate:
    """The share of members above the threshold that `fpr` of the others exceed; both groups are resampled."""
    value, low, high = bootstrap_groups(lambda a, b: _tpr(a, b, fpr), [inside, outside], rng, repeats=400)
    flat, steep = wilson(value * len(inside), len(inside))
    return value, min(low, flat), max(high, steep)


def _tpr(inside: Scores, outside: Scores, fpr: float) -> float:
    """Ties at the threshold are claimed in the share that makes the false positive rate exact."""
    order = np.sort(outside)[::-1]
    allowed = fpr * len(outside)
    threshold = order[min(int(allowed), len(order) - 1)]
    above, at = np.mean(inside > threshold), np.mean(inside == threshold)
    over, same = np.count_nonzero(outside > threshold), np.count_nonzero(outside == threshold)
    return float(above + at * (allowed - over) / same)
