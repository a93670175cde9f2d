"""Relevant next item: how likely the memory walk is to choose what people really clicked next, by size of memory."""

from __future__ import annotations

import numpy as np

from recveil import kernels
from recveil.data import Floats, Interactions
from recveil.views.transitions import Transitions
from recveil.views.walkable import walkable


def next_item_probability(moves: Transitions, data: Interactions, cut: float, most: int = 10) -> Floats:
    """[person, m]: each clickstream is cut at this share of its length; the first click after the cut is to be found.

    `moves` may be counted on all clicks or on those before the cut alone. People with a single click are left out.
    """
    rows = data.ordered().over_items(moves.items)
    starts = rows.starts("user")
    length = np.diff(starts)
    known = np.clip(np.floor(cut * length + 1e-9), 1, np.maximum(length - 1, 1)).astype(np.int64)
    begins = starts[:-1][length > 1]
    over = walkable(moves)
    found: Floats = kernels.relevance.relevant_next(
        over.graph, over.rank[rows.item], begins, begins + known[length > 1], most
    )
    return found
