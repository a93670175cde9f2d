"""Interactions: the one dataset type. Who touched what; perhaps how much it was liked, when, and with which tag."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from recveil import ids as names
from recveil.ids import code, places, plain, union

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
By = Literal["user", "item"]
Kind = Literal["ratings", "clicks", "sessions", "tags"]

NO_TIME = np.iinfo(np.int64).max  # an unknown integer time; like NaN among floats it sorts last


@dataclass(frozen=True, eq=False)
class Interactions:
    """Rows of (user, item[, rating][, time][, tag]) as integer codes into sorted id vocabularies.

    Rows stand in the order of the file. Codes follow the order of the ids, so "lowest code" means "lowest id".
    Arrays are read-only. `time` is any number that gives an order: int64 (unknown: NO_TIME) or float64
    (unknown: NaN). Times are compared as floats, however others are written. `unit` says
    whom a `user` stands for: a person, or only one session of a person.
    """

    user: Codes
    item: Codes
    users: pl.Series
    items: pl.Series
    rating: Floats | None = None
    time: NDArray[Any] | None = None
    tag: Codes | None = None
    tags: pl.Series | None = None
    unit: Literal["user", "session"] = "user"
    untyped: frozenset[str] = frozenset()  # roles of ids whose type nobody declared: what is published settles it
    session: NDArray[np.uint64] | None = None  # keys that tell the sessions of one user apart
    levels: tuple[float, ...] | None = None  # of ratings, where the type of their column declares them

    def __post_init__(self) -> None:
        for name in ("user", "item", "rating", "time", "tag", "session"):
            column = getattr(self, name)
            if column is None:
                continue
            if len(column) != len(self.user):
                raise ValueError(f"column {name} has {len(column)} rows, user has {len(self.user)}")
            frozen = column.view()
            frozen.flags.writeable = False
            object.__setattr__(self, name, frozen)
        if (self.tag is None) != (self.tags is None):
            raise ValueError("tag codes and the tag vocabulary come together")

    def __len__(self) -> int:
        return len(self.user)

    def __repr__(self) -> str:
        return f"Interactions({self.kind}: {len(self):,} rows, {self.n_users:,} users, {self.n_items:,} items)"

    @property
    def n_users(self) -> int:
        """Size of the user vocabulary (after `take`, some of its ids may have no row)."""
        return len(self.users)

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def n_tags(self) -> int:
        return 0 if self.tags is None else len(self.tags)

    @property
    def kind(self) -> Kind:
        if self.tag is not None:
            return "tags"
        if self.rating is not None:
            return "ratings"
        return "sessions" if self.unit == "session" else "clicks"

    @property
    def unknown_times(self) -> int:
        """How many rows have a time column but no time in it."""
        if self.time is None:
            return 0
        null = np.isnan(self.time) if self.time.dtype.kind == "f" else self.time == NO_TIME
        return int(np.count_nonzero(null))

    @property
    def moments(self) -> NDArray[Any] | None:
        """Times as they are compared: one by one as floats, unknown ones last."""
        time = self.time
        if time is None or time.dtype.kind == "f" or not len(time):
            return time
        known = time[time != NO_TIME] if time.max() == NO_TIME else time
        if not len(known) or (known.min() >= -(2**53) and known.max() <= 2**53):
            return time  # the same order
        return np.where(time == NO_TIME, np.nan, time.astype(np.float64))

    # --- rows -------------------------------------------------------------------------------------------------

    def take(self, rows: NDArray[Any] | slice) -> Interactions:
        """The given rows (indices, a mask or a slice), with the vocabularies unchanged."""
        columns = {
            f.name: getattr(self, f.name)[rows]
            for f in fields(self)
            if f.name in ("user", "item", "rating", "time", "tag", "session") and getattr(self, f.name) is not None
        }
        return replace(self, **columns)

    def take_users(self, users: NDArray[Any]) -> Interactions:
        """The rows of the given users (codes or a mask over the vocabulary), with the vocabularies unchanged."""
        wanted = np.zeros(self.n_users, dtype=bool)
        wanted[users] = True
        return self.take(wanted[self.user])

    def among(self, users: NDArray[np.bool_]) -> Interactions:
        """The rows of the users whom a mask over the vocabulary names, with these alone in the vocabulary of users."""
        new = np.cumsum(users, dtype=np.int32) - np.int32(1)
        rows = self.take(users[self.user])
        return replace(rows, user=new[rows.user], users=self.users.filter(pl.Series(users)))

    def ordered(self) -> Interactions:
        """Rows by user, then by time (unknown last), then as they stood; itself if they stand so already."""
        if self.is_ordered():
            return self
        moments, by_user = self.moments, group(self.user, self.n_users)[1]
        if moments is None or _ascending(moments[by_user], np.diff(self.user[by_user]) > 0):
            return self.take(by_user)
        by_time = np.argsort(moments, kind="stable").astype(np.int32 if len(self) < 2**31 else np.int64)
        return self.take(by_time[group(self.user[by_time], self.n_users)[1]])

    def is_ordered(self) -> bool:
        step = np.diff(self.user)
        if np.any(step < 0):
            return False
        moments = self.moments
        if moments is None:
            return True
        return _ascending(moments, step > 0)

    def canonical(self) -> Interactions:
        """Rows by user, time, item, tag and rating, however the file stood.

        Clicks and sessions without times have no other order than that of the file, and keep it.
        """
        if self.time is None and self.kind in ("clicks", "sessions"):
            return self.ordered()
        if self.time is not None and (rows := self._ties_settled()) is not None:
            return rows
        order = group(self.item, self.n_items)[1]
        if self.tag is not None:
            order = group(self.tag, self.n_tags)[1]
            order = order[group(self.item[order], self.n_items)[1]]
        rows = self.take(order).ordered()
        keys = [k for k in (rows.tag, rows.item, rows.moments, rows.user) if k is not None]
        if rows.rating is not None and np.any(np.all([~(k[:-1] < k[1:]) for k in keys], axis=0)):
            rows = rows.take(np.lexsort([rows.rating, *keys]))  # equal in all else: rare, so it may be slow
        return rows

    def _ties_settled(self) -> Interactions | None:
        """The canonical order where few rows of a user share their time: only these are compared further."""
        rows = self.ordered()
        moments: Any = rows.moments
        tied = (rows.user[1:] == rows.user[:-1]) & ~(moments[1:] > moments[:-1])
        if moments.dtype.kind == "f":
            tied &= ~(np.isnan(moments[1:]) & ~np.isnan(moments[:-1]))  # unknown ones stand last
        if 10 * np.count_nonzero(tied) > len(rows):
            return None
        run = np.append(False, ~tied).cumsum()
        few = np.flatnonzero(np.append(tied, False) | np.append(False, tied))
        keys = [k[few] for k in (rows.rating, rows.tag, rows.item, run) if k is not None]
        settled = few[np.lexsort(keys)]
        if np.array_equal(settled, few):
            return rows
        order = np.arange(len(rows))
        order[few] = settled
        return rows.take(order)

    def starts(self, by: By = "user") -> NDArray[np.int64]:
        """Where the rows of each user (item) begin; rows must stand grouped `by` it."""
        codes, n = (self.user, self.n_users) if by == "user" else (self.item, self.n_items)
        if np.any(np.diff(codes) < 0):
            raise ValueError(f"rows are not grouped by {by}")
        starts = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(np.bincount(codes, minlength=n), out=starts[1:])
        return starts

    def grouped(self, by: By) -> Interactions:
        """Rows grouped `by` user (in time order) or by item (raters in the order of their ids)."""
        if by == "user":
            return self.ordered()
        step = np.diff(self.item)
        if np.all((step > 0) | ((step == 0) & (self.user[1:] >= self.user[:-1]))):
            return self
        by_user = group(self.user, self.n_users)[1]
        return self.take(by_user[group(self.item[by_user], self.n_items)[1]])

    def chunks(self, by: By, rows: int) -> Iterator[Interactions]:
        """Pieces of about `rows` rows, grouped `by` user or item, each user (item) whole in one of them."""
        data = self.grouped(by)
        starts = data.starts(by)
        begin = 0
        while begin < len(data):
            last = int(np.searchsorted(starts, begin + rows, side="right")) - 1
            end = int(starts[last])
            if end <= begin:  # one user (item) alone has more rows than asked for
                end = int(starts[np.searchsorted(starts, begin, side="right")])
            yield data.take(slice(begin, end))
            begin = end

    # --- ids --------------------------------------------------------------------------------------------------

    def keys(self, by: By) -> NDArray[np.uint64]:
        """A 64-bit name of each id, the same wherever it is computed: randomness is derived from it."""
        return names.keys(self.users if by == "user" else self.items)

    def compact(self) -> Interactions:
        """The same rows with only those ids in the vocabularies that occur in them."""
        user, users = _used(self.user, self.users)
        item, items = _used(self.item, self.items)
        tag, tags = (None, None) if self.tag is None or self.tags is None else _used(self.tag, self.tags)
        return replace(self, user=user, users=users, item=item, items=items, tag=tag, tags=tags)

    def over_items(self, items: pl.Series) -> Interactions:
        """The rows whose items stand in `items` (sorted ids), coded over all of it."""
        return self._over("item", items)

    def over_tags(self, tags: pl.Series) -> Interactions:
        """The rows whose tags stand in `tags` (sorted ids), coded over all of it."""
        return self._over("tag", tags)

    def over_users(self, users: pl.Series) -> Interactions:
        """The rows whose users stand in `users` (sorted ids), coded over all of it."""
        return self._over("user", users)

    def _over(self, column: Literal["user", "item", "tag"], ids: pl.Series) -> Interactions:
        known: pl.Series = getattr(self, f"{column}s")
        if ids is known or ids.equals(known, check_dtypes=True):
            return self
        where = places(known, ids)
        new = where[getattr(self, column)]
        rows = self if np.all(where >= 0) else self.take(new >= 0)
        return replace(rows, **{column: new[new >= 0], f"{column}s": ids})

    # --- views ------------------------------------------------------------------------------------------------

    def frame(self) -> pl.DataFrame:
        """The rows with their ids, as a polars frame; unknown times are null."""
        columns = {"user": self.users.gather(self.user)}
        if self.session is not None:
            columns["session"] = pl.Series(self.session.view(np.int64))
        columns |= {"item": self.items.gather(self.item)}
        if self.tag is not None and self.tags is not None:
            columns["tag"] = self.tags.gather(self.tag)
        if self.rating is not None:
            columns["rating"] = pl.Series(self.rating)
        if self.time is not None:
            time = pl.Series(self.time)
            columns["time"] = time.fill_nan(None) if self.time.dtype.kind == "f" else time.set(time == NO_TIME, None)
        return pl.DataFrame({name: column.alias(name) for name, column in columns.items()})

    def matrix(self, binary: bool = False) -> scipy.sparse.csr_array:
        """Users x items: ratings, or 1 per pair (`binary`, and wherever there are no ratings)."""
        ones = binary or self.rating is None
        values = np.ones(len(self)) if ones else self.rating
        matrix = scipy.sparse.coo_array((values, (self.user, self.item)), shape=(self.n_users, self.n_items)).tocsr()
        if ones:
            matrix.data[:] = 1.0
        return matrix

    def equals(self, other: Interactions) -> bool:
        """The same rows, with the same ids, in the same order."""
        return self.frame().equals(other.frame(), null_equal=True)


def _ascending(moments: NDArray[Any], begins: NDArray[np.bool_]) -> bool:
    """Whether times ascend, unknown ones last, but for where another user's begin."""
    later = moments[1:] >= moments[:-1]
    if moments.dtype.kind == "f":
        later |= np.isnan(moments[1:])
    return bool(np.all(later | begins))


