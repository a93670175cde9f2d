"""What the public sees: item profiles with noise (`blurred`), or, for closed groups, exact ones that move in steps.

Counters that follow every click would let a watcher subtract: what changed between two looks is one person's clicks.
Noise bounds that for everybody, in all looks together. Exact counters are for groups whose members trust each other:
an item's shown counters stay as they are until the number of people who clicked it has moved by `min_people`. Then at
least as many different people have come (or gone) since, whoever else went and came back. Each difference that is ever
shown is a sum over min_people people or more; items with fewer clicks show nothing. Whoever makes a few accounts of her
own reads single clicks from such counters all the same.
"""

from __future__ import annotations

import gzip
import json
import re
from bisect import bisect_right
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from itertools import accumulate
from re import finditer
from typing import Any

from sqlalchemy import Engine, func, select, update

from recveil.advisor.item_model import ModelBudget
from recveil.advisor.noisy_counters import blur
from recveil.advisor.schema import clicks, items, people
from recveil.advisor.schema import profiles as shown
from recveil.advisor.store import reading
from recveil.advisor.totals import total

Profile = tuple[int, int]
EXACT = {
    "counters": "exact",
    "deviation": 0.0,
    "people_deviation": 0.0,
    "budget": None,
    "total": None,
    "overspent": None,
}
_clicking = select(clicks.c.id).where(clicks.c.person == people.c.id).exists()  # an empty account is nobody yet


@dataclass(frozen=True)
class JsonDocument:
    """A JSON document, ready to be sent."""

    version: str
    body: bytes
    packed: bytes  # the same, gzipped


def sheet(document: dict[str, Any]) -> JsonDocument:
    version = sha256(json.dumps(document).encode()).hexdigest()[:16]
    body = json.dumps({**document, "version": version}, ensure_ascii=False, separators=(",", ":")).encode()
    return JsonDocument(version, body, gzip.compress(body, 6, mtime=0))


@dataclass(frozen=True)
class Snapshot:
    """The public table at one moment, ready to be sent."""

    people: int
    min_people: int
    titles: dict[str, str]  # by item key, in the order of titles
    profiles: dict[str, Profile | None]
    table: JsonDocument
    catalogue: JsonDocument

    @cached_property
    def folded(self) -> tuple[str, list[int], dict[str, int]]:
        """All titles in one text for quick search, where each begins in it, and ids."""
        lines = [" ".join(title.casefold().split("\n")) for title in self.titles.values()]
        begins = list(accumulate((len(line) + 1 for line in lines), initial=0))
        return "\n".join(lines), begins, {key.casefold(): place for place, key in enumerate(self.titles)}

    @cached_property
    def keys(self) -> list[str]:
        return list(self.titles)

    def search(self, query: str, offset: int, limit: int) -> tuple[int, list[dict[str, Any]]]:
        """How many items have the words in their title or are so called, and some of them."""
        wanted = query.casefold().strip()
        found = self.keys
        if wanted:
            text, begins, ids = self.folded
            places = {
                bisect_right(begins, at.start()) - 1 for at in finditer(f"{re.escape(wanted)}.*", text)
            }  # one in each
            places |= {ids[wanted]} if wanted in ids else set()
            found = [self.keys[place] for place in sorted(places)]
        shown = [
            {"id": key, "title": self.titles[key], "profile": as_document(self.profiles[key])}
            for key in found[offset : offset + limit]
        ]
        return len(found), shown


def as_document(profile: Profile | None) -> dict[str, int] | None:
    return None if profile is None else {"likes": profile[0], "dislikes": profile[1]}


def publish(engine: Engine, min_people: int) -> None:
    """Show the counters of the items for which it is time."""
    moved = items.c.likes + items.c.dislikes - items.c.shown_likes - items.c.shown_dislikes
    with engine.begin() as db:
        newest = select(func.coalesce(func.max(clicks.c.id), 0)).scalar_subquery()
        db.execute(
            update(items)
            .where(func.abs(moved) >= min_people)
            .values(shown_likes=items.c.likes, shown_dislikes=items.c.dislikes, upto=newest)
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
        count = db.execute(select(func.count()).select_from(people).where(_clicking)).scalar_one()
        found = db.execute(select(*columns).where(items.c.withdrawn.is_(None))).all()
    rows = sorted(found, key=lambda row: (row[1].casefold(), row[0]))
    profiles = {
        key: (likes, dislikes) if min(true, likes + dislikes) >= min_people else None
        for key, _, true, likes, dislikes in rows
    }
    return _snapshot({row[0]: row[1] for row in rows}, profiles, {"people": count, "min_people": min_people, **EXACT})


def blurred(engine: Engine, min_people: int, models: ModelBudget | None = None) -> Snapshot:
    """The public table with noise: what the last look wrote. Whether an item shows is decided by noisy counts too.

    An item shows from min_people on, and from so many that noise alone hardly ever comes to. Beside the table stands
    what it gives away, together with item models where they are made.
    """
    columns = (items.c.key, items.c.title, shown.c.likes, shown.c.dislikes)
    with reading(engine) as db:
        known = blur(db)
        together = total(db, known.budget, models) if known and models else None
        joined = select(*columns).join_from(items, shown, shown.c.item == items.c.id, isouter=True)
        found = db.execute(joined.where(items.c.withdrawn.is_(None))).all()
    rows = sorted(found, key=lambda row: (row[1].casefold(), row[0]))
    least = max(min_people, known.least) if known else min_people
    profiles = {
        key: None if likes is None or likes + dislikes < least else (max(likes, 0), max(dislikes, 0))
        for key, _, likes, dislikes in rows
    }
    words = {
        "people": known.people if known else 1,
        "min_people": least,
        "counters": "private",
        "deviation": known.deviation if known else 0.0,
        "people_deviation": known.people_deviation if known else 0.0,
        "budget": asdict(known.budget) if known else None,
        "total": asdict(together) if together else None,
        "overspent": known.overspent if known else None,
    }
    return _snapshot({row[0]: row[1] for row in rows}, profiles, words)


def _snapshot(titles: dict[str, str], profiles: dict[str, Profile | None], words: dict[str, Any]) -> Snapshot:
    table = sheet({**words, "profiles": profiles})
    catalogue = sheet({"items": list(titles.items())})
    return Snapshot(words["people"], words["min_people"], titles, profiles, table, catalogue)
