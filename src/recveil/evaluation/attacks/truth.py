"""Which released records are hers: the map says so, or equal item sets do, or only the closest one can be named.

An attacker never sees this. It is for scoring alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import Codes, group
from recveil.views.records import Records

How = Literal["map", "sets", "closest"]


@dataclass(frozen=True)
class Truth:
    """The released records of each person of the data: records[starts[u]:starts[u + 1]].

    weight: what a hit on one of them counts. Where k people have the same items nobody can tell whose record is whose,
    and a hit counts 1/k.
    """

    starts: NDArray[np.int64]
    records: NDArray[np.int64]
    weight: NDArray[np.float64]
    how: How

    @property
    def people(self) -> NDArray[np.int64]:
        """Those who have a record in the release."""
        return np.flatnonzero(np.diff(self.starts))

    @property
    def note(self) -> str:
        if self.how == "closest":
            return "no record is known to be hers: scored against the released record closest to her"
        return "scored on the people whose items are released unchanged" if self.how == "sets" else ""

    def of(self, people: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts and records of the given people."""
        lengths = np.diff(self.starts)[people]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        rows = np.arange(int(starts[-1])) + np.repeat(self.starts[people] - starts[:-1], lengths)
        return starts, self.records[rows]


def truth(train: Records, released: Records, owner: Codes | None) -> Truth:
    """From the map where there is one; else from equal item sets, if most people have one; else the closest record."""
    if owner is not None:
        known = np.flatnonzero((owner >= 0) & (released.lengths > 0))
        starts, rows = group(owner[known], len(train))
        return Truth(starts, known[rows], np.ones(len(train)), "map")
    same = equal_sets(train, released)
    if 2 * len(same.people) >= len(train.people):
        return same
    return closest(train, released)


def equal_sets(train: Records, released: Records) -> Truth:
    """Records with exactly the items of a person."""
    name = np.random.default_rng(0).integers(0, 2**63, size=train.n_items, dtype=np.uint64)
    ours, theirs = set_names(train, name), set_names(released, name)
    order = np.argsort(theirs, kind="stable")
    low, high = (np.searchsorted(theirs[order], ours, side=side) for side in ("left", "right"))
    found = np.where(train.lengths > 0, high - low, 0)
    starts = np.concatenate([[0], np.cumsum(found)]).astype(np.int64)
    rows = np.arange(int(starts[-1])) + np.repeat(low - starts[:-1], found)
    _, alike, count = np.unique(ours, return_inverse=True, return_counts=True)
    return Truth(starts, order[rows], 1.0 / count[alike], "sets")


def closest(train: Records, released: Records) -> Truth:
    """For each person the released record with the largest cosine."""
    _, record = kernels.record_search.nearest(
        kernels.record_search.index(*released.sets, released.n_items), *train.sets
    )
    starts = np.concatenate([[0], np.cumsum(record >= 0)]).astype(np.int64)
    return Truth(starts, record[record >= 0], np.ones(len(train)), "closest")


def set_names(of: Records, name: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A 64-bit name of every item set: the sum of its items' random names."""
    running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(name[of.items], dtype=np.uint64)])
    names: NDArray[np.uint64] = running[of.starts[1:]] - running[of.starts[:-1]]
    return names
