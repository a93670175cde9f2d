"""dp-post-tags: who tagged which item is public, the tags are not. Each is kept, or replaced by one that is likely.

Half of the budget buys noisy tables, from which the likely tags of every post follow; the other half a randomised
response among them (RRTop-k). The rows are real posts, so this sees rows and is no Synthesis, while dp-tags is one.
docs/guarantees/dp_tags.md has the theorem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, floor
from typing import Any

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import Interactions, concat
from recveil.dp.noise import Law, draw, laplace
from recveil.dp.posterior import posterior_list
from recveil.guarantee import NEIGHBOURS, Guarantee, strength
from recveil.mechanism import Masked, Masking, Mechanism, Probe, PublicInfo, Sums, Within, parameter
from recveil.mechanisms.dp_tags.cells import (
    LEAST_OF_USERS,
    expected,
    most_tags,
    noisy_table,
    scale,
    vocabulary,
)
from recveil.randomness import Source
from recveil.views.triples import TripleTables, distinct, tables

Ints = NDArray[np.int64]

SHARES = {"tag": 6, "item_tag": 52, "user_tag": 42}  # of the tables' half of the budget, in hundredths
MOST = 128  # candidates of a post, at most
POPULARITY = 0.02  # the weight of everybody's tags among the likely ones of a post
ONE = 2**16  # the weight of a candidate that is not the true tag; that of the true one is e^x times as large
_ROWS = 8192


@dataclass(frozen=True)
class Answers:
    """Of each row: the likely tags of its post and how many of them count, whether and where the true one stands among
    them, and which was chosen.
    """

    likely: NDArray[np.int32]
    k: Ints
    inside: NDArray[np.bool_]
    place: Ints
    chosen: Ints


@dataclass(frozen=True)
class DpPostTags(Masking):
    """Real posts with randomised tags: a differentially private answer to "which tag", not to "who and what"."""

    name = "dp-post-tags"
    purpose = (
        "For tags on posts that are public anyway: real posts with randomised tags. Each can be denied, with a proof."
    )
    example_parameters = "epsilon=4"
    also = ("dp-tags", "unit=tag")
    local_only = "its noisy tables have a row for every person, in one place"
    needs = ("tag",)
    ordered = False
    answers_all = True

    epsilon: float = parameter(about="the privacy budget: 1 is strong, 4 moderate", rule=Within(0, 60, open_low=True))

    def guarantee(self, public: PublicInfo) -> Guarantee:
        tags = "the catalogue of tags" if "tags" in public.lists else "the set of observed tags"
        given = f"who tagged which item with how many tags, and {tags}"
        return Guarantee(
            f"Whoever sees the release learns almost the same whichever tag stood in a given place of a post "
            f"({strength(self.epsilon)}), given that {given}, are public. A person with many tags is protected "
            "less: epsilon is multiplied by their number.",
            status="proved",
            epsilon=self.epsilon,
            unit="tag",
            neighbours=NEIGHBOURS["tag"],
            given=given,
            proof="docs/guarantees/dp_tags.md",
        )

    def card(self) -> str:
        return (
            "Who tagged which item, and with how many tags, is taken to be public: it is as in the data, and nothing "
            "hides it. So is the list of tags, or where none was given the set of those that occur. From noisy tables "
            "a list of likely tags was made for every post; each true tag that stands in the list was kept with a "
            "stated probability and else replaced by another one of the list, and each that does not stand in it was "
            "replaced. Tags that came out twice in a post stand there once. Any single tag can be denied; a person "
            "with many is protected less."
        )

    def count(self, chunk: Interactions) -> Sums:
        """Counts of every public tag, and in a last column those of all others together."""
        exact, public = tables(chunk), len(_named(chunk))
        parts = {"item_tag": exact.resource, "user_tag": exact.user}
        return Sums({name: _together(table.astype(np.int64), public) for name, table in parts.items()})

    def laws(self, public: PublicInfo | None = None) -> dict[str, Law]:
        """The noise of each table. Replacing a tag moves each of them by 2."""
        return {name: laplace(scale(self.epsilon / 2, share, norm=2)) for name, share in SHARES.items()}

    def noisy(self, counts: Sums, source: Source) -> tuple[Ints, dict[str, NDArray[Any]]]:
        """The tags that stand out, the noisy totals of all (`tag`), and noisy tables of those that do."""
        laws = self.laws()
        totals = np.asarray(counts["item_tag"].sum(0)).ravel()[:-1]
        found: dict[str, NDArray[Any]] = {"tag": totals + draw(laws["tag"], len(totals), source.derive("tag"))}
        tags = vocabulary(found["tag"], laws["tag"], most_tags(max(table.shape[0] for table in counts.values())))
        for name, table in counts.items():
            found[name] = noisy_table(table[:, tags], laws[name], source.derive(name))
        return tags, found

    def plan(self, counts: Sums, source: Source) -> TripleTables:
        """What the noisy tables lead one to expect."""
        laws = self.laws()
        tags, noisy = self.noisy(counts, source)
        found = {}
        for name, table in counts.items():
            rows = np.asarray(table.sum(1)).ravel()  # public: how many tags each person gave, and each item got
            found[name] = expected(noisy[name], rows, noisy["tag"][tags], laws[name], least=LEAST_OF_USERS)
        popular = posterior_list(noisy["tag"], laws["tag"])
        return TripleTables(found["item_tag"], found["user_tag"], popular, tags.astype(np.int32))

    def mask(self, chunk: Interactions, plan: TripleTables, source: Source) -> Masked:
        parts = [self._mask(part, plan, source) for part in distinct(chunk).chunks("user", _ROWS)]
        return Masked(concat(parts), chunk.users)

    def _mask(self, rows: Interactions, plan: TripleTables, source: Source) -> Interactions:
        made = self.answers(rows, plan, source)
        return distinct(replace(rows, tag=made.likely[np.arange(len(rows)), made.chosen]))

    def answers(self, rows: Interactions, plan: TripleTables, source: Source) -> Answers:
        """Randomised responses: which of its post's likely tags stands for each tag."""
        assert rows.tag is not None and plan.vocabulary is not None
        new = np.append(True, (np.diff(rows.user) != 0) | (np.diff(rows.item) != 0))[: len(rows)]
        post = np.cumsum(new) - 1
        kept = self.kept_weight()
        likely, k = candidates(prior(plan, rows.user[new], rows.item[new]), kept / ONE)
        k, mine = k[post], plan.vocabulary[likely][post]
        there = (mine == rows.tag[:, None]) & (np.arange(mine.shape[1]) < k[:, None])
        inside, place = there.any(1), there.argmax(1)
        bounds = np.where(inside, kept + (k - 1) * ONE, k * ONE)
        z = kernels.draws.below_per_group(rows.starts("user"), rows.keys("user"), bounds, source.key())
        return Answers(mine, k, inside, place, respond(z, inside, place, kept))

    def probe(self, data: Interactions, inside: NDArray[np.bool_], rng: np.random.Generator) -> Probe:
        from recveil.mechanisms.dp_tags.probe import posts

        return posts(data, inside, rng)

    def seen_through(self, watch: Any) -> Mechanism:
        from recveil.mechanisms.dp_tags.probe import posts_seen_through

        return posts_seen_through(self, watch)

    def replaced(self, k: Ints) -> NDArray[np.float64]:
        """The chance that a tag which stands among k candidates is replaced."""
        return np.asarray((k - 1) * ONE / (self.kept_weight() + (k - 1) * ONE))

    def kept_weight(self) -> int:
        """The weight of the true tag beside the others' ONE; rounded down, so that its ratio is at most e^x."""
        return max(floor(exp(self.epsilon / 2) * ONE * (1 - 1e-12)), ONE)


