"""DS and CVS: which item follows which, and which are seen by the same person. Sparse, and they add with `+`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.ids import places, union


@dataclass(frozen=True, eq=False)
class Transitions:
    """Counts over ordered clickstreams, coded over `items` (sorted ids).

    ds[n, m]: how often m came immediately after n. cvs[n, m]: how many clickstreams hold both; symmetric, no diagonal.
    """

    items: pl.Series
    ds: scipy.sparse.csr_array
    cvs: scipy.sparse.csr_array

    def __add__(self, other: Transitions) -> Transitions:
        items = self.items
        if other.items is not items and not other.items.equals(items):
            items = union(items, other.items)
        first, second = self.over(items), other.over(items)
        return Transitions(items, first.ds + second.ds, first.cvs + second.cvs)

    def over(self, items: pl.Series) -> Transitions:
        """The same counts coded over a larger sorted vocabulary."""
        if items is self.items or items.equals(self.items):
            return self
        where = places(self.items, items).astype(np.int64)
        return Transitions(items, _recoded(self.ds, where, len(items)), _recoded(self.cvs, where, len(items)))


def transitions(data: Interactions) -> Transitions:
    """DS and CVS of every user's items in the order of time (of the rows, where there is no time)."""
    rows = data.ordered()
    return Transitions(rows.items, direct_sequence(rows), common_view(rows))


def direct_sequence(rows: Interactions) -> scipy.sparse.csr_array:
    """DS of rows that stand by user in the order of time."""
    same = rows.user[1:] == rows.user[:-1]
    before, after = rows.item[:-1][same], rows.item[1:][same]
    ones = np.ones(len(before), dtype=np.int32)
    return _sorted(scipy.sparse.coo_array((ones, (before, after)), shape=(rows.n_items, rows.n_items)).tocsr())


def common_view(rows: Interactions) -> scipy.sparse.csr_array:
    """CVS = A'A without its diagonal; A holds a 1 where a user has an item, however often."""
    return common_views(rows)(np.arange(rows.n_items))


def common_views(rows: Interactions) -> Callable[[NDArray[np.int64]], scipy.sparse.csr_array]:
    """The rows of CVS that belong to some items, for data whose pairs of items do not fit in memory."""
    a = rows.matrix(binary=True).astype(np.int32)
    by_item = a.T.tocsr()

    def of(items: NDArray[np.int64]) -> scipy.sparse.csr_array:
        cvs = (by_item[items] @ a).tocsr()
        cvs.data[cvs.indices == np.repeat(items, np.diff(cvs.indptr))] = 0
        cvs.eliminate_zeros()
        return _sorted(cvs)

    return of


def _recoded(matrix: scipy.sparse.csr_array, where: NDArray[np.int64], n: int) -> scipy.sparse.csr_array:
    cells = matrix.tocoo()
    return _sorted(scipy.sparse.coo_array((cells.data, (where[cells.row], where[cells.col])), shape=(n, n)).tocsr())


def _sorted(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    matrix.sum_duplicates()
    return matrix
