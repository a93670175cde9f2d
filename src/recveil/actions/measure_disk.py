"""measure, out of core: a log that memory does not hold and a release of it, by way of scratch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.evaluation.measure import Findings, select
from recveil.evaluation.measure_parts import HowMeasured, Parted, measure_parts, over_same_items
from recveil.evaluation.measured import mismatch, report_of
from recveil.evaluation.people import read_map
from recveil.evaluation.resources import Origin, equip
from recveil.guarantee import from_record
from recveil.ids import places
from recveil.releases.bundle import data_files, verify
from recveil.releases.disk import DiskPlan, DiskTable, read_disk
from recveil.releases.inputs import Input
from recveil.releases.ledger import look
from recveil.releases.progress import Progress

if TYPE_CHECKING:
    from recveil.actions.measure import MeasureRequest


def measure_on_disk(request: MeasureRequest, plan: DiskPlan, seed: int, progress: Progress) -> Findings:
    """Attack and judge a release of a log that memory does not hold."""
    chosen, more = select(request.only, **request.knowledge), request.resources
    for option, wish in (("--shadows", more.shadows), ("--also", more.also), ("--fold-tags", request.data.fold_tags)):
        if wish:
            raise RecveilError(f"{option} is for logs that memory holds; leave it out, or allow more with --memory")
    if not isinstance(request.release, str):
        raise RecveilError("a log in parts is measured against a release in files: save it, and name its place")
    origin, given = released_at(request.release)
    id_map = read_map(request.id_map) if isinstance(request.id_map, str) else request.id_map
    holdout = request.holdout.all_rows() if request.holdout else None
    with plan.scratch(request.engine.scratch or ".", progress) as folder:
        rows = _parted(replace(request.data, duplicates="all"), folder, "data", plan.parts, progress, without(holdout))
        if not request.data.is_sample:
            look(request.ledger, "measure", [origin.spec or "rows made elsewhere"], lambda: rows.digest)
        released = _parted(given, folder, "released", plan.parts, progress)
        check_holdout(holdout, id_map)
        warning = mismatch(rows.specimen, released.specimen, None)
        one, other = over_same_items(rows, released)
        strict = request.only is not None if request.strict is None else request.strict
        return measure_parts(
            Parted(one, other, id_map, holdout, request.engine.memory_bytes or 0),
            chosen,
            HowMeasured(seed, request.knowledge, origin.spec, strict),
            tick=progress.counter("measuring", len(chosen)),
            completed=lambda subject: equip(request.resources, subject, origin, seed),
            report=lambda subject, found, skipped, whole: whole.told(
                report_of(request.data.name, subject, origin, found, skipped, warning)
            ),
        )


def released_at(place: str) -> tuple[Origin, Input]:
    """A bundle, verified, or a file of another tool: where it comes from, and its rows."""
    if Path(place).is_file():
        return Origin(), Input(place, duplicates="all")
    manifest = verify(place)
    text = {column["name"] for column in manifest["schema"] if column["type"] == "String"}
    files = [str(Path(place) / name) for name in data_files(manifest)]
    types: Any = dict.fromkeys(text & {"item", "tag"}, "text")
    return Origin(manifest["spec"], from_record(manifest["guarantee"])), Input(files, types=types, duplicates="all")


def without(holdout: Interactions | None) -> Callable[[Interactions], Interactions]:
    """Leaves out those who are held out."""
    if holdout is None:
        return lambda rows: rows
    held = holdout.users
    return lambda rows: rows.among(
        places(rows.users, held.cast(rows.users.dtype, strict=False).drop_nulls().unique()) < 0
    )


def check_holdout(holdout: Interactions | None, id_map: pl.DataFrame | None) -> None:
    """Raise where one of those held out is in the release after all."""
    if holdout is None or id_map is None:
        return
    inside = holdout.users.cast(pl.String).is_in(id_map["original"].cast(pl.String).implode()).sum()
    if inside:
        raise RecveilError(f"{inside} of the holdout users are in the release, according to its id map")


def _parted(
    given: Input,
    folder: Path,
    name: str,
    parts: int,
    progress: Progress,
    chosen: Callable[[Interactions], Interactions] = lambda rows: rows,
) -> DiskTable:
    here = folder / name
    here.mkdir(mode=0o700)
    return read_disk(given, here, parts, progress, chosen, hashed=name == "data")