def _named(chunk: Interactions) -> pl.Series:
    """The public tags; those that a given list lacks have no name."""
    assert chunk.tags is not None
    return chunk.tags.drop_nulls()


def _together(table: scipy.sparse.csr_array, columns: int) -> scipy.sparse.csr_array:
    """The first columns of a table, and one more with the sums of all others."""
    cells = table.tocoo()
    shape = (table.shape[0], columns + 1)
    return scipy.sparse.coo_array((cells.data, (cells.row, np.minimum(cells.col, columns))), shape=shape).tocsr()


def respond(z: Ints, inside: NDArray[np.bool_], place: Ints, kept: int) -> Ints:
    """Which candidate stands for a tag: itself (at `place` of the list, if inside) for z < kept, else z counts on."""
    other = (z - np.where(inside, kept, 0)) // ONE
    return np.where(inside & (z < kept), place, other + (inside & (other >= place)))


def prior(plan: TripleTables, user: NDArray[np.int32], item: NDArray[np.int32]) -> NDArray[np.float64]:
    """Of each post the share of each tag of the vocabulary: the item's tags, the user's, a little of everybody's."""
    assert plan.vocabulary is not None
    popular = plan.tag[plan.vocabulary]
    found = np.tile(POPULARITY * (popular + 1e-6) / (popular + 1e-6).sum(), (len(user), 1))
    for table, codes in ((plan.resource, item), (plan.user, user)):
        some = table[codes].toarray()
        found += some / (some.sum(1, keepdims=True) + 1)
    return np.asarray(found / found.sum(1, keepdims=True))


def candidates(share: NDArray[np.float64], ratio: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The likeliest tags of each post, best first, and how many of them make it likeliest that a tag is kept."""
    most = min(MOST, share.shape[1])
    best = np.argpartition(-share, most - 1, axis=1)[:, :most]
    order = np.take_along_axis(best, np.argsort(-np.take_along_axis(share, best, 1), axis=1, kind="stable"), 1)
    reached = np.cumsum(np.take_along_axis(share, order, 1), axis=1)
    k = np.argmax(reached * ratio / (ratio + np.arange(order.shape[1])), axis=1) + 1
    return order, k
