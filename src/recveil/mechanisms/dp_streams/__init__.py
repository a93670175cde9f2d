"""dp-streams: synthetic clickstreams with a proof. Three noisy tables, and streams drawn from them alone.

Every person is a vector of length at most 1 in each table, however much she clicked: which items, which pairs of them
and how many, which item after which. Where no catalogue is given, items are selected within the budget.
docs/guarantees/dp_streams.md has the theorem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.dp.budget import cost, epsilon_of, rho_of, variance
from recveil.dp.noise import Law, draw, gaussian
from recveil.dp.vocabulary import select, threshold, threshold_of_sums
from recveil.errors import RecveilError
from recveil.guarantee import Guarantee, proved
from recveil.mechanism import Drawn, Lister, Probe, PublicInfo, Synthesis, Within, parameter
from recveil.mechanisms.dp_streams import carried, known, lists
from recveil.mechanisms.dp_streams.counting import (
    EDGES,
    MOST_OF_ONE,
    ONE_LENGTH,
    SESSIONS,
    UNIT,
    item_counts,
    listed_counts,
    table_counts,
)
from recveil.mechanisms.dp_streams.drawing import Numbers, StreamTables, draw_streams, expected, little
from recveil.mechanisms.dp_streams.model import drawn_tables, model_tables
from recveil.mechanisms.dp_streams.pairs import Listed, noisy_cells, pair_table
from recveil.randomness import Source

Ints = NDArray[np.int64]

SHARES: dict[str, tuple[float, ...]] = {"transitions": (0.10, 0.75, 0.15), "none": (0.10, 0.90)}
FOR_SESSIONS = 0.03  # of the share of pairs: how many sessions people have
MOST_ITEMS = {"transitions": 4096, "none": 65536}
DENSE = 8192  # items up to which all pairs are published; of more, only the pairs above a threshold
FEWEST_ITEMS = 10


@dataclass(frozen=True)
class DpStreams(Synthesis):
    """Differentially private synthetic clickstreams, at the level of whole users."""

    name = "dp-streams"
    best_for = "lists"
    strength = ("epsilon", (0.25, 0.5, 1.0, 2.0, 4.0, 8.0))
    purpose = (
        "For publication: synthetic people drawn from noisy statistics, with a proof per person. The more "
        "people, the less the noise hurts."
    )
    kinds = ("clicks", "sessions", "ratings")
    example_parameters = "epsilon=4,delta=1e-6"
    learned_from = "tables"
    rounds = 2
    drawing = ("k",)
    reads_sessions = True
    reads_features = True
    takes_many = True
    carries = True
    most_of_one = MOST_OF_ONE
    fewest_items = FEWEST_ITEMS

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

    def with_declared(self, data: Interactions) -> DpStreams:
        """Ratings without times have no order, not even that of a file: nothing is spent on one."""
        return replace(self, order="none") if data.kind == "ratings" and data.time is None else self

    def knows(self, public: PublicInfo) -> bool:
        """Whether facts of the items of a public catalogue are public, too."""
        return public.catalogue and public.features is not None and public.features.tells

    def _known_shares(self, public: PublicInfo) -> dict[str, float]:
        return known.shares(len(public.items), self.epsilon, self.order == "transitions", public.sessions)

    def rounds_for(self, public: PublicInfo) -> int:
        return 3 if self.knows(public) else self.rounds

    def selects(self, public: PublicInfo) -> tuple[str, ...]:
        return () if public.catalogue else ("items",)

    def selection_delta(self, public: PublicInfo) -> float:
        """The part of delta that pays for the selection of items: half of it, unless a catalogue is given."""
        return self.delta / 2 if self.selects(public) else 0.0

    def variances(self, public: PublicInfo) -> list[int]:
        """Of the noise in each table, in squared units; rounded up, so what is spent is at most the budget."""
        rho = rho_of(self.epsilon, self.delta - self.selection_delta(public))
        shares = (SHARES if public.earlier is None else carried.SHARES)[self.order]
        if public.sessions:
            shares = (shares[0], shares[1] - FOR_SESSIONS, *shares[2:], FOR_SESSIONS)
        found = [variance(UNIT, share * rho) for share in shares]
        if max(found) > 2**60:
            raise RecveilError(f"{self.name}: epsilon {self.epsilon:g} is too small: the noise exceeds 64-bit integers")
        return found

    def laws(self, public: PublicInfo) -> dict[str, Law]:
        """The noise of each table; lengths and pairs are one table."""
        if self.knows(public):
            return known.laws(rho_of(self.epsilon, self.delta), self._known_shares(public))
        found = [gaussian(v) for v in self.variances(public)]
        names = ["items", "pairs", *["transitions"] * (self.order == "transitions"), *["sessions"] * public.sessions]
        return dict(zip(names, found, strict=True)) | {"lengths": found[1]}

    def people_of_an_item(self, public: PublicInfo, items_each: float) -> float | None:
        return float(
            self._above(public) / UNIT * items_each**0.5
        )  # a person with t items counts with 1 / sqrt(t) for each

    def _above(self, public: PublicInfo) -> int:
        """What the noisy count of an item must exceed to be selected."""
        find = threshold_of_sums if public.sessions else threshold
        return find(gaussian(self.variances(public)[0]), self.selection_delta(public), UNIT, MOST_OF_ONE)

    def probe(self, data: Interactions, inside: NDArray[np.bool_], rng: np.random.Generator) -> Probe:
        from recveil.mechanisms.dp_streams.probe import probe

        return probe(self, data, inside, rng)

    def rho(self, public: PublicInfo) -> float:
        """The budget that the noise actually costs."""
        if self.knows(public):
            return known.spent(self.laws(public), self._known_shares(public))
        return sum(cost(UNIT, v) for v in self.variances(public))

    def spent(self, public: PublicInfo) -> float:
        """The same as epsilon; never above the one asked for."""
        return epsilon_of(self.rho(public), self.delta - self.selection_delta(public))

    def guarantee(self, public: PublicInfo) -> Guarantee:
        return proved(
            f"any one {public.unit}" + " with all her sessions" * public.sessions,
            public.unit,
            "the file of items" if self.knows(public) else "the catalogue of items" if public.catalogue else None,
            "docs/guarantees/dp_streams.md",
            epsilon=self.epsilon,
            delta=self.delta,
            rho=self.rho(public),
            rho_fails=self.selection_delta(public),
        )

    def card(self) -> str:
        order = "the order of clicks" if self.order == "transitions" else "no order"
        return (
            "No row of this release was ever a row of the data. Noisy tables were made of how often items occur, how "
            f"often they occur together, how long streams are, and {order}; every person counts at most as much as any "
            "other in each of them. New streams were drawn from these tables alone. Where a file of items is public "
            "and tells anything of people, its features are a space in which people were placed, or directions in "
            "which pairs were sought where a few items hold most of what people have, and every item of the file can "
            "occur (rare ones by chance then); else only items that stand out of the noise are kept. Heavy "
            "users weigh less than in the data, recommendations are less diverse, and ratings, times and anything "
            "beyond pairs of items are not reproduced."
        )

    def count(self, chunk: Interactions, published: tuple[Any, ...], public: PublicInfo) -> Any:
        if self.knows(public):
            used = len(published) > 1 and known.uses_space(published, self.laws(public))
            return known.count(chunk, published, public, self.order == "transitions", used)
        if not published:
            return item_counts(chunk, public.sessions, bool(self.selects(public)))
        kept = self.kept(published, public)
        keep = np.full(chunk.n_items, -1, dtype=np.int32)
        keep[kept] = np.arange(len(kept), dtype=np.int32)
        if len(kept) > DENSE:
            return listed_counts(chunk, keep, len(kept))
        return table_counts(chunk, keep, len(kept), self.order == "transitions", public.sessions)

    def _learned(self, published: tuple[Any, ...], public: PublicInfo) -> dict[str, Any]:
        """What the rounds that follow must know: a function of noisy tables and public facts alone."""
        return known.learned(published[0], public, self.laws(public)) if len(published) == 1 else {}

    def publish(self, counts: Any, published: tuple[Any, ...], public: PublicInfo, source: Source) -> dict[str, Any]:
        if self.knows(public):
            return known.publish(counts, published, public, self.laws(public), source)
        variances = self.variances(public)
        if not published:
            law = gaussian(variances[0])
            if self.selects(public):
                return {"items": select("items", counts, law, self._above(public), self.most_items(public), source)}
            found = {"items": counts + draw(law, len(counts), source)}
            return found if public.earlier is None else carried.with_items(found, public, variances[0])
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
        if counts.sessions is not None:
            law = gaussian(variances[-1])
            tables["sessions"] = counts.sessions + draw(law, len(SESSIONS), source.derive("sessions"))
        if carried.is_carried(published):
            laws = {name: int(self.laws(public)[name].size) for name in tables}
            return carried.with_tables(tables, self.kept(published, public), published[0], public, laws)
        return tables

    def most_items(self, public: PublicInfo) -> int:
        """How many items are kept at most; pairs of people with sessions are not listed one by one."""
        return min(MOST_ITEMS[self.order], DENSE) if public.sessions else MOST_ITEMS[self.order]

    def kept(self, published: tuple[Any, ...], public: PublicInfo) -> Ints:
        """The items that the tables are about: those selected, or those of the catalogue that stand out of the noise.

        Fewer than one of the catalogue does so by chance. A function of noisy counts alone.
        """
        if carried.is_carried(published):
            return carried.kept(published[0], public)
        items: Ints = published[0]["items"]
        if self.selects(public):
            kept = np.arange(len(items))
            help_ = "more people, a larger epsilon, or a public list of items (--catalogue) would help"
        else:
            sigma = float(np.sqrt(self.variances(public)[0]))
            kept, help_ = self._outstanding(items, sigma, self.most_items(public))
        if len(kept) < FEWEST_ITEMS:
            raise RecveilError(
                f"dp-streams: too few items stand out of the noise at epsilon {self.epsilon:g} ({len(kept)}, and "
                f"{FEWEST_ITEMS} are needed): {help_}"
            )
        return kept

    def paired(self, published: tuple[Any, ...], public: PublicInfo) -> Ints:
        """The items of which pairs are counted in the last round."""
        if not self.knows(public):
            return self.kept(published, public)
        return known.paired(published, known.uses_space(published, self.laws(public)))

    def _outstanding(self, items: Ints, sigma: float, most: int) -> tuple[Ints, str]:
        """The items of a catalogue above the largest of as many noises; and, were they too few, what would help."""
        from scipy.special import ndtri

        if len(items) < FEWEST_ITEMS:
            raise RecveilError(
                f"dp-streams: the catalogue has too few items ({len(items)}, and {FEWEST_ITEMS} are needed)"
            )
        threshold = float(ndtri(1 - 1 / len(items))) * sigma
        order = np.argsort(-items, kind="stable")
        kept = order[:most]
        luck = max(float(ndtri(1 - FEWEST_ITEMS / len(items))), 0.0) * sigma  # what noise alone lifts so high
        at = float(items[order[FEWEST_ITEMS - 1]]) - luck
        more = f"about {max(threshold / at, 1.1):.1f} times" if at > threshold / 50 else "more than 50 times"
        help_ = f"that would take {more} as many people, or as large an epsilon"
        return np.sort(kept[items[kept] > threshold]), help_

    def list_maker(self, published: tuple[Any, ...], public: PublicInfo, items: Any, n: int) -> Lister:
        return lists.maker(self.tables(published, public), items, n)

    def tables(self, published: tuple[Any, ...], public: PublicInfo) -> StreamTables:
        """The published statistics in units of one person, with the deviations of their noise."""
        if self.knows(public):
            return known.tables(published, public, self.laws(public), self.order == "transitions")
        if carried.is_carried(published):
            return carried.tables(published)
        m = len(kept := self.kept(published, public))
        sigmas = [float(np.sqrt(v)) / UNIT for v in self.variances(public)]
        moves, many = published[1].get("transitions"), published[1].get("sessions")
        return StreamTables(
            kept, published[0]["items"][kept] / UNIT, pair_table(published[1], m, self.variances(public)[1], UNIT),
            published[1]["lengths"] / UNIT, None if moves is None else moves.reshape(m, m) / UNIT, sigmas[1],
            sigmas[2] if moves is not None else 0.0, EDGES, ONE_LENGTH,
            None if many is None else Numbers(many / UNIT, sigmas[-1], SESSIONS),
        )  # fmt: skip

    def draw(self, published: tuple[Any, ...], public: PublicInfo, source: Source) -> Drawn:
        k, tables = None if self.k == "auto" else int(self.k), self.tables(published, public)
        pairs = expected(tables)
        rows = draw_streams(tables, public, k, source, pairs=pairs)
        if tables.known is not None:
            return Drawn(rows, model_tables(tables, pairs, public))
        if tables.beside is not None and tables.beside.have is not None:
            return Drawn(rows, drawn_tables(rows, tables, pairs, public))
        return Drawn(rows, notes=little(len(tables.kept), public))
