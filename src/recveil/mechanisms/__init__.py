"""The catalogue: every mechanism by its name. A new one is a file and a line here."""

from __future__ import annotations

from recveil.mechanism import Mechanism
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

MECHANISMS: dict[str, type[Mechanism]] = {
    m.name: m
    for m in (
        DpPostTags,
        DpRatings,
        DpStreams,
        DpTags,
        LaplaceRatings,
        Mask,
        MBRW,
        Microaggregation,
        PriTop,
        Pseudonymise,
        RandomRatings,
        ShuffleNNN,
        TagSuppression,
    )
}
