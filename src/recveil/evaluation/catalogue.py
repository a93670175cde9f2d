"""The catalogue of measures: what each is, what its attacker knows, what it costs. A measure is listed here, once.

A Measurement carries the key of its entry; what it is stands here and is never guessed from its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from recveil.evaluation.attacks.across import across
from recveil.evaluation.attacks.attributes import attributes
from recveil.evaluation.attacks.copies import copies
from recveil.evaluation.attacks.linkage import linkage
from recveil.evaluation.attacks.lists import lists
from recveil.evaluation.attacks.membership import membership
from recveil.evaluation.attacks.nearest import nearest
from recveil.evaluation.attacks.reconstruction import reconstruction
from recveil.evaluation.attacks.shadow import shadow
from recveil.evaluation.attacks.sybil import sybil
from recveil.evaluation.metrics.agreement import agreement
from recveil.evaluation.metrics.damage import damage
from recveil.evaluation.metrics.exposure import exposure
from recveil.evaluation.metrics.hiding import hiding
from recveil.evaluation.metrics.in_house import in_house
from recveil.evaluation.metrics.latent import latent
from recveil.evaluation.metrics.lift import lift
from recveil.evaluation.metrics.next_item import neural, next_item
from recveil.evaluation.metrics.popularity import popularity
from recveil.evaluation.metrics.public_items import public_items
from recveil.evaluation.metrics.ranking import ranking
from recveil.evaluation.metrics.ratings import ratings
from recveil.evaluation.metrics.sequences import sequences
from recveil.evaluation.metrics.skill import skill
from recveil.evaluation.metrics.tags import tags
from recveil.measurement import Measure

# The three criteria of the European opinion on anonymisation.
SINGLING_OUT, LINKABILITY, INFERENCE = "singling out", "linkability", "inference"
CRITERIA = {
    SINGLING_OUT: "Can one record be told to be that of one person?",
    LINKABILITY: "Can what is known of a person from elsewhere be joined to her record?",
    INFERENCE: "Can something be learnt about a person that the attacker did not know?",
}
Judges = Literal["rankers", "raters"]


@dataclass(frozen=True)
class MeasureEntry:
    """A measure with its facts.

    criterion, knows: what an attack speaks to, and what its attacker is assumed to know. weak: it misses leaks that
    others find. long: a first look leaves it out. seconds: of two cores for a thousand rows,
    measured on MovieLens 100K; the first that asks the referees pays for all of them. asks: the keyword by which
    its referees are given. brought: what an owner must bring first. splits: it looks at several of them together.
    """

    run: Measure
    kind: Literal["attack", "use"]
    criterion: str = ""
    knows: str = ""
    weak: bool = False
    long: bool = False
    seconds: float = 0.01
    asks: Mapping[str, Judges] = field(default_factory=dict)
    brought: Literal["", "shadows", "second release", "attributes", "items"] = ""
    splits: bool = False

    def attacker(self) -> dict[str, Any]:
        return {"criterion": self.criterion, "knows": self.knows, "weak": self.weak}


def _attack(run: Measure, criterion: str, knows: str, **more: Any) -> MeasureEntry:
    return MeasureEntry(run, "attack", criterion, knows, **more)


def _use(run: Any, **more: Any) -> MeasureEntry:
    return MeasureEntry(run, "use", **more)


_LISTS: dict[str, Judges] = {"referees": "rankers"}
MEASURES: dict[str, MeasureEntry] = {
    "linkage": _attack(linkage, LINKABILITY, "a few items of a person, perhaps with her ratings", seconds=0.02),
    "shadow": _attack(
        shadow,
        INFERENCE,
        "the mechanism, and all that the people did who may be in the data; not who is in",
        seconds=0.2,
        brought="shadows",
    ),
    "membership": _attack(
        membership, INFERENCE, "all that one person did, and some people who are not in the data", weak=True
    ),
    "reconstruction": _attack(reconstruction, INFERENCE, "which released record is hers"),
    "sybil": _attack(
        sybil, INFERENCE, "some likes of a person, and the lists that fake neighbours of hers get", seconds=0.05
    ),
    "nearest": _attack(nearest, SINGLING_OUT, "nothing: it is a similarity between records", weak=True),
    "copies": _attack(copies, SINGLING_OUT, "all that the people did, in order, and the streams of the release"),
    "lists": _attack(
        lists, INFERENCE, "what a person did, and the lists that a model trained on the release gives out"
    ),
    "across": _attack(
        across,
        LINKABILITY,
        "a second release of the same people, and of mask how often bits are flipped",
        brought="second release",
    ),
    "attributes": _attack(
        attributes,
        INFERENCE,
        "attributes and records of others; of a person some items, or her released record",
        brought="attributes",
    ),
    "lift": _use(lift, seconds=0.10, asks=_LISTS),
    "public-items": _use(public_items, asks=_LISTS, brought="items"),
    "ranking": _use(ranking, asks=_LISTS),
    "exposure": _use(exposure, asks=_LISTS),
    "damage": _use(damage, asks=_LISTS),
    "ratings": _use(ratings, seconds=0.15, asks={"raters": "raters"}),
    "skill": _use(skill),
    "in-house": _use(in_house, long=True),
    "agreement": _use(agreement, asks={"rankers": "rankers", "raters": "raters"}, splits=True),
    "hiding": _use(hiding),
    "popularity": _use(popularity),
    "sequences": _use(sequences, long=True),
    "next-item": _use(next_item),
    "neural": _use(neural, long=True),
    "latent": _use(latent, long=True),
    "tags": _use(tags),
}
ATTACKS = {name: entry.run for name, entry in MEASURES.items() if entry.kind == "attack"}
METRICS = {name: entry.run for name, entry in MEASURES.items() if entry.kind == "use"}


def attackers(measures: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The attackers behind some measures, as plain data: what a report knows of them."""
    there = set(measures)
    return {name: MEASURES[name].attacker() for name in ATTACKS if name in there}
