"""Claim: one published number beside ours, with a verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal[
    "reproduced", "compatible", "not reproduced", "contradicted by the paper", "not available", "beside the paper"
]


MEANINGS: dict[Verdict, str] = {
    "reproduced": "ours agrees with the paper within its interval",
    "compatible": "ours agrees, but so would other readings of the paper",
    "not reproduced": "it does not come out",
    "contradicted by the paper": "the paper's own numbers say otherwise",
    "not available": "the data are not public any more, or the computation is out of reach",
    "beside the paper": "ours alone, to compare with",
}


@dataclass(frozen=True)
class Claim:
    """What a paper says at one place, what we measure, and what follows; MEANINGS has the verdicts in words."""

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
