"""LogFacts: what is known of a log without its rows. Those of parts of whole people add up to those of all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from recveil.data import Floats, Interactions
from recveil.formats import count_duplicates
from recveil.views.sessions import sessions

Counts = NDArray[np.int64]
SHOWN = 1000  # people of a part who stand for it where columns are asked for


@dataclass(frozen=True, eq=False)
class Levels:
    """The ratings that occur, ascending: how often, and how many people gave each."""

    values: Floats
    counts: Counts
    raters: Counts

    def __add__(self, other: Levels) -> Levels:
        values, where = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        counts, raters = (
            np.bincount(where, np.concatenate(pair), len(values)).astype(np.int64)
            for pair in ((self.counts, other.counts), (self.raters, other.raters))
        )
        return Levels(values, counts, raters)

    @property
    def mean(self) -> float:
        return float(self.values @ self.counts / self.counts.sum())

    @property
    def std(self) -> float:
        return float(np.sqrt((self.values - self.mean) ** 2 @ self.counts / self.counts.sum()))

    def share(self, value: float) -> float:
        return float(self.counts[self.values == value].sum() / self.counts.sum())

    def outside(self, low: float, high: float) -> int:
        return int(self.counts[(self.values < low) | (self.values > high)].sum())


@dataclass(frozen=True, eq=False)
class LogFacts:
    """specimen: the log, or some of its people, who tell what columns there are. each: the rows of each person."""

    specimen: Interactions
    each: Counts
    levels: Levels | None
    sessions: int | None
    unknown_times: int

    def __add__(self, other: LogFacts) -> LogFacts:
        levels = self.levels + other.levels if self.levels and other.levels else None
        apart = self.sessions + other.sessions if self.sessions is not None and other.sessions is not None else None
        unknown = self.unknown_times + other.unknown_times
        return replace(
            self, each=np.append(self.each, other.each), levels=levels, sessions=apart, unknown_times=unknown
        )

    @property
    def rows(self) -> int:
        return int(self.each.sum())

    @property
    def n_users(self) -> int:
        return len(self.each)

    @property
    def n_items(self) -> int:
        return self.specimen.n_items


@dataclass(frozen=True)
class Repeats:
    """How many rows repeat an earlier one, and how many pairs of person and item differ."""

    rows: int
    pairs: int

    def __add__(self, other: Repeats) -> Repeats:
        return Repeats(self.rows + other.rows, self.pairs + other.pairs)


_FOUND: WeakKeyDictionary[Interactions, LogFacts] = WeakKeyDictionary()  # many ask for those of the same data


def facts_of(data: Interactions | LogFacts) -> LogFacts:
    """The facts of a log in memory, or those that are known already."""
    if isinstance(data, LogFacts):
        return data
    if data not in _FOUND:
        each = np.bincount(data.user, minlength=data.n_users)
        apart = None if data.session is None else len(sessions(data.ordered()).starts) - 1
        _FOUND[data] = LogFacts(replace(data), each, _levels(data), apart, data.unknown_times)
    return _FOUND[data]


def repeats_of(data: Interactions) -> Repeats:
    repeated = count_duplicates(data)
    if data.tag is None:
        return Repeats(repeated, len(data) - repeated)
    return Repeats(repeated, len(data) - count_duplicates(replace(data, tag=None, tags=None)))


def facts_of_part(part: Interactions) -> LogFacts:
    """The facts of one of several parts, each of whole people over the items of all: a few stand for its columns."""
    facts = facts_of(part)
    return replace(facts, specimen=facts.specimen.take_users(np.arange(min(SHOWN, facts.n_users))))


def facts_of_parts(parts: Iterable[Interactions]) -> tuple[LogFacts, Repeats]:
    """Facts and repeats of a log whose parts stand in memory one at a time."""
    found = ((facts_of_part(part), repeats_of(part)) for part in parts)
    return reduce(lambda one, other: (one[0] + other[0], one[1] + other[1]), found)


def _levels(data: Interactions) -> Levels | None:
    if data.rating is None:
        return None
    values, code = np.unique(data.rating, return_inverse=True)
    pairs = np.unique(code.astype(np.int64) * data.n_users + data.user)
    raters = np.bincount(pairs // max(data.n_users, 1), minlength=len(values))
    return Levels(values, np.bincount(code, minlength=len(values)), raters)
