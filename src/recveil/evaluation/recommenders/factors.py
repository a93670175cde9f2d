"""BPR-MF (cornac) and WRMF (implicit's alternating least squares): people and items as vectors of taste."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.data import Floats, Interactions
from recveil.evaluation.recommenders.ranker import extra, one_blas_thread

STEPS = 100_000_000  # of BPR


@dataclass(frozen=True)
class BPR:
    """Matrix factorisation learned from pairs: what a person touched should stand above what she did not.

    The people whom it was trained on have learned factors, used where the query is the training data itself; anyone
    else gets hers by the same stochastic steps with the items held fixed. Of more than a million cells (a release may
    have many times as many as the data) there are fewer epochs, and as many steps.
    """

    name: ClassVar[str] = "bpr-mf"
    factors: int = 32
    rate: float = 0.03
    penalty: float = 0.02
    epochs: int = 100

    def fit(self, train: Interactions, seed: int) -> Pairwise:
        data = train.compact()
        cells = data.matrix(binary=True).tocoo()  # sorted within a row, as cornac's search needs it
        names = ({u: u for u in range(data.n_users)}, {i: i for i in range(data.n_items)})
        triple = (cells.row.astype(np.int32), cells.col.astype(np.int32), cells.data)
        model = extra("cornac.models").BPR(
            k=self.factors,
            max_iter=max(1, min(self.epochs, STEPS // max(cells.nnz, 1))),
            learning_rate=self.rate,
            lambda_reg=self.penalty,
            seed=seed,  # cornac then works with one thread: two would make the outcome a matter of chance
        )
        model.fit(extra("cornac.data").Dataset(data.n_users, data.n_items, *names, triple))
        known = np.unique(train.item)
        return Pairwise(
            self,
            train,
            seed,
            known,
            *(np.asarray(a, np.float64) for a in (model.u_factors, model.i_factors, model.i_biases)),
        )


class Steps(Protocol):
    """How long and how far the stochastic steps go: what BPR and its kin have in common."""

    @property
    def epochs(self) -> int: ...
    @property
    def rate(self) -> float: ...
    @property
    def penalty(self) -> float: ...


@dataclass(frozen=True, eq=False)
class Pairwise:
    ranker: Steps
    train: Interactions
    seed: int
    known: NDArray[Any]  # the items that were trained on, in the order of V
    U: Floats
    V: Floats
    bias: Floats

    def scores(self, query: Interactions, history: Any, users: NDArray[np.int64]) -> Floats:
        if query is self.train:
            people = np.unique(query.user)
            at = np.minimum(np.searchsorted(people, users), len(people) - 1)
            taste = np.where((people[at] == users)[:, None], self.U[at], 0.0)
        else:
            taste = self._folded(history, users)
        scores = np.full(history.shape, -np.inf)
        scores[:, self.known] = taste @ self.V.T + self.bias
        return scores

    def _folded(self, history: Any, users: NDArray[np.int64]) -> Floats:
        from recveil.kernels.bpr import fold_in

        known = history[:, self.known].tocsr()
        known.sort_indices()
        key = np.array([self.seed, 0, 0, 0], dtype=np.uint64)
        r = self.ranker
        starts, items = known.indptr.astype(np.int64), known.indices.astype(np.int32)
        taste: Floats = fold_in(starts, items, self.V, self.bias, r.epochs, r.rate, r.penalty, key, users)
        return taste


@dataclass(frozen=True)
class WRMF:
    """Weighted matrix factorisation: a touched cell is a one that weighs `weight`, every other a zero that weighs 1."""

    name: ClassVar[str] = "wrmf"
    factors: int = 64
    penalty: float = 30.0
    weight: float = 5.0
    iterations: int = 15

    def fit(self, train: Interactions, seed: int) -> Weighted:
        known = np.unique(train.item)
        als = extra("implicit.cpu.als")
        with one_blas_thread():
            model = als.AlternatingLeastSquares(
                factors=self.factors,
                regularization=self.penalty,
                alpha=self.weight,
                iterations=self.iterations,
                random_state=seed,
            )
            model.fit(sparse.csr_matrix(train.compact().matrix(binary=True)), show_progress=False)
        return Weighted(model, known)


@dataclass(frozen=True, eq=False)
class Weighted:
    model: Any
    known: NDArray[Any]

    def scores(self, query: Interactions, history: Any, users: NDArray[np.int64]) -> Floats:
        rows = sparse.csr_matrix(history[:, self.known], dtype=np.float32)
        scores = np.full(history.shape, -np.inf)
        with one_blas_thread():
            taste = self.model.recalculate_user(np.arange(len(users)), rows)
            scores[:, self.known] = taste @ self.model.item_factors.T
        return scores
