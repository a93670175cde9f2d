"""mbrw: synthetic clickstreams by memory biased random walks (Antulov-Fantulin et al., 2012).

A stream copies a short stretch of a real person's clicks, her profile, and walks on from there over DS, each step
weighted by what has been seen together (CVS) with the items in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.guarantee import Guarantee, nothing
from recveil.ids import places
from recveil.mechanism import Masked, Masking, PublicInfo, Within, parameter
from recveil.mechanisms.mbrw.laws import LengthLaw, law
from recveil.mechanisms.mbrw.walks import Seeds, Streams, memory_streams
from recveil.randomness import Source
from recveil.views.transitions import Transitions, transitions
from recveil.views.walkable import Walkable, walkable

MOST_MEMORY = 32  # beyond it a product of counts could leave the range of floating point
TRIES = 100  # of a stream that Theta refuses, under `redraw`
ANOTHER = 1 << 40  # the stream numbers of the next try

# For the card: the attack `copies` on k = n, memory normal(3,2), hops normal(5,2), sliding (recveil reproduce mbrw).
LINKAGE, LINKAGE_FILTERED, MEMBERSHIP = "0.57", "0.65", "0.63"


@dataclass(frozen=True, eq=False)
class Clickstreams:
    """DS and CVS, the keys and lengths of users, and with Theta their item sets. Adds with `+`."""

    moves: Transitions
    keys: NDArray[np.uint64]
    lengths: NDArray[np.int64]
    sets: scipy.sparse.csr_array | None  # users x items

    def __add__(self, other: Clickstreams) -> Clickstreams:
        moves = self.moves + other.moves
        sets = None
        if self.sets is not None and other.sets is not None:
            both = [_recoded(c.sets, c.moves.items, moves.items) for c in (self, other)]
            sets = scipy.sparse.csr_array(scipy.sparse.vstack(both, format="csr"))
        return Clickstreams(
            moves, np.concatenate([self.keys, other.keys]), np.concatenate([self.lengths, other.lengths]), sets
        )


@dataclass(frozen=True, eq=False)
class Seeded:
    """The numbers of streams by the people who seed them, who are places among all, ascending."""

    people: NDArray[np.int64]
    numbers: NDArray[np.int64]

    def of(self, users: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The streams of these users: which of the users it is, and the number of the stream."""
        first, last = (np.searchsorted(self.people, users, side) for side in ("left", "right"))
        many = last - first
        here = np.arange(many.sum()) + np.repeat(first - np.cumsum(many) + many, many)
        return np.repeat(np.arange(len(users)), many), self.numbers[here]


@dataclass(frozen=True, eq=False)
class Plan:
    items: pl.Series
    over: Walkable
    keys: NDArray[np.uint64]  # of all users, ascending: places in this row name them
    streams: Seeded
    laws: kernels.walks.Laws
    real: kernels.record_search.Index | None  # the real item sets, where Theta compares with them


