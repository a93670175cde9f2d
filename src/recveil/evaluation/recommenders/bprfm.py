"""BPR-FM: a factorisation machine learned from pairs. With no features of items it is BPR-MF."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from recveil.data import Floats, Interactions
from recveil.evaluation.recommenders.factors import Pairwise


@dataclass(frozen=True, eq=False)
class Features:
    """What is known of items beside who touched them: a matrix of items (by their ids) x features."""

    items: pl.Series
    matrix: sparse.csr_array

    def of(self, items: pl.Series) -> sparse.csr_array:
        """The rows of these items, in their order; empty where nothing is known."""
        place = pl.DataFrame({"id": self.items, "row": np.arange(len(self.items), dtype=np.int64)})
        row = pl.DataFrame({"id": items}).join(place, on="id", how="left", maintain_order="left")["row"]
        known = np.flatnonzero(row.is_not_null().to_numpy())
        pick = sparse.coo_array(
            (np.ones(len(known)), (known, row.drop_nulls().to_numpy())), shape=(len(items), len(self.items))
        )
        return sparse.csr_array(pick.tocsr() @ self.matrix)


def features(items: pl.Series, labels: pl.Series) -> Features:
    """Features from rows of (item, label), such as genres; an item's labels share a total amount of 1."""
    ids, labelled = items.unique().sort(), labels.unique().sort()
    row, column = ids.search_sorted(items).to_numpy(), labelled.search_sorted(labels).to_numpy()
    matrix = sparse.coo_array((np.ones(len(row)), (row, column)), shape=(len(ids), len(labelled))).tocsr()
    matrix.data[:] = 1 / np.repeat(np.diff(matrix.indptr), np.diff(matrix.indptr))
    return Features(ids, matrix)


@dataclass(frozen=True)
class BPRFM:
    """score(u, i) = w_i + w_features + the products of all pairs among the factors of u, of i and of i's features.

    To a person, an item's features are a shift of its factors and its bias, so what is learned is handed on as such,
    and strangers get their factors as under BPR-MF. An epoch is as many steps as there are interactions.
    """

    name: ClassVar[str] = "bpr-fm"
    factors: int = 32
    rate: float = 0.03
    penalty: float = 0.02
    epochs: int = 100
    features: Features | None = None

    def fit(self, train: Interactions, seed: int) -> Pairwise:
        from recveil.kernels.bprfm import learn

        data = train.compact()
        cells = data.matrix(binary=True)
        cells.sort_indices()
        known = sparse.csr_array((data.n_items, 0)) if self.features is None else self.features.of(data.items)
        rng = np.random.default_rng(seed)
        people, things = data.n_users, data.n_items + known.shape[1]
        U, V = ((rng.random((n, self.factors)) - 0.5) / self.factors for n in (people, things))
        U, V, bias = learn(
            cells.indptr.astype(np.int64),
            cells.indices.astype(np.int32),
            known.indptr.astype(np.int64),
            known.indices.astype(np.int32),
            known.data.astype(np.float64),
            U,
            V,
            np.zeros(things),
            self.epochs * cells.nnz,
            self.rate,
            self.penalty,
            np.array([seed, 0, 0, 0], dtype=np.uint64),
        )
        return Pairwise(self, train, seed, np.unique(train.item), U, *_shifted(V, bias, known))


def _shifted(V: Floats, bias: NDArray[np.float64], known: sparse.csr_array) -> tuple[Floats, Floats]:
    """The items' factors and biases with those of their features in them."""
    items, features = V[: known.shape[0]], V[known.shape[0] :]
    total = items + known @ features
    squares = (items**2).sum(axis=1) + known.power(2) @ (features**2).sum(axis=1)
    worth = bias[: len(items)] + known @ bias[len(items) :] + 0.5 * ((total**2).sum(axis=1) - squares)
    return total, np.asarray(worth)
