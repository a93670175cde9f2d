"""AuditRequest and run_audit: a promise put to the test, by many releases or by one with many canaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recveil.evaluation.audit import Audited, audit
from recveil.evaluation.audit.one_run import AuditedOnce, audit_in_one_run
from recveil.mechanisms.spec import as_mechanism
from recveil.options import argument, asked, option
from recveil.releases.asked import COLUMNS, ITEMS, SCHEMA, SEED
from recveil.releases.catalogue import as_catalogue
from recveil.releases.inputs import as_input
from recveil.releases.progress import SILENT, Progress


@dataclass(frozen=True)
class AuditRequest:
    """`data`: what to put the canaries into, else a toy. `items`: public lists, or a file of them.

    `one_run`: one release with `canaries`, each in or out by a coin, instead of `runs` releases of each of two
    neighbouring data sets.
    """

    mechanism: Any = argument(metavar="SPEC", help="A mechanism, such as dp-streams:epsilon=1,delta=1e-6.")
    data: Any = option(None, metavar="DATA", help="Data to put the canary into; else a toy.")
    columns: Mapping[str, str] | str | None = asked(COLUMNS, None)
    schema: Any = asked(SCHEMA, None)
    runs: int = option(1000, help="Releases of each of the two neighbouring data sets.")
    one_run: bool = option(False, "--one-run", help="One release with many canaries instead.")
    canaries: int = option(1000, help="With --one-run: canaries, each in or out by a coin.")
    items: Any = asked(ITEMS, None)
    confidence: float = option(0.95, help="Of the bound.")
    seed: int | None = asked(SEED, None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mechanism", as_mechanism(self.mechanism))
        if self.data is not None:
            object.__setattr__(self, "data", as_input(self.data, columns=self.columns, schema=self.schema))


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
