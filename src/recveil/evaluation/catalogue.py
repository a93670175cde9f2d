"""The catalogue of measures: what each is, what its attacker knows, what it costs. A measure is listed here, once.

A Measurement carries the key of its entry; what it is stands here and is never guessed from its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, Literal

import numpy as np

from recveil.measurement import Measure, Measurement, Trial

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


def _loaded(at: str, subject: Trial, rng: np.random.Generator, **asked: Any) -> list[Measurement]:
    """A measure that is loaded when it first runs, from "room.module:name"."""
    module, name = at.split(":")
    found: list[Measurement] = getattr(import_module(f"recveil.evaluation.{module}"), name)(subject, rng, **asked)
    return found


def _attack(at: str, criterion: str, knows: str, **more: Any) -> MeasureEntry:
    return MeasureEntry(partial(_loaded, at), "attack", criterion, knows, **more)


def _use(at: str, **more: Any) -> MeasureEntry:
    return MeasureEntry(partial(_loaded, at), "use", **more)


_LISTS: dict[str, Judges] = {"referees": "rankers"}
MEASURES: dict[str, MeasureEntry] = {
    "linkage": _attack(
        "attacks.linkage:linkage", LINKABILITY, "a few items of a person, perhaps with her ratings", seconds=0.02
    ),
    "shadow": _attack(
        "attacks.shadow:shadow",
        INFERENCE,
        "the mechanism, and all that the people did who may be in the data; not who is in",
        seconds=0.2,
        brought="shadows",
    ),
    "membership": _attack(
        "attacks.membership:membership",
        INFERENCE,
        "all that one person did, and some people who are not in the data",
        weak=True,
    ),
    "reconstruction": _attack("attacks.reconstruction:reconstruction", INFERENCE, "which released record is hers"),
    "sybil": _attack(
        "attacks.sybil:sybil",
        INFERENCE,
        "some likes of a person, and the lists that fake neighbours of hers get",
        seconds=0.05,
    ),
    "nearest": _attack(
        "attacks.nearest:nearest", SINGLING_OUT, "nothing: it is a similarity between records", weak=True
    ),
    "copies": _attack(
        "attacks.copies:copies", SINGLING_OUT, "all that the people did, in order, and the streams of the release"
    ),
    "lists": _attack(
        "attacks.lists:lists",
        INFERENCE,
        "what a person did, and the lists that a model trained on the release gives out",
    ),
    "across": _attack(
        "attacks.across:across",
        LINKABILITY,
        "a second release of the same people, and of mask how often bits are flipped",
        brought="second release",
    ),
    "differencing": _attack(
        "attacks.differencing:differencing",
        INFERENCE,
        "that a person came between two releases of a growing log",
        brought="second release",
    ),
    "attributes": _attack(
        "attacks.attributes:attributes",
        INFERENCE,
        "attributes and records of others; of a person some items, or her released record",
        brought="attributes",
    ),
    "lift": _use("metrics.lift:lift", seconds=0.10, asks=_LISTS),
    "public-items": _use("metrics.public_items:public_items", asks=_LISTS, brought="items"),
    "ranking": _use("metrics.ranking:ranking", asks=_LISTS),
    "exposure": _use("metrics.exposure:exposure", asks=_LISTS),
    "damage": _use("metrics.damage:damage", asks=_LISTS),
    "ratings": _use("metrics.ratings:ratings", seconds=0.15, asks={"raters": "raters"}),
    "skill": _use("metrics.skill:skill"),
    "in-house": _use("metrics.in_house:in_house", long=True),
    "agreement": _use("metrics.agreement:agreement", asks={"rankers": "rankers", "raters": "raters"}, splits=True),
    "hiding": _use("metrics.hiding:hiding"),
    "popularity": _use("metrics.popularity:popularity"),
    "sequences": _use("metrics.sequences:sequences", long=True),
    "next-item": _use("metrics.next_item:next_item"),
    "neural": _use("metrics.next_item:neural", long=True),
    "latent": _use("metrics.latent:latent", long=True),
    "tags": _use("metrics.tags:tags"),
}
ATTACKS = tuple(name for name, entry in MEASURES.items() if entry.kind == "attack")
METRICS = tuple(name for name, entry in MEASURES.items() if entry.kind == "use")


def attackers(measures: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The attackers behind some measures, as plain data: what a report knows of them."""
    there = set(measures)
    return {name: MEASURES[name].attacker() for name in ATTACKS if name in there}
