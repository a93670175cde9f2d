"""Judges: what recommenders learn from a method's rows, or what its own model does, for people whom it never saw.

Each judge is tried with every setting of its grid; the setting, and the judge of the column `best`, are those that do
best for the search people, and the figures are those of the test people. Lists are filled up by popularity in the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from protocols import Asked, Task
from scipy import sparse

from recveil.data import Floats, Interactions
from recveil.evaluation.metrics.ranking import Outcome, evaluate, relevant
from recveil.evaluation.metrics.ratings import errors
from recveil.evaluation.recommenders.ease import EASE
from recveil.evaluation.recommenders.neighbours import ItemKNN
from recveil.evaluation.recommenders.plain_raters import Biases, Factors, ResidualEase
from recveil.evaluation.recommenders.ranker import Model
from recveil.views.transitions import direct_sequence

DENSE = 6000  # items up to which EASE is solved exactly
RIDGES, NEIGHBOURS = (50.0, 500.0), (20, 200)
RATERS = (Biases(), Factors(), ResidualEase())
STEPS, NEAR = 30, 1e-5
BLOCK = 128
Figures = dict[str, float]


@dataclass(frozen=True, eq=False)
class Filled:
    """A model whose lists are filled up by popularity."""

    model: Model
    popular: Floats

    def scores(self, query: Interactions, history: Any, users: Any) -> Floats:
        scores = self.model.scores(query, history, users)
        told = np.isfinite(scores)
        least = np.min(scores, where=told, initial=0.0) - 1
        return np.where(told, scores, least + self.popular)


@dataclass(frozen=True, eq=False)
class LargeEase:
    """EASE over all items of the rows, however many: its inverse is applied to what people show by conjugate gradients.

    The diagonal of the inverse is taken to second order, within the bounds that it has for certain.
    """

    X: Any  # people x items, 0 and 1
    Xt: Any
    ridge: float
    diagonal: Floats
    known: Any  # items that occur

    def scores(self, query: Interactions, history: Any, users: Any) -> Floats:
        found = np.full(history.shape, -np.inf)
        for at in range(0, history.shape[0], BLOCK):
            asked = history[at : at + BLOCK].T.toarray().astype(np.float32)
            solved = solve(lambda v: self.Xt @ (self.X @ v) + np.float32(self.ridge) * v, asked)
            found[at : at + BLOCK] = np.where(self.known, -solved.T / self.diagonal, -np.inf)
        return found


def solve(times: Callable[[Any], Any], wanted: Any) -> Any:
    """times(x) = wanted, for a symmetric positive linear function, by conjugate gradients; a column is a question."""
    found, rest = np.zeros_like(wanted), wanted.copy()
    ahead, size = rest.copy(), (rest * rest).sum(0)
    enough = NEAR * size
    for _ in range(STEPS):
        moved = times(ahead)
        step = size / np.maximum((ahead * moved).sum(0), 1e-30)
        found += step * ahead
        rest -= step * moved
        before, size = size, (rest * rest).sum(0)
        if np.all(size <= enough):
            break
        ahead = rest + size / np.maximum(before, 1e-30) * ahead
    return found


def large_ease(X: Any, ridge: float) -> LargeEase:
    G = sparse.csr_array(X.T @ X)
    own = G.diagonal() + ridge
    G.setdiag(0)
    G.data **= 2
    second = 1 / np.maximum(own - G @ (1 / own), ridge)
    X = X.astype(np.float32)
    return LargeEase(X, X.T.tocsr(), ridge, np.clip(second, 1 / own, 1 / ridge), own > ridge)


@dataclass(frozen=True, eq=False)
class Following:
    """What most often came after the last item that is shown."""

    follows: Any

    def scores(self, query: Interactions, history: Any, users: Any) -> Floats:
        rows = query.ordered()
        ends = rows.starts()[1:]
        found: Floats = self.follows[rows.item[ends[users] - 1]].toarray().astype(np.float64)
        found[found == 0] = -np.inf
        return found


def tried(rows: Interactions, ordered: bool) -> Iterator[tuple[str, str, Model]]:
    """Judges and their settings, fitted to these rows."""
    X = rows.matrix(binary=True)
    items = int(np.count_nonzero(np.bincount(X.indices, minlength=rows.n_items)))
    for ridge in RIDGES:
        exact = items <= DENSE
        yield "EASE", f"{ridge:g}", EASE(ridge, DENSE).fit(rows, 0) if exact else large_ease(X, ridge)
    for k in NEIGHBOURS:
        yield "ItemKNN", str(k), ItemKNN(k).fit(rows, 0)
    if ordered and rows.time is not None:
        yield "Markov", "", Following(direct_sequence(rows.ordered()))


def judged(made: Interactions | Model, task: Task, hits: str) -> Figures:
    """Recall and NDCG for the test people, of each judge and of the best; of a model, of itself."""
    if not isinstance(made, Interactions):
        worth = float(_served(made, task.search, task.n).values["recall"].mean())
        return {"search": worth} | _figures("best", _served(made, task.test, task.n), task.n, hits)
    rows = made if task.public.liked is None or made.rating is None else made.take(made.rating >= task.public.liked)
    popular = np.bincount(rows.matrix(binary=True).indices, minlength=rows.n_items).astype(np.float64)
    popular /= max(popular.max(initial=0.0), 1.0)
    best: dict[str, tuple[float, str, Model]] = {}
    for judge, setting, model in tried(rows, task.public.ordered):
        worth = float(_served(Filled(model, popular), task.search, task.n).values["recall"].mean())
        for name in (judge, "best"):
            if name not in best or worth > best[name][0]:
                best[name] = worth, f"{judge} {setting}".strip(), model
    found: Figures = {"search": best["best"][0], "items": float(np.count_nonzero(popular))}
    done: dict[str, Outcome] = {}
    for judge, (_, setting, model) in best.items():
        if setting not in done:
            done[setting] = _served(Filled(model, popular), task.test, task.n)
        found |= _figures(judge, done[setting], task.n, hits)
    return found | _rated(made, task)


def _served(model: Model, asked: Asked, n: int) -> Outcome:
    return evaluate(model, asked.query, relevant(asked.query, asked.result), n)


def _figures(judge: str, outcome: Outcome, n: int, hits: str) -> Figures:
    """Means over people, as everybody prints them."""
    values = outcome.values
    return {f"{judge} {hits}@{n}": float(values["recall"].mean()), f"{judge} NDCG@{n}": float(values["ndcg"].mean())}


def _rated(made: Interactions, task: Task) -> Figures:
    """RMSE of the ratings that test people gave, by the rater that does best for the search people."""
    if made.rating is None or task.test.result.rating is None or not task.public.scale:
        return {}
    of = {name: _squares(made, asked) for name, asked in (("search", task.search), ("test", task.test))}
    best = min(of["search"], key=of["search"].__getitem__)
    return {"RMSE": of["test"][best]}


def _squares(made: Interactions, asked: Asked) -> dict[str, float]:
    found = errors(RATERS, made, asked.query, asked.result, 0)
    return {name: float(np.sqrt(np.mean(error**2))) for name, error in found.items()}
