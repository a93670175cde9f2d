"""Summaries of a log of clicks: of all, of every person, of every item, and of what strategies would have changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from recveil.clicks.effects import ZONES, effects
from recveil.clicks.game import STRATEGIES
from recveil.clicks.profiles import Clicks, Profiles, commonality, disclosure, profiles
from recveil.clicks.replay import Replay, replay
from recveil.kernels.clicks import CANCEL, CHANGE


def summary(of: Clicks, base: str = "e") -> dict[str, Any]:
    """The log as a whole, zones in time order, and what each strategy would have made of it if everyone played it."""
    plays = {name: replay(of, by, base) for name, by in STRATEGIES.items()}
    common, told = commonality(of), disclosure(of, base)
    sizes = np.bincount(of.data.user, minlength=of.users)
    return {
        "rows": len(of),
        "users": of.users,
        "items": of.data.n_items,
        "likes": int(np.count_nonzero(of.sign > 0)),
        "zones": plays["basic"].counts,
        "commonality": {"sum": float(common.sum()), **_spread(common)},
        "disclosure": {"base": base, **_spread(told)},
        "clicks": {**_spread(sizes), "correlation_with_disclosure": _pearson(sizes, told)},
        "strategies": {name: outcome(play, base) for name, play in plays.items()},
    }


def people(of: Clicks, base: str = "e", played: Replay | None = None) -> pl.DataFrame:
    """One row a person: her metrics, and how many of her clicks fell into each zone when they came.

    Disclosure stands beside the number of clicks, because it mostly follows it.
    """
    log = replay(of, base=base) if played is None else played
    return pl.concat([told(of, profiles(of), base), zones(log, of.users)], how="horizontal")


def told(of: Clicks, item: Profiles, base: str = "e") -> pl.DataFrame:
    """One row a person: her clicks, and what they tell given the profiles of the items."""
    liked = of.sign > 0
    table: dict[str, Any] = {
        "user": of.data.users,
        "clicks": np.bincount(of.data.user, minlength=of.users),
        "likes": np.bincount(of.data.user[liked], minlength=of.users),
        "dislikes": np.bincount(of.data.user[~liked], minlength=of.users),
        "commonality": commonality(of, item),
        "disclosure": disclosure(of, base, item),
    }
    return pl.DataFrame(table)


def zones(log: Replay, users: int) -> pl.DataFrame:
    """Of each of the first users, how many of her clicks fell into each zone when they came."""
    user = log.asked.data.user
    return pl.DataFrame({z: np.bincount(user[log.zones == n], minlength=users) for n, z in enumerate(ZONES)})


def items(of: Clicks, base: str = "e") -> pl.DataFrame:
    """One row an item: its profile, and the effects of liking and disliking it now (null where everyone has)."""
    return item_rows(of.data.items, profiles(of), base)


def item_rows(ids: pl.Series, item: Profiles, base: str = "e") -> pl.DataFrame:
    """One row an item, from the profiles alone."""
    now = effects(item, base)
    table: dict[str, Any] = {
        "item": ids,
        "likes": item.likes,
        "dislikes": item.dislikes,
        "unclicked": item.unclicked,
        "popularity": item.popularity,
        "preferability": item.preferability,
        "mainstream": item.mainstream,
    }
    for row, verb, sign in ((0, "like", 1), (1, "dislike", -1)):
        table[f"{verb}_zone"] = pl.Series(now.zone(sign), dtype=pl.String)
        table[f"{verb}_commonality"] = now.commonality[row]
        table[f"{verb}_disclosure"] = now.disclosure[row]
    return pl.DataFrame(table, nan_to_null=True)


def outcome(play: Replay, base: str) -> dict[str, Any]:
    """What is left when everyone plays a strategy. Utility: people's true tastes against what the items then show."""
    true = play.profiles.mainstream[play.asked.data.item] * play.asked.sign
    return {
        "zones": play.counts,
        "clicks": len(play.made),
        "cancelled": int(np.count_nonzero(play.actions == CANCEL)),
        "changed": int(np.count_nonzero(play.actions == CHANGE)),
        "commonality": float(true.sum()),
        "disclosure": float(disclosure(play.made, base).mean()),
    }


def _spread(values: Any) -> dict[str, float]:
    return {"mean": float(values.mean()), "min": float(values.min()), "max": float(values.max())}


def _pearson(x: Any, y: Any) -> float | None:
    return float(np.corrcoef(x, y)[0, 1]) if x.std() > 0 and y.std() > 0 else None
