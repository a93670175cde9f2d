"""Raters: what predicts how a person will rate an item. Averages and neighbours are ours, the rest is surprise's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from recveil.data import By, Floats, Interactions
from recveil.errors import RecveilError
from recveil.evaluation.recommenders.ranker import extra

MEMORY = 4.0  # gigabytes that one rater may take


class Predictor(Protocol):
    """A fitted rater."""

    def predict(self, users: NDArray[Any], items: NDArray[Any]) -> Floats:
        """Ratings that these users (codes of the training data) would give these items, within the scale."""


class Rater(Protocol):
    """A frozen dataclass with the hyper-parameters."""

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str: ...

    def fit(self, train: Interactions, seed: int) -> Predictor: ...


@dataclass(frozen=True)
class Average:
    """The mean rating of the item (or of the user); the mean of all where it has none."""

    by: By

    @property
    def name(self) -> str:
        return f"{self.by}-average"

    def fit(self, train: Interactions, seed: int) -> Mean:
        codes, n = (train.item, train.n_items) if self.by == "item" else (train.user, train.n_users)
        ratings = rated(train)
        count = np.bincount(codes, minlength=n)
        total = np.bincount(codes, weights=ratings, minlength=n)
        return Mean(self.by, np.where(count > 0, total / np.maximum(count, 1), ratings.mean()))


@dataclass(frozen=True, eq=False)
class Mean:
    by: By
    mean: Floats

    def predict(self, users: NDArray[Any], items: NDArray[Any]) -> Floats:
        found: Floats = self.mean[items if self.by == "item" else users]
        return found


@dataclass(frozen=True, eq=False)
class Surprise:
    """An algorithm of surprise with its hyper-parameters."""

    name: str
    algorithm: str
    options: Mapping[str, Any] = field(default_factory=dict)
    seedable: ClassVar[frozenset[str]] = frozenset({"SVD", "SVDpp", "CoClustering"})

    def fit(self, train: Interactions, seed: int) -> Fitted:
        if self.gigabytes(train) > MEMORY:
            raise RecveilError(
                f"{self.name} of surprise compares all pairs and would need {self.gigabytes(train):.0f} GB here"
            )
        options = dict(self.options)
        if self.algorithm in self.seedable:
            options["random_state"] = seed
        model = getattr(extra("surprise"), self.algorithm)(**options)
        model.fit(_trainset(train))
        return Fitted(model)

    def gigabytes(self, train: Interactions) -> float:
        """What the tables of all pairs of items take, where the algorithm makes them."""
        return 2 * 8 * train.n_items**2 / 1e9 if self.algorithm == "SlopeOne" else 0.0


@dataclass(frozen=True, eq=False)
class Fitted:
    model: Any

    def predict(self, users: NDArray[Any], items: NDArray[Any]) -> Floats:
        predict = self.model.predict
        return np.array([predict(u, i).est for u, i in zip(users.tolist(), items.tolist(), strict=True)])


def feasible(rater: Rater, *data: Interactions) -> bool:
    """Whether the rater can be fitted to each of these data within memory."""
    size = getattr(rater, "gigabytes", None)
    return size is None or all(size(d) <= MEMORY for d in data)


def rated(data: Interactions) -> Floats:
    if data.rating is None or not len(data):
        raise RecveilError("rating recommenders need ratings, and these data have none")
    return data.rating


def last_ratings(train: Interactions) -> Interactions:
    """By user and item. Of several ratings of one item by one person the last counts."""
    rated(train)
    pair = train.user.astype(np.int64) * train.n_items + train.item
    return train.take(len(pair) - 1 - np.unique(pair[::-1], return_index=True)[1])


def _trainset(train: Interactions) -> Any:
    """surprise's own shape."""
    rows = last_ratings(train)
    ratings = rated(rows)
    people, user = np.unique(rows.user, return_inverse=True)
    things, item = np.unique(rows.item, return_inverse=True)
    by_user: dict[int, list[tuple[int, float]]] = {u: [] for u in range(len(people))}
    by_item: dict[int, list[tuple[int, float]]] = {i: [] for i in range(len(things))}
    for u, i, r in zip(user.tolist(), item.tolist(), ratings.tolist(), strict=True):
        by_user[u].append((i, r))
        by_item[i].append((u, r))
    return extra("surprise").Trainset(
        by_user,
        by_item,
        len(people),
        len(things),
        len(rows),
        (float(ratings.min()), float(ratings.max())),
        {code: u for u, code in enumerate(people.tolist())},
        {code: i for i, code in enumerate(things.tolist())},
    )
