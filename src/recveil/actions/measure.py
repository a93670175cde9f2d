"""measure, as a request: data and a release by name or in memory, attacked and judged on either engine."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import polars as pl

from recveil.actions.engine import LOCAL, Engine
from recveil.data import Interactions
from recveil.errors import RecveilError, unknown
from recveil.evaluation.attacks.knowledge import Choice
from recveil.evaluation.cache import fingerprint
from recveil.evaluation.measure import Findings, measure_release, select
from recveil.evaluation.measured import report_of
from recveil.evaluation.people import read_map
from recveil.evaluation.resources import NO_RESOURCES, AttackerResources, Origin, equip
from recveil.mechanisms.spec import text
from recveil.options import argument, asked, option, part
from recveil.releases.asked import LOOKED, SEED
from recveil.releases.bundle import Bundle, load, verify
from recveil.releases.disk import planned
from recveil.releases.inputs import Input
from recveil.releases.ledger import look
from recveil.releases.progress import SILENT, Progress
from recveil.releases.release import Release


@dataclass(frozen=True)
class MeasureRequest:
    """`data` and a release of them: a bundle, by its place or in memory, a Release, which knows whose record is whose,
    or rows that another tool made.

    `only`: names of measures; one that cannot be made is then an error. `known`, `known_items` and `ratings` say
    what the linkage attacker knows; `recipient`, by name or file: so many as they are taken to know, where `known` is
    not given. `resources` is for stronger attackers. Without a seed every run draws afresh. `ledger`:
    where it is entered that the data were looked at. A log that takes more than `engine.memory` is measured in parts.
    """

    data: Input = part(Input, "source", "columns", "schema", "types", "fold_tags")
    release: str | Interactions | Release | Bundle = argument(
        metavar="BUNDLE", help="A release of DATA: a bundle, or a file of another tool."
    )
    id_map: str | pl.DataFrame | None = option(
        None, "--map", metavar="FILE", help="Which record is whose, from --keep-map: for scoring."
    )
    holdout: Any = option(None, metavar="FILE", help="People of DATA who are not in the release.")
    only: tuple[str, ...] | None = option(None, metavar="NAMES", help="Such as linkage,membership; else all.")
    known: tuple[int, ...] | None = option(
        None, metavar="R,...", help="How many items the linkage attacker knows: 2,4,8."
    )
    recipient: str | None = option(
        None, metavar="NAME", help="In place of --known: as many as who receives it is taken to know; or a file."
    )
    known_items: str = option("random", help="Which ones: random, rare, consecutive.")
    ratings: bool | None = option(None, "--ratings/--no-ratings", help="With their ratings, or without; else both.")
    seed: int | None = asked(SEED, None)
    engine: Engine = part(Engine, default=LOCAL)
    resources: AttackerResources = part(AttackerResources, default=NO_RESOURCES)
    ledger: str | None = asked(LOOKED, None)
    strict: bool | None = None  # whether a measure that cannot be made is an error; else where `only` names it

    def __post_init__(self) -> None:
        if self.known_items not in get_args(Choice):
            raise unknown("choice of items", self.known_items, get_args(Choice))
        if self.holdout is not None and not isinstance(self.holdout, Input):
            object.__setattr__(self, "holdout", Input(self.holdout, fold_tags=self.data.fold_tags))

    @property
    def knowledge(self) -> dict[str, Any]:
        levels = self.known
        if levels is None and self.recipient is not None:
            from recveil.governance.evidence import known_levels
            from recveil.governance.recipients import read_recipient

            levels = known_levels(read_recipient(self.recipient))
        known = None if levels is None else list(levels)
        return {"known": known, "items": self.known_items, "ratings": self.ratings}


def run_measure(request: MeasureRequest, progress: Progress = SILENT) -> Findings:
    """Attack and judge a release from files alone, on the engine of the request."""
    seed = secrets.randbits(63) if request.seed is None else request.seed
    if request.engine.on_spark:
        return _on_spark(request, seed)
    plan = planned(request.data, request.engine.memory_bytes)
    if plan is not None:
        from recveil.actions.measure_disk import measure_on_disk

        return measure_on_disk(request, plan, seed, progress)
    chosen = select(request.only, **request.knowledge)
    origin, released, id_map = _released(request)
    rows = request.data.all_rows()
    if not request.data.is_sample:
        look(request.ledger, "measure", [origin.spec or "rows made elsewhere"], lambda: fingerprint(rows))
    return measure_release(
        rows,
        released,
        holdout=request.holdout.all_rows() if request.holdout else None,
        id_map=id_map,
        measures=chosen,
        seed=seed,
        mechanism=origin.spec,
        strict=request.only is not None if request.strict is None else request.strict,
        tick=progress.counter("measuring", len(chosen)),
        completed=lambda subject: equip(request.resources, subject, origin, seed),
        report=lambda *found: report_of(request.data.name, found[0], origin, *found[1:]),
    )


def _on_spark(request: MeasureRequest, seed: int) -> Findings:
    from recveil.spark.inputs import table
    from recveil.spark.lake import place
    from recveil.spark.loading import here
    from recveil.spark.measure import MEASURED, measure_table
    from recveil.spark.reading import read_bundle, table_fingerprint

    for name in request.only or ():
        if name not in MEASURED:
            raise RecveilError(f"{name} is measured by the local engine; on Spark: {', '.join(MEASURED)}")
    if not isinstance(request.release, str):
        raise RecveilError("Spark measures a bundle; name its folder or URI")
    with request.engine.session() as spark:
        where = place(spark, request.release)
        manifest = verify(where)
        rows = table(request.data, spark, "all")
        if not request.data.is_sample:
            look(request.ledger, "measure", [manifest["spec"]], lambda: table_fingerprint(rows))
        released = read_bundle(spark, where, manifest)
        people = spark.read.csv(here(request.id_map), header=True) if request.id_map else None
        held = table(request.holdout, spark, "all") if request.holdout else None
        knows = request.knowledge
        return measure_table(rows, released, people, request.only, seed, manifest["spec"], knows, held)


def _released(request: MeasureRequest) -> tuple[Origin, Interactions, pl.DataFrame | None]:
    """Where a release comes from, as far as it says so, its rows, and whose they are, as far as the owner says so."""
    given = request.release
    id_map = read_map(request.id_map) if isinstance(request.id_map, str) else request.id_map
    if isinstance(given, Interactions):
        return Origin(), given, id_map
    if isinstance(given, Release):
        return Origin(text(given.mechanism), given.guarantee), given.data, given.id_map if id_map is None else id_map
    if isinstance(given, str):
        request.engine.check_reach(given)
        if Path(given).is_file():
            return Origin(), Input(given).all_rows(), id_map
        given = load(given)
    return Origin(given.manifest["spec"], given.guarantee), given.data, id_map
