"""measure: what a release gives away and what it is worth, from data, a release and perhaps a map and a holdout.

MEASURES is the catalogue of attacks and metrics. `run_measure` answers a MeasureRequest on either engine.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl

from recveil.attacks import ATTACKS
from recveil.attacks.knowledge import Choice
from recveil.attacks.linkage import linkage
from recveil.attacks.shadow import breaches
from recveil.attacks.truth import equal_sets, truth
from recveil.data import Interactions
from recveil.desk.assess import riskiest
from recveil.desk.bundle import Bundle, load
from recveil.desk.criteria import attackers
from recveil.desk.engine import LOCAL, Engine
from recveil.desk.equipment import NO_EQUIPMENT, Equipment, Origin, brought
from recveil.desk.inputs import Input
from recveil.desk.measured import mismatch, report_of
from recveil.desk.progress import SILENT, Progress
from recveil.desk.release import Release
from recveil.errors import RecveilError, unknown
from recveil.formats.files import written
from recveil.measurement import Measure, Measurement, Trial, attempt, frame_of, measure, trial
from recveil.mechanisms.spec import text
from recveil.metrics import METRICS
from recveil.report.table import Report
from recveil.splits import before_and_after
from recveil.views.records import records

MEASURES: dict[str, Measure] = {**ATTACKS, **METRICS}


@dataclass(frozen=True)
class Findings:
    """Measurements; the measures that were left out, with the reason; the riskiest users, for the owner alone."""

    measurements: list[Measurement]
    left_out: dict[str, str]
    riskiest: list[dict[str, Any]]
    mechanism: str | None = None
    report: Report | None = field(default=None, repr=False)  # the same for a verdict and a page; none of a cluster

    @property
    def breaches(self) -> list[Measurement]:
        """Attacks that certainly do better than a proved promise allows."""
        return breaches(self.measurements)

    def record(self) -> dict[str, Any]:
        return {
            "warning": str(self.report.meta.get("warning", "")) if self.report else "",
            "measurements": [m.record() for m in self.measurements],
            "attackers": attackers(m.name for m in self.measurements),
            "left_out": [{"name": name, "why": why} for name, why in self.left_out.items()],
            "riskiest": self.riskiest,
        }

    def frame(self) -> pl.DataFrame:
        """A row for each measurement."""
        return frame_of(self.measurements)

    def to_pandas(self) -> Any:
        return self.frame().to_pandas()

    def save(self, path: str | Path) -> None:
        """As a JSON document, readable by its owner alone: it names the riskiest people."""
        with written(path, private=True) as file:
            file.write(json.dumps(self.record(), ensure_ascii=False, allow_nan=False, default=str).encode())

    def _repr_html_(self) -> str:
        left = "".join(f"<li>{escape(name)}: {escape(why)}</li>" for name, why in self.left_out.items())
        return str(self.frame()._repr_html_()) + (f"<p>left out:</p><ul>{left}</ul>" if left else "")


@dataclass(frozen=True)
class MeasureRequest:
    """`data` and a release of them: a bundle, by its place or in memory, a Release, which knows whose record is whose,
    or rows that another tool made.

    `only`: names of measures; one that cannot be made is then an error. `known`, `items` and `ratings` say what the
    linkage attacker knows. `equipment` is for stronger attackers. Without a seed every run draws afresh.
    """

    data: Input
    release: str | Interactions | Release | Bundle
    id_map: str | pl.DataFrame | None = None
    holdout: Input | None = None
    only: tuple[str, ...] | None = None
    known: tuple[int, ...] | None = None
    items: str = "random"
    ratings: bool | None = None
    seed: int | None = None
    engine: Engine = LOCAL
    equipment: Equipment = NO_EQUIPMENT
    strict: bool | None = None  # whether a measure that cannot be made is an error; else where `only` names it

    def __post_init__(self) -> None:
        if self.items not in get_args(Choice):
            raise unknown("choice of items", self.items, get_args(Choice))

    @property
    def knowledge(self) -> dict[str, Any]:
        known = None if self.known is None else list(self.known)
        return {"known": known, "items": self.items, "ratings": self.ratings}


def run_measure(request: MeasureRequest, progress: Progress = SILENT) -> Findings:
    """Attack and judge a release from files alone, on the engine of the request."""
    seed = secrets.randbits(63) if request.seed is None else request.seed
    if request.engine.on_spark:
        from recveil.spark.measure import measure_files

        return measure_files(request, seed)
    chosen = select(request.only, **request.knowledge)
    origin, released, id_map = _released(request)
    return measure_release(
        request.data.all_rows(),
        released,
        holdout=request.holdout.all_rows() if request.holdout else None,
        id_map=id_map,
        measures=chosen,
        seed=seed,
        mechanism=origin.spec,
        strict=request.only is not None if request.strict is None else request.strict,
        tick=progress.counter("measuring", len(chosen)),
        completed=lambda subject: brought(request.equipment, subject, origin, seed),
        report=lambda *found: report_of(request.data.name, found[0], origin, *found[1:]),
    )


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


def select(only: Sequence[str] | None = None, **linkage_options: Any) -> dict[str, Measure]:
    """The measures of these names (all by default), with linkage told what its attacker knows."""
    for name in only or ():
        if name not in MEASURES:
            raise unknown("measure", name, MEASURES)
    chosen = {name: MEASURES[name] for name in (only or MEASURES)}
    if "linkage" in chosen and linkage_options:
        chosen["linkage"] = partial(linkage, **linkage_options)
    return chosen


def measure_release(
    data: Interactions,
    released: Interactions,
    *,
    holdout: Interactions | None = None,
    id_map: pl.DataFrame | None = None,
    measures: Mapping[str, Measure] | None = None,
    seed: int = 0,
    mechanism: str | None = None,
    strict: bool = False,
    tick: Callable[[int], None] = lambda done: None,  # noqa: ARG005
    completed: Callable[[Trial], Trial] = lambda subject: subject,
    report: Callable[[Trial, Sequence[Measurement], Mapping[str, str], str], Report] | None = None,
) -> Findings:
    """Attack and judge a release of `data`, as its owner does.

    Held-out people are taken out of the data first; none of them may be in the release. A measure that lacks what it
    needs is left out with a reason, or raises if `strict`. `completed` adds equipment to the trial; `report` makes a
    page of what is found.
    """
    subject = completed(prepare(data, released, holdout=holdout, id_map=id_map))
    found: list[Measurement] = []
    left_out: dict[str, str] = {}
    for name, function in (MEASURES if measures is None else measures).items():
        if strict:
            some, why = measure(subject, {name: function}, seed, mechanism), ""
        else:
            some, why = attempt(subject, name, function, seed, mechanism)
        found += some
        if why:
            left_out[name] = why
        tick(1)
    rng = np.random.default_rng([seed, *b"riskiest"])
    risky = riskiest(subject, rng)
    page = report(subject, found, left_out, mismatch(data, released, id_map)) if report else None
    return Findings(found, left_out, risky, mechanism, page)


def prepare(
    data: Interactions,
    released: Interactions,
    *,
    holdout: Interactions | None = None,
    id_map: pl.DataFrame | None = None,
) -> Trial:
    """A Trial from files: the people who were released, those who were not, and what came out."""
    if holdout is None:
        return _mapped(trial(data, released, id_map=id_map))
    named = data.users.is_in(holdout.users.cast(data.users.dtype, strict=False).implode()).to_numpy()
    train = data.take_users(~named)
    if not len(train):
        raise RecveilError("every person of the data is in the holdout: nobody is left to be measured")
    strangers = holdout.compact()
    query, result = before_and_after(strangers, np.random.default_rng(0))
    parts = {"holdout": strangers, "query": query, "result": result}
    subject = _mapped(trial(train, released, id_map=id_map, **parts))
    if id_map is not None and (inside := set(id_map["original"].cast(pl.String)) & set(holdout.users.cast(pl.String))):
        raise RecveilError(f"{len(inside)} of the holdout users are in the release, according to its id map")
    if id_map is None and (n := _released_unchanged(subject)):
        raise RecveilError(f"{n} of the holdout users are in the release, with exactly their items")
    return subject


def _mapped(subject: Trial) -> Trial:
    if subject.owner is not None and not np.any(subject.owner >= 0):
        raise RecveilError("the id map names no record of this release: it belongs to another one")
    return subject


def read_map(path: str | Path) -> pl.DataFrame:
    """The private id map that `recveil release --keep-map` writes: a csv with the columns original and released."""
    try:
        frame = pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise RecveilError(f"{path} cannot be read as an id map: {str(error).splitlines()[0]}") from None
    if not {"original", "released"} <= set(frame.columns):
        raise RecveilError(f"{path}: an id map has the columns original and released, not {', '.join(frame.columns)}")
    return frame


def _released_unchanged(subject: Trial) -> int:
    """Held-out people whose very item set is released, where that of most others is, and nobody else has it."""
    assert subject.holdout is not None
    train, held, released = (records(part) for part in (subject.train, subject.holdout, subject.released))
    if truth(train, released, None).how != "sets":
        return 0
    alone = np.diff(equal_sets(held, train).starts) == 0
    return int(np.count_nonzero(np.diff(equal_sets(held, released).starts)[alone]))
