"""measure: what a release gives away and what it is worth, from data, a release and perhaps a map and a holdout.

`measure_release` is what an owner does with rows in memory; actions/measure.py has the request, on either engine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError, unknown
from recveil.evaluation.assess import riskiest
from recveil.evaluation.attacks.linkage import linkage
from recveil.evaluation.attacks.shadow import breaches
from recveil.evaluation.attacks.truth import equal_sets, truth
from recveil.evaluation.catalogue import MEASURES, attackers
from recveil.evaluation.measured import mismatch
from recveil.formats.files import written
from recveil.measurement import Measure, Measurement, Trial, attempt, frame_of, measure, trial
from recveil.report.table import Report
from recveil.splits import before_and_after
from recveil.views.records import records


@dataclass(frozen=True)
class Findings:
    """Measurements; the measures that were left out, with the reason; the riskiest users, for the owner alone."""

    measurements: list[Measurement]
    skipped: dict[str, str]
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
            "attackers": attackers(m.measure for m in self.measurements),
            "skipped": [{"name": name, "why": why} for name, why in self.skipped.items()],
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

    def __repr__(self) -> str:
        shown = [f"{m.name}: {m.value:.4g} [{m.low:.4g}, {m.high:.4g}]" for m in self.measurements[:12]]
        about = f"Findings({len(self.measurements)} measurements, {len(self.skipped)} left out)"
        return "\n".join([about, *shown, ".frame() has all of them"])

    def _repr_html_(self) -> str:
        left = "".join(f"<li>{escape(name)}: {escape(why)}</li>" for name, why in self.skipped.items())
        return str(self.frame()._repr_html_()) + (f"<p>left out:</p><ul>{left}</ul>" if left else "")


def select(only: Sequence[str] | None = None, **linkage_options: Any) -> dict[str, Measure]:
    """The measures of these names (all by default), with linkage told what its attacker knows."""
    for name in only or ():
        if name not in MEASURES:
            raise unknown("measure", name, MEASURES)
    chosen = {name: MEASURES[name].run for name in (only or MEASURES)}
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
    needs is left out with a reason, or raises if `strict`. `completed` adds resources to the trial; `report` makes a
    page of what is found.
    """
    subject = completed(prepare(data, released, holdout=holdout, id_map=id_map))
    found: list[Measurement] = []
    skipped: dict[str, str] = {}
    for name, function in (select() if measures is None else measures).items():
        if strict:
            some, why = measure(subject, {name: function}, seed, mechanism), ""
        else:
            some, why = attempt(subject, name, function, seed, mechanism)
        found += some
        if why:
            skipped[name] = why
        tick(1)
    rng = np.random.default_rng([seed, *b"riskiest"])
    risky = riskiest(subject, rng)
    page = report(subject, found, skipped, mismatch(data, released, id_map)) if report else None
    return Findings(found, skipped, risky, mechanism, page)


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


def _released_unchanged(subject: Trial) -> int:
    """Held-out people whose very item set is released, where that of most others is, and nobody else has it: of those
    who are in the release most are found so. Of fewer it is chance, a profile that was changed into theirs.
    """
    assert subject.holdout is not None
    train, held, released = (records(part) for part in (subject.train, subject.holdout, subject.released))
    if truth(train, released, None).how != "sets":
        return 0
    alone = np.diff(equal_sets(held, train).starts) == 0
    found = int(np.count_nonzero(np.diff(equal_sets(held, released).starts)[alone]))
    return found if 2 * found > np.count_nonzero(alone) else 0
