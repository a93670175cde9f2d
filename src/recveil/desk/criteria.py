"""The three criteria of the European opinion on anonymisation, and which of our attacks speaks to which."""

from __future__ import annotations

SINGLING_OUT, LINKABILITY, INFERENCE = "singling out", "linkability", "inference"
CRITERIA = {
    SINGLING_OUT: "Can one record be told to be that of one person?",
    LINKABILITY: "Can what is known of a person from elsewhere be joined to her record?",
    INFERENCE: "Can something be learnt about a person that the attacker did not know?",
}
OF_ATTACK = {
    "copies": SINGLING_OUT,
    "nearest": SINGLING_OUT,
    "linkage": LINKABILITY,
    "across": LINKABILITY,
    "shadow": INFERENCE,
    "lists": INFERENCE,
    "attributes": INFERENCE,
    "membership": INFERENCE,
    "reconstruction": INFERENCE,
    "sybil": INFERENCE,
}


def is_attack(name: str) -> bool:
    """Whether a measurement comes from an attack; a part of a name tells: copies-auc is of copies."""
    return name == "theta-omega" or name.partition("-")[0] in OF_ATTACK
