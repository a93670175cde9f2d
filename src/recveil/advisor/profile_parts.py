"""What looks show, in the database: many items in a row, so that a catalogue of a million is a hundred rows.

A look writes a draft, some rows at a time, and nobody reads it before the ledger names it (`years.shown`). What a
year ended with, exactly, stands in a draft as well until the items' counters are without it (`years.ended`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy import delete, func, insert, select, update

from recveil.advisor.bulk import add_to_counters
from recveil.advisor.schema import profiles

Ints = NDArray[np.int64]
Result = TypeVar("Result")
Write = Callable[[Callable[[sa.Connection], Result]], Result]  # carries something out in a transaction of its own

PART = 1 << 14  # items, by their numbers
AT_ONCE = 4  # parts that are written in one transaction: half a megabyte
FEW = 1000  # items whose counters are written in one transaction
COUNT = np.dtype("<i4")


def parts(n: int) -> Iterator[tuple[int, int, int]]:
    """Of n items: which part, its first item, and how many it has."""
    for first in range(0, n, PART):
        yield first // PART, first, min(PART, n - first)


def read(db: sa.Connection, draft: int | None) -> Ints:
    """Likes and dislikes by item number; of items that came later there is nothing."""
    if draft is None:
        return np.zeros((2, 0), np.int64)
    rows = db.execute(
        select(profiles.c.likes, profiles.c.dislikes).where(profiles.c.draft == draft).order_by(profiles.c.part)
    ).all()
    columns = [b"".join(row[k] for row in rows) for k in (0, 1)]
    return np.array([np.frombuffer(column, COUNT) for column in columns], np.int64)


def write(draft: int, counts: Ints, carry_out: Write[None]) -> None:
    """A draft, a few parts at a time."""
    likes, dislikes = counts.astype(COUNT)
    rows = [
        {
            "draft": draft,
            "part": part,
            "likes": likes[at : at + n].tobytes(),
            "dislikes": dislikes[at : at + n].tobytes(),
        }
        for part, at, n in parts(counts.shape[1])
    ]
    for first in range(0, len(rows), AT_ONCE):
        some = rows[first : first + AT_ONCE]
        carry_out(lambda db, some=some: db.execute(insert(profiles), some) and None)  # type: ignore[misc]


def is_whole(db: sa.Connection, draft: int, n: int) -> bool:
    """Whether all of a draft of n items is there."""
    found = db.execute(select(func.count()).select_from(profiles).where(profiles.c.draft == draft)).scalar_one()
    return found == len(list(parts(n)))


def forget(kept: set[int], carry_out: Write[int]) -> None:
    """Drafts beside these go, a few parts at a time."""

    def some(db: sa.Connection) -> int:
        others = select(profiles.c.draft, profiles.c.part).where(profiles.c.draft.not_in(kept)).limit(AT_ONCE)
        gone = db.execute(others).all()
        for draft, part in gone:
            db.execute(delete(profiles).where(profiles.c.draft == draft, profiles.c.part == part))
        return len(gone)

    while carry_out(some):
        pass


def take_off(draft: int | None, carry_out: Write[bool]) -> None:
    """Subtract a draft of exact counters from the counters of items, a few items at a time. What is done is no longer
    in the draft, so whoever is stopped goes on where it was."""
    mine = profiles.c.draft == draft
    last = select(profiles).where(mine).order_by(profiles.c.part.desc()).limit(1).with_for_update()

    def some(db: sa.Connection) -> bool:
        row = db.execute(last).first()
        if row is None:
            return False
        counts = np.array([np.frombuffer(column, COUNT) for column in (row.likes, row.dislikes)])
        which = np.flatnonzero(counts.any(0))[:FEW]
        moved = zip((row.part * PART + which).tolist(), *counts[:, which].tolist(), strict=True)
        if rows := [(0, 0, -likes, -dislikes, item) for item, likes, dislikes in moved]:
            add_to_counters(db, rows)
        counts[:, which] = 0
        left = [column.tobytes() for column in counts]
        of_part = mine & (profiles.c.part == row.part)
        rest = update(profiles).values(likes=left[0], dislikes=left[1]) if counts.any() else delete(profiles)
        db.execute(rest.where(of_part))
        return True

    while draft is not None and carry_out(some):
        pass
