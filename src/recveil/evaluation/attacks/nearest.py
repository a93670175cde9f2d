"""nearest: how similar is each released record to the closest real one? A similarity, not a privacy measure.

Real people who are not in the data resemble those who are, too: the figure means something only beside theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil import kernels
from recveil.evaluation.attacks.verdict import measured
from recveil.intervals import bootstrap_mean, share
from recveil.measurement import Measurement, Trial
from recveil.views.records import Records, records

_NOTE = "similarity, not privacy: to be read beside the control, people who are not in the data"
_SHUFFLES = 5


def nearest(
    trial: Trial, rng: np.random.Generator, *, theta: float = 0.7, targets: int | None = 5000
) -> list[Measurement]:
    """The share of released records whose closest real record has a cosine of at least theta; and the mean cosine.

    targets: how many records are looked at, drawn by lot; None: all. More hardly narrow the intervals.
    control: the same for held-out people. chance: the same for released records whose items were shuffled among them.
    """
    train, released = records(trial.train), records(trial.released)
    at = kernels.record_search.index(*train.sets, train.n_items)
    chosen = _some(released, targets, rng)
    ours = _closest(at, chosen)
    shuffled = np.concatenate([_closest(at, _shuffle(chosen, rng)) for _ in range(_SHUFFLES)])
    held = None if trial.holdout is None else _closest(at, _some(records(trial.holdout), targets, rng))
    common: dict[str, Any] = {"n": len(ours), "note": _NOTE}
    return [
        measured(
            "nearest",
            share(_reach(ours, theta)),
            chance=float(_reach(shuffled, theta).mean()),
            control=None if held is None else float(_reach(held, theta).mean()),
            params={"theta": theta},
            **common,
        ),
        measured(
            "nearest-cosine",
            bootstrap_mean(ours, rng),
            chance=float(shuffled.mean()),
            control=None if held is None else float(held.mean()),
            params={},
            **common,
        ),
    ]


def _closest(at: kernels.record_search.Index, of: Records) -> NDArray[np.float64]:
    return kernels.record_search.nearest(at, *of.sets)[0]


def _some(of: Records, number: int | None, rng: np.random.Generator) -> Records:
    return of.take(rng.permutation(of.people)[:number])


def _reach(cosine: NDArray[np.float64], theta: float) -> NDArray[np.float64]:
    return (cosine >= theta - 1e-12).astype(np.float64)


def _shuffle(of: Records, rng: np.random.Generator) -> Records:
    """The items dealt anew: every record keeps its length and every item its popularity, but for repeats, which go."""
    record = np.repeat(np.arange(len(of)), of.lengths)
    pair = np.unique(record * of.n_items + rng.permutation(of.items))
    starts = np.searchsorted(pair, np.arange(len(of) + 1) * of.n_items).astype(np.int64)
    items = (pair % of.n_items).astype(np.int32)
    return Records(starts, items, np.full(len(items), np.nan), of.n_items)
