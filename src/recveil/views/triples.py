"""Tag data as sets of triples (user, resource, tag): each once, their posts, and the tables of counts made of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from recveil.data import Codes, Floats, Interactions
from recveil.errors import RecveilError
from recveil.ids import code, places


@dataclass(frozen=True, eq=False)
class Posts:
    """A post is a user's resource with all tags that she gave it: tag[starts[p] : starts[p + 1]]."""

    user: Codes
    item: Codes
    starts: NDArray[np.int64]
    tag: Codes

    def __len__(self) -> int:
        return len(self.user)


@dataclass(frozen=True, eq=False)
class TripleTables:
    """How often tags meet resources, users and anything at all: counted, or as a private release states it.

    resource and user are matrices (sparse or dense) with a row for each resource and user. Their columns are all tags,
    as in `tag`, or the tags in `vocabulary` alone. `posts` (users x resources) is what no private table may hold.
    """

    resource: Any
    user: Any
    tag: Floats
    vocabulary: Codes | None = None
    posts: scipy.sparse.csr_array | None = None

    def rows(self, table: Any, codes: NDArray[Any]) -> Floats:
        """Some rows of `resource` or `user`, dense and over all tags."""
        some = table[codes]
        some = some.toarray() if scipy.sparse.issparse(some) else some
        if some.shape[1] == len(self.tag):
            return np.asarray(some, dtype=np.float64)
        assert self.vocabulary is not None
        wide = np.zeros((len(codes), len(self.tag)))
        wide[:, self.vocabulary] = some
        return wide


def distinct(data: Interactions) -> Interactions:
    """Every triple once, by user, resource and tag; ratings and times are left out."""
    tag = tag_codes(data)
    order = np.lexsort((tag, data.item, data.user))
    columns = np.stack([data.user, data.item, tag])[:, order]
    new = np.append(True, np.any(np.diff(columns, axis=1) != 0, axis=0))[: len(order)]
    return replace(data, rating=None, time=None).take(order[new])


def folded(data: Interactions) -> Interactions:
    """The same rows with tags that differ in case or in spaces around them made one."""
    tag = tag_codes(data)
    assert data.tags is not None
    plain = pl.Series([str(name).strip().casefold() for name in data.tags], dtype=pl.String)
    codes, names = code(plain)
    return replace(data, tag=codes[tag], tags=names)


def beyond(data: Interactions, tags: pl.Series) -> Interactions:
    """All rows, coded over `tags`; each tag that does not stand there has a code after them, and null for a name."""
    assert data.tags is not None
    where = places(data.tags, tags).copy()
    outside = np.flatnonzero(where < 0)
    where[outside] = len(tags) + np.arange(len(outside), dtype=np.int32)
    nameless = pl.Series(tags.name, [None] * len(outside), dtype=tags.dtype)
    return replace(data, tag=where[tag_codes(data)], tags=pl.concat([tags, nameless]))


def posts(data: Interactions) -> Posts:
    """The posts of some triples, by user and resource."""
    rows = distinct(data)
    new = np.append(True, (np.diff(rows.user) != 0) | (np.diff(rows.item) != 0))[: len(rows)]
    first = np.flatnonzero(new)
    return Posts(rows.user[first], rows.item[first], np.append(first, len(rows)), tag_codes(rows))


def tables(data: Interactions) -> TripleTables:
    """The exact counts of distinct triples."""
    rows = distinct(data)
    tag = tag_codes(rows)
    return TripleTables(
        resource=_count(rows.item, tag, (data.n_items, data.n_tags)),
        user=_count(rows.user, tag, (data.n_users, data.n_tags)),
        tag=np.bincount(tag, minlength=data.n_tags).astype(np.float64),
        posts=_count(rows.user, rows.item, (data.n_users, data.n_items)),
    )


def _count(row: Codes, column: Codes, shape: tuple[int, int]) -> scipy.sparse.csr_array:
    return scipy.sparse.coo_array((np.ones(len(row)), (row, column)), shape=shape).tocsr()


def tag_codes(data: Interactions) -> Codes:
    """The tag column, which must be there."""
    if data.tag is None:
        raise RecveilError("tags are needed, and the data have no tag column")
    return data.tag
