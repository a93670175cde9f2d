"""dp-streams: synthetic clickstreams with a proof. Three noisy tables, and streams drawn from them alone.

Every person is a vector of length at most 1 in each table, however much she clicked: which items, which pairs of them
and how many, which item after which. Where no catalogue is given, items are selected within the budget.
docs/guarantees/dp_streams.md has the theorem.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.dp.budget import epsilon_of, rho_of, variance
from recveil.dp.noise import Law, draw, gaussian
from recveil.dp.vocabulary import select, threshold
from recveil.errors import RecveilError
from recveil.guarantee import NEIGHBOURS, Guarantee, strength
from recveil.kernels.baskets import count_items, count_pairs, list_pairs
from recveil.mechanism import Drawn, Public, Synthesis, Within, parameter
from recveil.mechanisms.dp_streams.drawing import Tables, draw_streams
from recveil.mechanisms.dp_streams.pairs import Above, Listed, cut, listed, noisy_cells
from recveil.randomness import Source
from recveil.views.contributions import at_most

Ints = NDArray[np.int64]

UNIT = 2**16  # the L2 norm of one person in integer tables; weights are rounded down
PAIRS = 19 * UNIT**2 // 20  # of the squared norm of pairs and lengths together
EDGES = np.array([*range(2, 11), 12, 14, 17, 20, 24, 29, 35, 42, 50, 60, 75, 100, 150, 200, 300, 500])  # fmt: skip
SHARES = {"transitions": (0.10, 0.75, 0.15), "none": (0.10, 0.90)}
MOST_ITEMS = {"transitions": 4096, "none": 65536}
DENSE = 8192  # items up to which all pairs are published; of more, only the pairs above a threshold
FEWEST_ITEMS = 10
MOST_OF_ONE = 500  # items with which one person counts where items are selected, and of which she has pairs in a list
_CELLS = 2**27  # of listed pairs that are held at a time, about


@dataclass(frozen=True)
class Counts:
    """The second round's tables; they add with `+`."""

    pairs: Ints
    lengths: Ints
    transitions: Ints

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.pairs + other.pairs, self.lengths + other.lengths, self.transitions + other.transitions
        )  # fmt: skip


