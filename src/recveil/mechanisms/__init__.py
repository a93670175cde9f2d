"""The catalogue: every mechanism by its name, baselines first. A new one is a file and a line here.

Other packages add theirs by the entry point `recveil.mechanisms`, each a class; a name that is taken is refused.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from recveil.errors import RecveilError
from recveil.mechanism import Mechanism
from recveil.mechanisms.blur import Blur
from recveil.mechanisms.dp_ratings import DpRatings
from recveil.mechanisms.dp_streams import DpStreams
from recveil.mechanisms.dp_tags import DpTags
from recveil.mechanisms.dp_tags.posts import DpPostTags
from recveil.mechanisms.laplace_ratings import LaplaceRatings
from recveil.mechanisms.mask import Mask
from recveil.mechanisms.mbrw import MBRW
from recveil.mechanisms.microaggregation import Microaggregation
from recveil.mechanisms.pritop import PriTop
from recveil.mechanisms.pritop.suppression import TagSuppression
from recveil.mechanisms.pseudonymise import Pseudonymise
from recveil.mechanisms.random_ratings import RandomRatings
from recveil.mechanisms.shuffle_nnn import ShuffleNNN
from recveil.mechanisms.threshold import Threshold

__all__ = [
    "MBRW",
    "MECHANISMS",
    "Blur",
    "DpPostTags",
    "DpRatings",
    "DpStreams",
    "DpTags",
    "LaplaceRatings",
    "Mask",
    "Mbrw",
    "Microaggregation",
    "PriTop",
    "Pseudonymise",
    "RandomRatings",
    "ShuffleNNN",
    "TagSuppression",
    "Threshold",
    "known_mechanisms",
]

MECHANISMS: dict[str, type[Mechanism]] = {
    m.name: m
    for m in (
        Pseudonymise,
        RandomRatings,
        ShuffleNNN,
        Mask,
        MBRW,
        DpStreams,
        DpRatings,
        PriTop,
        TagSuppression,
        DpTags,
        DpPostTags,
        Microaggregation,
        LaplaceRatings,
        Blur,
        Threshold,
    )
}

Mbrw = MBRW


def known_mechanisms() -> dict[str, type[Mechanism]]:
    """Ours, and those that installed packages add."""
    return MECHANISMS | _added()


@cache
def _added() -> dict[str, type[Mechanism]]:
    added: dict[str, type[Mechanism]] = {}
    for point in entry_points(group="recveil.mechanisms"):
        made = point.load()
        if not (isinstance(made, type) and issubclass(made, Mechanism)):
            raise RecveilError(f"the entry point {point.name} = {point.value} is not a mechanism; remove its package")
        if made.name in MECHANISMS or made.name in added:
            raise RecveilError(f"{point.value}: the name {made.name} is taken; remove or rename one of the two")
        added[made.name] = made
    return added
