"""Records: a person's items as a set, with the last rating of each; postings are the same seen from the items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from recveil.data import Interactions, group
from recveil.errors import RecveilError


@dataclass(frozen=True, eq=False)
class Records:
    """The items of record r are items[starts[r]:starts[r + 1]], ascending and without repeats."""

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    ratings: NDArray[np.float64]  # NaN where the data have none
    n_items: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sets(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """What the similarity kernels take."""
        return self.starts, self.items

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    @property
    def people(self) -> NDArray[np.int64]:
        """Those who have any item."""
        return np.flatnonzero(self.lengths)

    def take(self, wanted: NDArray[Any]) -> Records:
        """The given records, in the given order."""
        rows = self.rows_of(wanted)
        starts = np.concatenate([[0], np.cumsum(self.lengths[wanted])]).astype(np.int64)
        return Records(starts, self.items[rows], self.ratings[rows], self.n_items)

    def rows_of(self, wanted: NDArray[Any]) -> NDArray[np.int64]:
        """The rows of the given records, one record after the other."""
        lengths = self.lengths[wanted]
        first = np.cumsum(lengths) - lengths
        rows: NDArray[np.int64] = np.arange(int(lengths.sum())) + np.repeat(self.starts[wanted] - first, lengths)
        return rows

    def popularity(self) -> NDArray[np.int64]:
        """How many records hold each item."""
        return np.bincount(self.items, minlength=self.n_items)


class Postings(NamedTuple):
    """The records that hold item i are records[starts[i]:starts[i + 1]], ascending."""

    starts: NDArray[np.int64]
    records: NDArray[np.int32]
    ratings: NDArray[np.float64]


_MADE: WeakKeyDictionary[Interactions, Records] = WeakKeyDictionary()  # many ask for those of the same data


def records(data: Interactions) -> Records:
    """One record per user of the vocabulary; of repeated pairs the last in time counts."""
    if not len(data):
        raise RecveilError("there are no rows to measure")
    if data not in _MADE:
        _MADE[data] = _records(data)
    return _MADE[data]


def _records(data: Interactions) -> Records:
    rows, last = last_of_pairs(data)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows.user[last], minlength=rows.n_users))]).astype(np.int64)
    ratings = np.full(len(last), np.nan) if rows.rating is None else rows.rating[last]
    return Records(starts, rows.item[last], ratings, rows.n_items)


def last_of_pairs(data: Interactions) -> tuple[Interactions, NDArray[np.int64]]:
    """The rows, ordered in time if any pair of user and item repeats; the last row of every pair, by user and item."""
    order = group(data.item, data.n_items)[1]
    order = order[group(data.user[order], data.n_users)[1]]
    user, item = data.user[order], data.item[order]
    last = np.append((user[1:] != user[:-1]) | (item[1:] != item[:-1]), True)
    if last.all() or data.is_ordered():
        return data, order[last]
    return last_of_pairs(data.ordered())


def postings(of: Records) -> Postings:
    starts, rows = group(of.items, of.n_items)
    record = np.repeat(np.arange(len(of), dtype=np.int32), of.lengths)
    return Postings(starts, record[rows], of.ratings[rows])
