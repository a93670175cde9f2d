"""assess, as a request: what would happen if data were released with nothing but new ids."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from recveil.evaluation.advice import advise
from recveil.evaluation.assess import Assessment, assess
from recveil.releases.disk import on_disk
from recveil.releases.inputs import Input
from recveil.releases.progress import SILENT, Progress


@dataclass(frozen=True)
class AssessRequest:
    """`known`: how many items the attacker knows. Without a seed every run draws afresh. A log that takes more than
    `memory` bytes is worked on in parts, by way of a `scratch` folder.
    """

    data: Input
    known: tuple[int, ...] | None = None
    seed: int | None = None
    memory: int | None = None
    scratch: str | None = None


def run_assess(request: AssessRequest, progress: Progress = SILENT) -> Assessment:
    """The assessment with advice on the mechanisms that fit."""
    seed = secrets.randbits(63) if request.seed is None else request.seed
    with on_disk(request.data, request.memory, request.scratch, progress) as table:
        if table is not None:
            from recveil.evaluation.assess_parts import assess_parts

            facts, found = assess_parts(table.parts, seed, request.known)
            return Assessment(found, advice=[a.record() for a in advise(facts)])
    rows = request.data.all_rows(progress)
    return Assessment(assess(rows, seed=seed, known=request.known), advice=[a.record() for a in advise(rows)])
