"""tag-suppression: of every user's tags a share is left out, so that her profile of topics says less.

After Parra-Arnau et al., as far as the PriTop paper tells of it; its baseline. docs/explanation/pritop.md has
the measurements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from recveil.data import Interactions
from recveil.guarantee import Guarantee, nothing
from recveil.mechanism import Masked, Masking, PublicInfo, Rows, Within, parameter
from recveil.mechanisms.pritop.topics import Topics, check_topics, gibbs
from recveil.randomness import Source
from recveil.views.triples import distinct


@dataclass(frozen=True)
class TagSuppression(Masking):
    """Each user keeps a share of her triples; which of them go depends on how often she uses their topics."""

    name = "tag-suppression"
    purpose = "A baseline for tags: leaves out a share of them and promises nothing."
    local_only = "its topic model is fitted in one place, to all tags of all people"
    needs = ("tag",)
    ordered = False

    keep: float = parameter(0.8, about="the share of her triples that a user keeps (sigma)", rule=Within(0, 1, True))
    drop: str = parameter(
        "least",
        about="what goes first: her least used topics, or her most used ones, until all are alike (entropy)",
        rule=("least", "entropy"),
    )
    topics: int = parameter(100, about="number of topics", rule=Within(2))
    sweeps: int = parameter(100, about="sweeps of the Gibbs sampler", rule=Within(1))

    def guarantee(self, public: PublicInfo) -> Guarantee:
        return nothing("What is released of a person is true, and leaving out a share of her tags hides nobody.")

    def card(self) -> str:
        which = {
            "least": "those of the topics that she uses least",
            "entropy": "those of the topics that she uses most, until her topics are alike",
        }[self.drop]
        return (
            f"Of every user's tags {1 - self.keep:.0%} were left out, {which}. Topics of tags were learned from the "
            f"data ({self.topics} of them). Everything that is released is true: who tagged what with which word. "
            "Whoever knows a few of a person's posts finds her record by them, and reads all others there."
        )

    def check_fit(self, data: Interactions) -> None:
        super().check_fit(data)
        check_topics(self.name, self.topics, data)

    def count(self, chunk: Interactions) -> Rows:
        """Triples with their users: each triple has a topic of its own."""
        return Rows((distinct(chunk),))

    def plan(self, counts: Rows, source: Source) -> Topics:
        seed = int(source.words(1)[0] >> np.uint64(1))
        return gibbs(distinct(counts.whole()), self.topics, self.sweeps, 50 / self.topics, 0.01, seed)

    def mask(self, chunk: Interactions, plan: Topics, source: Source) -> Masked:
        from recveil.kernels.draws import laplace_per_group

        rows, topic = plan.of(chunk)
        by_chance = laplace_per_group(rows.starts("user"), rows.keys("user"), source.derive("order").key())
        cell = rows.user * np.int64(plan.number) + topic
        _, of, size = np.unique(cell, return_inverse=True, return_counts=True)
        first: tuple[Any, ...] = (by_chance, cell, size[of])
        if self.drop == "entropy":  # pile up each topic's triples: the highest pile loses its top
            order = np.lexsort((by_chance, cell))
            height = np.empty(len(rows), dtype=np.int64)
            height[order] = np.arange(len(rows)) - (np.cumsum(size) - size)[of[order]]
            first = (by_chance, -height)
        starts = rows.starts("user")
        going = np.rint((1 - self.keep) * np.diff(starts))
        stays = np.empty(len(rows), dtype=bool)
        stays[np.lexsort((*first, rows.user))] = np.arange(len(rows)) - starts[rows.user] >= going[rows.user]
        return Masked(rows.take(stays), chunk.users, {"triples left out": int(np.count_nonzero(~stays))})
