"""The three criteria of the European opinion on anonymisation, which attack speaks to which, and what it assumes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

SINGLING_OUT, LINKABILITY, INFERENCE = "singling out", "linkability", "inference"
CRITERIA = {
    SINGLING_OUT: "Can one record be told to be that of one person?",
    LINKABILITY: "Can what is known of a person from elsewhere be joined to her record?",
    INFERENCE: "Can something be learnt about a person that the attacker did not know?",
}


@dataclass(frozen=True)
class Attacker:
    """What an attack speaks to, and what its attacker is assumed to know. weak: it misses leaks that others find."""

    criterion: str
    knows: str
    weak: bool = False


ATTACKERS = {
    "linkage": Attacker(LINKABILITY, "a few items of a person, perhaps with her ratings"),
    "across": Attacker(LINKABILITY, "a second release of the same people, and of mask how often bits are flipped"),
    "shadow": Attacker(INFERENCE, "the mechanism, and all that the people did who may be in the data; not who is in"),
    "copies": Attacker(SINGLING_OUT, "all that the people did, in order, and the streams of the release"),
    "lists": Attacker(INFERENCE, "what a person did, and the lists that a model trained on the release gives out"),
    "attributes": Attacker(
        INFERENCE, "attributes and records of others; of a person some items, or her released record"
    ),
    "reconstruction": Attacker(INFERENCE, "which released record is hers"),
    "sybil": Attacker(INFERENCE, "some likes of a person, and the lists that fake neighbours of hers get"),
    "membership": Attacker(INFERENCE, "all that one person did, and some people who are not in the data", weak=True),
    "nearest": Attacker(SINGLING_OUT, "nothing: it is a similarity between records", weak=True),
}
OF_ATTACK = {name: attacker.criterion for name, attacker in ATTACKERS.items()}


def attack_of(measurement: str) -> str | None:
    """The attack that a measurement comes from; a part of its name tells: copies-auc is of copies."""
    name = "linkage" if measurement == "theta-omega" else measurement.partition("-")[0]
    return name if name in ATTACKERS else None


def attackers(measurements: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The attackers behind some measurements, as plain data."""
    there = {attack_of(name) for name in measurements}
    return {name: asdict(attacker) for name, attacker in ATTACKERS.items() if name in there}


def is_attack(name: str) -> bool:
    """Whether a measurement comes from an attack."""
    return attack_of(name) is not None
