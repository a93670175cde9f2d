"""People drawn out of a log whose rows never stand in memory together, and people who are sought among all of it.

Whom a crowd holds hangs on a hash of ids: neither parts nor their number change it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Interactions, concat
from recveil.evaluation.assess import RISKIEST, SCREENED
from recveil.evaluation.attacks.knowledge import commonness, learn
from recveil.evaluation.attacks.linkage import Facts, rarest_first
from recveil.evaluation.facts import LogFacts, facts_of_part
from recveil.ids import keys, places
from recveil.kernels.linkage import intersect
from recveil.views.records import Postings, postings, records

Parts = Callable[[], Iterable[Interactions]]  # those of a log, from the first on
CROWD, TARGETS, DRAWS, KNOWN = 20_000, 2000, 20, 4


@dataclass
class Lowest:
    """The people with the lowest values, with all their rows; of equal ones those whose ids come first."""

    most: int
    people: Interactions | None = None
    value: NDArray[Any] = field(default_factory=lambda: np.zeros(0))

    def add(self, part: Interactions, value: NDArray[Any]) -> None:
        lowest = np.isin(np.arange(part.n_users), np.argsort(value, kind="stable")[: self.most])
        more, theirs = part.among(lowest), value[lowest]
        if self.people is not None:
            both = concat([self.people, more])
            at = np.concatenate([places(some.users, both.users) for some in (self.people, more)])
            theirs = np.concatenate([self.value, theirs])[np.argsort(at)]
            lowest = np.isin(np.arange(both.n_users), np.argsort(theirs, kind="stable")[: self.most])
            more, theirs = both.among(lowest), theirs[lowest]
        self.people, self.value = more, theirs

    def first(self, most: int) -> Interactions:
        """As many of them at most, those with the lowest values."""
        assert self.people is not None
        lowest = np.argsort(self.value, kind="stable")[:most]
        return self.people.among(np.isin(np.arange(self.people.n_users), lowest))


class Survey:
    """What a first pass learns: the facts, how many people have each item, how many items each has, and a crowd."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.odd, self.shift = rng.integers(2**63, size=2, dtype=np.uint64) | np.uint64(1)
        self.facts: LogFacts | None = None
        self.holders = np.zeros(0, dtype=np.int64)
        self.lengths: list[NDArray[np.int64]] = []
        self.crowd = Lowest(CROWD)

    def add(self, part: Interactions) -> None:
        facts = facts_of_part(part)
        self.facts = facts if self.facts is None else self.facts + facts
        of = records(part)
        self.holders = of.popularity() + (self.holders if len(self.holders) else 0)
        self.lengths.append(of.lengths)
        self.crowd.add(part, self.luck(part.users))

    @property
    def all_facts(self) -> LogFacts:
        assert self.facts is not None
        return self.facts

    def luck(self, ids: pl.Series) -> NDArray[np.uint64]:
        """A number for each id that looks random, the same in whichever part it is."""
        mixed = (keys(ids) ^ self.shift) * self.odd
        mixed = (mixed ^ (mixed >> np.uint64(32))) * self.odd
        return np.asarray(mixed ^ (mixed >> np.uint64(29)))


@dataclass
class Sought:
    """People who are looked for among all: what is known of each, and how many records fit it, hers among them."""

    users: pl.Series
    facts: Facts

    def __post_init__(self) -> None:
        self.sizes, self.hits = (np.zeros(self.facts.known.shape, dtype=np.int64) for _ in range(2))

    def seek(self, part: Interactions) -> None:
        codes = places(self.users, part.users)
        starts = np.append(0, np.cumsum(codes >= 0))
        known, ratings, _ = self.facts
        luck = np.zeros(known.shape)
        index = postings(records(part))
        sizes, hits, _ = intersect(*index, known, ratings, 0.0, starts, codes[codes >= 0].astype(np.int64), luck)
        self.sizes += np.maximum(sizes, 0)
        self.hits += hits

    @property
    def success(self) -> NDArray[np.float64]:
        return np.where(self.facts.known < 0, np.nan, self.hits / np.maximum(self.sizes, 1))


def rarest_people(parts: Parts, holders: NDArray[np.int64]) -> Interactions:
    """Those whose items are the rarest, among people of KNOWN items and more, or of as many as anybody has."""
    found = Lowest(SCREENED)
    for part in parts():
        of = records(part)
        found.add(part, np.where(of.lengths >= KNOWN, commonness(of, holders), np.inf))
    assert found.people is not None
    return found.people


def seekers(rare: Interactions, holders: NDArray[np.int64], longest: int, rng: np.random.Generator) -> Sought:
    """Each of them DRAWS times, with other items known."""
    of, known = records(rare), min(KNOWN, longest)
    people = np.flatnonzero(of.lengths >= known)
    learnt = [learn(rare, of, people, known, "random", rng)[0] for _ in range(DRAWS)]
    items = np.concatenate(learnt)
    facts = Facts(items, np.full(items.shape, np.nan), np.ones(known, dtype=bool))
    index = Postings(np.append(0, np.cumsum(holders)), np.zeros(0, np.int32), np.zeros(0))
    return Sought(pl.concat([rare.users.gather(people)] * DRAWS), rarest_first(facts, index))


def riskiest_of(exposed: Sought) -> list[dict[str, Any]]:
    found = exposed.success[:, -1].reshape(DRAWS, -1).mean(axis=0)
    first = np.argsort(-found, kind="stable")[:RISKIEST]
    known = exposed.facts.known.shape[1]
    return [{"user": exposed.users[int(k)], "known": known, "success": float(found[k])} for k in first]
