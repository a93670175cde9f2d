"""Lists straight from noisy tables: how alike items are, and what each history would like next."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.mechanism import Lister
from recveil.mechanisms.dp_streams.baskets import rows_of
from recveil.mechanisms.dp_streams.drawing import Floats, Ints, StreamTables, expected

_CELLS = 1 << 24  # scores held at a time


def similarity(tables: StreamTables, neighbours: int = 15) -> Any:
    """The direct model: how alike the kept items are, straight from the noisy pairs; each row keeps its nearest."""
    from scipy import sparse

    pairs = expected(tables)
    norm = np.sqrt(np.maximum(pairs.strength, 1e-12))
    if len(pairs.table.indices):
        row, column = rows_of(pairs.table), pairs.table.indices
        alike = pairs.weight / norm[row] / norm[column]
        order = np.lexsort((-alike, row))
        best = order[np.arange(len(order)) - pairs.table.indptr[row] < neighbours]
        return sparse.csr_array((alike[best], (row[best], column[best])), shape=(len(norm), len(norm)))
    S: Floats = pairs.square / norm / norm[:, None]
    if neighbours < len(S):
        least = np.partition(S, -neighbours, axis=1)[:, [-neighbours]]
        S[least > S] = 0.0
    return sparse.csr_array(S)


def top_items(histories: Any, S: Any, tables: StreamTables, n: int) -> Ints:
    """For each history (a sparse row over the kept items) its n best new items, filled up by popularity; else -1."""
    popular = 1e-9 * tables.items / tables.items.max()
    m = len(popular)
    people = max(1, _CELLS // m)
    n_best = min(n, m)
    best = np.full((histories.shape[0], n), -1, dtype=np.int64)
    for begin in range(0, histories.shape[0], people):
        rows = histories[begin : begin + people]
        scores = (rows @ S).toarray() + popular
        scores[rows.toarray() > 0] = -np.inf
        order = np.argsort(-scores, axis=1, kind="stable")[:, :n_best]
        known = np.isfinite(np.take_along_axis(scores, order, 1))
        best[begin : begin + people, :n_best] = np.where(known, order, -1)
    return best


def maker(tables: StreamTables, items: pl.Series, n: int) -> Lister:
    """Lists by these tables, and of how many items they know what goes with them."""
    return partial(lists, items=items, S=similarity(tables), tables=tables, n=n), len(tables.kept)


def lists(histories: Interactions, items: pl.Series, S: Any, tables: StreamTables, n: int) -> dict[Any, list[Any]]:
    """Each user's n best new items from her own history; `items`: the catalogue of the tables, as ids of these data."""
    known = histories.over_items(items).matrix(binary=True)[:, tables.kept]
    names, users = items.gather(tables.kept).to_list(), histories.users.to_list()
    best = top_items(known, S, tables, n).tolist()
    return {u: [names[i] for i in row if i >= 0] for u, row in zip(users, best, strict=True)}
