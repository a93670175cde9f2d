"""What an audit says of a claim, whether by many runs or by one."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np

from recveil.guarantee import Guarantee

Verdict = Literal["holds", "broken", "suspect", "untested", "exceeded", "no claim"]


class LowerBound(Protocol):
    """A bound on epsilon from below, and the largest that total disclosure would have given."""

    @property
    def lower(self) -> float: ...
    @property
    def attainable(self) -> float: ...
    @property
    def confidence(self) -> float: ...


def verdict(
    promise: Guarantee, found: LowerBound, estimate: float | None, refuted: bool, refused: bool = False
) -> Verdict:
    """broken: a proved claim is refuted, by a bound or by the noise itself; exceeded: a paper's claim is.

    suspect: an estimate that rests on a model exceeds it. holds: nothing exceeded it, and something could have.
    untested: nothing could have, since all runs were refused, or too few runs were made for so large an epsilon.
    """
    claimed = promise.epsilon
    if claimed is None:
        return "no claim"
    if found.lower > claimed or refuted:
        return "broken" if promise.status == "proved" else "exceeded"
    if refused or found.attainable <= claimed:
        return "untested"
    return "suspect" if estimate is not None and estimate > claimed else "holds"


def claim_and_bound(mechanism: str, promise: Guarantee, found: LowerBound, estimate: float | None) -> dict[str, Any]:
    """The part of a record that every audit has."""
    return {
        "mechanism": mechanism,
        "claimed": promise.epsilon,
        "delta": promise.delta,
        "status": promise.status,
        "unit": promise.unit,
        "lower": found.lower,
        "attainable": found.attainable,
        "estimate": None if estimate is None or not np.isfinite(estimate) else estimate,
        "confidence": found.confidence,
    }
