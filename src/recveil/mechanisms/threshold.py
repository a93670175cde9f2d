"""threshold: items that at least k people had in the last months stay, the rest go. A rule in use, without a promise.

Whoever sees two releases sees what came and what left between them: who knows of k - 1 people learns of one more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from recveil.data import NO_TIME, Interactions
from recveil.errors import RecveilError
from recveil.guarantee import Guarantee, nothing
from recveil.mechanism import Masked, Masking, PublicInfo, Rows, Within, parameter
from recveil.randomness import Source

PROFILES = {"dma-draft": (50, 13), "google": (30, 13)}
_MONTH = 365.25 / 12 * 86400  # seconds


@dataclass(frozen=True)
class Threshold(Masking):
    """What few people touched is dropped; all else, and every row of it, stays as it was."""

    name = "threshold"
    purpose = (
        "A baseline only: the rule in use for daily search data. It hides rare items from one look, nobody from two."
    )
    example_parameters = "profile=dma-draft"
    local_only = "its rows are looked at together"

    k: int = parameter(50, about="people that an item must have had", rule=Within(1))
    months: float = parameter(
        13.0, about="how far back they count, from the last time in the data", rule=Within(0, open_low=True)
    )
    profile: str = parameter(
        "own", about="a rule in use in place of both: dma-draft (50 in 13 months), google (30 in 13)",
        rule=("own", *PROFILES),
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.profile != "own":
            stated = PROFILES[self.profile]
            if (self.k, self.months) not in (stated, (50, 13.0)):
                raise RecveilError(f"{self.name}: {self.profile} is a rule of its own; leave k and months out")
            object.__setattr__(self, "k", stated[0])
            object.__setattr__(self, "months", float(stated[1]))

    def guarantee(self, public: PublicInfo) -> Guarantee:
        return nothing(
            f"An item is there once {self.k} people have had it: whoever knows of {self.k - 1} of them learns of one "
            "more when it appears, and all that people did with items that many have is there as it was."
        )

    def card(self) -> str:
        return (
            f"Items that fewer than {self.k} people had in the last {self.months:g} months were dropped. User ids were "
            "replaced by random tokens; all other rows of everybody are as they were. Whoever knows a few common items "
            "of a person can find her record, and whoever sees two such releases sees which items came and left "
            "between them: one person more is enough for that."
        )

    def count(self, chunk: Interactions) -> Rows:
        return Rows((replace(chunk, rating=None, tag=None, tags=None, session=None),))

    def plan(self, counts: Any, source: Source) -> pl.Series:
        """The ids that enough people had; whether one did is a fact of the whole data."""
        rows: Interactions = counts.whole()
        if rows.time is not None and len(rows):
            known = rows.time[~np.isnan(rows.time)] if rows.time.dtype.kind == "f" else rows.time[rows.time != NO_TIME]
            if len(known):
                rows = rows.take(rows.time > known.max() - self.months * _MONTH)
        people = np.unique(rows.item.astype(np.int64) * max(rows.n_users, 1) + rows.user) // max(rows.n_users, 1)
        return rows.items.filter(pl.Series(np.bincount(people, minlength=rows.n_items) >= self.k))

    def mask(self, chunk: Interactions, plan: Any, source: Source) -> Masked:
        kept = chunk.items.is_in(plan.implode()).to_numpy()
        return Masked(chunk.take(kept[chunk.item]), chunk.users)
