"""The MASK recommender: similar items from a perturbed release and the p that made it, top-N from a history.

It needs nothing of the true data. A person's history can stay on her side: the lists of similar items are the same for
everybody, and her own list is made from them where her history is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.errors import RecveilError, unknown
from recveil.views.bits import Columns
from recveil.views.supports import check_p, noise, single_support

Score = Literal["max", "sum"]
Lists = dict[Any, list[Any]]  # each user's recommended items, best first
_STRIPE = 512  # items whose pair supports are held at a time
_SURE = 6.0  # standard errors above zero that an estimated support must reach by default


@dataclass(frozen=True, eq=False)
class Similar:
    """For each item its most similar ones, best first: codes (-1: no more), cosines, and estimated pair supports."""

    items: pl.Series
    neighbour: NDArray[np.int32]
    similarity: NDArray[np.float64]
    support: NDArray[np.float64]
    minsup: float

    def lines(self, most: int | None = None) -> Iterator[str]:
        """The paper's form: item, tab, then item1,sim,sup;item2,sim,sup;... for each item that has a list."""
        names = self.items.to_list()
        for i in np.flatnonzero(self.neighbour[:, 0] >= 0):
            row = self.neighbour[i, :most]
            n = int((row >= 0).sum())
            triples = zip(row[:n].tolist(), self.similarity[i, :n], self.support[i, :n], strict=True)
            yield f"{names[i]}\t" + ";".join(f"{names[j]},{sim:.6f},{sup:.1f}" for j, sim, sup in triples)


def similar_items(
    seen: Columns,
    *,
    p: float = 1.0,
    minsup: float | None = None,
    k: int | None = None,
    tick: Callable[[int], None] = lambda items: None,  # noqa: ARG005
) -> Similar:
    """Ordered lists of similar items (all, or the k best) from data whose bits were kept with probability p.

    p = 1 takes the counts as they are. `minsup`: the estimated number of users an item must have, to have a list or
    stand in one. Without it, six standard errors of the estimate for an item that nobody has: rarer items cannot be
    told from noise, and noise makes them look alike. Pair supports are counted stripe by stripe and never held whole.
    """
    from recveil.kernels.item_cosines import nearest
    from recveil.kernels.popcount import stripe_counts

    n, m, ones = seen.n_users, seen.n_items, seen.singles
    single, least = supported(ones, n, p, minsup)
    length = max(1, min(k or m - 1, m - 1))
    neighbour = np.full((m, length), -1, dtype=np.int32)
    similarity, support = np.zeros((m, length)), np.zeros((m, length))
    for first in range(0, m, _STRIPE):
        last = min(m, first + _STRIPE)
        if single[first:last].any():
            counts = stripe_counts(seen.bits, first, min(len(seen.bits), first + _STRIPE))
            mine = slice(first, last)
            neighbour[mine], similarity[mine], support[mine] = nearest(
                counts, ones[mine], single[mine], ones, single, first, n, p, length
            )
        tick(last - first)
    return Similar(seen.items, neighbour, similarity, support, least)


def supported(ones: NDArray[np.int64], n: int, p: float, minsup: float | None) -> tuple[NDArray[np.float64], float]:
    """Estimated supports of items, from their counts among n users, 0 where it is below minsup; and this minsup."""
    single = np.clip(single_support(ones, n, check_p(p)), 0, n)
    least = _SURE * noise(n, p) if minsup is None else float(minsup)
    wanted = single >= max(least, 1e-9)
    if not wanted.any():
        raise RecveilError(
            f"minsup {least:.4g} is above every item: the largest estimated support is {single.max():.1f}"
        )
    return np.where(wanted, single, 0.0), least


def top_n(histories: Interactions, similar: Similar, top: int = 30, score: Score = "max") -> NDArray[np.int32]:
    """For each user who has a history, in the order of ids, the codes of `top` items outside it, best first.

    max: by the largest similarity to an item of the history, then its support. sum: by the sum of similarities.
    -1 fills the lists of those for whom there are not enough similar items.
    """
    from recveil.kernels.item_cosines import top_items

    if score not in ("max", "sum"):
        raise unknown("score", score, ("max", "sum"))
    if top < 1:
        raise RecveilError(f"a list has at least 1 item, not {top}")
    known = histories.over_items(similar.items).matrix(binary=True)
    known.sort_indices()
    lengths = np.diff(known.indptr)
    asked = np.bincount(histories.user, minlength=histories.n_users) > 0
    if np.any(asked & (lengths == 0)):
        raise RecveilError(
            f"{int((asked & (lengths == 0)).sum())} of the users have an empty profile: none of their items is among "
            "those of the release"
        )
    people = np.flatnonzero(asked)
    if not len(people):
        raise RecveilError("an empty profile: there is no history to recommend from")
    starts = np.append(known.indptr[people], known.indptr[-1]).astype(np.int64)
    best, _ = top_items(
        starts,
        known.indices.astype(np.int32),
        similar.neighbour,
        similar.similarity,
        similar.support,
        top,
        score == "sum",
    )
    return np.asarray(best)


def lists(histories: Interactions, similar: Similar, top: int = 30, score: Score = "max") -> Lists:
    """The lists of top_n in ids; in the order of users."""
    best = top_n(histories, similar, top, score)
    people, names = histories.users.gather(np.unique(histories.user)), similar.items.to_list()
    return {u: [names[i] for i in row if i >= 0] for u, row in zip(people.to_list(), best.tolist(), strict=True)}


def lines(made: Lists) -> Iterator[str]:
    """A line a user: userid, tab, item1,item2,..."""
    return (f"{user}\t{','.join(map(str, items))}" for user, items in made.items())


def overlap(first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.float64]:
    """Eq. 12: for each user the share (in %) of list places whose items stand in both lists."""
    top = first.shape[1]
    both = (first[:, :, None] == second[:, None, :]) & (first[:, :, None] >= 0)
    return np.asarray(100.0 * both.any(axis=2).sum(axis=1) / top)
