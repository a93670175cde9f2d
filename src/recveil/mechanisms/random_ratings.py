"""random-ratings: who rated what stays, every value is drawn anew. The baseline for rating masking."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import Interactions
from recveil.guarantee import Guarantee, nothing
from recveil.mechanism import Masked, Masking, PublicInfo, parameter
from recveil.randomness import Source


@dataclass(frozen=True)
class Histogram:
    """How often each rating value occurs; adds with `+`."""

    values: NDArray[np.float64]
    counts: NDArray[np.int64]

    def __add__(self, other: Histogram) -> Histogram:
        values, where = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        counts = np.bincount(where, np.concatenate([self.counts, other.counts]), minlength=len(values))
        return Histogram(values, counts.astype(np.int64))


@dataclass(frozen=True)
class RandomRatings(Masking):
    """Ratings drawn independently from the data's own distribution, or uniformly from the values that occur."""

    name = "random-ratings"
    purpose = "A baseline only: who rated what stays readable, and the values teach nothing."
    needs = ("rating",)

    values: str = parameter(
        "empirical",
        about="the law of the new values: as they occur, or all alike",
        rule=("empirical", "uniform"),
    )

    def guarantee(self, public: PublicInfo) -> Guarantee:
        return nothing(
            "The values say nothing about a person any more, but which items she rated stays, and that is often "
            "enough to find her record."
        )

    def card(self) -> str:
        law = "as often as they occur in the data" if self.values == "empirical" else "all equally often"
        return (
            f"Every rating was replaced by a random value ({law}). Who rated what is unchanged, so a person whose "
            "items are known in part can still be found, and the rest of what she rated be read. "
            "No preference can be learned from the values."
        )

    def count(self, chunk: Interactions) -> Histogram:
        assert chunk.rating is not None
        return Histogram(*np.unique(chunk.rating, return_counts=True))

    def plan(self, counts: Histogram, source: Source) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        weights = counts.counts if self.values == "empirical" else np.ones(len(counts.values), dtype=np.int64)
        return counts.values, np.cumsum(weights)

    def mask(self, chunk: Interactions, plan: tuple[NDArray[np.float64], NDArray[np.int64]], source: Source) -> Masked:
        values, cumulated = plan
        bounds = np.full(len(chunk), cumulated[-1])
        drawn = kernels.draws.below_per_group(
            chunk.starts("user"), chunk.keys("user"), bounds, source.derive("rating").key()
        )
        return Masked(replace(chunk, rating=values[np.searchsorted(cumulated, drawn, side="right")]), chunk.users)
