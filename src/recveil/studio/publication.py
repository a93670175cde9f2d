"""What the public sees: item profiles that move in steps no person can be told from.

Counters that follow every click would let a watcher subtract: what changed between two looks is one person's clicks.
So an item's shown counters stay as they are until at least `min_people` different people have clicked it since, or as
many have taken clicks back; and they are looked at only once in a while. Each difference that is ever shown is a sum
over min_people people or more. Items with fewer clicks than that show nothing.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Engine, func, select, update

from recveil.studio.schema import clicks, items, people
from recveil.studio.store import reading

Profile = tuple[int, int]


@dataclass(frozen=True)
class Snapshot:
    """The public table at one moment, ready to be sent."""

    people: int
    min_people: int
    titles: dict[str, str]  # by item key, in the order of titles
    profiles: dict[str, Profile | None]
    version: str
    body: bytes
    packed: bytes  # the same, gzipped

    def search(self, query: str, offset: int, limit: int) -> tuple[int, list[dict[str, Any]]]:
        """How many items have the words in their title or are so called, and some of them."""
        wanted = query.casefold().strip()
        found = [key for key, title in self.titles.items() if wanted in title.casefold() or wanted == key.casefold()]
        shown = [
            {"id": key, "title": self.titles[key], "profile": as_document(self.profiles[key])}
            for key in found[offset : offset + limit]
        ]
        return len(found), shown


def as_document(profile: Profile | None) -> dict[str, int] | None:
    return None if profile is None else {"likes": profile[0], "dislikes": profile[1]}


def publish(engine: Engine, min_people: int) -> None:
    """Show the counters of the items for which it is time."""
    total = items.c.likes + items.c.dislikes
    gone = items.c.shown_likes + items.c.shown_dislikes - (total - items.c.fresh)  # of those counted before
    with engine.begin() as db:
        newest = select(func.coalesce(func.max(clicks.c.id), 0)).scalar_subquery()
        db.execute(
            update(items)
            .where(sa.or_(items.c.fresh >= min_people, gone >= min_people))
            .values(shown_likes=items.c.likes, shown_dislikes=items.c.dislikes, fresh=0, upto=newest)
        )


def snapshot(engine: Engine, min_people: int) -> Snapshot:
    """The public table."""
    columns = (
        items.c.key,
        items.c.title,
        items.c.likes + items.c.dislikes,
        items.c.shown_likes,
        items.c.shown_dislikes,
    )
    with reading(engine) as db:
        count = db.execute(select(func.count()).select_from(people)).scalar_one()
        found = db.execute(select(*columns)).all()
    rows = sorted(found, key=lambda row: (row[1].casefold(), row[0]))
    profiles = {
        key: (likes, dislikes) if min(true, likes + dislikes) >= min_people else None
        for key, _, true, likes, dislikes in rows
    }
    table = {"people": count, "min_people": min_people, "profiles": profiles}
    version = sha256(json.dumps(table).encode()).hexdigest()[:16]
    body = json.dumps({**table, "version": version}, ensure_ascii=False, separators=(",", ":")).encode()
    titles = {row[0]: row[1] for row in rows}
    return Snapshot(count, min_people, titles, profiles, version, body, gzip.compress(body, 6, mtime=0))
