"""The catalogue: every mechanism by its name. A new one is a file and a line here."""

from __future__ import annotations

from recveil.mechanism import Mechanism
from recveil.mechanisms.laplace_ratings import LaplaceRatings
from recveil.mechanisms.mask import Mask
from recveil.mechanisms.microaggregation import Microaggregation
from recveil.mechanisms.pseudonymise import Pseudonymise
from recveil.mechanisms.random_ratings import RandomRatings

MECHANISMS: dict[str, type[Mechanism]] = {
    m.name: m
    for m in (
        LaplaceRatings,
        Mask,
        Microaggregation,
        Pseudonymise,
        RandomRatings,
    )
}
