"""Columns: who has which item, bit-packed with a row for every item. What pair supports are counted on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Interactions, group


@dataclass(frozen=True, eq=False)
class Columns:
    """One bit per user and item: bits[item, user / 64]. Rows are padded to a multiple of four, users to 64."""

    bits: NDArray[np.uint64]
    n_users: int
    items: pl.Series

    @property
    def n_items(self) -> int:
        return len(self.items)

    @cached_property
    def singles(self) -> NDArray[np.int64]:
        """How many users have each item."""
        from recveil.kernels.popcount import single_counts

        return np.asarray(single_counts(self.bits))[: self.n_items]

    def pairs(self) -> NDArray[np.int32]:
        """How many users have both items of each pair; the diagonal has the items' own counts."""
        from recveil.kernels.popcount import pair_counts

        return np.asarray(pair_counts(self.bits))[: self.n_items, : self.n_items]

    def take(self, items: NDArray[Any]) -> Columns:
        """The rows of the given items (codes or a mask)."""
        items = np.flatnonzero(items) if items.dtype == bool else items
        bits = empty(len(items), self.n_users)
        bits[: len(items)] = self.bits[items]
        return Columns(bits, self.n_users, self.items.gather(items))


def empty(n_items: int, n_users: int) -> NDArray[np.uint64]:
    """Bits of nobody, with the padding that the kernels want."""
    return np.zeros((-(-n_items // 4) * 4, -(-n_users // 64)), dtype=np.uint64)


def columns(data: Interactions, n_users: int | None = None) -> Columns:
    """The people and items of the data as bits. `n_users`: their number, where some of them may have no row at all."""
    from recveil.kernels.bits import pack

    starts, rows = group(data.item, data.n_items)
    present = np.bincount(data.user, minlength=data.n_users) > 0
    code = np.cumsum(present, dtype=np.int32) - np.int32(1)
    n = max(n_users or 0, int(present.sum()))
    bits = empty(data.n_items, n)
    pack(starts, code[data.user[rows]], bits)
    return Columns(bits, n, data.items)