@dataclass(frozen=True)
class MBRW(Masking):
    """K synthetic clickstreams, each seeded by the profile of a person drawn at random."""

    name = "mbrw"
    to_begin_with = True
    cluster_steps = "streams"
    strength = ("theta", (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0))
    purpose = (
        "For outsiders who need click sequences: walks that keep transitions and co-occurrence. Each begins "
        "with a copied piece of a real stream, so it carries no guarantee."
    )
    kinds = ("clicks", "sessions", "ratings")
    reads_time = True
    needs = ("time",)

    k: int | None = parameter(
        None, about="how many streams to draw (none: as many as there are real ones)", rule=Within(1)
    )
    memory: str = parameter("normal(3,2)", about=f"law M of the memory, up to {MOST_MEMORY} items; one more is copied")
    hops: str = parameter(
        "normal(9,2)", about="law L of the steps walked; empirical: until the stream is as long as a real one"
    )
    end: str = parameter("uniform", about="law E of where in the real clickstream the copied profile ends")
    window: str = parameter(
        "sliding",
        about="what is remembered: the items just before the last one, or always the copied ones",
        rule=("sliding", "static"),
    )
    repeats: bool = parameter(True, about="whether an item may occur twice in a stream")
    theta: float | None = parameter(
        None,
        about="streams whose cosine to a real one reaches this are refused (none: all are kept)",
        rule=Within(0, 1, open_low=True),
    )
    redraw: bool = parameter(False, about="whether a refused stream is drawn again from its person, or left out")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._law("memory")
        if self._law("hops") == LengthLaw("constant", (0.0,)):
            raise RecveilError(
                f"{self.name}: parameter hops: constant(0) gives no positive value, only verbatim copies"
            )
        if self.end != "uniform":
            self._law("end")
        if self.redraw and self.theta is None:
            raise RecveilError(f"{self.name}: parameter redraw needs theta, since nothing is refused without it")

    def guarantee(self, public: PublicInfo) -> Guarantee:
        reason = "None for any person: every stream begins with clicks copied verbatim from somebody."
        if self.theta is not None:
            reason += f" Theta = {self.theta:g} is a similarity filter, not a privacy guarantee."
        return nothing(reason)

    def card(self) -> str:
        law_of_memory = "" if self.memory == "constant(0)" else f" (memory: {self.memory})"
        lines = [
            "Every stream is synthetic from some point on: it begins with a stretch of up to m + 1 consecutive clicks "
            f"that are copied verbatim from one real person{law_of_memory}, and goes on by a random walk that prefers "
            "what others clicked next and what is often seen together with the items in memory. The stream does not "
            "say where the copied part ends.",
            "What an attacker still learns: whoever holds a person's clicks in order can often tell which streams "
            "begin with them. On the Yahoo music sample (8,999 people, as many streams) an attacker who holds the real "
            f"data named the person behind a stream with probability {LINKAGE}, and told members from others "
            f"with an AUC of {MEMBERSHIP} (a coin: 0.50), without being told where the copied part ends.",
        ]
        if self.theta is not None:
            lines.append(
                f"Streams whose cosine to any real clickstream reaches {self.theta:g} were "
                f"{'drawn again' if self.redraw else 'left out'}. This is a similarity filter, not a privacy "
                "guarantee: it drops common streams and keeps rare ones, so that at 0.7 the probability of naming the "
                f"person behind a stream rose to {LINKAGE_FILTERED}."
            )
        return "\n\n".join(lines)

    def check_fit(self, data: Interactions) -> None:
        if data.time is None:
            raise RecveilError(f"{self.name} needs the order of clicks: a time column, and the data have none")
        if not np.any(np.bincount(data.user) > 1):
            raise RecveilError(f"{self.name} needs clickstreams of two clicks or more, and nobody has more than one")

    def count(self, chunk: Interactions) -> Clickstreams:
        rows = chunk.compact()
        sets = None if self.theta is None else rows.matrix(binary=True)
        return Clickstreams(transitions(rows), rows.keys("user"), np.diff(rows.starts("user")), sets)

    def plan(self, counts: Clickstreams, source: Source) -> Plan:
        none = np.empty(0)
        laws = kernels.walks.Laws(
            none if self.end == "uniform" else self._law("end").cumulated(counts.lengths),
            self._law("memory").cumulated(counts.lengths, MOST_MEMORY),
            self._law("hops").cumulated(counts.lengths),
            self.hops == "empirical",
        )
        real = None
        if counts.sets is not None:
            starts, items = counts.sets.indptr.astype(np.int64), counts.sets.indices.astype(np.int32)
            real = kernels.record_search.index(starts, items, len(counts.moves.items))
        people = source.generator().integers(len(counts.keys), size=self.k or len(counts.keys))
        streams = seeded_by(people, np.arange(len(people)))
        return Plan(counts.moves.items, walkable(counts.moves), np.sort(counts.keys), streams, laws, real)

    def mask(self, chunk: Interactions, plan: Plan, source: Source) -> Masked:
        rows, users, seeds = _seeds(chunk, plan)
        drawn = self._drawn(plan, seeds, *plan.streams.of(users), source)
        if plan.real is None or self.theta is None:
            return _masked(rows, plan.items, [drawn], {})
        near = kernels.record_search.reaches(
            plan.real, *kernels.distinct.distinct(drawn.starts, drawn.items), self.theta
        )
        kept, redrawn = [drawn.take(~near)], 0
        refused, owners = drawn.numbers[near], drawn.seed[near]
        for number in range(1, TRIES + 1 if self.redraw else 1):
            if not len(refused):
                break
            redrawn += len(refused)
            drawn = self._drawn(plan, seeds, owners, another(refused, number), source)
            near = kernels.record_search.reaches(
                plan.real, *kernels.distinct.distinct(drawn.starts, drawn.items), self.theta
            )
            kept.append(replace(drawn, numbers=refused).take(~near))
            refused, owners = refused[near], owners[near]
        notes = {"discarded": len(refused)} | ({"redrawn": redrawn} if self.redraw else {})
        return _masked(rows, plan.items, kept, notes)

    def redrawn(self, chunk: Interactions, plan: Plan, source: Source, streams: Seeded) -> Masked:
        """Streams of later tries (see `another`), as far as their people are in the chunk."""
        rows, users, seeds = _seeds(chunk, plan)
        return _masked(rows, plan.items, [self._drawn(plan, seeds, *streams.of(users), source)], {})

    def _drawn(
        self,
        plan: Plan,
        seeds: Seeds,
        who: NDArray[np.int64],
        numbers: NDArray[np.int64],
        source: Source,
    ) -> Streams:
        how = {"sliding": self.window == "sliding", "repeats": self.repeats}
        return memory_streams(plan.over, seeds, who, numbers, plan.laws, source, **how)

    def _law(self, name: str) -> LengthLaw:
        most = {"most": MOST_MEMORY} if name == "memory" else {}
        return law(getattr(self, name), f"{self.name}: parameter {name}", **most)


