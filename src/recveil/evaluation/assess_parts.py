"""assess(), of a log whose rows never stand in memory together: its parts hold whole people over the items of all.

What adds up over parts is that of everybody: counts, and from how many released records an attacker by intersection
cannot tell hers. Attackers who score records are measured in a crowd, some people drawn by a hash, whose size every
figure names: among fewer people each of them is found more easily.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Interactions, concat
from recveil.evaluation.assess import RISKIEST, SCREENED, itself, rng_of, summary
from recveil.evaluation.attacks.knowledge import commonness, learn
from recveil.evaluation.attacks.linkage import Facts, levels_of, linkage, linked, rarest_first, ways_of
from recveil.evaluation.attacks.outcomes import LinkageOutcome, Side
from recveil.evaluation.attacks.truth import truth
from recveil.evaluation.facts import LogFacts, facts_of_part
from recveil.ids import keys, places
from recveil.kernels.linkage import intersect
from recveil.measurement import Measurement
from recveil.views.records import Postings, postings, records

Parts = Callable[[], Iterable[Interactions]]  # those of a log, from the first on
CROWD, TARGETS, DRAWS, KNOWN = 20_000, 2000, 20, 4


def assess_parts(parts: Parts, seed: int, known: tuple[int, ...] | None = None) -> tuple[LogFacts, dict[str, Any]]:
    """What `assess` says, in three passes over the parts; the same however many there are. The facts beside it."""
    seen = _Seen(rng_of(seed, "crowd"))
    for part in parts():
        seen.add(part)
    crowd = seen.crowd.people
    assert crowd is not None
    lengths = np.concatenate(seen.lengths)
    drawn = crowd.among(np.isin(np.arange(crowd.n_users), np.argsort(seen.crowd.value, kind="stable")[:TARGETS]))
    levels = levels_of(known, lengths)
    told = _told(drawn, levels, rng_of(seed, "linkage"))
    exposed = _exposed(_rarest(parts, seen.holders), seen.holders, int(lengths.max()), rng_of(seed, "riskiest"))
    sought = [*(_Sought(drawn.users, facts) for facts in told.values()), exposed]
    for part in parts():
        for one in sought:
            one.seek(part)
    curve = [
        m for rated, one in zip(told, sought, strict=False) for m in _curve(drawn, one, rated, levels, len(lengths))
    ]
    scored = linkage(itself(crowd), rng_of(seed, "crowd linkage"), known=known)
    curve += [replace(m, params={**m.params, "crowd": crowd.n_users}) for m in scored]
    assert seen.facts is not None
    return seen.facts, summary(seen.facts, seen.holders, lengths, crowd.items, curve, _riskiest(exposed))


@dataclass
class _Lowest:
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


class _Seen:
    """What a first pass learns: the facts, how many people have each item, how many items each has, and a crowd."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.odd, self.shift = rng.integers(2**63, size=2, dtype=np.uint64) | np.uint64(1)
        self.facts: LogFacts | None = None
        self.holders = np.zeros(0, dtype=np.int64)
        self.lengths: list[NDArray[np.int64]] = []
        self.crowd = _Lowest(CROWD)

    def add(self, part: Interactions) -> None:
        facts = facts_of_part(part)
        self.facts = facts if self.facts is None else self.facts + facts
        of = records(part)
        self.holders = of.popularity() + (self.holders if len(self.holders) else 0)
        self.lengths.append(of.lengths)
        self.crowd.add(part, self._luck(part.users))

    def _luck(self, ids: pl.Series) -> NDArray[np.uint64]:
        """A number for each id that looks random, the same in whichever part it is."""
        mixed = (keys(ids) ^ self.shift) * self.odd
        mixed = (mixed ^ (mixed >> np.uint64(32))) * self.odd
        return np.asarray(mixed ^ (mixed >> np.uint64(29)))


@dataclass
class _Sought:
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


def _told(drawn: Interactions, levels: list[int], rng: np.random.Generator) -> dict[bool, Facts]:
    """What the attacker knows of people, with and without ratings."""
    of = records(drawn)
    asked = np.isin(np.arange(1, max(levels) + 1), levels)
    found = {}
    for rated in ways_of(None, itself(drawn)):
        known, ratings = learn(drawn, of, np.arange(len(of)), max(levels), "random", rng)
        found[rated] = Facts(known, ratings if rated else np.full_like(ratings, np.nan), asked)
    return found


def _curve(drawn: Interactions, sought: _Sought, rated: bool, levels: list[int], crowd: int) -> list[Measurement]:
    """The attacker by intersection among all records. Of a stranger he would claim what fits beside her own record."""
    of = records(drawn)
    side = Side(drawn, of, truth(of, of, np.arange(len(of), dtype=np.int32)), np.arange(len(of)))
    none = sought.facts.known < 0
    claims, lone = (np.where(none, np.nan, left == 1) for left in (sought.sizes, sought.sizes - sought.hits))
    nobody = np.full(none.shape, -1)
    attacked = [(side, LinkageOutcome(sought.success, how, nobody)) for how in (claims, lone)]
    params = {"ratings": rated, "items": "random", "attacker": "intersection"}
    return [linked({"known": r, **params}, attacked, side.truth, crowd) for r in levels]


def _rarest(parts: Parts, holders: NDArray[np.int64]) -> Interactions:
    """Those whose items are the rarest, among people of KNOWN items and more, or of as many as anybody has."""
    found = _Lowest(SCREENED)
    for part in parts():
        of = records(part)
        found.add(part, np.where(of.lengths >= KNOWN, commonness(of, holders), np.inf))
    assert found.people is not None
    return found.people


def _exposed(rare: Interactions, holders: NDArray[np.int64], longest: int, rng: np.random.Generator) -> _Sought:
    """Each of them DRAWS times, with other items known."""
    of, known = records(rare), min(KNOWN, longest)
    people = np.flatnonzero(of.lengths >= known)
    learnt = [learn(rare, of, people, known, "random", rng)[0] for _ in range(DRAWS)]
    items = np.concatenate(learnt)
    facts = Facts(items, np.full(items.shape, np.nan), np.ones(known, dtype=bool))
    index = Postings(np.append(0, np.cumsum(holders)), np.zeros(0, np.int32), np.zeros(0))
    return _Sought(pl.concat([rare.users.gather(people)] * DRAWS), rarest_first(facts, index))


def _riskiest(exposed: _Sought) -> list[dict[str, Any]]:
    found = exposed.success[:, -1].reshape(DRAWS, -1).mean(axis=0)
    first = np.argsort(-found, kind="stable")[:RISKIEST]
    known = exposed.facts.known.shape[1]
    return [{"user": exposed.users[int(k)], "known": known, "success": float(found[k])} for k in first]
