"""How long a comparison will take, and how much memory: a rough figure before it starts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from recveil.data import Interactions
from recveil.desk.design import Design

# Seconds on two cores for a thousand rows of one release, measured on MovieLens 100K. The first measure that asks the
# referees pays for all of them.
SECONDS = {"linkage": 0.02, "lift": 0.10, "ratings": 0.15, "sybil": 0.05, "shadow": 0.2}
OTHER = 0.01
START = 10.0  # libraries, and kernels that are compiled once
BASE_MEGABYTES = 500  # the program and its libraries
QUICK = 0.3


@dataclass(frozen=True)
class Estimate:
    seconds: float
    megabytes: float

    def __str__(self) -> str:
        minutes = self.seconds / 60
        time = f"{minutes:.0f} minutes" if minutes >= 1.5 else f"{max(5, round(self.seconds / 5) * 5)} seconds"
        memory = f"{self.megabytes / 1000:.1f} GB" if self.megabytes >= 1000 else f"{self.megabytes:.0f} MB"
        return f"about {time} and {memory} of memory"


def estimate(data: Interactions, mechanisms: int, names: Collection[str], design: Design) -> Estimate:
    """For so many mechanisms and these measures, with an empty cache. The real data are judged once, beside each."""
    each = sum(SECONDS.get(name, OTHER) for name in names) * len(data) / 1000
    rounds = (mechanisms + 1) * (design.splits if "agreement" in names else 1)
    dense = 3 * 8 * data.n_items**2 / 1e6  # EASE inverts items x items
    rows = 60 * len(data) * (mechanisms + 2) / 1e6
    return Estimate(START + each * rounds * (QUICK if design.quick else 1.0), BASE_MEGABYTES + dense + rows)
