"""Clicks that stand, and what a run of clicks and undos changes, gathered before anything is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam, delete, insert, select

from recveil.advisor.bulk import FEW, NEW_CLICK, insert_clicks
from recveil.advisor.schema import clicks, items, keys, marks


def among(column: sa.Column[Any], name: str) -> sa.ColumnElement[bool]:
    return column.in_(bindparam(name, expanding=True))


# Statements of the way that every click takes are put together once.
ITEMS = select(items.c.key, items.c.id, items.c.withdrawn).where(among(items.c.key, "keys"))
MADE = select(clicks.c.person, clicks.c.item, clicks.c.id, clicks.c.sign, clicks.c.spent, clicks.c.entered).where(
    among(clicks.c.person, "persons"), among(clicks.c.item, "items")
)
MARKS = select(marks.c.mark, marks.c.spent).where(among(marks.c.mark, "marks"))
UNDO = delete(clicks).where(among(clicks.c.id, "ids"))
INSERT_CLICKS, INSERT_KEYS = insert(clicks), insert(keys)


@dataclass(frozen=True)
class StandingClick:
    """A click that stands. `spent`: how many changes of this person's mind about this item reached noisy counters."""

    number: int | None  # none before it is written
    sign: int
    spent: int
    entered: int  # 1: this click is one of them


Made = dict[tuple[int, int], StandingClick]


@dataclass
class ClickChanges:
    """What is to be written."""

    clicks: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)  # as `bulk.NEW_CLICK`
    keys: list[dict[str, Any]] = field(default_factory=list)
    undone: list[int] = field(default_factory=list)
    marked: dict[bytes, int] = field(default_factory=dict)  # spent, as it stands in the table
    marks: dict[bytes, dict[str, Any]] = field(default_factory=dict)  # as it is to stand there

    def spent(self, mark: bytes) -> int:
        return int(self.marks[mark]["spent"]) if mark in self.marks else self.marked.get(mark, 0)

    def write(self, db: sa.Connection) -> None:
        if self.undone:
            db.execute(UNDO, {"ids": self.undone})
        if old := [mark for mark in self.marks if mark in self.marked]:
            db.execute(delete(marks).where(marks.c.mark.in_(old)))
        if self.marks:
            db.execute(insert(marks), list(self.marks.values()))
        if len(self.clicks) > FEW:
            insert_clicks(db, sorted(self.clicks.values(), key=itemgetter(0)))  # hers stand in their order
        elif self.clicks:
            db.execute(INSERT_CLICKS, [dict(zip(NEW_CLICK, click, strict=True)) for click in self.clicks.values()])
        if self.keys:
            db.execute(INSERT_KEYS, self.keys)
