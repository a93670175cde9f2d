"""How long a comparison will take, and how much memory: a rough figure before it starts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from recveil.data import Interactions
from recveil.desk.design import Design
from recveil.mechanisms.mask import Mask
from recveil.recommenders.ease import EASE

# Seconds on two cores for a thousand rows of one release, measured on MovieLens 100K. The first measure that asks the
# referees pays for all of them.
SECONDS = {"linkage": 0.02, "lift": 0.10, "ratings": 0.15, "sybil": 0.05, "shadow": 0.2}
OTHER = 0.01
START = 10.0  # libraries, and kernels that are compiled once
BASE_MEGABYTES = 500  # the program and its libraries
QUICK = 0.3
MOST_ROWS = 1_000_000  # of those that mask invents: more cost little more, as the steps of BPR have a limit
CHOICE = 60.0  # seconds, rounded up, that mask's choice of p takes on several thousand people and items


@dataclass(frozen=True)
class Estimate:
    seconds: float
    megabytes: float

    def __str__(self) -> str:
        minutes = self.seconds / 60
        time = f"{minutes:.0f} minutes" if minutes >= 1.5 else f"{max(5, round(self.seconds / 5) * 5)} seconds"
        memory = f"{self.megabytes / 1000:.1f} GB" if self.megabytes >= 1000 else f"{self.megabytes:.0f} MB"
        return f"about {time} and {memory} of memory"


def estimate(data: Interactions, candidates: Sequence[Any], names: Collection[str], design: Design) -> Estimate:
    """For these candidates and measures, with an empty cache. The real data are judged once, beside each."""
    rate = sum(SECONDS.get(name, OTHER) for name in names) * (QUICK if design.quick else 1.0) / 1000
    rows = [len(data) + _invented(data, one) for one in candidates]
    judged = len(data) + sum(len(data) + min(MOST_ROWS, n - len(data)) for n in rows)
    splits = design.splits if "agreement" in names else 1
    small = min(1.0, data.n_users / 8000) * min(1.0, data.n_items / 4000) ** 2
    choices = CHOICE * small * sum(isinstance(one, Mask) and one.p == "auto" for one in candidates)
    dense = 3 * 8 * min(data.n_items, EASE.items) ** 2  # EASE inverts items x items
    memory = BASE_MEGABYTES + (dense + 80 * (2 * len(data) + max(rows, default=0))) / 1e6
    return Estimate(START + splits * (rate * judged + choices), memory)


def _invented(data: Interactions, candidate: Any) -> int:
    """Rows of a release that stand for nothing in the data: flipped bits, as most of those of mask are."""
    if not isinstance(candidate, Mask):
        return 0
    flipped = 0.01 if isinstance(candidate.p, str) else 1 - candidate.p
    return int(data.n_users * data.n_items * flipped)
