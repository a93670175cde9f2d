"""dp-tags: tag tables with a proof, and posts drawn from them. Noise on every cell, then posterior means.

First noisy totals of all tags and items; then noisy counts of every item with every tag that stands out. A person's own
tags need not leave her device: whoever mixes them with the published tables reveals nothing of the others.
docs/guarantees/dp_tags.md has the theorem.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.data import Interactions
from recveil.dp.budget import epsilon_of, rho_of, variance
from recveil.dp.noise import Law, draw, gaussian, laplace
from recveil.dp.posterior import posterior, posterior_list
from recveil.errors import RecveilError
from recveil.guarantee import NEIGHBOURS, Guarantee, strength
from recveil.kernels.baskets import count_items
from recveil.mechanism import Drawn, Public, Synthesis, Within, parameter
from recveil.mechanisms.dp_tags.drawing import TagTables, draw_tags
from recveil.randomness import Source
from recveil.views.triples import distinct

Ints = NDArray[np.int64]

UNIT = 2**16  # the L2 norm of one person in integer tables, at user level
SHARES = {  # of the budget: epsilon at record level, rho at user level
    ("record", "local"): {"tag": 6, "item": 4, "item_tag": 90},
    ("record", "central"): {"tag": 6, "item": 4, "user": 4, "item_tag": 48, "user_tag": 38},
    ("user", "local"): {"tag": 6, "item": 6, "item_tag": 88},
}  # in hundredths
TAGS, ITEMS = (0.6, 1500), (0.3, 4000)  # at user level: the share of the threshold, and how many at most
LEAST_OF_USERS = 0.001  # people have few tags, so that smaller expectations tell them apart
MOST_CELLS = 2**28
_FINE = 10**6  # scales are multiples of its inverse, rounded up
_TILE = 1 << 20


class Sums(dict[str, Any]):
    """Tables by name; they add with `+`, table by table."""

    def __add__(self, other: Sums) -> Sums:
        return Sums({name: table + other[name] for name, table in self.items()})


@dataclass(frozen=True)
class DpTags(Synthesis):
    """Differentially private tag tables, and posts drawn from them."""

    name = "dp-tags"
    needs = ("tag",)
    rounds = 2
    drawing = ("k",)

    epsilon: float = parameter(about="the privacy budget: 1 is strong, 4 moderate", rule=Within(0, 100, open_low=True))
    delta: float | None = parameter(
        None,
        about="at unit=user: the chance that the promise fails; well below one over the number of people",
        rule=Within(0, 0.1, open_low=True),
    )
    unit: str = parameter(
        "record", about="what is protected: one tag on one item, or a person", rule=("record", "user")
    )
    profiles: str = parameter(
        "local", about="whether people's own tags stay with them, or noisy ones are released", rule=("local", "central")
    )
    k: float = parameter(1.0, about="rows to draw for each that the tables expect", rule=Within(0, 100, open_low=True))

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.unit, self.profiles) not in SHARES:
            raise RecveilError("dp-tags: at unit=user no rows of users are released; leave profiles=local")
        if self.unit == "user" and self.delta is None:
            raise RecveilError("dp-tags: unit=user needs delta, the chance that the promise fails, such as delta=1e-6")
        if self.unit == "record" and self.delta is not None:
            raise RecveilError("dp-tags: delta is for unit=user; at unit=record the promise never fails")

    @property
    def knows_users(self) -> bool:
        return self.profiles == "central"

    def laws(self) -> dict[str, Law]:
        """The noise of each table; rounded up, so what is spent is at most the budget."""
        shares = SHARES[self.unit, self.profiles]
        if self.delta is None:
            return {name: laplace(scale(self.epsilon, share)) for name, share in shares.items()}
        rho = rho_of(self.epsilon, self.delta)
        return {name: gaussian(variance(UNIT, share / 100 * rho)) for name, share in shares.items()}

    def rho(self) -> float | None:
        """What the noise actually costs, as zCDP, where it is Gaussian."""
        return None if self.delta is None else sum(UNIT**2 / (2 * float(law.size)) for law in self.laws().values())

    def spent(self) -> float:
        """The epsilon that the noise actually costs; never above the one asked for."""
        rho = self.rho()
        if rho is None or self.delta is None:
            return float(sum(1 / law.size for law in self.laws().values()))
        return epsilon_of(rho, self.delta)

    def guarantee(self, public: Public) -> Guarantee:
        listed = (*public.lists, *["items"] * public.catalogue)
        lists = ["items", "tags", *["users"] * self.knows_users]
        given = " and ".join(
            f"the catalogue of {name}" if name in listed else f"the set of observed {name}" for name in lists
        )
        if self.unit == "record":
            what = "one tag that somebody gave to an item"
            more = " A person with many tags is protected less: epsilon is multiplied by their number."
        else:
            what, more = "any one person", ""
        return Guarantee(
            f"Whoever sees the release learns almost the same whether or not {what} was in the data "
            f"({strength(self.epsilon, self.delta)}), "
            f"given that {given} are public.{more}",
            status="proved",
            epsilon=self.epsilon,
            delta=self.delta or 0.0,
            unit=self.unit,
            neighbours=NEIGHBOURS[self.unit],
            rho=self.rho(),
            given=given,
            proof="docs/guarantees/dp_tags.md",
        )

    def card(self) -> str:
        people = (
            "People in the rows stand for the public list of users, under random tokens; their tags were matched to "
            "items at random, so that who tagged what, and which tags stand together in a post, is not preserved."
            if self.knows_users
            else "No rows of users were made, so the people in the rows are invented: what they have in common, and "
            "which tags stand together in a post, means nothing. To recommend tags to a person, mix the tables with "
            "her own tags, on her device."
        )
        return (
            "No row of this release was ever a row of the data. Noisy tables were made of how often each tag and each "
            "item occurs, and how often each item bears each tag that stands out. The files in tables/ hold what the "
            "noisy tables lead one to expect; they are the better source. The rows were drawn from them alone, for "
            f"tools that want rows: how often an item bears a tag is kept. {people} Rare tags are missing."
        )

    def fits(self, data: Interactions) -> None:
        super().fits(data)
        if data.unit == "session":
            raise RecveilError(f"{self.name} protects people and their tags, and the data have sessions only")

    def count(self, chunk: Interactions, published: tuple[Any, ...]) -> Sums:
        rows = distinct(chunk)
        assert rows.tag is not None
        if not published:
            columns = {"tag": (rows.tag, rows.n_tags), "item": (rows.item, rows.n_items)}
            if self.knows_users:
                columns["user"] = (rows.user, rows.n_users)
            if self.unit == "user":
                return Sums({name: count_items(rows.starts(), code, n, UNIT) for name, (code, n) in columns.items()})
            return Sums({name: np.bincount(code, minlength=n) for name, (code, n) in columns.items()})
        tags, items = self.kept(published)
        tag, item = _places(tags, rows.n_tags)[rows.tag], _places(items, rows.n_items)[rows.item]
        inside = (tag >= 0) & (item >= 0)
        rows, tag, item = rows.take(inside), tag[inside], item[inside]
        if self.unit == "user":
            cells = count_items(rows.starts(), item * len(tags) + tag, len(items) * len(tags), UNIT)
            return Sums(item_tag=sparse.csr_array(cells.reshape(len(items), len(tags))))
        found = Sums(item_tag=_cells(item, tag, (len(items), len(tags))))
        if self.knows_users:
            found["user_tag"] = _cells(rows.user, tag, (rows.n_users, len(tags)))
        return found

    def publish(self, counts: Sums, published: tuple[Any, ...], source: Source) -> dict[str, NDArray[Any]]:
        laws = self.laws()
        if published:
            return {name: noisy_table(table, laws[name], source.derive(name)) for name, table in counts.items()}
        return {name: table + draw(laws[name], len(table), source.derive(name)) for name, table in counts.items()}

    def kept(self, published: tuple[Any, ...]) -> tuple[Ints, Ints]:
        """The tags and items that the cells are about: a function of noisy totals and public constants alone."""
        first, laws = published[0], self.laws()
        if self.unit == "user":
            return outstanding(first["tag"], laws["tag"], *TAGS), outstanding(first["item"], laws["item"], *ITEMS)
        rows = max(len(first[name]) for name in ("item", "user") if name in first)
        return vocabulary(first["tag"], laws["tag"], rows), np.arange(len(first["item"]))

    def tables(self, published: tuple[Any, ...]) -> TagTables:
        """What the published numbers lead one to expect, over the public lists."""
        first, second = published
        laws, one = self.laws(), UNIT if self.unit == "user" else 1
        tags, items = self.kept(published)
        n_tags = len(first["tag"])
        columns = first["tag"][tags]
        item_tag = expected(second["item_tag"], first["item"][items], columns, laws["item_tag"], one)
        user_tag = None
        if self.knows_users:
            user_tag = expected(second["user_tag"], first["user"], columns, laws["user_tag"], least=LEAST_OF_USERS)
            user_tag = _spread(user_tag, np.arange(len(first["user"])), tags, (len(first["user"]), n_tags))
        totals = np.zeros(n_tags)  # of tags that stand out: the names of others are nobody's business
        totals[tags] = posterior_list(first["tag"], laws["tag"])[tags] / one
        return TagTables(
            _spread(item_tag, items, tags, (len(first["item"]), n_tags)),
            totals,
            posterior_list(first["item"], laws["item"]) / one,
            user_tag,
        )

    def draw(self, published: tuple[Any, ...], public: Public, source: Source) -> Drawn:
        return draw_tags(self.tables(published), public, self.k, source)


def scale(epsilon: float, share: int, norm: int = 1) -> Fraction:
    """Of the Laplace noise that spends at most `share` hundredths of epsilon on a table of this L1 sensitivity."""
    return Fraction(ceil(_FINE * norm / (Fraction(share, 100) * Fraction(epsilon))), _FINE)


def vocabulary(noisy: Ints, law: Law, rows: int) -> Ints:
    """The tags that tables with so many rows are about, from the noisy totals of all: most that never occur are not."""
    most = min(2500, MOST_CELLS // rows)
    if most < 1:
        raise RecveilError(f"{rows:,} rows are too many for noise on every cell; give fewer with --catalogue")
    return _largest(noisy, 0.25 * float(law.size) * log(max(len(noisy), 2) / 2), 100, most)


def outstanding(noisy: Ints, law: Law, share: float, most: int) -> Ints:
    """What lies above a share of the largest of as many Gaussian noises; at least 30."""
    from scipy.special import ndtri

    return _largest(noisy, share * float(ndtri(1 - 1 / max(len(noisy), 2))) * sqrt(law.size), 30, most)


def noisy_table(counts: sparse.csr_array, law: Law, source: Source) -> NDArray[Any]:
    """Noise on every cell of a table, some rows at a time; numbers take no more room than they need."""
    rows = max(1, _TILE // max(counts.shape[1], 1))
    parts: list[NDArray[Any]] = []
    for begin in range(0, counts.shape[0], rows):
        part = counts[begin : begin + rows].toarray()
        part += draw(law, part.size, source, begin * counts.shape[1]).reshape(part.shape)
        parts.append(part.astype(np.min_scalar_type(-int(np.abs(part).max()) - 1)))
    return np.concatenate(parts)


def expected(
    noisy: NDArray[Any], rows: Ints, columns: Ints, law: Law, one: int = 1, least: float = 0.01
) -> sparse.csr_array:
    """What a noisy table leads one to expect, given noisy totals of its rows and columns; `one` stands for a person.

    Expected counts below `least` are left out.
    """
    found = posterior(noisy, np.maximum(rows / one, 0.3), np.maximum(columns / one, 0.5), law, least * one)
    found.data /= np.float32(one)
    return found


def _largest(noisy: Ints, threshold: float, fewest: int, most: int) -> Ints:
    above = int(np.count_nonzero(noisy > threshold))
    return np.sort(np.argsort(-noisy, kind="stable")[: min(max(above, fewest), most)])


def _cells(row: NDArray[Any], column: NDArray[Any], shape: tuple[int, int]) -> sparse.csr_array:
    return sparse.coo_array((np.ones(len(row), dtype=np.int64), (row, column)), shape=shape).tocsr()


def _spread(table: sparse.csr_array, rows: Ints, columns: Ints, shape: tuple[int, int]) -> sparse.csr_array:
    """A table over some rows and columns as one over all of them."""
    cells = table.tocoo()
    return sparse.csr_array((cells.data, (rows[cells.row], columns[cells.col])), shape=shape)


def _places(kept: Ints, n: int) -> NDArray[np.int32]:
    """Where each code stands in a list; -1: not in it."""
    place = np.full(n, -1, dtype=np.int32)
    place[kept] = np.arange(len(kept), dtype=np.int32)
    return place
