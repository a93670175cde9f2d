"""Protocols: who is held out, what is asked of them, and how a split is made. One for each data set.

A task is what a method sees (train, and what is public) and two sets of questions. The judges' settings are chosen on
the search people; what is reported is of the test people, whom nothing was chosen on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from data_sets import DataSet, Loaded

from recveil.data import Interactions
from recveil.items import PublicItems
from recveil.splits import before_and_after

SPLITS = 3
EPSILONS = (1.0, 4.0, 8.0)
DELTA = 1e-6
SEARCH, TEST = 300, 1000  # people at most


@dataclass(frozen=True, eq=False)
class Public:
    """What a method may know without spending anything: the catalogue, facts of items, the scale of ratings.

    ordered: whether the order of a person's items is asked about.
    """

    items: pl.Series
    facts: PublicItems | None
    scale: str = ""
    liked: float | None = None
    ordered: bool = False
    unit: str = "user"


@dataclass(frozen=True, eq=False)
class Asked:
    """What is shown of each person, and what is to be found."""

    query: Interactions
    result: Interactions

    def __len__(self) -> int:
        return len(np.unique(self.result.user))


@dataclass(frozen=True, eq=False)
class Task:
    train: Interactions
    public: Public
    search: Asked
    test: Asked
    n: int


@dataclass(frozen=True)
class Protocol:
    """about: for the page. n: items on a list. metric: how hits are called where one item alone is asked for."""

    about: str
    split: Callable[[Interactions, np.random.Generator], tuple[Interactions, Asked, Asked]]
    n: int = 20
    hits: str = "recall"
    ordered: bool = False


def task(chosen: DataSet, loaded: Loaded, split: int, thin: int | None = None) -> Task:
    """One split; `thin`: of so many people alone, for a trial run that is marked as one."""
    protocol = PROTOCOLS[chosen.protocol]
    rows = loaded.rows
    if thin and rows.n_users > thin:
        few = np.random.default_rng([thin, *b"thin"]).permutation(rows.n_users)[:thin]
        rows = rows.take_users(few).compact().over_items(rows.items)
    train, search, test = protocol.split(rows, np.random.default_rng([split, *b"open"]))
    train = train.compact().over_items(rows.items).canonical()
    public = Public(rows.items, loaded.facts, chosen.scale, chosen.liked, protocol.ordered, rows.unit)
    return Task(train, public, *(_wanted(asked, chosen.liked) for asked in (search, test)), protocol.n)


def _wanted(asked: Asked, liked: float | None) -> Asked:
    """Of ratings with a border the liked ones alone are asked for."""
    if liked is None or asked.result.rating is None:
        return asked
    return replace(asked, result=asked.result.take(asked.result.rating >= liked))


def _of(rows: Interactions, people: Any) -> Interactions:
    mask = np.zeros(rows.n_users, dtype=bool)
    mask[people] = True
    return rows.among(mask)


def _asked(rows: Interactions, people: Any, rng: np.random.Generator, ordered: bool) -> Asked:
    some = _of(rows, people)
    return Asked(*before_and_after(some if ordered else replace(some, time=None), rng))


def _held(rows: Interactions, rng: np.random.Generator, share: float, most: int) -> tuple[Any, Any, Any]:
    """People to learn from, to search on and to test on."""
    order = rng.permutation(rows.n_users)
    held = min(most, int(share * rows.n_users))
    search = min(SEARCH, held // 4)
    return order[held:], order[:search], order[search:held][:TEST]


def people(rows: Interactions, rng: np.random.Generator) -> tuple[Interactions, Asked, Asked]:
    kept, search, test = _held(rows, rng, 0.2, rows.n_users)
    in_time = rows.time is not None
    return rows.take_users(kept), _asked(rows, search, rng, in_time), _asked(rows, test, rng, in_time)


def halves(rows: Interactions, rng: np.random.Generator) -> tuple[Interactions, Asked, Asked]:
    kept, search, test = _held(rows, rng, 0.2, rows.n_users)
    return rows.take_users(kept), _asked(rows, search, rng, False), _asked(rows, test, rng, False)


def sessions(rows: Interactions, rng: np.random.Generator) -> tuple[Interactions, Asked, Asked]:
    kept, search, test = _held(rows, rng, 0.1, 5000)
    return rows.take_users(kept), _asked(rows, search, rng, True), _asked(rows, test, rng, True)


def last(rows: Interactions, rng: np.random.Generator) -> tuple[Interactions, Asked, Asked]:
    rows = rows.ordered()
    left = rows.starts()[rows.user + 1] - np.arange(len(rows))  # 1: a person's last row
    order = rng.permutation(rows.n_users)
    search, test = order[:SEARCH], order[SEARCH:][: 2 * TEST]

    def asked(some: Any, place: int) -> Asked:
        mine = np.isin(rows.user, some)
        return Asked(_of(rows.take(mine & (left > place)), some), _of(rows.take(mine & (left == place)), some))

    return rows.take(left > 2), asked(search, 2), asked(test, 1)


def own(rows: Interactions, rng: np.random.Generator) -> tuple[Interactions, Asked, Asked]:
    told = rows.time == 0
    plain = replace(rows, time=None)
    order = rng.permutation(rows.n_users)
    parts = [
        Asked(_of(plain.take(told), some), _of(plain.take(~told), some))
        for some in (order[:SEARCH], order[SEARCH:][:TEST])
    ]
    return plain.take(told), parts[0], parts[1]


PROTOCOLS = {
    "people": Protocol(
        "A fifth of the people is held out. The first half of what a held-out person has (in time; without times a "
        "random half) is shown, and the rest of her items is to be found among all others.",
        people,
    ),
    "halves": Protocol(
        "A fifth of the people is held out. A random half of what a held-out person has is shown, and the rest of her "
        "items is to be found among all others.",
        halves,
    ),
    "sessions": Protocol(
        "A tenth of the sessions, at most 5,000, is held out. The first half of a held-out session is shown, and the "
        "rest of its items is to be found among all others. The promise is by session: the data tell no people apart.",
        sessions,
        ordered=True,
    ),
    "last": Protocol(
        "S3-Rec's: everybody's last item is to be found among all items that she does not have, given all before it; "
        "her last but one serves the search, and neither is in the rows that are learnt from. Nobody is held out; the "
        "three splits differ in who is asked and in the noise. The printed figure of the most popular items is reached "
        "to the digit where the counts hold the very items that are asked for; here they do not.",
        last,
        n=10,
        hits="HR",
        ordered=True,
    ),
    "own": Protocol(
        "LightGCN's own split: a fifth of everybody's places is to be found among all that are not in the rest, which "
        "is learnt from. Nobody is held out; the three splits differ in who is asked and in the noise.",
        own,
    ),
}
