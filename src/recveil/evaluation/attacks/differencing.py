"""differencing: what one release more tells of those who came between two of them.

Daily releases of one log differ by the day's newcomers. An attacker who knows that somebody is new takes how many
records have an item in the later release, less how many have it in the earlier one: what she has went up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recveil.data import Floats, Interactions
from recveil.evaluation.attacks.verdict import measured
from recveil.intervals import student_share
from recveil.measurement import Measurement, SkippedError, Trial

ASKED = 200  # items of a newcomer, and as many that she does not have


def differencing(trial: Trial, rng: np.random.Generator) -> list[Measurement]:
    """How often an item that a newcomer has went up more than one as popular that she has not; a tie is half.

    control: the same asked of people who are in both releases.
    """
    if trial.also is None or trial.also.newcomers is None:
        raise SkippedError(
            "differencing needs an earlier release without some of the people: give its bundle and both maps with "
            "--also, --also-map and --map"
        )
    new = trial.also.newcomers
    if not len(new):
        raise SkippedError("nobody came between the two releases")
    up = _people(trial.released) - _people(trial.also.released)
    old = np.setdiff1d(np.unique(trial.train.user), new)
    others = rng.permutation(old)[: len(new)]
    found, control = (_told(trial.train, who, up, rng) for who in (new, others))
    if not len(found):
        raise SkippedError("the newcomers have no items by which they could be told")
    return [
        measured(
            "differencing",
            student_share(found),
            len(found),
            chance=0.5,
            control=float(control.mean()) if len(control) else None,
            params={"newcomers": len(new)},
            note="items of newcomers that went up more than others",
        )
    ]


def _people(rows: Interactions) -> NDArray[np.int64]:
    """Of each item how many records have it."""
    pairs = np.unique(rows.item.astype(np.int64) * max(rows.n_users, 1) + rows.user)
    return np.bincount(pairs // max(rows.n_users, 1), minlength=rows.n_items)


def _told(train: Interactions, people: NDArray[np.int64], up: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """For each person the share of her items that went up more than an item as popular that is not hers."""
    often = _people(train)
    order = np.argsort(often, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    shares = []
    for person in people.tolist():
        hers = np.unique(train.item[train.user == person])
        asked = rng.permutation(hers)[:ASKED]
        near = rank[asked] + rng.choice([-2, -1, 1, 2], len(asked))
        other = order[np.clip(near, 0, len(order) - 1)]
        fair = ~np.isin(other, hers)
        if fair.any():
            step = up[asked[fair]] - up[other[fair]]
            shares.append(float(np.mean(np.where(step == 0, 0.5, step > 0))))
    return np.array(shares)
