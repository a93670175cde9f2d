"""How new people rate what they have: levels drawn so that the statistics of the drawn rows come out as published.

Drawing loses some of what it is told: levels are coarse, and people are centred and scaled. So the drawn ratings are
counted as people's were, and what they were told is corrected by how far they fall short. That sees no row of the data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recveil.data import group
from recveil.kernels.rating_counts import count_effects, count_loadings, count_rest, profiles_of
from recveil.mechanisms.dp_ratings.levels import item_shares
from recveil.mechanisms.dp_ratings.people import HEIGHTS, SPREADS, draw_profiles, typical
from recveil.mechanisms.dp_ratings.scale import Scale
from recveil.randomness import Source

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDS = 5
_UNIT = 2**16
_START = 2.5  # loadings to begin with, in those that were counted
_LEAST_ANSWER = 0.2  # of the largest: how weakly drawn ratings may seem to answer to a direction
_MOST_LOADING = 0.7  # squared length of an item's loadings: the rest is chance
_STEADY = 0.8  # of the best answer so far, below which a correction is taken back
_CONVINCING = 0.5  # of the counted loadings must show in the drawn ratings; else they were noise


@dataclass(frozen=True)
class Told:
    """What the noisy tables tell of ratings, over all items."""

    have: Floats
    early: Floats  # item effects as they were known when the second round was counted
    effect: Floats  # item effects
    rest: Floats  # what the second round found beside the early ones
    phi: Floats  # directions
    loading: Floats  # where people stand who rate an item high, in those directions
    profiles: Floats
    levels: Floats
    scale: Scale

    @property
    def keeps(self) -> float:
        """The share of a person's spread that items' effects leave, as a root mean square."""
        weight = self.have / self.have.sum()
        spread = weight @ (self.effect - weight @ self.effect) ** 2
        return float(np.sqrt(np.clip(1 - spread, 0.5, 0.98)))


@dataclass(frozen=True)
class Baskets:
    """Who has what, and the chance that is in the ratings: drawn once, so that corrections are not lost in it."""

    starts: Ints
    user: Ints
    item: NDArray[np.int32]
    height: Floats
    spread: Floats
    stand: Floats  # people in the directions of ratings
    chance: Floats  # of each rating
    offset: Floats  # of each item


@dataclass(frozen=True)
class RatingModel:
    """What ratings are drawn from: effects and loadings of items, and how heights are moved and stretched."""

    effect: Floats
    loading: Floats
    stretch: float = 1.0
    move: float = 0.0


def baskets(item: NDArray[np.int32], sizes: Ints, told: Told, source: Source) -> Baskets:
    """Rows without ratings, and their chance."""
    rng = source.generator()
    user = np.repeat(np.arange(len(sizes)), sizes)
    height, spread = draw_profiles(told.profiles, len(sizes), rng)
    d = told.phi.shape[1]
    return Baskets(
        np.append(0, np.cumsum(sizes)),
        user,
        item,
        height,
        spread,
        rng.standard_normal((len(sizes), d)),
        rng.standard_normal(len(item)),
        rng.random(len(told.have)),
    )


def calibrated(rows: Baskets, told: Told) -> tuple[Floats, RatingModel]:
    """The value of every row on the inner scale, and the model that gave it."""
    model = RatingModel(told.effect, _START * told.loading)
    value = draw_ratings(rows, model, told)
    best, loading = 0.0, model.loading
    for _ in range(ROUNDS):
        model = corrected(rows, value, model, told)
        value = draw_ratings(rows, model, told)
        answer = _answer(rows, value, told)
        if answer < _STEADY * best:  # a correction that went astray is taken back
            model = replace(model, loading=loading)
            value = draw_ratings(rows, model, told)
        elif answer > best:
            best, loading = answer, model.loading
    if _answer(rows, value, told) < _CONVINCING:
        model = replace(model, loading=np.zeros_like(model.loading))
        value = draw_ratings(rows, model, told)
    return value, model


def _answer(rows: Baskets, value: Floats, told: Told) -> float:
    """How much of the counted loadings shows in the drawn ratings."""
    have, C = _drawn_loadings(rows, value, told)
    wanted = have[:, None] * told.loading
    return float((C * wanted).sum() / max(float((wanted**2).sum()), 1e-12))


def corrected(rows: Baskets, value: Floats, model: RatingModel, told: Told) -> RatingModel:
    """The model, moved by how far the drawn ratings fall short of what was told."""
    have, C = _drawn_loadings(rows, value, told)
    F = np.linalg.lstsq(have[:, None] * model.loading, C, rcond=None)[0]
    U, s, W = np.linalg.svd(F)
    inverse = W.T @ np.diag(1 / np.maximum(s, max(_LEAST_ANSWER * float(s.max()), 1e-9))) @ U.T
    loading = (model.loading + told.loading @ inverse) / 2
    length = (loading**2).sum(1, keepdims=True)
    loading *= np.sqrt(np.minimum(1.0, _MOST_LOADING / np.maximum(length, 1e-12)))
    classes = (told.scale.ends, HEIGHTS, SPREADS)
    rest = count_rest(rows.starts, rows.item, value, told.early, classes, _UNIT)[0] / _UNIT
    short = told.rest - rest / np.maximum(have, 1e-9)
    effect = model.effect + np.where(have > 0, short, 0.0) * told.have / (told.have + 0.5)
    drawn = profiles_of(rows.starts, rows.item, value, told.early)
    mean, variance, spread = typical(told.profiles)
    now = max(float(drawn[:, 0].std()) / max(float(drawn[:, 1].mean()), 1e-9), 1e-9)
    stretch = float(np.clip(model.stretch * (np.sqrt(variance) / spread) / now, 0.25, 4.0))
    return RatingModel(effect, loading, stretch, model.move + mean - float(drawn[:, 0].mean()))


def draw_ratings(rows: Baskets, model: RatingModel, told: Told) -> Floats:
    """Values on the inner scale, levels only."""
    length = (model.loading**2).sum(1)
    z = (model.loading[rows.item] * rows.stand[rows.user]).sum(1)
    z += np.sqrt(np.maximum(1 - length, 0.05))[rows.item] * rows.chance
    z = _standardised(z, rows)
    mean, _, _ = typical(told.profiles)
    height = mean + model.stretch * (rows.height - mean) + model.move
    n = np.maximum(np.bincount(rows.item, minlength=len(told.have)), 1)
    lean = rows.spread[rows.user] * z
    x = height[rows.user] + rows.spread[rows.user] * (model.effect / told.keeps)[rows.item] + lean
    x -= (np.bincount(rows.item, lean, minlength=len(n)) / n)[rows.item]
    rising = np.argsort(x)
    starts, order = group(rows.item[rising], len(n))
    order = rising[order]  # item by item, in each from the lowest rating to the highest
    item = rows.item[order]
    rank = np.arange(len(item)) - starts[item]
    weight: Floats = np.bincount(rows.item, 1.0 / np.diff(rows.starts)[rows.user], len(n)).astype(np.float64)
    shares = item_shares(np.bincount(rows.item, x, minlength=len(n)) / n, weight, told.levels, told.scale.values)
    place = (rank + rows.offset[item]) / n[item]
    ends = np.cumsum(shares, axis=1)[:, :-1]
    level = np.zeros(len(item), dtype=np.int64)
    for k in range(ends.shape[1]):
        level += place > ends[item, k]
    value = np.empty(len(item))
    value[order] = told.scale.values[level]
    return value


def _drawn_loadings(rows: Baskets, value: Floats, told: Told) -> tuple[Floats, Floats]:
    """How many have each item, and the loadings of the drawn ratings, counted as those of people."""
    have = count_effects(rows.starts, rows.item, value, len(told.have), _UNIT)[0] / _UNIT
    C = count_loadings(rows.starts, rows.item, value, told.early, told.phi, True, _UNIT) / _UNIT
    return have, C


def _standardised(z: Floats, rows: Baskets) -> Floats:
    n = np.diff(rows.starts)
    z = z - (np.bincount(rows.user, z, minlength=len(n)) / np.maximum(n, 1))[rows.user]
    spread = np.sqrt(np.bincount(rows.user, z * z, minlength=len(n)) / np.maximum(n, 1))
    found: Floats = z / np.maximum(spread, 0.05)[rows.user]
    return found
