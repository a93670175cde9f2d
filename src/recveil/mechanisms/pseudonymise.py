"""pseudonymise: new user ids and nothing else. The baseline that shows why new ids are not enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from recveil.data import Interactions
from recveil.guarantee import Guarantee, nothing
from recveil.mechanism import Masked, Masking, PublicInfo
from recveil.randomness import Source


@dataclass(frozen=True)
class Pseudonymise(Masking):
    """Every release replaces user ids by random tokens; this mechanism does no more than that."""

    name = "pseudonymise"
    changes_nothing = True
    purpose = "A baseline only: new ids do not hide anyone whose items are partly known."

    def guarantee(self, public: PublicInfo) -> Guarantee:
        return nothing("Linkage is not prevented: whoever knows a few items of a person can find her record.")

    def card(self) -> str:
        return (
            "User ids were replaced by random tokens. Every row of every person is as it was. Whoever knows a few "
            "items of a person can find her record and read the rest of it."
        )

    def mask(self, chunk: Interactions, plan: Any, source: Source) -> Masked:
        return Masked(chunk, chunk.users)
