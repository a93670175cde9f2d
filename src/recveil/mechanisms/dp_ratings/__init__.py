"""dp-ratings: synthetic ratings with a proof. Ten noisy tables in three rounds, and people drawn from them alone.

Every person is a vector of length at most 1 in each table, however much she rated: what she has, how she rates it above
her own mean, pairs of both, and where she stands in the directions that the earlier tables showed.
docs/guarantees/dp_ratings.md has the theorem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.dp.budget import epsilon_of, rho_of, variance
from recveil.dp.noise import draw, gaussian
from recveil.errors import RecveilError
from recveil.guarantee import Guarantee
from recveil.kernels.baskets import count_pairs
from recveil.kernels.rating_counts import count_effects, count_loadings, count_products, count_rest
from recveil.mechanism import Drawn, Public, Synthesis, Within, parameter
from recveil.mechanisms.dp_ratings.directions import directions, square, tastes
from recveil.mechanisms.dp_ratings.drawing import Tables, draw_people
from recveil.mechanisms.dp_ratings.effects import MOST_EFFECT, effects, popularity
from recveil.mechanisms.dp_ratings.people import HEIGHTS, LENGTHS, SPREADS
from recveil.mechanisms.dp_ratings.scale import Scale, scale
from recveil.randomness import Source

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

UNIT = 2**16  # the L2 norm of one person in integer tables
SHARES = {  # of the budget, in thousandths
    "have": 100, "like": 170,
    "rest": 120, "pairs": 220, "products": 80, "lengths": 20, "profiles": 15, "levels": 5,
    "loadings": 150, "tastes": 120,
}  # fmt: skip
MOST_PAIRED, FEWEST_PAIRED, TOP = 4096, 10, 100


class Sums(dict[str, Any]):
    """Tables by name; they add with `+`, table by table."""

    def __add__(self, other: Sums) -> Sums:
        return Sums({name: table + other[name] for name, table in self.items()})


@dataclass(frozen=True)
class DpRatings(Synthesis):
    """Differentially private synthetic ratings, at the level of whole users."""

    name = "dp-ratings"
    needs = ("rating",)
    rounds = 3
    drawing = ("k",)

    epsilon: float = parameter(about="the privacy budget: 1 is strong, 4 moderate", rule=Within(0, 100, open_low=True))
    delta: float = parameter(
        about="the chance that the promise fails; well below one over the number of people",
        rule=Within(0, 0.1, open_low=True),
    )
    scale: str = parameter(about="the public scale of ratings, such as 1..5, 0.5..5/0.5 or (1,2,3,4,5)")
    k: int | str = parameter("auto", about="how many people to draw; auto: about as many as there were")

    def __post_init__(self) -> None:
        super().__post_init__()
        scale(self.scale)
        if self.k != "auto" and not (isinstance(self.k, int) and self.k >= 1):
            raise RecveilError(f"{self.name}: parameter k must be auto or a whole number >= 1, not {self.k}")

    @property
    def levels(self) -> Scale:
        """The public scale."""
        return scale(self.scale)

    def variances(self) -> dict[str, int]:
        """Of the noise in each table, in squared units; rounded up, so what is spent is at most the budget."""
        rho = rho_of(self.epsilon, self.delta)
        found = {name: variance(UNIT, share / 1000 * rho) for name, share in SHARES.items()}
        if max(found.values()) > 2**60:
            raise RecveilError(f"{self.name}: epsilon {self.epsilon:g} is too small: the noise exceeds 64-bit integers")
        return found

    def sigmas(self) -> dict[str, float]:
        """Deviations of the noise in units of one person."""
        return {name: float(np.sqrt(v)) / UNIT for name, v in self.variances().items()}

    def rho(self) -> float:
        """What the noise actually costs, as zCDP."""
        return sum(UNIT**2 / (2 * v) for v in self.variances().values())

    def spent(self) -> float:
        """The same as epsilon; never above the one asked for."""
        return epsilon_of(self.rho(), self.delta)

    def count(self, chunk: Interactions, published: tuple[Any, ...]) -> Sums:
        if chunk.rating is None:
            raise ValueError("rows without ratings")
        n = chunk.n_items
        keep = np.arange(n, dtype=np.int32)
        rows = (chunk.starts(), chunk.item, self.levels.inside(chunk.rating), keep)
        if not published:
            have, like = count_effects(*rows, n, UNIT)
            return Sums(have=have, like=like)
        effect = published[0]["effect"]
        if len(published) == 1:
            paired, top = self.paired(published), self.top(published)
            classes = (self.levels.ends, HEIGHTS, SPREADS)
            rest, levels, profiles = count_rest(*rows, effect, classes, UNIT)
            among = _places(paired, n)
            squares = UNIT**2, UNIT**2, UNIT
            pairs, lengths, _ = count_pairs(rows[0], rows[1], among, len(paired), LENGTHS, *squares, False)
            products = count_products(*rows, effect, _places(top, n), len(top), UNIT)
            return Sums(
                rest=rest, pairs=pairs, products=products, lengths=lengths, profiles=profiles, levels=levels
            )  # fmt: skip
        phi, psi = published[1]["phi"], published[1]["psi"]
        return Sums(
            loadings=count_loadings(*rows, effect, phi, True, UNIT).ravel(),
            tastes=count_loadings(*rows, effect, psi, False, UNIT).ravel(),
        )

    def publish(self, counts: Sums, published: tuple[Any, ...], source: Source) -> dict[str, NDArray[Any]]:
        variances = self.variances()
        noisy: dict[str, NDArray[Any]] = {
            name: table + draw(gaussian(variances[name]), len(table), source.derive(name))
            for name, table in counts.items()
        }
        return noisy | self._learned((*published, noisy))

    def _learned(self, published: tuple[Any, ...]) -> dict[str, Floats]:
        """What the next round must know: a function of noisy tables alone."""
        sigma = self.sigmas()
        have = popularity(published[0]["have"] / UNIT, sigma["have"])
        if len(published) == 1:
            found = effects(have, published[0]["like"] / UNIT, sigma["like"])
            return {"effect": np.clip(found, -MOST_EFFECT, MOST_EFFECT)}
        if len(published) == 2:
            paired, top = self.paired(published), self.top(published)
            G = square(published[1]["pairs"] / UNIT, len(paired))
            R = square(published[1]["products"] / UNIT, len(top))
            psi = tastes(G, paired, have, sigma["pairs"])
            phi = directions(R, top, psi, sigma["products"])
            return {"phi": phi, "psi": psi - have @ psi / have.sum()}
        return {}

    def paired(self, published: tuple[Any, ...]) -> Ints:
        """The items whose pairs are counted: those that stand out of the noise."""
        have, sigma = published[0]["have"] / UNIT, self.sigmas()["have"]
        above = int((have > 2 * sigma).sum())
        number = min(max(above, FEWEST_PAIRED), MOST_PAIRED, len(have))
        return np.sort(np.argsort(-have, kind="stable")[:number])

    def top(self, published: tuple[Any, ...]) -> Ints:
        """The most frequent items, the products of whose ratings are counted."""
        return np.sort(np.argsort(-published[0]["have"], kind="stable")[:TOP])

    def tables(self, published: tuple[Any, ...]) -> Tables:
        """The published statistics in units of one person, with the deviations of their noise."""
        noisy = {name: table / UNIT for tables in published for name, table in tables.items() if name in SHARES}
        learned = {name: table for tables in published for name, table in tables.items() if name not in SHARES}
        return Tables(noisy, self.sigmas(), **learned, paired=self.paired(published), scale=self.levels)

    def draw(self, published: tuple[Any, ...], public: Public, source: Source) -> Drawn:
        return draw_people(self.tables(published), public, None if self.k == "auto" else int(self.k), source)

    def guarantee(self, public: Public) -> Guarantee:
        unit = public.unit
        known = "the catalogue of items" if public.catalogue else "the set of observed items, taken as the catalogue"
        return Guarantee(
            f"Whoever sees the release learns almost the same whether or not any one {unit} was in the data "
            f"(epsilon {self.epsilon:g}, delta {self.delta:g}), given that {known} and the scale of ratings are public.",
            status="proved",
            epsilon=self.epsilon,
            delta=self.delta,
            rho=self.rho(),
            unit=unit,
            neighbours=f"add or remove one {unit} with everything she did",
            given=f"{known} and the scale of ratings",
            proof="docs/guarantees/dp_ratings.md",
        )

    def card(self) -> str:
        return "TODO"


def _places(chosen: Ints, n: int) -> NDArray[np.int32]:
    """Where each code stands among the chosen ones; -1: not among them."""
    place = np.full(n, -1, dtype=np.int32)
    place[chosen] = np.arange(len(chosen), dtype=np.int32)
    return place
