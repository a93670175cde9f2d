"""measure, of a log that memory does not hold: its parts and those of the release, one at a time.

What adds up over parts is about everybody: how many have each item, and from how many of all released records an
attacker by intersection cannot tell hers. All else is measured in a crowd, people drawn by a hash, whose size stands
beside every such figure: among fewer people each is found more easily, and fewer people teach a recommender less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Interactions, concat
from recveil.errors import RecveilError
from recveil.evaluation import crowd as drawing
from recveil.evaluation.assess import rng_of
from recveil.evaluation.attacks.linkage import linkage
from recveil.evaluation.attacks.linkage_parts import linkage_among
from recveil.evaluation.catalogue import MEASURES
from recveil.evaluation.crowd import Lowest, Sought, Survey, rarest_people, riskiest_of, seekers
from recveil.evaluation.facts import Repeats, repeats_of
from recveil.evaluation.inspect import described
from recveil.evaluation.measure import Findings, prepare
from recveil.evaluation.measured import Whole
from recveil.evaluation.metrics.popularity import popularity_of
from recveil.ids import places, union
from recveil.measurement import Measure, Measurement, SkippedError, Trial, attempt, measure
from recveil.releases import disk
from recveil.releases.disk import DiskTable
from recveil.report.table import Report
from recveil.views.records import records

NEEDS_MAP = (
    "of a release that --memory does not hold it needs an id map, which tells whose records those of the crowd are"
)
Reporter = Callable[[Trial, Sequence[Measurement], Mapping[str, str], Whole], Report | None]


@dataclass(frozen=True)
class Parted:
    """Data and a release in parts over the same items; people held out, who are not among the data; and the map."""

    data: DiskTable
    released: DiskTable
    id_map: pl.DataFrame | None = None
    holdout: Interactions | None = None
    memory: int = 0  # bytes that the rows of a release may take

    @property
    def is_held(self) -> bool:
        """Whether memory holds the release."""
        return self.released.rows * disk.ROW_BYTES <= self.memory


@dataclass(frozen=True)
class HowMeasured:
    """What `measure_release` takes besides: the spec of the mechanism, and what the linkage attacker knows."""

    seed: int
    knowledge: Mapping[str, Any]
    mechanism: str | None = None
    strict: bool = False
    riskiest: bool = True  # whether the people are named who are found most surely


def over_same_items(data: DiskTable, released: DiskTable) -> tuple[DiskTable, DiskTable]:
    """Both over the items of either."""
    items = union(data.layout.items, released.layout.items)
    if len(items) == len(data.layout.items) + len(released.layout.items):
        raise RecveilError("the release and the data have no item in common: it is not a release of these data")
    one, other = (
        replace(table, layout=replace(table.layout, items=items), specimen=table.specimen.over_items(items))
        for table in (data, released)
    )
    return one, other


def measure_parts(
    given: Parted,
    chosen: Mapping[str, Measure],
    how: HowMeasured,
    *,
    tick: Callable[[int], None] = lambda done: None,  # noqa: ARG005
    completed: Callable[[Trial], Trial] = lambda subject: subject,
    report: Reporter | None = None,
) -> Findings:
    """What `measure_release` finds of rows in memory; the same however many parts there are."""
    if not given.data.rows:
        raise RecveilError("every person of the data is in the holdout: nobody is left to be measured")
    seen, repeats = Survey(rng_of(how.seed, "crowd")), Repeats(0, 0)
    for part in given.data.parts():
        seen.add(part)
        repeats += repeats_of(part)
    out = _Records(given, seen)
    attacked, used = (completed(subject) for subject in (out.attacked(), out.used()))
    found: list[Measurement] = []
    skipped: dict[str, str] = {}
    for name, function in chosen.items():
        run = _of_parts(name, function, out, attacked if MEASURES[name].kind == "attack" else used, how)
        if how.strict:
            some, why = measure(attacked, {name: run}, how.seed, how.mechanism), ""
        else:
            some, why = attempt(attacked, name, run, how.seed, how.mechanism)
        found += some
        skipped |= {name: why} if why else {}
        tick(1)
    many = (int(np.count_nonzero(holders)) for holders in (out.holders, seen.holders))
    whole = Whole(described(seen.all_facts, repeats), given.released.rows, out.people, *many)
    page = report(attacked, found, skipped, whole) if report else None
    named = out.riskiest(rng_of(how.seed, "riskiest")) if how.riskiest else []
    return Findings(found, skipped, named, how.mechanism, page)


def _of_parts(name: str, function: Measure, out: _Records, subject: Trial, how: HowMeasured) -> Measure:
    """A measure of all where it adds up, else of the crowd."""
    given = out.given
    if name == "popularity":
        return lambda _, rng: popularity_of(out.seen.holders.astype(float), out.holders.astype(float), rng)
    if MEASURES[name].kind == "attack" and given.id_map is None and not given.is_held:
        return _needs_map
    if name == "linkage" and given.id_map is not None:
        return _linkage(out, subject, how.knowledge)
    return _in_crowd(function, subject)


class _Records:
    """What one pass over the parts of a release learns: who has what, the records of the crowd, and a few others."""

    def __init__(self, given: Parted, seen: Survey) -> None:
        self.given, self.seen = given, seen
        assert seen.crowd.people is not None
        self.crowd = seen.crowd.people
        self.holders = np.zeros(len(given.data.layout.items), dtype=np.int64)
        self.people = 0
        self.tokens = None if given.id_map is None else self._tokens(self.crowd.users)
        drawn, theirs = Lowest(drawing.CROWD), []
        for part in given.released.parts():
            of = records(part)
            self.holders += of.popularity()
            self.people += part.n_users
            if self.tokens is not None:
                theirs.append(part.among(places(part.users, self.tokens["released"]) >= 0))
            else:
                drawn.add(part, seen.luck(part.users))
                theirs += [part] * given.is_held
        self.records = concat(theirs) if theirs else drawn.people
        self.drawn = drawn.people if self.tokens is None else self.records

    def _tokens(self, users: pl.Series) -> pl.DataFrame:
        """The original and the released ids of some people, as far as the map knows them."""
        given = self.given
        assert given.id_map is not None
        kinds = {"original": users.dtype, "released": given.released.specimen.users.dtype}
        pairs = given.id_map.select(pl.col(name).cast(kind, strict=False) for name, kind in kinds.items())
        found = pairs.join(pl.DataFrame({"original": users}), on="original").drop_nulls()
        return found.unique("released").sort("released")

    def _trial(self, found: Interactions | None) -> Trial:
        given = self.given
        if found is None or not len(found):
            raise RecveilError("the id map names no record of this release: it belongs to another one")
        strangers = None
        if given.holdout is not None:
            lowest = Lowest(drawing.CROWD)
            lowest.add(given.holdout, self.seen.luck(given.holdout.users))
            strangers = lowest.people
        return prepare(self.crowd, found, holdout=strangers, id_map=self.tokens)

    def attacked(self) -> Trial:
        """The crowd, with its records where they are known; else with all that memory holds."""
        return self._trial(self.records)

    def used(self) -> Trial:
        """The crowd, with its records, or with as many others: a release teaches more the more people are in it."""
        return self._trial(self.drawn)

    def targets(self) -> tuple[Trial, pl.DataFrame]:
        """A few of the crowd with their records, and the tokens of these."""
        few = self.seen.crowd.first(drawing.TARGETS)
        tokens = self._tokens(few.users)
        assert self.records is not None
        theirs = self.records.among(places(self.records.users, tokens["released"]) >= 0)
        holdout = None if self.given.holdout is None else self.attacked().holdout
        subject = prepare(few, theirs.over_items(self.crowd.items), holdout=holdout, id_map=tokens)
        return subject, tokens

    def riskiest(self, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Of people whose items are the rarest those who are found most surely among all released records."""
        if self.given.id_map is None:
            return []
        rare = rarest_people(self.given.data.parts, self.seen.holders)
        tokens = self._tokens(rare.users).unique("original")
        rare = rare.among(places(rare.users, tokens["original"].sort()) >= 0)
        longest = int(records(rare).lengths.max(initial=0))
        if not longest:
            return []
        exposed = seekers(rare, self.seen.holders, longest, rng)
        names = pl.DataFrame({"original": exposed.users}).join(tokens, on="original", how="left", maintain_order="left")
        sought = Sought(names["released"], exposed.facts)
        for part in self.given.released.parts():
            sought.seek(part)
        exposed.sizes, exposed.hits = sought.sizes, sought.hits
        return riskiest_of(exposed)


def _linkage(out: _Records, attacked: Trial, knowledge: Mapping[str, Any]) -> Measure:
    """The attacker by intersection among all records; the others, who score records, in the crowd."""

    def run(_: Trial, rng: np.random.Generator) -> list[Measurement]:
        few, tokens = out.targets()
        held: NDArray[np.float64] = out.seen.holders.astype(np.float64)
        names = tokens.with_columns(pl.col("original").cast(few.train.users.dtype))
        everybody = linkage_among(
            few, names, lambda step: disk.total(out.given.released, step, "user", lambda rows: None), held, rng,  # noqa: ARG005
            **knowledge,
        )  # fmt: skip
        return everybody + _in_crowd(lambda subject, rng: linkage(subject, rng, **knowledge), attacked)(attacked, rng)

    return run


def _in_crowd(function: Measure, subject: Trial) -> Measure:
    """A measure of the crowd, whose size stands beside its figures."""
    size = {"crowd": subject.train.n_users}

    def run(_: Trial, rng: np.random.Generator) -> list[Measurement]:
        return [replace(m, params={**m.params, **size}) for m in function(subject, rng)]

    return run


def _needs_map(_: Trial, __: np.random.Generator) -> list[Measurement]:
    raise SkippedError(NEEDS_MAP)
