"""What people add to the tables of dp-streams: vectors of at most one unit, by streams or by people with sessions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import Interactions
from recveil.mechanisms.dp_streams.pairs import Listed, listed
from recveil.views.contributions import at_most
from recveil.views.sessions import sessions

Ints = NDArray[np.int64]

UNIT = 2**16  # the L2 norm of one person in integer tables; weights are rounded down
PAIRS = 19 * UNIT**2 // 20  # of the squared norm of pairs and lengths together
ONE_LENGTH = float(np.sqrt(1 - PAIRS / UNIT**2))  # what a length counts of a unit
EDGES = np.array([*range(2, 11), 12, 14, 17, 20, 24, 29, 35, 42, 50, 60, 75, 100, 150, 200, 300, 500])  # fmt: skip
SESSIONS = np.array([1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30, 40, 60, 100])  # classes of numbers of sessions
MOST_OF_ONE = 500  # items with which one person counts where items are selected, and of which she has pairs in a list
_CELLS = 2**27  # of listed pairs that are held at a time, about


@dataclass(frozen=True)
class Counts:
    """The second round's tables; they add with `+`. Numbers of sessions are there where people have several."""

    pairs: Ints
    lengths: Ints
    transitions: Ints
    sessions: Ints | None = None

    def __add__(self, other: Counts) -> Counts:
        both = (self.sessions, other.sessions)
        return Counts(
            self.pairs + other.pairs,
            self.lengths + other.lengths,
            self.transitions + other.transitions,
            None if both[0] is None or both[1] is None else both[0] + both[1],
        )

    def __iadd__(self, other: Counts) -> Counts:
        """In place: tables of 4,096 items take 200 MB, and those of a log in many parts are added up often."""
        for name in ("pairs", "lengths", "transitions", "sessions"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine is not None and theirs is not None:
                mine += theirs
        return self


def item_counts(chunk: Interactions, by_sessions: bool, selecting: bool) -> Ints:
    """The first round: which items people have."""
    if selecting:
        chunk = at_most(chunk, MOST_OF_ONE)
    if by_sessions:
        s = sessions(chunk)
        found: Ints = kernels.sessions.count_items_of_people(s.people, s.starts, s.item, chunk.n_items, UNIT)
        return found
    streams: Ints = kernels.baskets.count_items(chunk.starts(), chunk.item, chunk.n_items, UNIT)
    return streams


def table_counts(chunk: Interactions, keep: NDArray[np.int32], m: int, ordered: bool, by_sessions: bool) -> Counts:
    """The second round over m kept items; keep[i] is the place of item i among them, or -1."""
    shares = (PAIRS, UNIT**2 - PAIRS)
    if by_sessions:
        s = sessions(chunk)
        return Counts(
            *kernels.sessions.count_pairs_of_people(
                s.people, s.starts, s.item, keep, m, EDGES, SESSIONS, *shares, UNIT, ordered
            )
        )
    return Counts(*kernels.baskets.count_pairs(chunk.starts(), chunk.item, keep, m, EDGES, *shares, UNIT, ordered))


def listed_counts(chunk: Interactions, keep: NDArray[np.int32], m: int) -> Listed:
    """The pairs of a chunk one by one, some people at a time: memory depends on a constant, not on the busiest."""
    rows = at_most(chunk.take(keep[chunk.item] >= 0), MOST_OF_ONE)
    longest = int(np.diff(rows.starts()).max(initial=1))
    parts = rows.chunks("user", max(1, _CELLS // longest)) if len(rows) else iter([rows])
    shares = (PAIRS, UNIT**2 - PAIRS)
    return reduce(
        add, (listed(*kernels.baskets.list_pairs(p.starts(), p.item, keep, m, EDGES, *shares)) for p in parts)
    )
