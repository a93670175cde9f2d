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
    "membership": INFERENCE,
    "reconstruction": INFERENCE,
    "sybil": INFERENCE,
}
