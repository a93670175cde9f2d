"""Utility: what a release is still worth to those who build recommenders on it. A new metric is a file and a line here.

A metric that does not apply to a trial (no ratings, no test people, no owners) raises LeftOutError, which says why.
"""

from __future__ import annotations

from recveil.measurement import Measure
from recveil.metrics.agreement import agreement
from recveil.metrics.damage import damage
from recveil.metrics.exposure import exposure
from recveil.metrics.hiding import hiding
from recveil.metrics.in_house import in_house
from recveil.metrics.latent import latent
from recveil.metrics.lift import lift
from recveil.metrics.next_item import neural, next_item
from recveil.metrics.popularity import popularity
from recveil.metrics.ranking import ranking
from recveil.metrics.ratings import ratings
from recveil.metrics.sequences import sequences
from recveil.metrics.skill import skill
from recveil.metrics.tags import tags

METRICS: dict[str, Measure] = {
    "lift": lift,
    "ranking": ranking,
    "exposure": exposure,
    "damage": damage,
    "ratings": ratings,
    "skill": skill,
    "in-house": in_house,
    "agreement": agreement,
    "hiding": hiding,
    "popularity": popularity,
    "sequences": sequences,
    "next-item": next_item,
    "neural": neural,
    "latent": latent,
    "tags": tags,
}
