"""Lists straight from the tables: what goes with what a person has, told by her own history alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import Interactions
from recveil.mechanism import Lister

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEAREST = 50
_CELLS = 1 << 24  # scores held at a time


@dataclass(frozen=True)
class Likeness:
    """How alike items are: of each kept item its nearest, one row an item; and how many people have each item."""

    near: scipy.sparse.csr_array
    kept: Ints
    have: Floats


def likeness(M: NDArray[np.float32], nearest: int = NEAREST) -> scipy.sparse.csr_array:
    """Cosines from expected pairs; a row keeps its largest."""
    norm = np.sqrt(np.maximum(M.sum(1, dtype=np.float64), 1e-12))
    column, value = kernels.pair_tables.nearest_cells(M, norm, nearest)
    there = column >= 0
    starts = np.append(0, np.cumsum(there.sum(1)))
    return scipy.sparse.csr_array((value[there].astype(np.float64), column[there], starts), shape=M.shape)


def pair_frame(alike: Likeness, items: pl.Series) -> pl.DataFrame:
    """As a table of the bundle."""
    cells = alike.near.tocoo()
    first, second = (items.gather(alike.kept[side]) for side in (cells.row, cells.col))
    return pl.DataFrame({"item": first, "other": second, "likeness": cells.data.astype(np.float32)})


def maker(alike: Likeness, items: pl.Series, n: int) -> Lister:
    """Lists by these, and of how many items they know what is like them."""
    return partial(lists, items=items, alike=alike, n=n), len(alike.kept)


def lists(histories: Interactions, items: pl.Series, alike: Likeness, n: int) -> dict[Any, list[Any]]:
    """Each user's n best new items; `items`: those of the tables, as ids of these data."""
    have = histories.over_items(items).matrix(binary=True)
    popular = 1e-9 * alike.have / alike.have.max()
    names, found = items.to_list(), {}
    step = max(1, _CELLS // len(names))
    for begin in range(0, have.shape[0], step):
        rows = have[begin : begin + step]
        scores = np.tile(popular, (rows.shape[0], 1))
        scores[:, alike.kept] += (rows[:, alike.kept] @ alike.near).toarray()
        scores[rows.toarray() > 0] = -np.inf
        best = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        for user, row, score in zip(range(begin, begin + step), best, scores, strict=False):
            found[histories.users[user]] = [names[i] for i in row if np.isfinite(score[i])]
    return found
