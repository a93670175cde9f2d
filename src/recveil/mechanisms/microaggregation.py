"""microaggregation: people in groups of at least k, found by MDAV; everyone gets the profile of her group."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.guarantee import Guarantee, nothing
from recveil.ids import places
from recveil.mechanism import Masked, Masking, PublicInfo, Rows, Within, parameter
from recveil.randomness import Source


@dataclass(frozen=True, eq=False)
class Groups:
    """Whose group is which, and one profile for each group."""

    users: pl.Series  # sorted ids
    group: NDArray[np.int64]
    profiles: Interactions  # its users are the numbers of the groups


@dataclass(frozen=True)
class Microaggregation(Masking):
    """Likes and dislikes, grouped by MDAV; a group's profile replaces the profiles of its members."""

    name = "microaggregation"
    to_begin_with = True
    next_best = True
    keeps = ("skill",)
    strength = ("k", (50, 20, 10, 5, 3, 2))
    purpose = "For small groups of alike people: each value stands for at least k persons."
    ordered = False
    local_only = "MDAV compares everyone with everyone again for every group, in one place"

    k: int = parameter(5, about="the least number of people who share a profile", rule=Within(1))
    keep: str = parameter(
        "majority",
        about="the items of a group's profile: whose mean of likes and dislikes exceeds one half, which at least half "
        "of the members rated, or which any member rated",
        rule=("majority", "half", "union"),
    )
    like: float | None = parameter(None, about="the rating from which on it is a like; none: the middle of the scale")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.like is not None and not math.isfinite(self.like):
            raise RecveilError(f"microaggregation: parameter like must be a finite number or none, not {self.like}")

    @property
    def lone(self) -> bool:
        """Whether an item that one member alone rated can stand in the profile of a group."""
        return self.keep == "union" or self.k == 1 or (self.keep == "half" and self.k == 2)

    def guarantee(self, public: PublicInfo) -> Guarantee:
        people = "people" if public.unit == "user" else f"{public.unit}s"
        one = "an item may come from one member alone" if self.lone else "all of them may share an item"
        return nothing(
            f"Every released profile belongs to at least {self.k} {people} (k-anonymity). That is a property of the "
            f"table and no differential privacy: {one}, whoever knows the others of a group still learns of a "
            f"{'person' if public.unit == 'user' else public.unit}, and nothing bounds how much.",
            "k = 1 leaves everyone alone in a group" if self.k < 2 else None,
        )

    def card(self) -> str:
        rule = {
            "majority": "the items on which more than half of its members, dissenters subtracted, agree",
            "half": "the items that at least half of its members rated",
            "union": "all items that any of its members rated",
        }[self.keep]
        alone = (
            "What one member alone rated stands in the profile of her whole group, and may betray her"
            if self.lone
            else "What all members of a group share is told of each"
        )
        return (
            f"People (or sessions, where the data have those) with similar likes and dislikes were put into groups of "
            f"at least {self.k}, and everyone was given the profile of her group: {rule}, each with the middle one of "
            f"the members' ratings. Who is in a group without such an item is left out. {alone}. Times and "
            "tags were dropped. To find the groups, everyone was compared with everyone: a step over the "
            "whole data, in one place."
        )

    def count(self, chunk: Interactions) -> Rows:
        """All profiles: MDAV compares everyone with everyone."""
        return Rows((replace(chunk, time=None, tag=None, tags=None),))

    def plan(self, counts: Rows, source: Source) -> Groups:
        from recveil.kernels.mdav import mdav

        data = _once(counts.whole().compact())
        if data.n_users < self.k:
            raise RecveilError(f"microaggregation: parameter k is {self.k}, and there are only {data.n_users} people")
        sign = _signs(data, self.like)
        group = mdav(data.starts("user"), data.item, sign, data.n_items, self.k)
        return Groups(data.users, group, _profiles(data, sign, group, self.keep))

    def mask(self, chunk: Interactions, plan: Groups, source: Source) -> Masked:
        people = np.unique(chunk.user)
        group = plan.group[places(chunk.users.gather(people), plan.users)]
        starts = plan.profiles.starts("user")
        length = np.diff(starts)[group]
        rows = np.repeat(starts[group] - np.cumsum(length) + length, length) + np.arange(length.sum())
        made = plan.profiles.take(rows)
        released = replace(made, user=np.repeat(people, length).astype(np.int32), users=chunk.users, unit=chunk.unit)
        return Masked(released, chunk.users, {"people without a row": int(np.count_nonzero(length == 0))})


def _once(data: Interactions) -> Interactions:
    """Rows by user and item, the last of each pair."""
    pairs = data.user.astype(np.int64) * data.n_items + data.item
    order = np.argsort(pairs, kind="stable")
    last = np.append(np.diff(pairs[order]) > 0, True)
    return data.take(order[last])


def _signs(data: Interactions, like: float | None) -> NDArray[np.int64]:
    if data.rating is None:
        return np.ones(len(data), dtype=np.int64)
    bound = (data.rating.min() + data.rating.max()) / 2 if like is None else like
    return np.where(data.rating >= bound, 1, -1)


def _profiles(data: Interactions, sign: NDArray[np.int64], group: NDArray[np.int64], keep: str) -> Interactions:
    members = np.bincount(group)
    by = group[data.user] * data.n_items + data.item
    order = np.lexsort((by,) if data.rating is None else (data.rating, by))
    cells, first, raters = np.unique(by[order], return_index=True, return_counts=True)
    of, item = np.divmod(cells, data.n_items)
    if keep == "majority":
        kept = 2 * np.abs(np.add.reduceat(sign[order], first)) > members[of]
    elif keep == "half":
        kept = 2 * raters >= members[of]
    else:
        kept = np.ones(len(cells), dtype=bool)
    rating: Any = None
    if data.rating is not None:
        rating = data.rating[order][first + (raters - 1) // 2][kept]  # the lower median is on the side of the majority
    names = pl.Series(np.arange(len(members)))
    return Interactions(of[kept].astype(np.int32), item[kept].astype(np.int32), names, data.items, rating)
