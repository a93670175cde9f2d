"""Ranker: what recommends items to people. A ranker is fitted to one data set and asked about people by their history.

The people asked about are strangers: all that a model knows of them is the history that it is handed, coded over the
items of the training data. So a model trained on a release, whose users have no name, and one trained on the real data
are asked the very same question.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.data import Codes, Floats, Interactions
from recveil.errors import RecveilError

CELLS = 1 << 22  # scores held at a time


class Model(Protocol):
    """A fitted ranker."""

    def scores(self, query: Interactions, history: sparse.csr_array, users: NDArray[np.int64]) -> Floats:
        """Scores of all items for the query users `users`, whose rows of the history matrix are `history`.

        Higher is better; -inf where the model has nothing to say.
        """


class Ranker(Protocol):
    """A frozen dataclass whose fields are the hyper-parameters."""

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str: ...

    def fit(self, train: Interactions, seed: int) -> Model: ...


def scored(model: Model, query: Interactions, users: NDArray[Any]) -> Iterator[tuple[NDArray[np.int64], Any, Floats]]:
    """Blocks of (users, their history, their scores), so that the scores of all never stand in memory at once."""
    matrix = query.matrix(binary=True)
    users = np.asarray(users, dtype=np.int64)
    step = max(1, CELLS // max(query.n_items, 1))
    for begin in range(0, len(users), step):
        block = users[begin : begin + step]
        history = matrix[block]
        yield block, history, np.ascontiguousarray(model.scores(query, history, block), dtype=np.float64)


def recommend(model: Model, query: Interactions, n: int) -> Codes:
    """For every user of the query's vocabulary the n best unseen items as codes, -1 where there are fewer."""
    from recveil.kernels.ranking import top_n

    lists = [
        top_n(scores, history.indptr.astype(np.int64), history.indices.astype(np.int32), n)
        for _, history, scores in scored(model, query, np.arange(query.n_users))
    ]
    return np.concatenate(lists) if lists else np.empty((0, n), dtype=np.int32)


def extra(module: str) -> Any:
    """A module of the extra `measure`."""
    try:
        return import_module(module)
    except ImportError as missing:
        package = module.partition(".")[0]
        raise RecveilError(
            f"{package} is not installed; get the referees with: pip install 'recveil[measure]'"
        ) from missing


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """implicit has threads of its own; BLAS threads under them make it many times slower."""
    with extra("threadpoolctl").threadpool_limits(1, "blas"):
        yield
