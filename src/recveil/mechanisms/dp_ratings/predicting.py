"""Straight from the tables: what a person would rate, and what she may like, told by her own history alone.

Her history stays with her; whoever mixes it with published tables reveals nothing of the people behind them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.mechanisms.dp_ratings.scale import Scale

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ItemTables:
    """De-noised tables of all items, on the inner scale: a rating is height + effect + loading . taste + chance."""

    effect: Floats
    loading: Floats  # one row an item
    noise: Floats  # variance of chance
    height: tuple[float, float]  # of people: mean and variance
    scale: Scale

    def predict(self, history: Interactions, users: NDArray[np.int64], items: NDArray[np.int64]) -> Floats:
        """Ratings that these people would give these items, on the scale of the data; both in codes of `history`.

        history must be coded over the items of the tables.
        """
        if history.rating is None:
            raise ValueError("a history without ratings")
        rows = history.ordered()
        starts, value = rows.starts(), self.scale.inside(np.asarray(history.ordered().rating))
        d = self.loading.shape[1]
        design = np.hstack([np.ones((len(self.effect), 1)), self.loading])
        prior = np.append(1 / self.height[1], np.ones(d))
        found = np.empty(len(users))
        order = np.argsort(users, kind="stable")
        asked, begin = np.unique(users[order], return_index=True)
        for user, those in zip(asked, np.split(order, begin[1:]), strict=True):
            mine = rows.item[starts[user] : starts[user + 1]]
            X, weight = design[mine], 1 / self.noise[mine]
            rest = value[starts[user] : starts[user + 1]] - self.effect[mine] - self.height[0]
            precision = (X * weight[:, None]).T @ X + np.diag(prior)
            stand = np.linalg.solve(precision, X.T @ (weight * rest))
            found[those] = self.height[0] + self.effect[items[those]] + design[items[those]] @ stand
        return self.scale.outside(found)

    def frames(self, items: pl.Series) -> dict[str, pl.DataFrame]:
        """As tables of a bundle: one row an item; and one of people and the scale."""
        loading = {f"loading_{k + 1}": column for k, column in enumerate(self.loading.T)}
        rows = pl.DataFrame({"item": items, "effect": self.effect, "noise": self.noise, **loading})
        mean, variance = self.height
        people = {"height": mean, "height_variance": variance, "levels": list(self.scale.levels)}
        return {"items": rows, "people": pl.DataFrame([people])}


def from_frames(items: pl.DataFrame, people: pl.DataFrame) -> ItemTables:
    """The tables of a bundle, to predict with; their items stand in the order of the table."""
    loading = items.select(pl.col("^loading_.*$")).to_numpy()
    told = people.row(0, named=True)
    return ItemTables(
        items["effect"].to_numpy(),
        loading,
        items["noise"].to_numpy(),
        (told["height"], told["height_variance"]),
        Scale(tuple(told["levels"])),
    )