@dataclass(frozen=True)
class DpStreams(Synthesis):
    """Differentially private synthetic clickstreams, at the level of whole users."""

    name = "dp-streams"
    strength = ("epsilon", (0.25, 0.5, 1.0, 2.0, 4.0, 8.0))
    purpose = (
        "For publication: synthetic people drawn from noisy statistics, with a proof per person. The more "
        "people, the less the noise hurts."
    )
    kinds = ("clicks", "sessions", "ratings")
    first_look = "epsilon=4,delta=1e-6"
    learned_from = "tables"
    rounds = 2
    drawing = ("k",)

    epsilon: float = parameter(about="the privacy budget: 1 is strong, 4 moderate", rule=Within(0, 100, open_low=True))
    delta: float = parameter(
        about="the chance that the promise fails; well below one over the number of people",
        rule=Within(0, 0.1, open_low=True),
    )
    k: int | str = parameter(
        "auto",
        about="how many streams to draw; it is published, so never the true number of people; auto: the noisy one",
    )
    order: str = parameter(
        "transitions", about="whether to spend budget on the order of clicks", rule=("transitions", "none")
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k != "auto" and not (isinstance(self.k, int) and self.k >= 1):
            raise RecveilError(f"{self.name}: parameter k must be auto or a whole number >= 1, not {self.k}")

    def selects(self, public: Public) -> tuple[str, ...]:
        return () if public.catalogue else ("items",)

    def selection_delta(self, public: Public) -> float:
        """The part of delta that pays for the selection of items: half of it, unless a catalogue is given."""
        return self.delta / 2 if self.selects(public) else 0.0

    def variances(self, public: Public) -> list[int]:
        """Of the noise in each table, in squared units; rounded up, so what is spent is at most the budget."""
        rho = rho_of(self.epsilon, self.delta - self.selection_delta(public))
        found = [variance(UNIT, share * rho) for share in SHARES[self.order]]
        if max(found) > 2**60:
            raise RecveilError(f"{self.name}: epsilon {self.epsilon:g} is too small: the noise exceeds 64-bit integers")
        return found

    def laws(self, public: Public) -> dict[str, Law]:
        """The noise of each table; lengths and pairs are one table."""
        found = [gaussian(v) for v in self.variances(public)]
        return dict(zip(("items", "pairs", "transitions"), found, strict=False)) | {"lengths": found[1]}

    def rho(self, public: Public) -> float:
        """What the noise actually costs, as zCDP."""
        return sum(UNIT**2 / (2 * v) for v in self.variances(public))

    def spent(self, public: Public) -> float:
        """The same as epsilon; never above the one asked for."""
        return epsilon_of(self.rho(public), self.delta - self.selection_delta(public))

    def guarantee(self, public: Public) -> Guarantee:
        unit = public.unit
        known = "the catalogue of items" if public.catalogue else None
        given = f", given that {known} is public" if known else ""
        sessions = " A person with several sessions is protected less: epsilon grows with each." * (unit == "session")
        return Guarantee(
            f"Whoever sees the release learns almost the same whether or not any one {unit} was in the data "
            f"({strength(self.epsilon, self.delta)}){given}.{sessions}",
            status="proved",
            epsilon=self.epsilon,
            delta=self.delta,
            rho=self.rho(public),
            rho_fails=self.selection_delta(public),
            unit=unit,
            neighbours=NEIGHBOURS[unit],
            given=known,
            proof="docs/guarantees/dp_streams.md",
        )

    def card(self) -> str:
        order = "the order of clicks" if self.order == "transitions" else "no order"
        return (
            "No row of this release was ever a row of the data. Noisy tables were made of how often items occur, how "
            f"often they occur together, how long streams are, and {order}; every person counts at most as much as any "
            "other in each of them. New streams were drawn from these tables alone. Rare items are missing: only items "
            "that stand out of the noise are kept. Heavy users weigh less than in the data, recommendations are less "
            "diverse, and ratings, times and anything beyond pairs of items are not reproduced."
        )

    def count(self, chunk: Interactions, published: tuple[Any, ...], public: Public) -> Any:
        if not published:
            if self.selects(public):
                chunk = at_most(chunk, MOST_OF_ONE)
            return count_items(chunk.starts(), chunk.item, chunk.n_items, UNIT)
        kept = self.kept(published, public)
        keep = np.full(chunk.n_items, -1, dtype=np.int32)
        keep[kept] = np.arange(len(kept), dtype=np.int32)
        shares = (PAIRS, UNIT**2 - PAIRS)
        if len(kept) > DENSE:
            return list_chunk(chunk, keep, len(kept), shares)
        ordered = self.order == "transitions"
        return Counts(*count_pairs(chunk.starts(), chunk.item, keep, len(kept), EDGES, *shares, UNIT, ordered))

    def publish(self, counts: Any, published: tuple[Any, ...], public: Public, source: Source) -> dict[str, Any]:
        variances = self.variances(public)
        if not published:
            law = gaussian(variances[0])
            if self.selects(public):
                above = threshold(law, self.selection_delta(public), UNIT, MOST_OF_ONE)
                return {"items": select("items", counts, law, above, MOST_ITEMS[self.order], source)}
            return {"items": counts + draw(law, len(counts), source)}
        if isinstance(counts, Listed):
            lengths = counts.lengths + draw(gaussian(variances[1]), len(EDGES), source.derive("lengths"))
            m = len(self.kept(published, public))
            cells, values = noisy_cells(counts, m, variances[1], source.derive("pairs"))
            return {"lengths": lengths, "cells": cells, "values": values}
        together = np.concatenate([counts.lengths, counts.pairs])
        noisy = together + draw(gaussian(variances[1]), len(together), source.derive("pairs"))
        tables = {"lengths": noisy[: len(EDGES)], "pairs": noisy[len(EDGES) :]}
        if self.order == "transitions":
            law = gaussian(variances[2])
            tables["transitions"] = counts.transitions + draw(law, counts.transitions.size, source.derive("order"))
        return tables

    def kept(self, published: tuple[Any, ...], public: Public) -> Ints:
        """The items that the tables are about: those selected, or those of the catalogue that stand out of the noise.

        Fewer than one of the catalogue does so by chance. A function of noisy counts alone.
        """
        items: Ints = published[0]["items"]
        if self.selects(public):
            kept = np.arange(len(items))
            help_ = "more people, a larger epsilon, or a public list of items (--catalogue) would help"
        else:
            kept, help_ = self._outstanding(items, float(np.sqrt(self.variances(public)[0])))
        if len(kept) < FEWEST_ITEMS:
            raise RecveilError(
                f"dp-streams: only {len(kept)} items stand out of the noise at epsilon {self.epsilon:g}, and "
                f"{FEWEST_ITEMS} are needed: {help_}"
            )
        return kept

    def _outstanding(self, items: Ints, sigma: float) -> tuple[Ints, str]:
        """The items of a catalogue above the largest of as many noises; and, were they too few, what would help."""
        from scipy.special import ndtri

        if len(items) < FEWEST_ITEMS:
            raise RecveilError(f"dp-streams: the catalogue has {len(items)} items, and {FEWEST_ITEMS} are needed")
        threshold = float(ndtri(1 - 1 / len(items))) * sigma
        order = np.argsort(-items, kind="stable")
        kept = order[: MOST_ITEMS[self.order]]
        luck = max(float(ndtri(1 - FEWEST_ITEMS / len(items))), 0.0) * sigma  # what noise alone lifts so high
        at = float(items[order[FEWEST_ITEMS - 1]]) - luck
        more = f"about {max(threshold / at, 1.1):.1f} times" if at > threshold / 50 else "more than 50 times"
        help_ = f"that would take {more} as many people, or as large an epsilon"
        return np.sort(kept[items[kept] > threshold]), help_

    def tables(self, published: tuple[Any, ...], public: Public) -> Tables:
        """The published statistics in units of one person, with the deviations of their noise."""
        kept = self.kept(published, public)
        m = len(kept)
        sigmas = [float(np.sqrt(v)) / UNIT for v in self.variances(public)]
        moves = published[1].get("transitions")
        return Tables(
            kept,
            published[0]["items"][kept] / UNIT,
            pair_table(published[1], m, self.variances(public)[1]),
            published[1]["lengths"] / UNIT,
            None if moves is None else moves.reshape(m, m) / UNIT,
            sigmas[1],
            sigmas[-1],
            EDGES,
            float(np.sqrt(1 - PAIRS / UNIT**2)),
        )

    def draw(self, published: tuple[Any, ...], public: Public, source: Source) -> Drawn:
        k = None if self.k == "auto" else int(self.k)
        return Drawn(draw_streams(self.tables(published, public), public, k, source))


def list_chunk(chunk: Interactions, keep: NDArray[np.int32], m: int, shares: tuple[int, int]) -> Listed:
    """The pairs of a chunk one by one, some people at a time: memory depends on a constant, not on the busiest."""
    rows = at_most(chunk.take(keep[chunk.item] >= 0), MOST_OF_ONE)
    longest = int(np.diff(rows.starts()).max(initial=1))
    parts = rows.chunks("user", max(1, _CELLS // longest)) if len(rows) else iter([rows])
    return reduce(add, (listed(*list_pairs(p.starts(), p.item, keep, m, EDGES, *shares)) for p in parts))


def pair_table(second: dict[str, Ints], m: int, variance: int) -> NDArray[np.float64] | Above:
    """The published pairs in units of one person: all of them, or of very many items those above a threshold."""
    if m > DENSE:
        return Above(second["cells"], second["values"] / UNIT, cut(m, variance) / UNIT)
    G = np.zeros((m, m))
    G[np.triu_indices(m, 1)] = second["pairs"] / UNIT
    return G + G.T