def seeded_by(people: NDArray[np.int64], numbers: NDArray[np.int64]) -> Seeded:
    order = np.argsort(people, kind="stable")
    return Seeded(people[order], numbers[order])


def another(numbers: NDArray[np.int64], number: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """The stream numbers of the given try of these streams."""
    return numbers + number * ANOTHER


def _seeds(chunk: Interactions, plan: Plan) -> tuple[Interactions, NDArray[np.int64], Seeds]:
    """The chunk's rows over the items of the plan, the places of its users among all, and their clickstreams."""
    rows = chunk.compact().over_items(plan.items)
    return rows, np.searchsorted(plan.keys, rows.keys("user")), Seeds(rows.starts("user"), rows.item)


def _masked(rows: Interactions, items: pl.Series, kept: list[Streams], notes: dict[str, int]) -> Masked:
    numbers = np.concatenate([s.numbers for s in kept])
    lengths = np.concatenate([np.diff(s.starts) for s in kept])
    order = np.argsort(numbers)
    name = np.empty(len(order), dtype=np.int32)
    name[order] = np.arange(len(order), dtype=np.int32)
    begins = np.cumsum(lengths) - lengths
    released = Interactions(
        np.repeat(name, lengths),
        np.concatenate([s.items for s in kept]),
        pl.Series(numbers[order]),
        items,
        time=np.arange(lengths.sum()) - np.repeat(begins, lengths) + 1,
        unit=rows.unit,
    )
    return Masked(released, rows.users.gather(np.concatenate([s.seed for s in kept])[order]), notes)


def _recoded(sets: Any, items: pl.Series, over: pl.Series) -> scipy.sparse.csr_array:
    if items is over or items.equals(over):
        return sets
    where = places(items, over)  # rising, so the columns stay sorted
    return scipy.sparse.csr_array((sets.data, where[sets.indices], sets.indptr), shape=(sets.shape[0], len(over)))
