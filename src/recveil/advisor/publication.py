"""What the public sees: item profiles with noise (`blurred`), or, for closed groups, exact ones that move in steps.

Counters that follow every click would let a watcher subtract: what changed between two looks is one person's clicks.
Noise bounds that for everybody, in all looks together. Exact counters are for groups whose members trust each other:
an item's shown counters stay as they are until the number of people who clicked it has moved by `min_people`. Then at
least as many different people have come (or gone) since, whoever else went and came back. Each difference that is ever
shown is a sum over min_people people or more; items with fewer clicks show nothing. Whoever makes a few accounts of her
own reads single clicks from such counters all the same.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sqlalchemy import Engine, func, select, update

from recveil.advisor import profile_parts
from recveil.advisor.catalogue import OfferedItems, current
from recveil.advisor.documents import JsonDocument, sheet
from recveil.advisor.item_model import ModelBudget
from recveil.advisor.noisy_counters import blur, last_draft
from recveil.advisor.profile_parts import Ints
from recveil.advisor.schema import clicks, items, people
from recveil.advisor.store import reading
from recveil.advisor.totals import total

Profile = tuple[int, int]
EXACT: dict[str, Any] = {
    "counters": "exact",
    "deviation": 0.0,
    "people_deviation": 0.0,
    "budget": None,
    "total": None,
    "overspent": None,
}
FIRST = 1000  # items with the most clicks, which everybody gets of a catalogue that is sent in shards
_clicking = select(clicks.c.id).where(clicks.c.person == people.c.id).exists()  # an empty account is nobody yet


@dataclass(frozen=True)
class Snapshot:
    """The public table at one moment, ready to be sent."""

    people: int
    min_people: int
    catalogue: OfferedItems
    shown: dict[str, Profile]  # of items with enough clicks, in the order of titles
    words: dict[str, Any]
    draft: int | None = None  # of the look that this is
    sent: dict[str, JsonDocument] = field(default_factory=dict)  # shards that somebody asked for

    @property
    def titles(self) -> dict[str, str]:
        return self.catalogue.titles

    @cached_property
    def table(self) -> JsonDocument:
        """All profiles; of a large catalogue what is needed of all together, and those that most people clicked."""
        shards = self.catalogue.shards
        if not shards:
            return self.whole
        keys = list(self.shown)
        counts = np.fromiter((likes + dislikes for likes, dislikes in self.shown.values()), np.int64, len(keys))
        first = [keys[place] for place in np.argsort(-counts, kind="stable")[:FIRST]]
        most = int(counts.max(initial=0))
        everybody = max(self.people, most + 1)
        alone = float(np.log(everybody / (everybody - counts)).sum())
        of_all = {"shards": len(next(iter(shards))), "most": most, "no_click": round(alone, 3)}
        return sheet({**self.words, **of_all}, "profiles", {key: self.shown[key] for key in first})

    @cached_property
    def whole(self) -> JsonDocument:
        return sheet({**self.words, "shards": 0, "most": None, "no_click": None}, "profiles", self.profiles)

    @cached_property
    def profiles(self) -> dict[str, Profile | None]:
        """Of all items; made where somebody wants all, and step by step, so that nobody waits for a million at once."""
        return {key: self.shown.get(key) for key in self.catalogue.keys}

    def shard(self, name: str) -> JsonDocument | None:
        """What is shown of the items whose hashes begin with these bits."""
        if name not in self.sent:
            places = self.catalogue.shards.get(name)
            if places is None:
                return None
            keys = [self.catalogue.keys[place] for place in places]
            self.sent[name] = sheet({}, "profiles", {key: self.shown[key] for key in keys if key in self.shown})
        return self.sent[name]

    def search(self, query: str, offset: int, limit: int) -> tuple[int, list[dict[str, Any]]]:
        """How many items have the words in their title or are so called, and some of them."""
        found = self.catalogue.find(query)
        shown = [
            {"id": key, "title": self.titles[key], "profile": as_document(self.shown.get(key))}
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


def snapshot(engine: Engine, min_people: int, known: Snapshot | None = None) -> Snapshot:
    """The public table."""
    counters = (items.c.id, items.c.likes + items.c.dislikes, items.c.shown_likes, items.c.shown_dislikes)
    with reading(engine) as db:
        count = db.execute(select(func.count()).select_from(people).where(_clicking)).scalar_one()
        catalogue = current(db, known.catalogue if known else None)
        found = {n: row for n, *row in db.execute(select(*counters).where(items.c.withdrawn.is_(None)))}
    shown: dict[str, Profile] = {}
    for key, n in zip(catalogue.titles, catalogue.numbers.tolist(), strict=True):
        true, likes, dislikes = found.get(n, (0, 0, 0))
        if min(true, likes + dislikes) >= min_people:
            shown[key] = (likes, dislikes)
    words: dict[str, Any] = {"people": count, "min_people": min_people, **EXACT}
    return Snapshot(count, min_people, catalogue, shown, words)


def blurred(
    engine: Engine, min_people: int, models: ModelBudget | None = None, known: Snapshot | None = None
) -> Snapshot:
    """The public table with noise: what the last look wrote. Whether an item shows is decided by noisy counts too.

    An item shows from min_people on, and from so many that noise alone hardly ever comes to. Beside the table stands
    what it gives away, together with item models where they are made. Where nothing has changed it is the one known.
    """
    with reading(engine) as db:
        noise, draft = blur(db), last_draft(db)
        together = total(db, noise.budget, models) if noise and models else None
        catalogue = current(db, known.catalogue if known else None)
        least = max(min_people, noise.least) if noise else min_people
        words: dict[str, Any] = {
            "people": noise.people if noise else 1,
            "min_people": least,
            "counters": "private",
            "deviation": noise.deviation if noise else 0.0,
            "people_deviation": noise.people_deviation if noise else 0.0,
            "budget": asdict(noise.budget) if noise else None,
            "total": asdict(together) if together else None,
            "overspent": noise.overspent if noise else None,
        }
        if known is not None and known.catalogue is catalogue and (known.draft, known.words) == (draft, words):
            return known
        counts = profile_parts.read(db, draft)
    return Snapshot(words["people"], least, catalogue, _at_least(catalogue, counts, least), words, draft)


def _at_least(catalogue: OfferedItems, counts: Ints, least: int) -> dict[str, Profile]:
    """Profiles of items in the order of titles, where likes and dislikes come to so many."""
    places = np.flatnonzero(catalogue.numbers < counts.shape[1])
    of_place = counts[:, catalogue.numbers[places]]
    enough = of_place.sum(0) >= least
    likes, dislikes = np.maximum(of_place[:, enough], 0).tolist()
    keys = catalogue.keys
    return {
        keys[place]: (profile[0], profile[1])
        for place, *profile in zip(places[enough].tolist(), likes, dislikes, strict=True)
    }
