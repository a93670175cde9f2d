"""dp-tags: tag tables with a proof, and posts drawn from them. Noise on every cell, then posterior means.

First noisy totals of all tags and items; then noisy counts of every item with every tag that stands out. Items are the
platform's own list and taken for public. Tags are typed by people: unless a list of them is given, they are selected
within the budget. A person's own tags need not leave her device: whoever mixes them with the published tables reveals
nothing of the others. docs/guarantees/dp_tags.md has the theorem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import Interactions
from recveil.dp.budget import cost, epsilon_of, rho_of, variance
from recveil.dp.noise import Law, draw, gaussian, laplace
from recveil.dp.posterior import posterior_list
from recveil.dp.vocabulary import select, threshold
from recveil.errors import RecveilError
from recveil.guarantee import Guarantee, proved
from recveil.mechanism import Drawn, Probe, PublicInfo, Sums, Synthesis, Within, parameter
from recveil.mechanisms.dp_tags.cells import (
    LEAST_OF_USERS,
    cells_of,
    expected,
    most_tags,
    noisy_table,
    outstanding,
    places,
    scale,
    spread,
    vocabulary,
)
from recveil.mechanisms.dp_tags.drawing import TagTables, draw_tags
from recveil.randomness import Source
from recveil.views.contributions import at_most
from recveil.views.triples import distinct

Ints = NDArray[np.int64]

UNIT = 2**16  # the L2 norm of one person in integer tables, at user level
MOST_OF_ONE = 500  # tags with which one person counts at user level, where tags are selected
SHARES = {  # of the budget: epsilon at record level, rho at user level
    ("record", "local"): {"tag": 6, "item": 4, "item_tag": 90},
    ("record", "central"): {"tag": 6, "item": 4, "user": 4, "item_tag": 48, "user_tag": 38},
    ("user", "local"): {"tag": 6, "item": 6, "item_tag": 88},
}  # in hundredths
SELECTION = {  # the same where tags are selected, which takes more
    ("record", "local"): {"tag": 25, "item": 4, "item_tag": 71},
    ("record", "central"): {"tag": 25, "item": 4, "user": 4, "item_tag": 37, "user_tag": 30},
    ("user", "local"): {"tag": 25, "item": 6, "item_tag": 69},
}
TAGS, ITEMS = (0.6, 1500), (0.3, 4000)  # at user level: the share of the threshold, and how many at most


@dataclass(frozen=True)
class DpTags(Synthesis):
    """Differentially private tag tables, and posts drawn from them."""

    name = "dp-tags"
    best_for = "tags"
    strength = ("epsilon", (0.25, 0.5, 1.0, 2.0, 4.0, 8.0))
    purpose = (
        "For publication of tags: denoised tables with a proof per tag assignment (or per person), and posts "
        "drawn from them; best mixed with each person's own tags on her device."
    )
    example_parameters = "epsilon=4,delta=1e-6"
    needs = ("tag",)
    most_of_one = MOST_OF_ONE
    rounds = 2
    drawing = ("k",)

    epsilon: float = parameter(about="the privacy budget: 1 is strong, 4 moderate", rule=Within(0, 100, open_low=True))
    delta: float | None = parameter(
        None,
        about="at unit=user, and where tags are selected: the chance that the promise fails, well below one over the "
        "number of people",
        rule=Within(0, 0.1, open_low=True),
    )
    unit: str = parameter(
        "record", about="what is protected: one tag on one item, or a person", rule=("record", "user")
    )
    profiles: str = parameter(
        "local", about="whether people's own tags stay with them, or noisy ones are released", rule=("local", "central")
    )
    tags: str = parameter(
        "selected",
        about="where no list of tags is given: select them within the budget, or take the observed ones for public",
        rule=("selected", "observed"),
    )
    k: float = parameter(1.0, about="rows to draw for each that the tables expect", rule=Within(0, 100, open_low=True))

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.unit, self.profiles) not in SHARES:
            raise RecveilError("dp-tags: at unit=user no rows of users are released; leave profiles=local")
        if self.unit == "user" and self.delta is None:
            raise RecveilError("dp-tags: unit=user needs delta, the chance that the promise fails, such as delta=1e-6")

    @property
    def knows_users(self) -> bool:
        return self.profiles == "central"

    def selects(self, public: PublicInfo) -> tuple[str, ...]:
        return () if self.tags == "observed" or "tags" in public.lists else ("tags",)

    def selection_delta(self, public: PublicInfo) -> float:
        """The part of delta that pays for the selection of tags: all of it, or half of it at user level."""
        if not self.selects(public):
            return 0.0
        if self.delta is None:
            raise RecveilError(
                "dp-tags: tags are typed by people, and selecting those that many use needs delta, such as delta=1e-6; "
                "or give a public list of tags with --catalogue, or take the observed ones for public: tags=observed"
            )
        return self.delta if self.unit == "record" else self.delta / 2

    def laws(self, public: PublicInfo) -> dict[str, Law]:
        """The noise of each table; rounded up, so what is spent is at most the budget."""
        shares = (SELECTION if self.selects(public) else SHARES)[self.unit, self.profiles]
        if self.unit == "record":
            return {name: laplace(scale(self.epsilon, share)) for name, share in shares.items()}
        assert self.delta is not None
        rho = rho_of(self.epsilon, self.delta - self.selection_delta(public))
        return {name: gaussian(variance(UNIT, share / 100 * rho)) for name, share in shares.items()}

    def probe(self, data: Interactions, inside: NDArray[np.bool_], rng: np.random.Generator) -> Probe:
        from recveil.mechanisms.dp_tags.probe import cells

        return cells(self, UNIT if self.unit == "user" else 1, data, inside, rng)

    def rho(self, public: PublicInfo) -> float | None:
        """The budget that Gaussian noise actually costs; None at record level, where the noise is Laplace."""
        if self.unit == "record":
            return None
        return sum(cost(UNIT, int(law.size)) for law in self.laws(public).values())

    def spent(self, public: PublicInfo) -> float:
        """The epsilon that the noise actually costs; never above the one asked for."""
        rho = self.rho(public)
        if rho is None or self.delta is None:
            return float(sum(1 / law.size for law in self.laws(public).values()))
        return epsilon_of(rho, self.delta - self.selection_delta(public))

    def guarantee(self, public: PublicInfo) -> Guarantee:
        listed = (*public.lists, *["items"] * public.catalogue)
        lists = ["items", *["tags"] * ("tags" not in self.selects(public)), *["users"] * self.knows_users]
        given = " and ".join(
            f"the catalogue of {name}" if name in listed else f"the set of observed {name}" for name in lists
        )
        fails, record = self.selection_delta(public), self.unit == "record"
        return proved(
            "one tag that somebody gave to an item" if record else "any one person",
            self.unit,
            given,
            "docs/guarantees/dp_tags.md",
            epsilon=self.epsilon,
            delta=fails if record else self.delta or 0.0,
            rho=self.rho(public),
            rho_fails=0.0 if record else fails,
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

    def check_fit(self, data: Interactions) -> None:
        super().check_fit(data)
        if data.unit == "session":
            raise RecveilError(f"{self.name} protects people and their tags, and the data have sessions only")

    def count(self, chunk: Interactions, published: tuple[Any, ...], public: PublicInfo) -> Sums:
        rows = distinct(chunk)
        assert rows.tag is not None
        if not published:
            return self._totals(rows, public)
        tags, items = self.kept(published, public)
        tag, item = places(tags, rows.n_tags)[rows.tag], places(items, rows.n_items)[rows.item]
        inside = (tag >= 0) & (item >= 0)
        rows, tag, item = rows.take(inside), tag[inside], item[inside]
        if self.unit == "user":
            cells = kernels.baskets.count_items(rows.starts(), item * len(tags) + tag, len(items) * len(tags), UNIT)
            return Sums(item_tag=scipy.sparse.csr_array(cells.reshape(len(items), len(tags))))
        found = Sums(item_tag=cells_of(item, tag, (len(items), len(tags))))
        if self.knows_users:
            found["user_tag"] = cells_of(rows.user, tag, (rows.n_users, len(tags)))
        return found

    def _totals(self, rows: Interactions, public: PublicInfo) -> Sums:
        assert rows.tag is not None
        if self.unit == "record":
            found = Sums(tag=np.bincount(rows.tag, minlength=rows.n_tags))
            found["item"] = np.bincount(rows.item, minlength=rows.n_items)
            if self.knows_users:
                found["user"] = np.bincount(rows.user, minlength=rows.n_users)
            return found
        few = at_most(rows, MOST_OF_ONE, "tag") if self.selects(public) else rows
        assert few.tag is not None
        return Sums(
            tag=kernels.baskets.count_items(few.starts(), few.tag, few.n_tags, UNIT),
            item=kernels.baskets.count_items(rows.starts(), rows.item, rows.n_items, UNIT),
        )

    def publish(self, counts: Sums, published: tuple[Any, ...], public: PublicInfo, source: Source) -> dict[str, Any]:
        laws = self.laws(public)
        if published:
            return {name: noisy_table(table, laws[name], source.derive(name)) for name, table in counts.items()}
        found: dict[str, Any] = {}
        for name, table in counts.items():
            law, chance = laws[name], source.derive(name)
            if name == "tag" and self.selects(public):
                one = (UNIT, MOST_OF_ONE) if self.unit == "user" else (1, 1)
                above = threshold(law, self.selection_delta(public), *one)
                found[name] = select("tags", table, law, above, self._most(counts), chance)
            else:
                found[name] = table + draw(law, len(table), chance)
        return found

    def _most(self, totals: Mapping[str, Ints]) -> int:
        """How many tags the second round can be about."""
        if self.unit == "user":
            return TAGS[1]
        return most_tags(max(len(totals[name]) for name in ("item", "user") if name in totals))

    def kept(self, published: tuple[Any, ...], public: PublicInfo) -> tuple[Ints, Ints]:
        """The tags and items that the cells are about: a function of noisy totals and public constants alone."""
        first, laws = published[0], self.laws(public)
        items = np.arange(len(first["item"]))
        if self.unit == "user":
            items = outstanding(first["item"], laws["item"], *ITEMS)
        if self.selects(public):
            if not len(first["tag"]):
                raise RecveilError(
                    f"dp-tags: no tag stands out of the noise at epsilon {self.epsilon:g}: more people, a larger "
                    "epsilon, or a public list of tags (--catalogue) would help"
                )
            return np.arange(len(first["tag"])), items
        if self.unit == "user":
            return outstanding(first["tag"], laws["tag"], *TAGS), items
        return vocabulary(first["tag"], laws["tag"], self._most(first)), items

    def tables(self, published: tuple[Any, ...], public: PublicInfo) -> TagTables:
        """What the published numbers lead one to expect, over the public lists."""
        first, second = published
        laws, one = self.laws(public), UNIT if self.unit == "user" else 1
        tags, items = self.kept(published, public)
        n_tags = len(first["tag"])
        columns = first["tag"][tags]
        item_tag = expected(second["item_tag"], first["item"][items], columns, laws["item_tag"], one)
        user_tag = None
        if self.knows_users:
            user_tag = expected(second["user_tag"], first["user"], columns, laws["user_tag"], least=LEAST_OF_USERS)
            user_tag = spread(user_tag, np.arange(len(first["user"])), tags, (len(first["user"]), n_tags))
        totals = np.zeros(n_tags)  # of tags that stand out: the names of others are nobody's business
        totals[tags] = posterior_list(first["tag"], laws["tag"])[tags] / one
        return TagTables(
            spread(item_tag, items, tags, (len(first["item"]), n_tags)),
            totals,
            posterior_list(first["item"], laws["item"]) / one,
            user_tag,
        )

    def draw(self, published: tuple[Any, ...], public: PublicInfo, source: Source) -> Drawn:
        return draw_tags(self.tables(published, public), public, self.k, source)
