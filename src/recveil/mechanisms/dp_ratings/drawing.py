"""People with ratings drawn from noisy tables, and the de-noised tables that go out beside them.

All of it is post-processing: it sees published tables and public facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.mechanism import Drawn, PublicInfo
from recveil.mechanisms.dp_ratings import people
from recveil.mechanisms.dp_ratings.baskets import add_rare, draw_baskets
from recveil.mechanisms.dp_ratings.effects import MOST_EFFECT, effects, loadings, popularity
from recveil.mechanisms.dp_ratings.lists import Likeness, likeness, pair_frame
from recveil.mechanisms.dp_ratings.pairs import ExpectedPairs, expected_pairs, shrunk_pairs
from recveil.mechanisms.dp_ratings.predicting import ItemTables
from recveil.mechanisms.dp_ratings.ratings import RatingEvidence, baskets, calibrated
from recveil.mechanisms.dp_ratings.scale import Scale
from recveil.randomness import Source

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Singles = NDArray[np.float32]

_LEAST_VARIANCE = 0.03  # of people's heights, where a person is judged by her own ratings


@dataclass(frozen=True)
class RatingTables:
    """Published tables in units of one person, over the vocabulary; with the deviations of their noise."""

    noisy: dict[str, Floats]
    pairs: Singles  # of the paired items
    sigma: dict[str, float]
    effect: Floats  # as published after the first round
    phi: Floats
    psi: Floats
    paired: Ints
    top: Ints  # the items whose products are counted
    scale: Scale
    features: Floats | None = None  # public ones of the items

    @cached_property
    def have(self) -> Floats:
        return popularity(self.noisy["have"], self.sigma["have"])


def told(tables: RatingTables, number: int) -> RatingEvidence:
    """What the tables tell of ratings, of about so many people."""
    noisy, sigma, have = tables.noisy, tables.sigma, tables.have
    rest = effects(have, noisy["rest"], sigma["rest"], tables.effect, tables.features)
    C = noisy["loadings"].reshape(tables.phi.shape)
    return RatingEvidence(
        have,
        tables.effect,
        np.clip(tables.effect + rest, -MOST_EFFECT, MOST_EFFECT),
        tables.phi,
        loadings(C, have, tables.phi, sigma["loadings"], tables.features),
        people.profiles(noisy["profiles"], sigma["profiles"]),
        people.level_shares(noisy["levels"], sigma["levels"]),
        tables.scale,
        tables.top if structured(noisy["products"], sigma["products"], number) else np.arange(len(have)),
    )


def structured(products: Floats, sigma: float, number: int) -> bool:
    """Are products of ratings larger than noise makes them, and the chance of who is there?

    A person's have length 1 at most: where they have nothing in common, their squares add up to their number.
    """
    noise = sigma**2 * (len(products) + 2 * np.sqrt(2 * len(products)))
    return bool(products @ products > noise + number)


def expected(tables: RatingTables) -> ExpectedPairs:
    """What popularity and tastes expect of pairs."""
    have = tables.have
    Q = tables.noisy["tastes"].reshape(tables.psi.shape)
    Q = Q - have[:, None] * (Q.sum(0) / tables.noisy["have"].sum())
    tastes = loadings(Q, have, tables.psi, tables.sigma["tastes"])[tables.paired]
    return expected_pairs(tables.pairs, tastes, tables.sigma["pairs"])


def draw_people(tables: RatingTables, public: PublicInfo, k: int | None, source: Source) -> Drawn:
    """k new people over the public items; None: as many as the noisy lengths tell, to two digits."""
    number, shares, little = people.number_of_people(tables.noisy["lengths"], tables.sigma)
    sizes = people.draw_lengths(shares, k or number, len(tables.paired), source.derive("lengths").generator())
    pairs = expected(tables)
    varied, mean = shrunk_pairs(tables.pairs, pairs, tables.sigma["pairs"])
    alike = Likeness(likeness(mean), tables.paired, tables.have)
    del mean
    item = draw_baskets(pairs, varied, sizes, source.derive("baskets"))
    known = told(tables, number)
    item, sizes = add_rare(item, sizes, tables.paired, known.have, source.derive("rare"))
    rows = baskets(item, sizes, known, source.derive("ratings"))
    value, loading = calibrated(rows, known)
    levels = np.array(tables.scale.levels)
    level = np.searchsorted(tables.scale.ends, value, side="right")
    made = Interactions(
        rows.user.astype(np.int32),
        item,
        pl.Series(np.arange(len(sizes))),
        public.items,
        levels[level],
        unit="session" if public.unit == "session" else "user",
    )
    frames = item_tables(known, loading).frames(public.items)
    frames["pairs"] = pair_frame(alike, public.items)
    return Drawn(made, frames, notes={"few people": little} if little else {})


def direct(tables: RatingTables) -> Likeness:
    """How alike items are, straight from the noisy tables."""
    mean = shrunk_pairs(tables.pairs, expected(tables), tables.sigma["pairs"])[1]
    return Likeness(likeness(mean), tables.paired, tables.have)


def item_tables(known: RatingEvidence, loading: Floats) -> ItemTables:
    """What predicts ratings straight from the tables."""
    mean, variance, spread = people.typical(known.profiles)
    length = (loading**2).sum(1)
    return ItemTables(
        known.effect * spread / known.keeps,
        loading * spread,
        spread**2 * np.maximum(1 - length, 0.05),
        (mean, max(variance, _LEAST_VARIANCE)),
        known.scale,
    )
