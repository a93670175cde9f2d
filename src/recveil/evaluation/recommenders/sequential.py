"""Sequential referees: what tells a person's next item from the items before it, in their order.

Most-popular, what followed the last item (markov) and what shares streams with it (session-knn) are floors that need
no network; SASRec and GRU4Rec are in neural.py. All are asked about strangers, as a Ranker is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.data import Codes, Floats, Interactions
from recveil.views.transitions import direct_sequence

Places = NDArray[np.int64]
FILL = 1e-9  # what popularity weighs beside everything else: it fills lists up


@dataclass(frozen=True, eq=False)
class AskedStreams:
    """Items one person after the other, each person's in their order, with places where the item is asked for.

    What may be known of place p are the items of its stream before it: item[begin[k]:p] for p = asked[k].
    """

    item: Codes
    begin: Places
    asked: Places
    n_items: int

    @property
    def last(self) -> Codes:
        """The item before each asked one."""
        return self.item[self.asked - 1]

    def part(self, block: slice) -> AskedStreams:
        return AskedStreams(self.item, self.begin[block], self.asked[block], self.n_items)


class NextModel(Protocol):
    """A fitted sequential referee. `note` says what a reader must know of how it was fitted."""

    @property
    def note(self) -> str: ...

    def scores(self, streams: AskedStreams) -> Floats:
        """Of each asked place the scores of all items; higher is better, -inf where there is nothing to say."""


class Sequencer(Protocol):
    """A frozen dataclass whose fields are the hyper-parameters."""

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str: ...

    def fit(self, train: Interactions, seed: int) -> NextModel: ...


@dataclass(frozen=True, eq=False)
class ByLast:
    """Scores by the last item alone: a row of a table of items x items, filled up by popularity."""

    table: sparse.csr_array | None
    people: Floats
    note: str = ""

    def scores(self, streams: AskedStreams) -> Floats:
        known = np.where(self.people > 0, FILL * self.people / max(self.people.max(initial=0.0), 1.0), -np.inf)
        if self.table is None:
            return np.broadcast_to(known, (len(streams.asked), len(known)))
        rows: Floats = self.table[streams.last].toarray()
        return rows + known


@dataclass(frozen=True)
class NextPopular:
    """The same items for everyone, by the number of people who touched them."""

    name: ClassVar[str] = "most-popular"

    def fit(self, train: Interactions, seed: int) -> ByLast:
        return ByLast(None, _people(train.matrix(binary=True)))


@dataclass(frozen=True)
class Markov:
    """What most often came immediately after the last item."""

    name: ClassVar[str] = "markov"

    def fit(self, train: Interactions, seed: int) -> ByLast:
        follows = direct_sequence(train.ordered()).astype(np.float64)
        return ByLast(follows, _people(train.matrix(binary=True)))


@dataclass(frozen=True)
class SessionKNN:
    """What most often shares a stream with the last item: c_ij / sqrt((n_i + shrinkage)(n_j + shrinkage))."""

    name: ClassVar[str] = "session-knn"
    shrinkage: float = 20.0

    def fit(self, train: Interactions, seed: int) -> ByLast:
        X = train.matrix(binary=True)
        people = _people(X)
        scale = sparse.diags_array(1 / np.sqrt(people + self.shrinkage))
        X = sparse.csr_array(X @ scale)
        return ByLast(sparse.csr_array(X.T.tocsr() @ X), people)


def _people(X: Any) -> Floats:
    return np.bincount(X.indices, minlength=X.shape[1]).astype(np.float64)
