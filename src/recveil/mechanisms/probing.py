"""What probes of several mechanisms share: people who are not in the data, and pairs of popular items for each of them.

A probe is a flock of canaries for an audit in one run, each in or out by a coin, and how a release shows them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Interactions, concat, from_ids
from recveil.errors import RecveilError

Bits = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SPARE_CELLS = 1.3  # cells to choose canaries from, for each canary


def new_ids(ids: pl.Series, n: int) -> pl.Series:
    """Ids that do not occur, of the same type."""
    if ids.dtype == pl.String:
        return pl.Series([f"canary-{k}" for k in range(n)], dtype=pl.String)
    return pl.Series(int(ids.max()) + 1 + np.arange(n), dtype=ids.dtype)  # type: ignore[arg-type]


def people(data: Interactions, users: pl.Series, items: pl.Series, tags: pl.Series | None = None) -> Interactions:
    """Rows with the columns of the data: the best rating, a session each."""
    n = len(users)
    rating = None if data.rating is None else np.full(n, data.rating.max())
    time = None if data.time is None else np.arange(n, dtype=data.time.dtype)
    session = None if data.session is None else np.zeros(n, dtype=data.session.dtype)
    return replace(from_ids(users, items, rating, time, tags, data.unit), session=session)


@dataclass(frozen=True)
class Couples:
    """Pairs of popular items, a different one for each canary; and the data with those people who are inside."""

    first: pl.Series
    second: pl.Series
    whole: Interactions

    def cells(self, items: pl.Series, kept: Ints) -> tuple[Any, Any, Bits, Any]:
        """Where they stand among kept items: both places, whether they do, and the cell above the diagonal."""
        i, j = (place(side, kept, items) for side in (self.first, self.second))
        there, low, high, m = (i >= 0) & (j >= 0), np.minimum(i, j), np.maximum(i, j), len(kept)
        return i, j, there, np.where(there, low * (2 * m - low - 1) // 2 + high - low - 1, 0)


def couples(
    data: Interactions, inside: Bits, rng: np.random.Generator, ends: tuple[float, float] | None = None
) -> Couples:
    """People with two popular items each; `ends`: how they rate the first and the second."""
    n = len(inside)
    often = np.bincount(data.item, minlength=data.n_items)
    top = np.sort(np.argsort(-often, kind="stable")[: int(np.ceil(np.sqrt(2 * SPARE_CELLS * n))) + 1])
    a, b = np.triu_indices(len(top), 1)
    if len(a) < n:
        raise RecveilError(f"{n} canaries need {n} pairs of popular items, and there are {len(a)}; take fewer")
    pick = rng.permutation(len(a))[:n]
    first, second = data.items.gather(top[a[pick]]), data.items.gather(top[b[pick]])
    items = pl.Series(np.column_stack([first.to_numpy(), second.to_numpy()]).ravel())
    rows = people(data, pl.Series(np.repeat(new_ids(data.users, n).to_numpy(), 2)), items)
    if ends:
        rows = replace(rows, rating=np.tile(np.array(ends), n))
    return Couples(first, second, concat([data, rows.take(np.repeat(inside, 2))]))


def place(ids: pl.Series, kept: Ints, known: Any) -> Ints:
    """Where ids stand among the kept ones; -1: nowhere."""
    places = np.full(len(known), -1, dtype=np.int64)
    places[kept] = np.arange(len(kept))
    return np.asarray(places[known.search_sorted(ids).to_numpy()])
