"""blur: adds items that are typical of the others, so that an attribute such as gender cannot be read off a profile.

What is added depends on the attribute, so an attacker who knows of it can read the additions: with enough data the
release publishes what it was to hide. It is here since others offer it, so that it can be measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import Floats, Interactions
from recveil.errors import RecveilError
from recveil.guarantee import Guarantee, nothing
from recveil.mechanism import Masked, Masking, PublicInfo, Rows, Within, parameter
from recveil.randomness import Source

PENALTY = 0.3
CANDIDATES = 200  # typical items from which perblur picks those that suit a person
REMOVES = ("blurmore", "perblur")
UNTOLD = "blur hides an attribute of people, and must be told who has it: give a table with --attributes users.csv"

Items = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Lists:
    """How typical each item is of people who have the attribute (above 0) or have not, and which items go together."""

    items: pl.Series
    typical: Floats
    alike: NDArray[np.float32] | None


@dataclass(frozen=True)
class Blur(Masking):
    """Items typical of the other group are added to every profile; some styles remove as many typical of the own."""

    name = "blur"
    ordered = False
    hides_attribute = True
    local_only = "its lists come from a classifier of all people, in one place"
    purpose = (
        "For comparison only: hides an attribute from a naive attacker, and can publish it to one who knows of it."
    )

    style: str = parameter(
        "greedy",
        about="greedy: the most typical items; sampled: at random, typical ones likelier; blurmore: greedy, and own "
        "typical items removed; perblur: as blurmore, with items that suit the person",
        rule=("greedy", "sampled", "blurmore", "perblur"),
    )
    share: float = parameter(0.1, about="items added, as a share of a profile", rule=Within(0, 1, open_low=True))
    attribute: str | None = parameter(None, about="the column of the attributes to hide; else the only one there is")

    @property
    def groups(self) -> Mapping[str, bool]:
        """Who has the attribute, by user id as text. No parameter: it is private, and never part of a spec."""
        told: Mapping[str, bool] | None = getattr(self, "_groups", None)
        if not told:
            raise RecveilError(UNTOLD)
        return told

    def informed(self, groups: Mapping[str, bool]) -> Blur:
        """The same mechanism, told who has the attribute."""
        told = replace(self)
        object.__setattr__(told, "_groups", dict(groups))
        return told

    def with_parameters(self, plan: Lists) -> Blur:
        return replace(self)  # without what it was told

    def guarantee(self, public: PublicInfo) -> Guarantee:
        return nothing(
            "Profiles were padded against an attacker who does not know of it. What was added depends on the attribute "
            "itself: whoever knows the method can learn to read it, and nothing bounds how well."
        )

    def card(self) -> str:
        more = ", and as many items typical of the own group were removed" if self.style in REMOVES else ""
        return (
            "To each profile items were added that are typical of people who differ in one attribute, as many as "
            f"{self.share:.0%} of it (style {self.style}){more}. Ratings, times and tags were dropped.\n\n"
            "This can publish what it hides: the additions depend on the attribute, and an attacker who learns from "
            "padded profiles may name it better than from the real ones. Records can be linked as before, and added "
            "items can often be told from real ones."
        )

    def check_fit(self, data: Interactions) -> None:
        super().check_fit(data)
        groups = self.groups
        seen = {groups[user] for user in data.users.cast(pl.String).to_list() if user in groups}
        if len(seen) < 2:
            raise RecveilError("blur needs people in the data who have the attribute, and people who have it not")

    def count(self, chunk: Interactions) -> Rows:
        return Rows((_sets(chunk),))

    def plan(self, counts: Rows, source: Source) -> Lists:
        data, groups = counts.whole().compact(), self.groups
        has = [groups.get(user) for user in data.users.cast(pl.String).to_list()]
        known = np.array([value is not None for value in has])
        bits = data.matrix(binary=True)
        rows = (scipy.sparse.diags_array(1.0 / np.sqrt(np.maximum(bits.sum(axis=1), 1))) @ bits).tocsr()[known]
        typical = kernels.logistic.fit(rows, np.array([bool(value) for value in has])[known], PENALTY).weights
        return Lists(data.items, typical, _alike(bits) if self.style == "perblur" else None)

    def mask(self, chunk: Interactions, plan: Lists, source: Source) -> Masked:
        bits = _sets(chunk).over_items(plan.items).matrix(binary=True)
        names, groups = chunk.users.cast(pl.String).to_list(), self.groups
        user: list[Any] = []
        item: list[Items] = []
        for u in np.flatnonzero(np.diff(bits.indptr)):
            mine = np.sort(bits.indices[bits.indptr[u] : bits.indptr[u + 1]])
            has = groups.get(names[u])
            if has is not None:
                other = -plan.typical if has else plan.typical
                mine = self._blurred(mine, other, plan.alike, source.derive(names[u]))
            user.append(np.full(len(mine), u, dtype=np.int32))
            item.append(mine.astype(np.int32))
        made = Interactions(np.concatenate(user), np.concatenate(item), chunk.users, plan.items, unit=chunk.unit)
        return Masked(made, chunk.users)

    def _blurred(self, mine: Items, other: Floats, alike: NDArray[np.float32] | None, source: Source) -> Items:
        """A profile with items of the other group added; `other`: how typical each item is of that group."""
        k = max(1, round(self.share * len(mine)))
        free = np.setdiff1d(np.flatnonzero(other > 0), mine)
        order = free[np.argsort(-other[free], kind="stable")]
        if self.style == "sampled":
            luck = source.generator().random(len(order))
            order = order[np.argsort(-np.log(np.maximum(luck, 1e-300)) / other[order], kind="stable")]
        elif alike is not None:
            near = order[:CANDIDATES]
            order = near[np.argsort(-alike[near][:, mine].sum(axis=1), kind="stable")]
        kept = mine
        if self.style in REMOVES:
            own = mine[np.argsort(other[mine], kind="stable")][: min(k, len(mine) - 1)]
            kept = np.setdiff1d(mine, own[other[own] < 0])
        return np.union1d(kept, order[:k])


def _sets(chunk: Interactions) -> Interactions:
    """Who has which item, and nothing else."""
    return replace(chunk, rating=None, time=None, tag=None, tags=None)


def _alike(bits: scipy.sparse.csr_array) -> NDArray[np.float32]:
    """Cosines between items."""
    both: NDArray[np.float32] = (bits.T @ bits).toarray().astype(np.float32)
    size = np.sqrt(np.maximum(np.diag(both), 1.0))
    both /= size[:, None]
    both /= size[None, :]
    return both
