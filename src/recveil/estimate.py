"""How long a comparison will take, and how much memory: a rough figure before it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recveil.data import Interactions

# Seconds a measure takes on one core for a million "cells": rows x the root of items. Measured on MovieLens 100K; the
# real data are judged once, the release each time.
SECONDS = {"linkage": 2.0, "membership": 0.3, "nearest": 0.3, "lift": 9.0, "ratings": 12.0, "sybil": 3.0}
OTHER = 0.5
BASE_MEGABYTES = 400  # the program and its libraries


@dataclass(frozen=True)
class Estimate:
    seconds: float
    megabytes: float

    def __str__(self) -> str:
        minutes = self.seconds / 60
        time = f"{minutes:.0f} minutes" if minutes >= 1.5 else f"{max(5, round(self.seconds / 5) * 5)} seconds"
        memory = f"{self.megabytes / 1000:.1f} GB" if self.megabytes >= 1000 else f"{self.megabytes:.0f} MB"
        return f"about {time} and {memory} of memory"


def estimate(data: Interactions, mechanisms: int, names: Sequence[str], quick: bool = False) -> Estimate:
    """For so many mechanisms that are not in the cache, and these measures."""
    cells = len(data) * data.n_items**0.5 / 1e6
    seconds = sum(SECONDS.get(name, OTHER) * cells for name in names) * (mechanisms + 1) * (0.3 if quick else 1.0)
    dense = 3 * 8 * data.n_items**2 / 1e6  # EASE inverts items x items
    rows = 40 * len(data) * (mechanisms + 2) / 1e6
    return Estimate(seconds + 5, BASE_MEGABYTES + dense + rows)
