"""ItemKNN and UserKNN: cosine between the binary columns or rows of the training data, the k nearest count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.data import Floats, Interactions
from recveil.evaluation.recommenders.ranker import extra, one_blas_thread

BLOCK = 512  # items at a time


@dataclass(frozen=True)
class ItemKNN:
    """Every item of the history votes for its k nearest; a candidate's score is the sum of the similarities.

    This is implicit's convention. The other reading, in which a candidate asks its own k nearest items whether they
    are in the history, gives other lists.
    """

    name: ClassVar[str] = "item-knn"
    others: ClassVar[tuple[dict[str, float], ...]] = (
        {"k": 20, "shrinkage": 10.0}, {"k": 50, "shrinkage": 50.0}, {"k": 200, "shrinkage": 50.0},
    )  # fmt: skip
    k: int = 10
    shrinkage: float = 0.0  # people whom two items must share before half of their cosine counts

    def fit(self, train: Interactions, seed: int) -> ItemNeighbours:
        if self.shrinkage:
            return ItemNeighbours(_shrunk(train.matrix(binary=True), self.k, self.shrinkage))
        nearest = extra("implicit.nearest_neighbours")
        columns = _unit(train.matrix(binary=True).T.tocsr()).T.tocsr()
        with one_blas_thread():
            model = nearest.ItemItemRecommender(K=self.k + 1)  # an item is its own nearest, and takes a place
            model.fit(sparse.csr_matrix(columns), show_progress=False)
        return ItemNeighbours(sparse.csr_array(model.similarity))


@dataclass(frozen=True, eq=False)
class ItemNeighbours:
    similar: sparse.csr_array  # a row: an item's k nearest, and itself

    def scores(self, query: Interactions, history: Any, users: NDArray[np.int64]) -> Floats:
        return _spoken_for((history @ self.similar).toarray())


@dataclass(frozen=True)
class UserKNN:
    """A candidate's score is the sum of the similarities of those of the person's k nearest people who touched it."""

    name: ClassVar[str] = "user-knn"
    others: ClassVar[tuple[dict[str, float], ...]] = ({"k": 20}, {"k": 300})
    k: int = 80

    def fit(self, train: Interactions, seed: int) -> UserNeighbours:
        rows = train.matrix(binary=True)
        return UserNeighbours(rows, _unit(rows).T.tocsr(), self.k)


@dataclass(frozen=True, eq=False)
class UserNeighbours:
    rows: sparse.csr_array
    directions: sparse.csr_array  # items x people, columns of length 1
    k: int

    def scores(self, query: Interactions, history: Any, users: NDArray[np.int64]) -> Floats:
        similarity = (_unit(history) @ self.directions).tocsr()
        return _spoken_for((_strongest(similarity, self.k) @ self.rows).toarray())


def _shrunk(rows: sparse.csr_array, k: int, shrinkage: float) -> sparse.csr_array:
    """The k nearest of each item by cosine, less where few people share both; some items at a time."""
    people, columns = np.bincount(rows.indices, minlength=rows.shape[1]), rows.tocsc()
    found = []
    for begin in range(0, rows.shape[1], BLOCK):
        shared = (columns[:, begin : begin + BLOCK].T @ rows).tocsr().tocoo()
        item, other = shared.coords[0] + begin, shared.coords[1]
        value = shared.data / np.sqrt(people[item] * people[other]) * shared.data / (shared.data + shrinkage)
        apart = item != other
        at = (shared.coords[0][apart], other[apart])
        found.append(_strongest(sparse.coo_array((value[apart], at), shape=shared.shape).tocsr(), k))
    return sparse.csr_array(sparse.vstack(found, format="csr"))


def _unit(rows: sparse.csr_array) -> sparse.csr_array:
    length = np.sqrt(np.diff(rows.indptr))
    return sparse.csr_array(
        (rows.data / np.repeat(length, np.diff(rows.indptr)), rows.indices, rows.indptr), rows.shape
    )


def _strongest(rows: sparse.csr_array, k: int) -> sparse.csr_array:
    """Each row's k largest entries; of equal ones those with the lowest column."""
    where = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((rows.indices, -rows.data, where))
    rank = np.arange(len(order)) - np.repeat(rows.indptr[:-1], np.diff(rows.indptr))
    kept = order[rank < k]
    return sparse.coo_array((rows.data[kept], (where[kept], rows.indices[kept])), shape=rows.shape).tocsr()


def _spoken_for(scores: Floats) -> Floats:
    scores[scores == 0] = -np.inf
    return scores
