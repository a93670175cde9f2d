"""How long a comparison will take, and how much memory: a rough figure before it starts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from recveil.data import Interactions
from recveil.evaluation.catalogue import MEASURES
from recveil.evaluation.design import Design
from recveil.evaluation.recommenders.ease import EASE
from recveil.mechanism import Mechanism

START = 10.0  # libraries, and kernels that are compiled once
BASE_MEGABYTES = 500  # the program and its libraries
QUICK = 0.3
MOST_ROWS = 1_000_000  # of those that are invented: more cost little more, as the steps of BPR have a limit


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
    rate = sum(MEASURES[name].seconds for name in names) * (QUICK if design.quick else 1.0) / 1000
    ours = [one for one in candidates if isinstance(one, Mechanism)]
    invented = [one.invented_rows(data.n_users, data.n_items) for one in ours]
    judged = len(data) * (1 + len(candidates)) + sum(min(MOST_ROWS, n) for n in invented)
    splits = design.splits if any(MEASURES[name].splits for name in names) else 1
    choices = sum(one.choosing_seconds(data) for one in ours)
    dense = 3 * 8 * min(data.n_items, EASE.items) ** 2  # EASE inverts items x items
    memory = BASE_MEGABYTES + (dense + 80 * (3 * len(data) + max(invented, default=0))) / 1e6
    return Estimate(START + splits * (rate * judged + choices), memory)
