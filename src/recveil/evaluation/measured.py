"""What was measured of one release as a Report: the data and the release with their sizes, and whether they belong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.evaluation.candidates import ELSEWHERE, first_paragraph
from recveil.evaluation.catalogue import attackers
from recveil.evaluation.inspect import inspect
from recveil.evaluation.losses import entry_of
from recveil.evaluation.resources import Origin
from recveil.guarantee import nothing
from recveil.ids import places
from recveil.measurement import Measurement, Trial
from recveil.mechanism import Synthesis
from recveil.mechanisms.spec import parse
from recveil.report.table import Entry, Report, Words

FEW = 0.5  # of the items or people that a release names: if fewer are in the data, it may be of others


def report_of(
    name: str, subject: Trial, origin: Origin, found: Sequence[Measurement], skipped: Mapping[str, str], warning: str
) -> Report:
    """A Report with one entry, for the same verdict and page as those of a comparison."""
    from recveil import __version__

    mechanism = parse(origin.spec) if origin.spec else None
    spec = origin.spec or "release of another tool"
    entry = entry_of(
        spec,
        origin.promise or nothing(ELSEWHERE),
        first_paragraph(mechanism.card()) if mechanism else ELSEWHERE,
        subject.train,
        subject.released.compact(),
        drawn=isinstance(mechanism, Synthesis) and not mechanism.knows_users,
    )
    meta: dict[str, Any] = {"version": __version__, "seeded": False, "trained": subject.train.n_users}
    if subject.holdout is not None:
        meta["held_out"] = subject.holdout.n_users
    return Report(
        data={"source": name, **inspect(subject.train.compact())},
        entries=(entry,),
        measurements=tuple(replace(m, mechanism=spec) for m in found),
        skipped=tuple(f"{measure}: {why}" for measure, why in skipped.items()),
        meta=meta | ({"warning": warning} if warning else {}),
        words=Words(person="session" if subject.train.unit == "session" else "person"),
        attackers=attackers(m.measure for m in found),
    )


@dataclass(frozen=True)
class Whole:
    """What is known of all rows of a log and of its release, where a report has seen the rows of some people."""

    about: Mapping[str, Any]  # the data, as inspect says it
    rows: int  # of the release
    users: int
    items: int
    items_of: int  # of the data

    def told(self, report: Report) -> Report:
        """The report with the sizes of all."""
        data, crowd = {"source": report.data["source"], **self.about}, report.meta["trained"]
        entry = self.entered(report.entries[0])
        return replace(report, data=data, entries=(entry,), meta={**report.meta, "crowd": crowd})

    def entered(self, entry: Entry) -> Entry:
        return replace(entry, rows=self.rows, users=self.users, items=self.items, items_of=self.items_of)


def mismatch(data: Interactions, released: Interactions, id_map: pl.DataFrame | None) -> str:
    """What speaks against its being a release of these data: few items, or few people of its map, in common."""
    wrong = []
    there = int(np.count_nonzero(places(released.items, data.items) >= 0))
    if there < FEW * released.n_items:
        wrong.append(f"only {there:,} of its {released.n_items:,} items are in the data")
    if id_map is not None:
        people = id_map["original"].cast(pl.String).is_in(data.users.cast(pl.String).implode())
        if people.sum() < FEW * len(people):
            wrong.append(f"only {people.sum():,} of the {len(people):,} people of its map are")
    return f"this may be no release of these data: {', and '.join(wrong)}" if wrong else ""
