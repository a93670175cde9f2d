"""assess, as a request: what would happen if data were released with nothing but new ids."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from recveil.actions.engine import LOCAL, Engine
from recveil.evaluation.advice import advise
from recveil.evaluation.assess import Assessment, assess
from recveil.options import asked, option, part
from recveil.releases.asked import SEED
from recveil.releases.disk import on_disk
from recveil.releases.inputs import Input
from recveil.releases.progress import SILENT, Progress


@dataclass(frozen=True)
class AssessRequest:
    """`known`: how many items the attacker knows. Without a seed every run draws afresh. A log that takes more than
    the memory of its engine is worked on in parts, by way of a scratch folder.
    """

    data: Input = part(Input, "source", "columns", "schema", "types")
    known: tuple[int, ...] | None = option(None, metavar="R,...", help="How many items the attacker knows: 2,4,8.")
    engine: Engine = part(Engine, "memory", "scratch", default=LOCAL)
    seed: int | None = asked(SEED, None)


def run_assess(request: AssessRequest, progress: Progress = SILENT) -> Assessment:
    """The assessment with advice on the mechanisms that fit."""
    seed = secrets.randbits(63) if request.seed is None else request.seed
    with on_disk(request.data, request.engine.memory_bytes, request.engine.scratch, progress) as table:
        if table is not None:
            from recveil.evaluation.assess_parts import assess_parts

            facts, found = assess_parts(table.parts, seed, request.known)
            return Assessment(found, advice=[a.record() for a in advise(facts)])
    rows = request.data.all_rows(progress)
    return Assessment(assess(rows, seed=seed, known=request.known), advice=[a.record() for a in advise(rows)])
