"""Tag tables, and posts drawn from them: who tags what is invented, how often each item bears each tag is kept.

All of it is post-processing: it sees published tables and public facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.mechanism import Drawn, PublicInfo
from recveil.randomness import Source
from recveil.views.triples import TripleTables

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

POST = 2  # tags of a drawn post, about
PROFILE = 10  # posts of a drawn person


@dataclass(frozen=True)
class TagTables:
    """Expected counts over the public lists: of items with tags, of tags, of items; of users with tags, if released."""

    item_tag: scipy.sparse.csr_array
    tag: Floats
    item: Floats
    user_tag: scipy.sparse.csr_array | None = None

    def beside(self, own: scipy.sparse.csr_array) -> TripleTables:
        """The tables as a recommender reads them who keeps people's own tags (users x tags) to themselves."""
        return TripleTables(self.item_tag, own, self.tag)

    def frames(self, public: PublicInfo) -> Mapping[str, pl.DataFrame]:
        """The tables as they are published; a column `user` holds codes."""
        assert public.tags is not None
        found = {
            "item_tag": _frame(self.item_tag, item=public.items, tag=public.tags),
            "tag": _frame(scipy.sparse.csr_array(self.tag[None]), tag=public.tags),
            "item": _frame(scipy.sparse.csr_array(self.item[None]), item=public.items),
        }
        if self.user_tag is not None:
            users = pl.Series(np.arange(self.user_tag.shape[0]))
            found["user_tag"] = _frame(self.user_tag, user=users, tag=public.tags)
        return found


def draw_tags(tables: TagTables, public: PublicInfo, k: float, source: Source) -> Drawn:
    """About k rows for each that the tables expect, and the tables themselves."""
    rng = source.generator()
    if tables.user_tag is None:
        user, item, tag = _posts(tables.item_tag, k, rng)
        users = pl.Series(np.arange(int(user.max(initial=-1)) + 1))
    else:
        user, item, tag = _matched(tables.item_tag.tocsc(), tables.user_tag.tocsc(), k * tables.tag, rng)
        users = pl.Series(np.arange(tables.user_tag.shape[0]))
    if not len(user):
        raise RecveilError("no tag of any item stands out of the noise; more people or a larger epsilon would help")
    triples = np.unique(np.stack([user, item, tag]), axis=1).astype(np.int32)
    rows = Interactions(triples[0], triples[1], users, public.items, tag=triples[2], tags=public.tags)
    return Drawn(rows, tables.frames(public), public.users)


def _posts(item_tag: scipy.sparse.csr_array, k: float, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """The tags of each item dealt to as many posts as its most frequent tag needs; posts dealt to people in turn."""
    cells = item_tag.tocoo()
    times = _systematic(k * cells.data, rng)
    item, tag = (np.repeat(axis, times).astype(np.int64) for axis in (cells.row, cells.col))
    total = np.bincount(item, minlength=item_tag.shape[0])
    most = np.zeros(item_tag.shape[0], dtype=np.int64)
    np.maximum.at(most, cells.row, times)
    posts = np.maximum(most, -(-total // POST))
    turn = np.arange(len(item)) - (np.cumsum(total) - total)[item]
    first, shuffled = np.zeros_like(posts), rng.permutation(len(posts))
    first[shuffled] = np.cumsum(posts[shuffled]) - posts[shuffled]
    people = -(-int(posts.sum()) // PROFILE)  # in turn: nobody gets the same item twice
    return (first[item] + turn % np.maximum(posts, 1)[item]) % max(people, 1), item, tag


def _matched(
    item_tag: scipy.sparse.csc_array, user_tag: scipy.sparse.csc_array, expected: Floats, rng: np.random.Generator
) -> tuple[Ints, Ints, Ints]:
    """For each tag its items and its people, each as often as the tables expect, put together at random."""
    n = _systematic(expected, rng)
    parts: list[tuple[Ints, Ints, Ints]] = []
    for tag in np.flatnonzero(n):
        item, user = (_stubs(table, int(tag), int(n[tag]), rng) for table in (item_tag, user_tag))
        few = min(len(item), len(user))
        if few:
            parts.append((rng.permutation(user)[:few], rng.permutation(item)[:few], np.full(few, tag)))
    if not parts:
        return tuple(np.zeros(0, dtype=np.int64) for _ in range(3))  # type: ignore[return-value]
    people, items, tags = (np.concatenate(column) for column in zip(*parts, strict=True))
    return people, items, tags


def _stubs(table: scipy.sparse.csc_array, tag: int, n: int, rng: np.random.Generator) -> Ints:
    """n rows of a table's column, each as often as its share says, up to one."""
    here = slice(table.indptr[tag], table.indptr[tag + 1])
    weight = table.data[here].astype(np.float64)
    if not weight.sum():
        return np.zeros(0, dtype=np.int64)
    return np.repeat(table.indices[here].astype(np.int64), _systematic(n * weight / weight.sum(), rng))


def _systematic(expected: Floats, rng: np.random.Generator) -> Ints:
    """Whole numbers with these expectations, each rounded down or up, their sum too."""
    ends = np.floor(np.cumsum(expected, dtype=np.float64) + rng.random()).astype(np.int64)
    return np.diff(ends, prepend=0)


def _frame(table: scipy.sparse.csr_array, **ids: pl.Series) -> pl.DataFrame:
    cells = table.tocoo()
    axes = dict(zip(ids, (cells.row, cells.col)[-len(ids) :], strict=True))
    columns = {name: ids[name].gather(axis).alias(name) for name, axis in axes.items()}
    return pl.DataFrame(columns | {"count": np.round(cells.data.astype(np.float32), 4)})
