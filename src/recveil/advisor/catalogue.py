"""The catalogue as everybody may read it, in the order of titles, and what has changed of it since a moment before."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from heapq import merge
from itertools import accumulate
from re import escape, finditer
from zlib import crc32

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy import func, select

from recveil.advisor.documents import JsonDocument, sheet
from recveil.advisor.schema import items

WHOLE = 4096  # items of which all profiles are sent at once: 60 kB, packed
LEAST = 256  # items that a shard has, so that a request for it says little of which one is meant
Row = tuple[str, str, int]  # key, title, number


@dataclass(frozen=True)
class OfferedItems:
    """All items on offer at one moment."""

    revision: int
    titles: dict[str, str]  # by item key, in the order of titles
    numbers: NDArray[np.int64]  # in the same order

    @cached_property
    def keys(self) -> list[str]:
        return list(self.titles)

    @cached_property
    def document(self) -> JsonDocument:
        return sheet({}, "items", [*self.titles.items()])

    @cached_property
    def shards(self) -> dict[str, list[int]]:
        """Places of items by the first bits of a hash of their keys, which anybody can compute; none if all are sent.

        As many bits as leave LEAST items in every shard.
        """
        if len(self.titles) <= WHOLE:
            return {}
        hashes = np.fromiter((crc32(key.encode()) for key in self.titles), np.uint32, len(self.titles))
        bits = int(np.log2(len(hashes) / LEAST))
        while np.bincount(hashes >> np.uint32(32 - bits), minlength=1 << bits).min() < LEAST:
            bits -= 1
        found = defaultdict(list)
        for place, shard in enumerate((hashes >> np.uint32(32 - bits)).tolist()):
            found[f"{shard:0{bits}b}"].append(place)
        return dict(found)

    @cached_property
    def folded(self) -> tuple[str, list[int], dict[str, int]]:
        """All titles in one text for quick search, where each begins in it, and ids."""
        lines = [" ".join(title.casefold().split("\n")) for title in self.titles.values()]
        begins = list(accumulate((len(line) + 1 for line in lines), initial=0))
        return "\n".join(lines), begins, {key.casefold(): place for place, key in enumerate(self.titles)}

    def find(self, query: str) -> list[str]:
        """Items that have the words in their title, or are so called."""
        wanted = query.casefold().strip()
        if not wanted:
            return self.keys
        text, begins, ids = self.folded
        places = {bisect_right(begins, at.start()) - 1 for at in finditer(f"{escape(wanted)}.*", text)}  # one in each
        places |= {ids[wanted]} if wanted in ids else set()
        return [self.keys[place] for place in sorted(places)]


def current(db: sa.Connection, known: OfferedItems | None = None) -> OfferedItems:
    """The catalogue as it stands; what is known already is not read again."""
    revision = db.execute(select(func.coalesce(func.max(items.c.revision), 0))).scalar_one()
    if known is not None and known.revision == revision:
        return known
    columns = (items.c.key, items.c.title, items.c.id)
    if known is None:
        rows = [tuple(row) for row in db.execute(select(*columns).where(items.c.withdrawn.is_(None)))]
        return _made(revision, sorted(rows, key=_order))
    changed = db.execute(select(*columns, items.c.withdrawn).where(items.c.revision > known.revision)).all()
    gone = {row.key for row in changed}
    new = sorted(((key, title, n) for key, title, n, withdrawn in changed if withdrawn is None), key=_order)
    return _made(revision, merge(_kept(known, gone), new, key=_order))


def _order(row: Row) -> tuple[str, str]:
    return row[1].casefold(), row[0]


def _kept(known: OfferedItems, gone: set[str]) -> Iterator[Row]:
    for (key, title), number in zip(known.titles.items(), known.numbers.tolist(), strict=True):
        if key not in gone:
            yield key, title, number


def _made(revision: int, rows: Iterator[Row] | list[Row]) -> OfferedItems:
    titles, numbers = {}, []
    for key, title, number in rows:
        titles[key] = title
        numbers.append(number)
    return OfferedItems(revision, titles, np.array(numbers, np.int64))
