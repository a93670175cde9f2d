"""flocks: many canaries in one data set, each in or out by a coin, and where a release shows them.

dp-streams: people with two popular items, a different pair each; in the pair's cell and in its transition's.
dp-ratings: people with two popular items, one rated best and one worst; in the pair's cell and in that of its product.
dp-tags: people with one tag on one item, a different cell each; in that cell of the table of items and tags.
dp-post-tags: posts of one person each, with one of two tags by the coin; in the released tag of that post.
mask: people with one item, or not, by the coin; in the released bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Interactions, concat, from_ids
from recveil.desk.audit.canaries import toy
from recveil.desk.catalogue import Catalogue
from recveil.desk.release import Published, Release
from recveil.errors import RecveilError
from recveil.mechanism import Mechanism
from recveil.mechanisms.dp_ratings import UNIT as RATING_UNIT
from recveil.mechanisms.dp_ratings import DpRatings
from recveil.mechanisms.dp_streams import DpStreams
from recveil.mechanisms.dp_streams.counting import PAIRS
from recveil.mechanisms.dp_streams.counting import UNIT as STREAM_UNIT
from recveil.mechanisms.dp_tags import UNIT as TAG_UNIT
from recveil.mechanisms.dp_tags import DpTags
from recveil.mechanisms.dp_tags.posts import DpPostTags
from recveil.mechanisms.mask import Mask

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]
_PEOPLE, _ITEMS = 6000, 60  # of the toy world
_SPARE = 1.3  # cells to choose canaries from, for each canary


@dataclass(frozen=True)
class Flock:
    """Canaries put into data by coins: the data, the public lists, and how a release is read (positive: in)."""

    canary: str
    data: Interactions
    lists: Catalogue
    scores: Callable[[Published | Release, Interactions], Floats]


def world(mechanism: Mechanism) -> Interactions:
    """Many people, so that all items stand out of the noise."""
    rng = np.random.default_rng(8)
    if not isinstance(mechanism, DpStreams | DpRatings):
        return toy(mechanism)
    first = rng.integers(0, _ITEMS, _PEOPLE)
    item = (first[:, None] + np.arange(6) * rng.integers(1, 8, _PEOPLE)[:, None]) % _ITEMS
    user = np.repeat(np.arange(_PEOPLE), 6)
    rating = rng.choice(mechanism.levels.levels, len(user)) if isinstance(mechanism, DpRatings) else None
    return from_ids(pl.Series(user), pl.Series(item.ravel()), rating, np.arange(len(user)))


def _new_users(data: Interactions, n: int) -> pl.Series:
    if data.users.dtype == pl.String:
        return pl.Series([f"canary-{k}" for k in range(n)])
    return pl.Series(int(data.users.max()) + 1 + np.arange(n))  # type: ignore[arg-type]


def _people(data: Interactions, users: pl.Series, items: pl.Series, tags: pl.Series | None) -> Interactions:
    n = len(users)
    rating = None if data.rating is None else np.full(n, data.rating.max())
    time = None if data.time is None else np.arange(n, dtype=data.time.dtype)
    return from_ids(users, items, rating, time, tags, data.unit)


def _popular(data: Interactions, n: int) -> NDArray[np.int64]:
    often = np.bincount(data.item, minlength=data.n_items)
    return np.sort(np.argsort(-often, kind="stable")[: min(n, data.n_items)])


@dataclass(frozen=True)
class Couples:
    """Pairs of popular items, a different one for each canary; and the data with those people who are inside."""

    first: pl.Series
    second: pl.Series
    whole: Interactions

    def cells(self, items: pl.Series, kept: NDArray[np.int64]) -> tuple[Any, Any, Bits, Any]:
        """Where they stand among kept items: both places, whether they do, and the cell above the diagonal."""
        i, j = (_place(side, kept, items) for side in (self.first, self.second))
        there, low, high, m = (i >= 0) & (j >= 0), np.minimum(i, j), np.maximum(i, j), len(kept)
        return i, j, there, np.where(there, low * (2 * m - low - 1) // 2 + high - low - 1, 0)


def _couples(data: Interactions, inside: Bits, rng: np.random.Generator, ends: tuple[float, float] | None) -> Couples:
    n = len(inside)
    top = _popular(data, int(np.ceil(np.sqrt(2 * _SPARE * n))) + 1)
    a, b = np.triu_indices(len(top), 1)
    if len(a) < n:
        raise RecveilError(f"{n} canaries need {n} pairs of popular items, and there are {len(a)}; take fewer")
    pick = rng.permutation(len(a))[:n]
    first, second = data.items.gather(top[a[pick]]), data.items.gather(top[b[pick]])
    users = _new_users(data, n)
    items = pl.Series(np.column_stack([first.to_numpy(), second.to_numpy()]).ravel())
    rows = _people(data, pl.Series(np.repeat(users.to_numpy(), 2)), items, None)
    if ends:
        rows = replace(rows, rating=np.tile(np.array(ends), n))
    return Couples(first, second, concat([data, rows.take(np.repeat(inside, 2)[np.arange(2 * n)])]))


def _streams(mechanism: Mechanism, data: Interactions, inside: Bits, rng: np.random.Generator) -> Flock:
    if not isinstance(mechanism, DpStreams):
        raise TypeError
    n, couples = len(inside), _couples(data, inside, rng, None)

    def scores(made: Any, coded: Interactions) -> Floats:
        kept = mechanism.kept(made.rounds, made.public)
        i, j, there, cell = couples.cells(coded.items, kept)
        m, laws = len(kept), mechanism.laws(made.public)
        real = mechanism.count(Catalogue(coded.items).over(data).canonical(), made.rounds, made.public)
        weight, shift, left = np.zeros(n), 0.0, made.rounds[1]
        parts = [("pairs", cell, np.sqrt(PAIRS) / STREAM_UNIT)]
        if "transitions" in left:
            parts.append(("transitions", np.where(there, i * m + j, 0), 1.0))
        for name, at, step in parts:
            noise = (left[name] - getattr(real, name))[at] / STREAM_UNIT
            v = float(laws[name].size) / STREAM_UNIT**2
            weight += step * noise / v
            shift += step**2 / v
        return np.where(there, weight - shift / 2, 0.0)

    return Flock("people with a pair of popular items each", couples.whole, Catalogue(data.items), scores)


def _ratings(mechanism: Mechanism, data: Interactions, inside: Bits, rng: np.random.Generator) -> Flock:
    if not isinstance(mechanism, DpRatings):
        raise TypeError
    levels = mechanism.levels.levels
    couples = _couples(data, inside, rng, (levels[-1], levels[0]))

    def scores(made: Any, coded: Interactions) -> Floats:
        rows = Catalogue(coded.items).over(data).canonical()
        real, laws = mechanism.count(rows, made.rounds[:1], made.public), mechanism.laws(made.public)
        found = np.zeros(len(inside))
        for name, kept, sign in (
            ("pairs", mechanism.paired(made.rounds, made.public), 1.0),
            ("products", mechanism.top(made.rounds), -1.0),  # of one rating above her mean and one as far below
        ):
            _, _, there, cell = couples.cells(coded.items, kept)
            noise = (made.rounds[1][name] - real[name])[cell] / RATING_UNIT
            found += np.where(there, (sign * noise - 0.5) * RATING_UNIT**2 / float(laws[name].size), 0.0)
        return found

    return Flock("people with one item rated best and one worst", couples.whole, Catalogue(data.items), scores)


def _tags(mechanism: Mechanism, data: Interactions, inside: Bits, rng: np.random.Generator) -> Flock:
    if not isinstance(mechanism, DpTags) or data.tags is None:
        raise TypeError
    n = len(inside)
    more = max(0, int(np.ceil(_SPARE * n / data.n_tags)) - data.n_items)
    items = pl.concat([data.items, _more_ids(data.items, more)])
    cells = rng.permutation(len(items) * data.n_tags)[:n]
    item, tag = items.gather(cells // data.n_tags), data.tags.gather(cells % data.n_tags)
    users = _new_users(data, n)
    rows = _people(data, users, item, tag)
    lists = Catalogue(items, data.tags, pl.concat([data.users, users]))
    whole = concat([data, rows.take(np.flatnonzero(inside))])
    one = TAG_UNIT if mechanism.unit == "user" else 1

    def scores(made: Any, coded: Interactions) -> Floats:
        tags, kept = mechanism.kept(made.rounds, made.public)
        real = mechanism.count(lists.over(data, mechanism.knows_users).canonical(), made.rounds, made.public)[
            "item_tag"
        ].toarray()
        at = [_place(ids, of, coded_ids) for ids, of, coded_ids in ((item, kept, coded.items), (tag, tags, coded.tags))]
        there = (at[0] >= 0) & (at[1] >= 0)
        noise = (made.rounds[1]["item_tag"].astype(np.int64) - real)[np.maximum(at[0], 0), np.maximum(at[1], 0)]
        return np.where(there, noise / one - 0.5, 0.0)

    return Flock(f"people with one tag on one item each, unit {mechanism.unit}", whole, lists, scores)


def _posts(_: Mechanism, data: Interactions, inside: Bits, rng: np.random.Generator) -> Flock:
    if data.tags is None or data.n_tags < 2:
        raise RecveilError("an audit of dp-post-tags in one run needs data with at least two tags")
    n = len(inside)
    often = np.argsort(-np.bincount(data.tag, minlength=data.n_tags), kind="stable")  # type: ignore[arg-type]
    yes, no = data.tags[int(often[0])], data.tags[int(often[1])]
    users = _new_users(data, n)
    item = data.items.gather(rng.integers(0, data.n_items, n))
    rows = _people(data, users, item, pl.Series([yes if coin else no for coin in inside]))
    lists = Catalogue(data.items, data.tags, None)

    def scores(made: Any, _: Interactions) -> Floats:
        tokens = made.id_map.rename({"released": "user"})
        seen = made.data.frame().join(tokens, on="user").select("original", "tag")
        said = pl.DataFrame({"original": users}).join(seen, on="original", how="left", maintain_order="left")["tag"]
        return np.asarray((said == yes).fill_null(False).to_numpy() * 1.0 - (said == no).fill_null(False).to_numpy())

    return Flock("posts with one of two tags each", concat([data, rows]), lists, scores)


def _bits(_: Mechanism, data: Interactions, inside: Bits, __: np.random.Generator) -> Flock:
    n = len(inside)
    users = _new_users(data, n)
    first, second = data.items[0], data.items[-1]
    everybody = _people(data, users, pl.Series([second] * n), None)  # so that all of them are in the data
    rows = _people(data, users, pl.Series([first] * n), None).take(np.flatnonzero(inside))
    plain = Interactions(data.user, data.item, data.users, data.items, data.rating, data.time, unit=data.unit)

    def scores(made: Any, _: Interactions) -> Floats:
        seen = made.data.frame().filter(pl.col("item") == first)["user"]
        hers = pl.DataFrame({"original": users}).join(made.id_map, on="original", how="left", maintain_order="left")
        return np.where(hers["released"].is_in(seen.implode()).fill_null(False).to_numpy(), 1.0, -1.0)

    return Flock("people with one item or not", concat([plain, everybody, rows]), Catalogue(data.items), scores)


def _more_ids(ids: pl.Series, n: int) -> pl.Series:
    if ids.dtype == pl.String:
        return pl.Series([f"canary-{k}" for k in range(n)], dtype=pl.String)
    return pl.Series(int(ids.max()) + 1 + np.arange(n), dtype=ids.dtype)  # type: ignore[arg-type]


def _place(ids: pl.Series, kept: NDArray[np.int64], known: Any) -> NDArray[np.int64]:
    """Where ids stand among the kept ones; -1: nowhere."""
    place = np.full(len(known), -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    return np.asarray(place[known.search_sorted(ids).to_numpy()])


FLOCKS: dict[type[Mechanism], Callable[[Mechanism, Interactions, Bits, np.random.Generator], Flock]] = {
    DpStreams: _streams,
    DpRatings: _ratings,
    DpTags: _tags,
    DpPostTags: _posts,
    Mask: _bits,
}
