"""Item profiles, which are public (how many like, dislike, have not clicked), and what they tell of user profiles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recveil.data import Floats, Interactions
from recveil.errors import RecveilError, unknown

Signs = NDArray[np.int8]
BASES = {"e": 1.0, "2": math.log(2), "10": math.log(10)}  # how much a unit of each logarithm is in natural ones


@dataclass(frozen=True, eq=False)
class Clicks:
    """Likes (+1) and dislikes (-1), one at most for each person and item, over constant sets of people and items."""

    data: Interactions
    sign: Signs

    def __len__(self) -> int:
        return len(self.sign)

    @property
    def users(self) -> int:
        return self.data.n_users

    def take(self, rows: NDArray[np.bool_]) -> Clicks:
        """Some of the clicks, among the same people and items."""
        return Clicks(self.data.take(rows), self.sign[rows])


@dataclass(frozen=True, eq=False)
class Profiles:
    """Likes and dislikes of each item among `users` people, as integers."""

    likes: NDArray[np.int64]
    dislikes: NDArray[np.int64]
    users: int

    @property
    def unclicked(self) -> NDArray[np.int64]:
        return self.users - self.likes - self.dislikes

    @property
    def popularity(self) -> Floats:
        return (self.likes + self.dislikes) / self.users

    @property
    def preferability(self) -> Floats:
        return (self.likes - self.dislikes) / self.users

    @property
    def mainstream(self) -> Floats:
        """Popularity times preferability: what the many think of each item."""
        return (self.likes + self.dislikes) * (self.likes - self.dislikes) / self.users**2


def clicks(data: Interactions, like: float | None = None) -> Clicks:
    """Ratings of `like` or more as likes, lower ones as dislikes; without ratings every click is a like.

    A repeated like says nothing new: the first in time counts. Of two ratings one must have been chosen before.
    The default for `like` is the middle of the scale that occurs.
    """
    if not len(data):
        raise RecveilError("there are no clicks")
    pairs = data.user.astype(np.int64) * data.n_items + data.item
    order = np.lexsort((pairs,) if data.time is None else (data.time, pairs))
    again = order[1:][np.diff(pairs[order]) == 0]
    if data.rating is None:
        if like is not None:
            raise RecveilError("like needs a rating column, and the data have none: every click counts as a like")
        first = np.ones(len(data), dtype=bool)
        first[again] = False
        return Clicks(data if first.all() else data.take(first), np.ones(int(first.sum()), dtype=np.int8))
    if len(again):
        who, what = data.users[int(data.user[again[0]])], data.items[int(data.item[again[0]])]
        raise RecveilError(f"user {who} rated item {what} more than once; a person has one click on an item")
    bound = middle(data) if like is None else like
    if not math.isfinite(bound):
        raise RecveilError(f"like must be a finite number, not {bound}")
    return Clicks(data, np.where(data.rating >= bound, 1, -1).astype(np.int8))


def middle(data: Interactions) -> float:
    """The middle of the scale that occurs."""
    assert data.rating is not None
    return float(data.rating.min() + data.rating.max()) / 2


def profiles(of: Clicks) -> Profiles:
    """The profile of every item."""
    liked = of.sign > 0
    n = of.data.n_items
    return Profiles(
        np.bincount(of.data.item[liked], minlength=n), np.bincount(of.data.item[~liked], minlength=n), of.users
    )


def unit(base: str) -> float:
    """One unit of the logarithm with this base, in natural ones."""
    if base not in BASES:
        raise unknown("base", base, BASES)
    return BASES[base]


def commonality(of: Clicks, against: Profiles | None = None) -> Floats:
    """How close each person's taste is to that of the many: sum of the mainstream, with her signs.

    The many are those whose clicks these are, or whose profiles are given (`against`).
    """
    item = profiles(of) if against is None else against
    pull = ((item.likes + item.dislikes) * (item.likes - item.dislikes))[of.data.item] * of.sign
    return np.bincount(of.data.user, pull, minlength=of.users) / item.users**2


def disclosure(of: Clicks, base: str = "e", against: Profiles | None = None) -> Floats:
    """Information in each person's profile, unclicked items included, given the item profiles.

    Profiles that are not those of these clicks (`against`) may lack a count that occurs: counts of less than 1 are
    taken as 1.
    """
    item = profiles(of) if against is None else against
    least = np.maximum(item.unclicked, 1)  # where nobody is left unclicked, no person has this term
    absent = np.log(item.users / least)
    chosen = np.where(of.sign > 0, item.likes[of.data.item], item.dislikes[of.data.item])
    more = np.log(item.users / np.maximum(chosen, 1)) - absent[of.data.item]
    found: Floats = absent.sum() + np.bincount(of.data.user, more, minlength=of.users)
    return found / unit(base)
