"""Claim: one published number beside ours, with a verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal[
    "reproduced", "compatible", "not reproduced", "contradicted by the paper", "not available", "beside the paper"
]


@dataclass(frozen=True)
class Claim:
    """What a paper says at one place, what we measure, and what follows.

    reproduced: ours agrees within its interval. compatible: agrees, but so would other readings of the paper.
    not reproduced: it does not come out. contradicted by the paper: its own numbers say otherwise. not available: the
    data do not exist publicly any more, or the computation is out of reach. beside the paper: ours alone, to compare.
    """

    where: str
    claim: str
    paper: float | str | None
    ours: float | str | None
    verdict: Verdict
    low: float | None = None
    high: float | None = None
    why: str = ""

    def record(self) -> dict[str, Any]:
        return asdict(self)
