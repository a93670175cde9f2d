"""Attacks: what an adversary learns from a release. They see released rows alone; the truth is for scoring.

ATTACKS is the catalogue: an attack is tested, measured and documented by being listed.
"""

from __future__ import annotations

from recveil.attacks.across import across
from recveil.attacks.attributes import attributes
from recveil.attacks.copies import copies
from recveil.attacks.linkage import linkage
from recveil.attacks.lists import lists
from recveil.attacks.membership import membership
from recveil.attacks.nearest import nearest
from recveil.attacks.reconstruction import reconstruction
from recveil.attacks.shadow import shadow
from recveil.attacks.sybil import sybil
from recveil.measurement import Measure

ATTACKS: dict[str, Measure] = {
    "linkage": linkage,
    "shadow": shadow,
    "membership": membership,
    "reconstruction": reconstruction,
    "sybil": sybil,
    "nearest": nearest,
    "copies": copies,
    "lists": lists,
    "across": across,
    "attributes": attributes,
}
