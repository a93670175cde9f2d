"""Public items, no private data: what the file of items recommends by itself. The floor of every release.

Items are ranked by how alike they are to those that a person is shown: the cosine of their features and vectors. No
row of anybody else has a say, not even in which items exist or are popular; equals stand in an order of chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.data import Floats, Interactions
from recveil.evaluation.recommenders.sequential import AskedStreams
from recveil.items import PublicItems

NAME = "public items"
TIE = 1e-9  # what chance weighs beside likeness


@dataclass(frozen=True, eq=False)
class ItemsAlone:
    """A model, of lists and of the next item, over the items of its rows."""

    rows: Any  # of length 1, sparse
    chance: Floats
    note: str = ""

    def scores(self, query: Interactions, history: Any, users: NDArray[np.int64]) -> Floats:
        return self._alike(history)

    def of_streams(self, streams: AskedStreams) -> Floats:
        """Of each asked place the scores of all items, by what its stream holds before it."""
        sizes = streams.asked - streams.begin
        starts = np.append(0, np.cumsum(sizes))
        seen = streams.item[np.arange(starts[-1]) + np.repeat(streams.begin - starts[:-1], sizes)]
        shape = (len(streams.asked), streams.n_items)
        return self._alike(sparse.csr_array((np.ones(len(seen)), seen, starts), shape=shape))

    def _alike(self, history: Any) -> Floats:
        found: Floats = sparse.csr_array(history @ self.rows @ self.rows.T).toarray()
        return found + TIE * self.chance


@dataclass(frozen=True, eq=False)
class NextItemsAlone:
    """The same, as what is asked for the next item."""

    model: ItemsAlone
    note: str = ""

    def scores(self, streams: AskedStreams) -> Floats:
        return self.model.of_streams(streams)


def items_alone(facts: PublicItems) -> ItemsAlone:
    """What the file tells, over its items."""
    return ItemsAlone(facts.weighted(), np.random.default_rng([len(facts.items), *b"ties"]).random(len(facts.items)))