def group(codes: NDArray[Any], n: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Counting sort: where each code's rows start, and the rows by code, in their given order within a code."""
    rows = np.arange(len(codes), dtype=np.int32 if len(codes) < 2**31 else np.int64)
    pairs = scipy.sparse.coo_array((rows, (codes, rows)), shape=(n, max(len(codes), 1)))
    pairs.has_canonical_format = True  # no pair repeats, so there is nothing to sum up
    table = pairs.tocsr()
    return table.indptr.astype(np.int64), table.data


def from_ids(
    user: pl.Series,
    item: pl.Series,
    rating: NDArray[Any] | None = None,
    time: NDArray[Any] | None = None,
    tag: pl.Series | None = None,
    unit: Literal["user", "session"] = "user",
    session: pl.Series | None = None,
) -> Interactions:
    """Interactions from columns of ids."""
    users, items = code(plain(user)), code(plain(item))
    tags = (None, None) if tag is None else code(plain(tag))
    ratings = None if rating is None else np.asarray(rating, dtype=np.float64)
    if time is not None:
        time = np.asarray(time, dtype=np.float64 if time.dtype.kind == "f" else np.int64)
    apart = None
    if session is not None:
        codes, named = code(plain(session))
        apart = names.keys(named)[codes]
    return Interactions(users[0], items[0], users[1], items[1], ratings, time, tags[0], tags[1], unit, session=apart)


def align(*parts: Interactions) -> tuple[Interactions, ...]:
    """The parts with one item vocabulary: the union of theirs."""
    items = union(*(p.items for p in parts))
    return tuple(p.over_items(items) for p in parts)


def concat(parts: Sequence[Interactions]) -> Interactions:
    """The rows of all parts, one after the other, over the union of their vocabularies."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if any((p.rating is None) != (first.rating is None) or (p.tag is None) != (first.tag is None) for p in parts):
        raise ValueError("parts to concatenate must have the same columns")
    user, users = _merge([p.user for p in parts], [p.users for p in parts])
    item, items = _merge([p.item for p in parts], [p.items for p in parts])
    tag, tags = None, None
    if first.tags is not None:
        tag, tags = _merge([p.tag for p in parts if p.tag is not None], [p.tags for p in parts if p.tags is not None])
    rating = None if first.rating is None else np.concatenate([p.rating for p in parts if p.rating is not None])
    timed = all(p.time is not None for p in parts)
    time = np.concatenate([p.time for p in parts if p.time is not None]) if timed else None
    apart = [p.session for p in parts if p.session is not None]
    session = np.concatenate(apart) if len(apart) == len(parts) else None
    return Interactions(
        user, item, users, items, rating, time, tag, tags, first.unit, first.untyped, session, first.levels
    )


def _used(codes: Codes, ids: pl.Series) -> tuple[Codes, pl.Series]:
    present = np.zeros(len(ids), dtype=bool)
    present[codes] = True
    if present.all():
        return codes, ids
    new = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return new[codes], ids.filter(pl.Series(present))


def _merge(codes: list[Codes], ids: list[pl.Series]) -> tuple[Codes, pl.Series]:
    if all(i is ids[0] or i.equals(ids[0], check_dtypes=True) for i in ids[1:]):
        return np.concatenate(codes), ids[0]
    together = union(*ids)
    where = [places(i, together) for i in ids]
    return np.concatenate([w[c] for w, c in zip(where, codes, strict=True)]), together
