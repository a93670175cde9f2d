"""AuditRequest and run_audit: a promise put to the test, by many releases or by one with many canaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from recveil.evaluation.audit import Audited, audit
from recveil.evaluation.audit.one_run import AuditedOnce, audit_in_one_run
from recveil.mechanism import Mechanism
from recveil.releases.catalogue import as_catalogue
from recveil.releases.inputs import Input
from recveil.releases.progress import SILENT, Progress


@dataclass(frozen=True)
class AuditRequest:
    """`data`: what to put the canaries into, else a toy. `items`: public lists, or a file of them.

    `one_run`: one release with `canaries`, each in or out by a coin, instead of `runs` releases of each of two
    neighbouring data sets.
    """

    mechanism: Mechanism
    data: Input | None = None
    runs: int = 1000
    one_run: bool = False
    canaries: int = 1000
    items: Any = None
    confidence: float = 0.95
    seed: int | None = None


def run_audit(request: AuditRequest, progress: Progress = SILENT) -> Audited | AuditedOnce:
    """What was found; its `record()` has the bound, what says so, the noise seen, and the verdict."""
    rows = request.data.under(request.mechanism).all_rows(progress) if request.data else None
    public = as_catalogue(request.items)
    mechanism, confidence, seed = request.mechanism, request.confidence, request.seed
    if request.one_run:
        return audit_in_one_run(
            mechanism, rows, canaries=request.canaries, confidence=confidence, seed=seed, catalogue=public
        )
    tick = progress.counter("audit", 2 * request.runs)
    return audit(mechanism, rows, runs=request.runs, confidence=confidence, seed=seed, catalogue=public, tick=tick)
