"""Attacks: what an adversary learns from a release. They see released rows alone; the truth is for scoring.

ATTACKS is the catalogue: an attack is tested, measured and documented by being listed.
"""

from __future__ import annotations

from recveil.attacks.linkage import linkage
from recveil.measurement import Measure

ATTACKS: dict[str, Measure] = {
    "linkage": linkage,
}
