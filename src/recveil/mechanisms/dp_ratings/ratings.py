"""How new people rate what they have: levels drawn so that the statistics of the drawn rows come out as published.

Drawing loses some of what it is told: levels are coarse, and people are centred and scaled. So the drawn ratings are
counted as people's were, and what they were told is corrected by how far they fall short. That sees no row of the data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import group
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
_SURE_ANSWER = 0.7  # the same for the tables
HIDDEN = 2  # directions of chance, for those that no table shows
HIDDEN_LENGTH = 0.4  # of an item's loadings in them; docs/explanation/dp_ratings.md says what others give
_DRAWN_EFFECT = 1.05  # of those told: who learns from few rows holds them back once more
_MOST_LOADING = 0.7  # squared length of an item's loadings: the rest is chance
_STEADY = 0.8  # of the best answer so far, below which a correction is taken back
_CONVINCING = 0.5  # of the counted loadings must show in the drawn ratings; else they were noise


@dataclass(frozen=True)
class RatingEvidence:
    """What the noisy tables tell of ratings, over all items."""

    have: Floats
    early: Floats  # item effects as they were known when the second round was counted
    effect: Floats  # item effects
    phi: Floats  # directions
    loading: Floats  # where people stand who rate an item high, in those directions
    profiles: Floats
    levels: Floats
    scale: Scale
    plain: Ints  # items whose ratings lean in no direction of chance: their products were counted

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
    stand: Floats  # people in the directions of ratings, then in hidden ones
    hidden: Floats  # items in directions that nobody knows: one row an item, of length about 1; 0 for plain ones
    chance: Floats  # of each rating
    offset: Floats  # of each item
    by_item: tuple[Ints, Ints]  # where each item's rows begin, and the rows, item by item
    weight: Floats  # of each item, if every person weighs 1
    have: Floats  # how many have each item, counted as it was of people


@dataclass(frozen=True)
class RatingModel:
    """What ratings are drawn from: effects and loadings of items, and how heights are moved and stretched."""

    effect: Floats
    loading: Floats
    hidden: float  # length of an item's loadings in hidden directions
    stretch: float = 1.0
    move: float = 0.0


def baskets(item: NDArray[np.int32], sizes: Ints, told: RatingEvidence, source: Source) -> Baskets:
    """Rows without ratings, and their chance."""
    rng, secret = source.generator(), source.derive("hidden").generator()
    user = np.repeat(np.arange(len(sizes)), sizes)
    height, spread = draw_profiles(told.profiles, len(sizes), rng)
    starts, d = np.append(0, np.cumsum(sizes)), told.phi.shape[1]
    hidden = secret.standard_normal((len(told.have), HIDDEN)) / np.sqrt(HIDDEN)
    hidden[told.plain] = 0.0
    return Baskets(
        starts,
        user,
        item,
        height,
        spread,
        np.hstack([rng.standard_normal((len(sizes), d)), secret.standard_normal((len(sizes), HIDDEN))]),
        hidden,
        rng.standard_normal(len(item)),
        rng.random(len(told.have)),
        group(item, len(told.have)),
        np.bincount(item, 1.0 / np.maximum(sizes, 1)[user], len(told.have)).astype(np.float64),
        kernels.baskets.count_items(starts, item, len(told.have), _UNIT) / _UNIT,
    )


def calibrated(rows: Baskets, told: RatingEvidence) -> tuple[Floats, Floats]:
    """The value of every row on the inner scale, and the loadings of items for those who predict with the tables.

    Rows want all the structure that may be there; who predicts wants what is sure.
    """
    model = RatingModel(_DRAWN_EFFECT * told.effect, _START * told.loading, HIDDEN_LENGTH)
    value, shown = _shown(rows, model, told)
    best, loading = 0.0, model.loading
    for _ in range(ROUNDS):
        model = corrected(rows, value, shown, model, told)
        value, shown = _shown(rows, model, told)
        answer = _answer(rows, shown, told)
        if answer < _STEADY * best:  # a correction that went astray is taken back
            model = replace(model, loading=loading)
            value, shown = _shown(rows, model, told)
        elif answer > best:
            best, loading = answer, model.loading
    if _answer(rows, shown, told) < _CONVINCING:
        none = np.zeros_like(model.loading)
        return draw_ratings(rows, replace(model, loading=none, hidden=0.0), told), none
    return value, _held(_wanted(rows, shown, model, told, _SURE_ANSWER))


def _shown(rows: Baskets, model: RatingModel, told: RatingEvidence) -> tuple[Floats, Floats]:
    """Values by this model, and their loadings, counted as those of people."""
    value = draw_ratings(rows, model, told)
    return value, kernels.rating_counts.count_loadings(
        rows.starts, rows.item, value, told.early, told.phi, True, _UNIT
    ) / _UNIT


def _answer(rows: Baskets, shown: Floats, told: RatingEvidence) -> float:
    """How much of the counted loadings shows in the drawn ratings."""
    wanted = rows.have[:, None] * told.loading
    return float((shown * wanted).sum() / max(float((wanted**2).sum()), 1e-12))


def corrected(rows: Baskets, value: Floats, shown: Floats, model: RatingModel, told: RatingEvidence) -> RatingModel:
    """The model, moved by how far the drawn ratings fall short of what was told."""
    loading = _held((model.loading + _wanted(rows, shown, model, told, _LEAST_ANSWER)) / 2)
    classes = (told.scale.ends, HEIGHTS, SPREADS)
    rest = kernels.rating_counts.count_rest(rows.starts, rows.item, value, told.early, classes, _UNIT)[0] / _UNIT
    short = _DRAWN_EFFECT * told.effect - told.early - rest / np.maximum(rows.have, 1e-9)
    effect = model.effect + np.where(rows.have > 0, short, 0.0) * told.have / (told.have + 0.5)
    drawn = kernels.rating_counts.profiles_of(rows.starts, rows.item, value, told.early)
    mean, variance, spread = typical(told.profiles)
    now = max(float(drawn[:, 0].std()) / max(float(drawn[:, 1].mean()), 1e-9), 1e-9)
    stretch = float(np.clip(model.stretch * (np.sqrt(variance) / spread) / now, 0.25, 4.0))
    move = model.move + mean - float(drawn[:, 0].mean())
    return replace(model, effect=effect, loading=loading, stretch=stretch, move=move)


def _wanted(rows: Baskets, shown: Floats, model: RatingModel, told: RatingEvidence, least: float) -> Floats:
    """Loadings that would show as those of people do, if drawn ratings answer to them as they did to the model's.

    least: of the largest answer, how weak one in any direction is taken to be.
    """
    F = np.linalg.lstsq(rows.have[:, None] * model.loading, shown, rcond=None)[0]
    U, s, W = np.linalg.svd(F)
    inverse = W.T @ np.diag(1 / np.maximum(s, max(least * float(s.max()), 1e-9))) @ U.T
    return np.asarray(told.loading @ inverse)


def _held(loading: Floats) -> Floats:
    length = (loading**2).sum(1, keepdims=True)
    return np.asarray(loading * np.sqrt(np.minimum(1.0, _MOST_LOADING / np.maximum(length, 1e-12))))


def draw_ratings(rows: Baskets, model: RatingModel, told: RatingEvidence) -> Floats:
    """Values on the inner scale, levels only."""
    loading = np.hstack([model.loading, model.hidden * rows.hidden])
    alone = np.sqrt(np.maximum(1 - (loading**2).sum(1), 0.05))
    lean = kernels.rating_levels.leanings(rows.starts, rows.item, loading, alone, rows.stand, rows.chance, rows.spread)
    mean, _, _ = typical(told.profiles)
    height = mean + model.stretch * (rows.height - mean) + model.move
    x, means = kernels.rating_levels.heights(
        *rows.by_item, rows.user, lean, model.effect / told.keeps, height, rows.spread
    )
    shares = item_shares(means, rows.weight, told.levels, told.scale.values)
    value: Floats = kernels.rating_levels.cut_by_shares(*rows.by_item, x, shares, rows.offset, told.scale.values)
    return value
