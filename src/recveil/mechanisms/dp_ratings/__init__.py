"""dp-ratings: synthetic ratings with a proof. Ten noisy tables in three rounds, and people drawn from them alone.

Every person is a vector of length at most 1 in each table, however much she rated: what she has, how she rates it above
her own mean, pairs of both, and where she stands in the directions that the earlier tables showed.
docs/guarantees/dp_ratings.md has the theorem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import Interactions
from recveil.dp.budget import cost, epsilon_of, rho_of, variance
from recveil.dp.noise import Law, draw, gaussian
from recveil.dp.vocabulary import Selected, select, threshold
from recveil.errors import RecveilError
from recveil.guarantee import Guarantee, proved
from recveil.mechanism import Drawn, Lister, Probe, PublicInfo, Sums, Synthesis, Within, parameter
from recveil.mechanisms.dp_ratings import lists
from recveil.mechanisms.dp_ratings.directions import directions, tastes
from recveil.mechanisms.dp_ratings.drawing import RatingTables, direct, draw_people
from recveil.mechanisms.dp_ratings.effects import MOST_EFFECT, effects, popularity
from recveil.mechanisms.dp_ratings.features import feature_matrix
from recveil.mechanisms.dp_ratings.people import HEIGHTS, LENGTHS, SPREADS
from recveil.mechanisms.dp_ratings.scale import BY_TYPE, UNTOLD, Scale, scale
from recveil.randomness import Source
from recveil.views.contributions import at_most

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

UNIT = 2**16  # the L2 norm of one person in integer tables
SHARES = {  # of the budget, in thousandths
    "have": 100, "like": 170,
    "rest": 120, "pairs": 220, "products": 80, "lengths": 20, "profiles": 15, "levels": 5,
    "loadings": 150, "tastes": 120,
}  # fmt: skip
MOST_PAIRED, FEWEST_ITEMS, TOP = 4096, 10, 100
MOST_OF_ONE = 500  # items with which one person counts in the first round where items are selected


@dataclass(frozen=True)
class DpRatings(Synthesis):
    """Differentially private synthetic ratings, at the level of whole users."""

    name = "dp-ratings"
    best_for = "ratings"
    purpose = (
        "For publication of ratings: synthetic people drawn from noisy statistics, with a proof per person. Rating "
        "algorithms can be compared and trained on it; the more people, the less the noise hurts."
    )
    needs = ("rating",)
    kinds = ("ratings",)
    example_parameters = "epsilon=4,delta=1e-6,scale=1..5"
    learned_from = "tables"
    reads_features = True
    keeps = ("skill",)
    strength = ("epsilon", (0.25, 0.5, 1.0, 2.0, 4.0, 8.0))
    takes_many = True
    most_of_one, fewest_items = MOST_OF_ONE, FEWEST_ITEMS
    rounds = 3
    drawing = ("k",)

    epsilon: float = parameter(about="the privacy budget: 1 is strong, 4 moderate", rule=Within(0, 100, open_low=True))
    delta: float = parameter(
        about="the chance that the promise fails; well below one over the number of people",
        rule=Within(0, 0.1, open_low=True),
    )
    scale: str = parameter(
        BY_TYPE,
        about="the public scale of ratings, such as 1..5, 0.5..5/0.5 or (1,2,3,4,5); type: that of a column which is "
        "Boolean or an Enum of numbers",
    )
    k: int | str = parameter("auto", about="how many people to draw; auto: about as many as there were")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale != BY_TYPE:
            scale(self.scale)
        if self.k != "auto" and not (isinstance(self.k, int) and self.k >= 1):
            raise RecveilError(f"{self.name}: parameter k must be auto or a whole number >= 1, not {self.k}")

    @property
    def levels(self) -> Scale:
        """The public scale."""
        if self.scale == BY_TYPE:
            raise RecveilError(UNTOLD)
        return scale(self.scale)

    def check_fit(self, data: Interactions) -> None:
        super().check_fit(data)
        if self.scale == BY_TYPE and data.levels is None:
            raise RecveilError(UNTOLD)

    def with_declared(self, data: Interactions) -> DpRatings:
        levels = ",".join(f"{level:g}" for level in data.levels or ())
        return replace(self, scale=f"({levels})") if self.scale == BY_TYPE else self

    def declared_levels(self, data: Interactions) -> tuple[float, ...] | None:
        return data.levels if self.scale == BY_TYPE else self.levels.levels

    def selects(self, public: PublicInfo) -> tuple[str, ...]:
        return () if public.catalogue else ("items",)

    def selection_delta(self, public: PublicInfo) -> float:
        """The part of delta that pays for the selection of items: half of it, unless a catalogue is given."""
        return self.delta / 2 if self.selects(public) else 0.0

    def variances(self, public: PublicInfo) -> dict[str, int]:
        """Of the noise in each table, in squared units; rounded up, so what is spent is at most the budget."""
        rho = rho_of(self.epsilon, self.delta - self.selection_delta(public))
        found = {name: variance(UNIT, share / 1000 * rho) for name, share in SHARES.items()}
        if max(found.values()) > 2**60:
            raise RecveilError(f"{self.name}: epsilon {self.epsilon:g} is too small: the noise exceeds 64-bit integers")
        return found

    def laws(self, public: PublicInfo) -> dict[str, Law]:
        """The noise of each table."""
        return {name: gaussian(v) for name, v in self.variances(public).items()}

    def people_of_an_item(self, public: PublicInfo, items_each: float) -> float | None:
        return float(self._above(public) / UNIT * items_each**0.5)

    def _above(self, public: PublicInfo) -> int:
        """What the noisy count of an item must exceed to be selected."""
        return threshold(self.laws(public)["have"], self.selection_delta(public), UNIT, MOST_OF_ONE)

    def probe(self, data: Interactions, inside: NDArray[np.bool_], rng: np.random.Generator) -> Probe:
        from recveil.mechanisms.dp_ratings.probe import probe

        return probe(self, UNIT, data, inside, rng)

    def sigmas(self, public: PublicInfo) -> dict[str, float]:
        """Deviations of the noise in units of one person."""
        return {name: float(np.sqrt(v)) / UNIT for name, v in self.variances(public).items()}

    def rho(self, public: PublicInfo) -> float:
        """The budget that the noise actually costs."""
        return sum(cost(UNIT, v) for v in self.variances(public).values())

    def spent(self, public: PublicInfo) -> float:
        """The same as epsilon; never above the one asked for."""
        return epsilon_of(self.rho(public), self.delta - self.selection_delta(public))

    def count(self, chunk: Interactions, published: tuple[Any, ...], public: PublicInfo) -> Sums:
        if not published and self.selects(public):
            chunk = at_most(chunk, MOST_OF_ONE)
        if chunk.rating is None:
            raise ValueError("rows without ratings")
        rows = (chunk.starts(), chunk.item, self.levels.inside(chunk.rating))
        if not published:
            have, like = kernels.rating_counts.count_effects(*rows, chunk.n_items, UNIT)
            return Sums(have=have, like=like)
        effect = published[0]["effect"]
        if len(published) == 1:
            return self._second(rows, effect, self.paired(published, public), self.top(published))
        phi, psi = published[1]["phi"], published[1]["psi"]
        return Sums(
            loadings=kernels.rating_counts.count_loadings(*rows, effect, phi, True, UNIT).ravel(),
            tastes=kernels.rating_counts.count_loadings(*rows, effect, psi, False, UNIT).ravel(),
        )

    def _second(self, rows: tuple[Ints, Codes, Floats], effect: Floats, paired: Ints, top: Ints) -> Sums:
        among, squares = places(paired, len(effect)), (UNIT**2, UNIT**2, UNIT)
        rest, levels, profiles = kernels.rating_counts.count_rest(
            *rows, effect, (self.levels.ends, HEIGHTS, SPREADS), UNIT
        )
        pairs, lengths, _ = kernels.baskets.count_pairs(*rows[:2], among, len(paired), LENGTHS, *squares, False)
        products = kernels.rating_counts.count_products(*rows, effect, places(top, len(effect)), len(top), UNIT)
        return Sums(rest=rest, pairs=pairs, products=products, lengths=lengths, profiles=profiles, levels=levels)

    def publish(self, counts: Sums, published: tuple[Any, ...], public: PublicInfo, source: Source) -> dict[str, Any]:
        laws = self.laws(public)
        found: dict[str, Any] = {}
        if not published and self.selects(public):
            chosen = select(
                "items", counts["have"], laws["have"], self._above(public), MOST_PAIRED, source.derive("have")
            )
            counts = Sums(like=counts["like"][chosen.codes])
            found["have"] = chosen
        for name, table in counts.items():
            found[name] = table + draw(laws[name], len(table), source.derive(name))
        return found | self._learned((*published, found), public)

    def _learned(self, published: tuple[Any, ...], public: PublicInfo) -> dict[str, Floats]:
        """What the next round must know: a function of noisy tables alone."""
        sigma, first = self.sigmas(public), published[0]["have"]
        noisy = (first.values if isinstance(first, Selected) else first) / UNIT
        if len(noisy) < FEWEST_ITEMS:
            raise RecveilError(self._too_few(len(noisy), public))
        have = popularity(noisy, sigma["have"])
        features = self._features(public, len(noisy))
        if len(published) == 1:
            found = effects(have, published[0]["like"] / UNIT, sigma["like"], features=features)
            return {"effect": np.clip(found, -MOST_EFFECT, MOST_EFFECT)}
        if len(published) == 2:
            paired, top = self.paired(published, public), self.top(published)
            G = kernels.pair_tables.square(published[1]["pairs"], len(paired), UNIT)
            R = kernels.pair_tables.square(published[1]["products"], len(top), UNIT)
            psi = tastes(G, paired, have, sigma["pairs"])
            phi = directions(R, top, psi, sigma["products"], features)
            return {"phi": phi, "psi": psi - have @ psi / have.sum()}
        return {}

    def _features(self, public: PublicInfo, n: int) -> Floats | None:
        """Public features of the n items; none while items that were just selected have no names yet."""
        return feature_matrix(public.features, public.items) if len(public.items) == n else None

    def _too_few(self, n: int, public: PublicInfo) -> str:
        if public.catalogue:
            return f"{self.name}: the catalogue has too few items ({n}, and {FEWEST_ITEMS} are needed)"
        return (
            f"{self.name}: too few items stand out of the noise at epsilon {self.epsilon:g} ({n}, and {FEWEST_ITEMS} "
            "are needed): more people, a larger epsilon, or a public list of items (--catalogue) would help"
        )

    def paired(self, published: tuple[Any, ...], public: PublicInfo) -> Ints:
        """The items whose pairs are counted: those selected, or those of the catalogue that stand out of the noise."""
        have = published[0]["have"]
        if self.selects(public):
            return np.arange(len(have))
        above = int((have > 2 * np.sqrt(self.variances(public)["have"])).sum())
        number = min(max(above, FEWEST_ITEMS), MOST_PAIRED)
        return np.sort(np.argsort(-have, kind="stable")[:number])

    def top(self, published: tuple[Any, ...]) -> Ints:
        """The most frequent items, the products of whose ratings are counted."""
        return np.sort(np.argsort(-published[0]["have"], kind="stable")[:TOP])

    def list_maker(self, published: tuple[Any, ...], public: PublicInfo, items: Any, n: int) -> Lister:
        return lists.maker(direct(self.tables(published, public)), items, n)

    def tables(self, published: tuple[Any, ...], public: PublicInfo) -> RatingTables:
        """The published statistics in units of one person, with the deviations of their noise."""
        every = {name: table for tables in published for name, table in tables.items()}
        return RatingTables(
            {name: every[name] / UNIT for name in SHARES if name != "pairs"},
            kernels.pair_tables.square(every["pairs"], len(self.paired(published, public)), UNIT),
            self.sigmas(public),
            every["effect"],
            every["phi"],
            every["psi"],
            self.paired(published, public),
            self.top(published),
            self.levels,
            self._features(public, len(every["effect"])),
        )

    def draw(self, published: tuple[Any, ...], public: PublicInfo, source: Source) -> Drawn:
        tables, k = self.tables(published, public), None if self.k == "auto" else int(self.k)
        return draw_people(tables, public, k, source)

    def guarantee(self, public: PublicInfo) -> Guarantee:
        facts = ["the catalogue of items"] * public.catalogue + ["features of items"] * (public.features is not None)
        return proved(
            f"any one {public.unit}",
            public.unit,
            " and ".join(filter(None, (", ".join(facts), "the scale of ratings"))),
            "docs/guarantees/dp_ratings.md",
            epsilon=self.epsilon,
            delta=self.delta,
            rho=self.rho(public),
            rho_fails=self.selection_delta(public),
        )

    def card(self) -> str:
        return (
            "No row of this release was ever a row of the data. Noisy tables were made of how many people have an "
            "item, how they rate it above their own mean, which items go together and how ratings of two of them do, "
            "how many items people have and how they use the scale; every person counts at most as much as any other "
            "in each of them. New people and their ratings were drawn from these tables alone. The files in tables/ "
            "hold what the noisy tables lead one to expect of items. Heavy raters weigh less than in the data. Noise "
            "hides some of how ratings differ, and differences of chance stand in for it: errors of rating predictors "
            "are not those of the data, though their order tends to be. Times, and anything beyond pairs of items, are "
            "not reproduced."
        )


def places(chosen: Ints, n: int) -> Codes:
    """Where each code stands among the chosen ones; -1: not among them."""
    place = np.full(n, -1, dtype=np.int32)
    place[chosen] = np.arange(len(chosen), dtype=np.int32)
    return place
