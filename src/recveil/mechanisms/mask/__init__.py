"""mask: every bit of the user-item matrix kept with probability p and flipped otherwise (MASK, randomised response)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.data import Interactions, concat
from recveil.errors import RecveilError
from recveil.guarantee import MOST_EPSILON, NEIGHBOURS, Guarantee, nothing, strength
from recveil.mechanism import Masked, Masking, Mechanism, Probe, PublicInfo, Within, parameter
from recveil.mechanisms.mask.choose_p import best_p
from recveil.randomness import Source, source
from recveil.views.bits import Columns, empty

_UNIT = 2**32  # p is a multiple of 1 / 2^32, so that flips can be drawn exactly
_SAMPLE = 16_000  # users on whose subsamples p is chosen
_SLAB = 1 << 24  # words of bits held at a time while rows are written
_MOST_ROWS = 400_000_000
MOST_P = 0.99  # above it the promise means little


@dataclass(frozen=True)
class Sample:
    """The profiles of the users whose hashed keys are smallest; adds with `+`."""

    data: Interactions

    def __add__(self, other: Sample) -> Sample:
        return _sample(concat([self.data.compact(), other.data.compact()]).over_items(self.data.items))


@dataclass(frozen=True)
class Mask(Masking):
    """Who has which item, each bit flipped with probability 1 - p, once. Ratings, times and tags are not released."""

    name = "mask"
    to_begin_with = True
    strength = ("p", (0.6, 0.7, 0.8, 0.9, 0.95, 0.99))
    purpose = (
        "For outsiders who train on who has what: every bit of a profile is flipped with a stated "
        "probability. Single bits are protected, with a proof; whole profiles are not."
    )
    learned_from = "bits"
    tuned_by = "ratio"
    ordered = False
    dense = True
    everyone = True

    p: float | str = parameter("auto", about="the probability to keep a bit, in (0.5, 1); auto: chosen on the data")
    tuned: bool = parameter(False, about="whether p was chosen by looking at the data")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p == "auto":
            return
        if isinstance(self.p, str) or self.p not in Within(0.5, 1, open_low=True, open_high=True):
            singular = "; at 0.5 every bit is a coin toss and nothing can be reconstructed" if self.p == 0.5 else ""
            raise RecveilError(f"mask: parameter p must be in (0.5, 1) or auto, not {self.p}{singular}")
        if not 0 < flips(self.p) < _UNIT // 2:
            raise RecveilError(
                f"mask: parameter p is a multiple of 2^-32 inside (0.5, 1), and {self.p!r} rounds out of it"
            )

    @property
    def kept_bits(self) -> float | None:
        return None if isinstance(self.p, str) else self.p

    def guarantee(self, public: PublicInfo) -> Guarantee:
        if isinstance(self.p, str):
            return nothing("p is chosen on the data at the moment of release; the release names it and what it means.")
        epsilon = bit_epsilon(self.p)
        items, total = len(public.items), epsilon * len(public.items)
        whole = (
            f"whether a person has a given item is protected ({strength(epsilon)}); her whole profile over {items:,} "
            f"item{'s' * (items != 1)} only with "
            + (f"{total:,.0f}, which promises nothing" if total > MOST_EPSILON else f"{total:.3g}")
        )
        weakness = f"p = {self.p:g} leaves nearly every bit as it was" if self.p > MOST_P else None
        if self.tuned:
            return nothing(
                f"For p = {self.p:g} taken as given, {whole}. But p was chosen by looking at the true data and is "
                "published with them, and no proof covers that choice; for a proved guarantee choose p elsewhere.",
                weakness,
            )
        return Guarantee(
            sentence=f"Each bit by itself: {whole}.",
            status="proved",
            epsilon=epsilon,
            unit="bit",
            neighbours=NEIGHBOURS["bit"],
            given="who is in the data, and the catalogue"
            if public.catalogue
            else "who is in the data, and the list of items that anybody in them has",
            proof="docs/guarantees/mask.md",
            weakness=weakness,
        )

    def card(self) -> str:
        p = "p" if isinstance(self.p, str) else f"{self.p:g}"
        return (
            "Who is in the data is taken to be public, and so is the list of items, or where none was given the set of "
            "those that anybody has. For every person and every item it is recorded whether she has it. Each of these "
            "bits was kept with "
            f"probability p = {p} and flipped otherwise, once. So most of the rows of a sparse data set are invented, "
            "and supports must be reconstructed (recveil's documentation has the formulas). Single bits can be denied; "
            "but an attacker who knows how popular items are can guess most of the true ones of popular items, and a "
            "profile as a whole is as unique as before. Ratings, times and tags were dropped."
        )

    def count(self, chunk: Interactions) -> Sample | None:
        return _sample(chunk) if self.p == "auto" else None

    def plan(self, counts: Sample | None, source: Source) -> float:
        if counts is None:
            assert not isinstance(self.p, str)
            return self.p
        return best_p(counts.data, source)

    def invented_rows(self, people: int, items: int) -> int:
        """Flipped bits; p, where it is chosen, flips about one in a hundred."""
        flipped = 0.01 if isinstance(self.p, str) else 1 - self.p
        return int(people * items * flipped)

    def choosing_seconds(self, data: Interactions) -> float:
        """A minute, rounded up, for several thousand people and items; more are drawn from."""
        return 60.0 * min(1.0, data.n_users / 8000) * min(1.0, data.n_items / 4000) ** 2 * (self.p == "auto")

    def with_parameters(self, plan: float) -> Mask:
        return replace(self, p=plan, tuned=True) if self.p == "auto" else self

    def probe(self, data: Interactions, inside: NDArray[np.bool_], rng: np.random.Generator) -> Probe:
        from recveil.mechanisms.mask.probe import probe

        return probe(data, inside)

    def seen_through(self, watch: Any) -> Mechanism:
        from recveil.mechanisms.mask.probe import seen_through

        return self if isinstance(self.p, str) else seen_through(self, watch)

    def mask(self, chunk: Interactions, plan: float, source: Source) -> Masked:
        from recveil.kernels.bits import unpack
        from recveil.kernels.flips import flip_profiles, skip_table

        table, key = skip_table(flips(plan)), source.key()
        people, starts, items, keys = _profiles(chunk)
        m = chunk.n_items
        expected = len(people) * m * (1 - plan)
        if expected > _MOST_ROWS:
            raise RecveilError(
                f"mask would release {expected:,.0f} rows ({len(people):,} users x {m:,} items x {1 - plan:.3g}); "
                "give fewer items with --catalogue, or a larger p"
            )
        found = [unpack(flip_profiles(starts[a : b + 1], items, keys[a:b], m, *table, key)) for a, b in _slabs(keys, m)]
        lengths = np.concatenate([np.diff(s) for s, _ in found])
        rows = Interactions(
            np.repeat(people, lengths), np.concatenate([i for _, i in found]), chunk.users, chunk.items, unit=chunk.unit
        )
        return Masked(rows, chunk.users, {"people": len(people), "left_with_nothing": int((lengths == 0).sum())})


def flips(p: float) -> int:
    """(1 - p) 2^32, rounded: the flips are drawn with exactly this over 2^32."""
    return round((1 - p) * _UNIT)


def bit_epsilon(p: float) -> float:
    """ln(p / (1 - p)) for the p that is really used, rounded up."""
    k = flips(p)
    return math.log1p((_UNIT - 2 * k) / k) * (1 + 1e-15)  # log1p: near 1/2 a quotient near 1 has lost what matters


def perturb(
    data: Interactions, mechanism: Mask, seed: int | None = None, everyone: bool = False
) -> tuple[Columns, Mask]:
    """The bits that release(data, mechanism, seed=seed) releases, packed by item, and the mechanism with its p.

    Users stand in the order of data.users (those who have a row, or `everyone`: who is in the data is public, whether
    or not she has an item), items are data.items, whether or not anybody has them. For matrices whose rows would not
    fit in memory.
    """
    chance = source(seed).derive(mechanism.name)
    if not everyone:
        data = data.among(np.bincount(data.user, minlength=data.n_users) > 0)
    counts = mechanism.count(data.ordered()) if mechanism.p == "auto" else None
    plan = mechanism.plan(counts, chance.derive("plan"))
    return flipped(data.ordered(), plan, chance.derive("mask")), mechanism.with_parameters(plan)


def flipped(data: Interactions, plan: float, source: Source) -> Columns:
    """The bits of data whose rows stand by user, each kept with probability `plan`."""
    from recveil.kernels.flips import flip_columns, skip_table

    people, starts, items, keys = _profiles(data)
    bits = empty(data.n_items, len(people))
    flip_columns(starts, items, keys, data.n_items, *skip_table(flips(plan)), source.key(), bits)
    return Columns(bits, len(people), data.items)


def _profiles(
    data: Interactions,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.uint64]]:
    """Everybody; where their rows start; their items; the keys of their streams. Rows must stand by user."""
    return np.arange(data.n_users, dtype=np.int32), data.starts("user"), data.item, data.keys("user")


def _slabs(keys: NDArray[Any], m: int) -> Iterator[tuple[int, int]]:
    step = max(1, _SLAB // -(-m // 64))
    for begin in range(0, len(keys), step):
        yield begin, min(len(keys), begin + step)


def _sample(data: Interactions) -> Sample:
    """At most _SAMPLE users, by a hash of their keys: the same ones however the data were cut into chunks."""
    present = np.bincount(data.user, minlength=data.n_users) > 0
    hashed = _mixed(data.keys("user"))
    hashed = np.where(present, hashed, np.iinfo(np.uint64).max)
    first = np.argsort(hashed, kind="stable")[: min(_SAMPLE, int(present.sum()))]
    return Sample(data.take_users(first).ordered())


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64: a bijection that is the same in every version of every library."""
    x = keys ^ (keys >> np.uint64(30))
    x = x * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed
