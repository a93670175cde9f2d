"""What is learned from what a mechanism lets out: similar items from perturbed bits, or from noisy tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np

from recveil.data import Interactions
from recveil.evaluation.recommenders.mask import Lists, Similar, similar_items
from recveil.evaluation.recommenders.mask import lists as lists_from_similar
from recveil.formats.files import written
from recveil.mechanism import Mechanism, PublicInfo, Synthesis
from recveil.mechanisms.mask import Mask, perturb
from recveil.mechanisms.spec import text
from recveil.randomness import source
from recveil.releases.catalogue import Catalogue
from recveil.releases.ledger import into
from recveil.releases.progress import Progress
from recveil.releases.published import spent
from recveil.releases.release import Enter, Published, promised, publish, release
from recveil.views.bits import columns

_CELLS = 40_000_000  # of similar-item lists held at a time


@dataclass(frozen=True)
class Wish:
    """What a learner is to do, whatever the engine."""

    top: int
    score: str
    history: str
    minsup: float | None
    similar: str | None
    catalogue: Catalogue | None
    published: Published | None
    ledger: str | None
    outside_budget: bool
    seed: int | None
    data: str | None = None  # a fingerprint of the data, for the ledger
    everyone: bool = False  # whether all users whom the data name are in them, as read, also who has no row

    @property
    def enter(self) -> Enter | None:
        """What enters the promise in the ledger, before any noise is drawn."""
        return into(self.ledger, outside=self.outside_budget, note=lambda: self.data) if self.ledger else None


@dataclass(frozen=True)
class Learned:
    """What makes lists of histories, and how it came about."""

    lists: Callable[[Interactions], Lists]
    how: dict[str, Any]


Learner = Callable[[Interactions, Mechanism, Wish, Progress], tuple[Learned, Interactions]]


# --- from perturbed bits ------------------------------------------------------------------------------------


def learn_from_bits(
    data: Interactions, mechanism: Mechanism, wish: Wish, progress: Progress
) -> tuple[Learned, Interactions]:
    mask = cast(Mask, mechanism)
    if wish.history == "real":
        enter_bits(mask, data.compact(), wish)
        seen, used = perturb(data, mask, wish.seed, wish.everyone)
        histories = data
    else:
        made = release(data, mask, seed=wish.seed, enter=wish.enter, everyone=wish.everyone)
        histories, used = made.data, cast(Mask, made.mechanism)
        seen = columns(histories, made.notes["people"])
    k = longest(wish, int(np.bincount(histories.user, minlength=1).max()), seen.n_items)
    tick = progress.counter("similar items", seen.n_items)
    similar = similar_items(seen, p=float(used.p), minsup=wish.minsup, k=k, tick=tick)
    return from_similar(similar, used, wish), histories


def enter_bits(mechanism: Mask, data: Interactions, wish: Wish) -> None:
    """Into the ledger, before a bit is flipped."""
    if wish.enter:
        public = PublicInfo(data.kind, data.unit, data.items, data.tags, False)
        wish.enter(mechanism, promised(mechanism, public, wish.seed is not None))


def longest(wish: Wish, history: int, items: int) -> int:
    """How long lists of similar items have to be; for `max`, what lies beyond top + history never wins."""
    room = max(1, _CELLS // items)
    return min(wish.top + history, room) if wish.score == "max" else room


def from_similar(similar: Similar, used: Mask, wish: Wish) -> Learned:
    if wish.similar:
        with written(wish.similar) as file:  # cut after a number that the data do not set
            file.writelines(f"{line}\n".encode() for line in similar.lines(wish.top))
    how = {"mechanism": text(used), "p": float(used.p), "history": wish.history, "score": wish.score}
    step = partial(lists_from_similar, similar=similar, top=wish.top, score=wish.score)  # type: ignore[arg-type]
    return Learned(step, {**how, "minsup": similar.minsup})


# --- from noisy tables --------------------------------------------------------------------------------------


def learn_from_tables(
    data: Interactions, mechanism: Mechanism, wish: Wish, progress: Progress
) -> tuple[Learned, Interactions]:
    published = wish.published or _published(data, cast(Synthesis, mechanism), wish, progress)
    items = Catalogue(published.public.items).over(data).items
    return from_tables(published, items, wish, progress), data


def from_tables(published: Published, items: Any, wish: Wish, progress: Progress) -> Learned:
    """`items`: the public catalogue, as ids of the data."""
    step, kept = list_maker(published, items, wish.top)
    if not wish.published:
        progress.note(spent(published))
    return Learned(step, {"mechanism": text(published.mechanism), "items": kept, "history": "real", "score": "sum"})


def list_maker(published: Published, items: Any, n: int) -> tuple[Callable[[Interactions], Lists], int]:
    """What gives every user n items by her own history, and how many items it knows pairs of.

    items: those of the tables, as ids of the histories.
    """
    return published.mechanism.list_maker(published.rounds, published.public, items, n)


def _published(data: Interactions, mechanism: Synthesis, wish: Wish, progress: Progress) -> Published:
    """Noisy tables over the public catalogue, or over items that are selected where none was given."""
    mechanism.check_fit(data)
    mechanism = cast(Synthesis, mechanism.with_declared(data))
    data = data.compact()
    given = wish.catalogue or Catalogue()
    data = given.over(data)
    facts = given.facts(data.items) if mechanism.reads_features else None
    public = PublicInfo(
        data.kind, data.unit, data.items, data.tags, given.items is not None, untyped=data.untyped, features=facts
    )
    tick = progress.counter(mechanism.name, mechanism.rounds_for(public) * len(data))
    return publish(data, mechanism, public, source(wish.seed), tick, enter=wish.enter)


# By what a mechanism's class says that it can be learned from.
LEARNERS: dict[str, Learner] = {"bits": learn_from_bits, "tables": learn_from_tables}
