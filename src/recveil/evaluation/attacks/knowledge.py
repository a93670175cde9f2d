"""What the attacker knows of a person: a few items of hers, at random, the rarest, or some in a row."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.errors import RecveilError, unknown
from recveil.views.records import Records, last_of_pairs

Choice = Literal["random", "rare", "consecutive"]


def learn(
    data: Interactions,
    of: Records,
    people: NDArray[np.int64],
    most: int,
    items: Choice,
    rng: np.random.Generator,
    popularity: NDArray[Any] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """For each of the people up to `most` items in the order in which they are learnt, padded with -1; their ratings.

    The first r of them are themselves r random (the r rarest, r consecutive) items. popularity: how many people have
    each item, where these records are not all there are.
    """
    if items not in get_args(Choice):
        raise unknown("choice of items", items, get_args(Choice))
    rows = of.rows_of(people)
    lengths = of.lengths[people]
    person = np.repeat(np.arange(len(people)), lengths)
    luck = rng.random(len(rows))
    if items == "random":
        order = np.argsort(person + luck)
    elif items == "rare":
        counts = of.popularity() if popularity is None else popularity
        order = np.lexsort((luck, counts[of.items[rows]], person))
    else:
        position = _positions(data, of)[rows]
        start = np.floor(rng.random(len(people)) * lengths).astype(np.int64)[person]
        after = position >= start  # onwards from the start; then backwards, where the end is reached
        order = np.lexsort((np.where(after, position, lengths[person] + start - position), person))
    place = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    kept = place < most
    known = np.full((len(people), most), -1, dtype=np.int32)
    ratings = np.full((len(people), most), np.nan)
    known[person[kept], place[kept]] = of.items[rows[order[kept]]]
    ratings[person[kept], place[kept]] = of.ratings[rows[order[kept]]]
    return known, ratings


def commonness(of: Records, holders: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of each person how common her items are: the mean of the logarithms of how many hold them.

    As many records hold all of some items as the product of their shares tells, about. What nobody holds tells nothing.
    """
    rate = np.log(np.where(holders > 0, holders, max(int(holders.max(initial=1)), 1)))
    sums = np.append(0.0, np.cumsum(rate[of.items]))
    return np.asarray(np.diff(sums[of.starts]) / np.maximum(of.lengths, 1))


def _positions(data: Interactions, of: Records) -> NDArray[np.int64]:
    """Of each item of each record, how many others of the record came before it (its last time counts)."""
    if data.time is None and data.kind in ("ratings", "tags"):
        raise RecveilError("consecutive items need a time column, and the data have none")
    rows, last = last_of_pairs(data.ordered())
    position = np.empty(len(last), dtype=np.int64)
    by_time = np.lexsort((last, rows.user[last]))
    position[by_time] = np.arange(len(last)) - np.repeat(of.starts[:-1], of.lengths)
    return position
