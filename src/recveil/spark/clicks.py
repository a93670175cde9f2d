"""Utility and privacy of clicks on Spark: everything that `recveil clicks` says of a log, in two passes over it.

A click changes the profile of its item alone, so the log can be replayed item by item; what a person tells is a sum
over her clicks, given the profiles. What lands on the driver: two counts of every item, and a few sums; people
never do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.clicks.effects import ZONES
from recveil.clicks.game import STRATEGIES
from recveil.clicks.profiles import Clicks, Profiles, clicks, commonality, disclosure, middle, profiles
from recveil.clicks.replay import replay
from recveil.clicks.summary import outcome, told, zones
from recveil.data import Interactions
from recveil.spark.chunks import Table, each, total

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, eq=False)
class Played:
    """Profiles, and what each strategy would have made of the log; adds with `+`."""

    likes: NDArray[np.int64]
    dislikes: NDArray[np.int64]
    outcomes: dict[str, dict[str, Any]]

    def __add__(self, other: Played) -> Played:
        both = {name: _added(mine, other.outcomes[name]) for name, mine in self.outcomes.items()}
        return Played(self.likes + other.likes, self.dislikes + other.dislikes, both)


@dataclass(frozen=True, eq=False)
class ClickSpread:
    """Of clicks, commonality and disclosure: extremes, sums, and sums of products over people; adds with `+`."""

    people: int
    least: NDArray[np.float64]
    most: NDArray[np.float64]
    sums: NDArray[np.float64]
    products: NDArray[np.float64]

    def __add__(self, other: ClickSpread) -> ClickSpread:
        return ClickSpread(
            self.people + other.people,
            np.minimum(self.least, other.least),
            np.maximum(self.most, other.most),
            self.sums + other.sums,
            self.products + other.products,
        )

    def record(self, row: int) -> dict[str, float]:
        return {
            "mean": float(self.sums[row] / self.people),
            "min": float(self.least[row]),
            "max": float(self.most[row]),
        }

    def pearson(self, a: int, b: int) -> float | None:
        mean = self.sums / self.people
        moments = self.products / self.people - np.outer(mean, mean)
        spread = moments[a, a] * moments[b, b]
        return float(moments[a, b] / np.sqrt(spread)) if spread > 0 else None


def summary_table(data: Table, like: float | None, base: str = "e") -> tuple[dict[str, Any], Profiles]:
    """The summary of the log, as clicks.summary gives it, and the profiles of its items.

    Where two clicks on an item came at the same time, the lower user id goes first.
    """
    users = data.frame.select("user").distinct().count()
    if like is None and data.specimen.rating is not None:
        like = middle(data.specimen)
    played = total(data, partial(_played, like=like, base=base, users=users), "item")
    item = Profiles(played.likes, played.dislikes, users)
    spread = total(data, partial(_spread, like=like, base=base, item=item), "user")
    common, telling, size = spread.record(1), spread.record(2), spread.record(0)
    found = {
        "like": like,
        "rows": int((item.likes + item.dislikes).sum()),
        "users": users,
        "items": len(item.likes),
        "likes": int(item.likes.sum()),
        "zones": played.outcomes["basic"]["zones"],
        "commonality": {"sum": float(spread.sums[1]), **common},
        "disclosure": {"base": base, **telling},
        "clicks": {**size, "correlation_with_disclosure": spread.pearson(0, 2)},
        "strategies": played.outcomes,
    }
    return found, item


def people_table(data: Table, like: float | None, base: str, item: Profiles) -> DataFrame:
    """A row for each person, as clicks.summary gives it: what she tells by her id, and the zones of her clicks."""
    from pyspark.sql import functions as fn

    tells = each(data, partial(_told, like=like, base=base, item=item), "user")
    fell = each(data, partial(_zones, like=like, base=base, users=item.users), "item")
    return tells.join(fell.groupBy("user").agg(*(fn.sum(z).alias(z) for z in ZONES)), "user").orderBy("user")


def _told(chunk: Interactions, like: float | None, base: str, item: Profiles) -> pl.DataFrame:
    return told(clicks(chunk, like), item, base)


def _zones(chunk: Interactions, like: float | None, base: str, users: int) -> pl.DataFrame:
    log = replay(_among(chunk, like, users), base=base)
    return zones(log, chunk.n_users).with_columns(chunk.users.alias("user"))


def _among(chunk: Interactions, like: float | None, users: int) -> Clicks:
    """The clicks of a chunk among all people, of whom it knows some; only their number counts."""
    return clicks(replace(chunk, users=pl.Series(np.arange(users))), like)


def _played(chunk: Interactions, like: float | None, base: str, users: int) -> Played:
    of = _among(chunk, like, users)
    item = profiles(of)
    outcomes = {name: outcome(replay(of, by, base), base) for name, by in STRATEGIES.items()}
    return Played(item.likes, item.dislikes, outcomes)


def _spread(chunk: Interactions, like: float | None, base: str, item: Profiles) -> ClickSpread:
    of: Clicks = clicks(chunk, like)
    size = np.bincount(of.data.user, minlength=of.users).astype(np.float64)
    rows = np.array([size, commonality(of, item), disclosure(of, base, item)])[:, size > 0]
    return ClickSpread(rows.shape[1], rows.min(axis=1), rows.max(axis=1), rows.sum(axis=1), rows @ rows.T)


def _added(mine: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {k: _added(v, other[k]) if isinstance(v, dict) else v + other[k] for k, v in mine.items()}
