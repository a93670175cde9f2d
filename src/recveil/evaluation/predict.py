"""predict: how people would rate items, straight from the tables of a bundle and their own histories.

The histories stay with those who have them: nothing of them is added to the bundle, and nothing is spent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.mechanisms.dp_ratings.predicting import ItemTables, from_frames
from recveil.options import argument, asked, option
from recveil.releases.asked import COLUMNS
from recveil.releases.bundle import load
from recveil.releases.inputs import Input, as_input
from recveil.releases.progress import SILENT, Progress


@dataclass(frozen=True)
class PredictRequest:
    """`bundle`: a release of dp-ratings. `history`: what people rated. `pairs`: (user, item) to predict; None: of each
    person the `top` items that she would rate highest among those that she has not rated.
    """

    bundle: str = argument(metavar="BUNDLE", help="A release of dp-ratings.")
    history: Any = argument(metavar="HISTORY", help="What people rated: user, item, rating.")
    pairs: Any = option(None, metavar="FILE", help="Predict these: a table of user and item.")
    top: int = option(10, help="Without --pairs: as many new items of each person, the best first.")
    columns: Mapping[str, str] | str | None = asked(COLUMNS, None)

    def __post_init__(self) -> None:
        if self.top < 1:
            raise RecveilError(f"--top must be at least 1, not {self.top}")
        object.__setattr__(self, "history", as_input(self.history, columns=self.columns))
        object.__setattr__(self, "pairs", None if self.pairs is None else as_input(self.pairs))


@dataclass(frozen=True)
class Predicted:
    """Rows of user, item and rating; `unknown`: how many of the pairs name an item without a table, or nobody known."""

    rows: pl.DataFrame = field(repr=False)
    unknown: int = 0

    def frame(self) -> pl.DataFrame:
        return self.rows

    def to_pandas(self) -> Any:
        return self.rows.to_pandas()

    def record(self) -> dict[str, Any]:
        return {"predictions": self.rows.to_dicts(), "unknown": self.unknown}

    def _repr_html_(self) -> str:
        return str(self.rows._repr_html_())


def run_predict(request: PredictRequest, progress: Progress = SILENT) -> Predicted:
    """Ratings of the pairs that were asked for, or of the best new items of everybody."""
    tables = load(request.bundle).tables
    if not {"items", "people"} <= set(tables):
        raise RecveilError(f"{request.bundle} has no tables of ratings; predict is for bundles of dp-ratings")
    model, items = from_frames(tables["items"], tables["people"]), tables["items"]["item"]
    rows = request.history.rows(progress)
    if rows.rating is None:
        raise RecveilError("a history needs ratings to predict by, and this one has none")
    history = rows.over_items(items)
    if request.pairs is None:
        return Predicted(_best(model, history, items, request.top))
    return _asked(model, history, items, request.pairs)


def _asked(model: ItemTables, history: Interactions, items: pl.Series, pairs: Input) -> Predicted:
    """The pairs whose user has a history and whose item has a table."""
    asked = pairs.all_rows()
    known = asked.over_items(items).over_users(history.users)
    user, item = known.user.astype(np.int64), known.item.astype(np.int64)
    rating = model.predict(history, user, item)
    frame = pl.DataFrame({"user": history.users.gather(user), "item": items.gather(item), "rating": rating})
    return Predicted(frame, len(asked) - len(known))


def _best(model: ItemTables, history: Interactions, items: pl.Series, top: int) -> pl.DataFrame:
    rated = history.matrix(binary=True)
    every = np.arange(len(items))
    people, things, ratings = [], [], []
    for person in range(history.n_users):
        new = np.setdiff1d(every, rated.indices[rated.indptr[person] : rated.indptr[person + 1]])
        guess = model.predict(history, np.full(len(new), person), new)
        best = np.argsort(-guess, kind="stable")[:top]
        people.append(np.full(len(best), person))
        things.append(new[best])
        ratings.append(guess[best])
    users, chosen = (np.concatenate(part) if part else np.empty(0, np.int64) for part in (people, things))
    values = np.concatenate(ratings) if ratings else np.empty(0)
    return pl.DataFrame({"user": history.users.gather(users), "item": items.gather(chosen), "rating": values})
