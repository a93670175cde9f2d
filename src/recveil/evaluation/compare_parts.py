"""compare, of a log that memory does not hold: every mechanism releases all who are not held out, out of core.

Who is held out hangs on a keyed hash of ids. A release is measured as `measure` does it of a log in parts, and is gone
once that is done.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from recveil.data import Interactions
from recveil.errors import NO_MEMORY, RecveilError
from recveil.evaluation import crowd as drawing
from recveil.evaluation.advice import advise
from recveil.evaluation.candidates import ExternalRelease, candidates, first_paragraph, spec_of
from recveil.evaluation.catalogue import attackers
from recveil.evaluation.choose import honest_ways
from recveil.evaluation.crowd import Lowest
from recveil.evaluation.design import FEWEST, measures
from recveil.evaluation.facts import facts_of_parts
from recveil.evaluation.inspect import described
from recveil.evaluation.losses import entry_of
from recveil.evaluation.measure_parts import HowMeasured, Parted, measure_parts, over_same_items
from recveil.evaluation.measured import Whole
from recveil.guarantee import from_record
from recveil.measurement import Measurement
from recveil.mechanism import Mechanism, Synthesis
from recveil.randomness import source
from recveil.releases.bundle import data_files, placed
from recveil.releases.catalogue import as_catalogue, tells
from recveil.releases.chunked_release import HowReleased, Made, release_chunks
from recveil.releases.disk import DiskPlan, DiskTable, read_disk
from recveil.releases.disk_release import DISK, check_runs
from recveil.releases.inputs import Input
from recveil.releases.ledger import look
from recveil.releases.progress import Progress
from recveil.releases.scratch import Store, by_person
from recveil.report.table import Entry, Report, Words
from recveil.splits import name_bound

if TYPE_CHECKING:
    from recveil.actions.compare import CompareRequest

NO_SHADOWS = "shadow: releases of halves are made of logs that memory holds"


@dataclass(frozen=True)
class _Log:
    """The people who are released, in parts; a crowd of those held out, and how many of them there are."""

    table: DiskTable
    holdout: Interactions
    held: int
    digest: str


def compare_parts(request: CompareRequest, plan: DiskPlan, progress: Progress) -> Report:
    """A Report on what the request names, of a log that memory does not hold."""
    design, lists = replace(request.design, shadows=0), as_catalogue(request.items)
    for what, wish in (("--fold-tags", request.data.fold_tags), ("--attributes", request.attributes is not None),
                       ("--shadows", bool(request.design.shadows)), ("--splits", design.splits > 1)):  # fmt: skip
        if wish:
            raise RecveilError(f"{what} is for logs that memory holds; leave it out, or allow more with --memory")
    chosen = measures(design, False, tells(lists))
    with plan.scratch(request.engine.scratch or ".", progress) as folder:
        log = _split(request.data, folder, plan.parts, design.holdout, design.seed, progress)
        wanted = candidates(log.table.specimen, request.all_candidates)
        if not request.data.is_sample:
            look(request.ledger, "compare", list(map(spec_of, wanted)), lambda: log.digest)
            honest_ways(wanted, progress)
        tick = progress.counter("comparing", len(wanted) * (len(chosen) + 1))
        entries: list[Entry] = []
        found: list[Measurement] = []
        skipped = [NO_SHADOWS] if request.design.n_shadows and not design.only else []
        for number, one in enumerate(wanted):
            try:
                with _released(one, log, lists, design.seed, folder / f"release-{number}", plan.parts, progress) as out:
                    tick(1)
                    how = HowMeasured(design.seed, {}, spec_of(one), riskiest=False)
                    given = Parted(*out.tables, out.made.id_map, log.holdout, request.engine.memory_bytes or 0)
                    made = measure_parts(given, chosen, how, tick=tick, report=out.entered)
            except (RecveilError, MemoryError) as reason:
                skipped.append(str(reason) if isinstance(reason, RecveilError) else f"{spec_of(one)}: {NO_MEMORY}")
                continue
            entries.append(out.entry)
            found += made.measurements
            skipped += [f"{name} of {spec_of(one)}: {why}" for name, why in made.skipped.items()]
        if not entries:
            raise RecveilError(skipped[-1])
        return _report(request, log, tuple(entries), found, skipped)


def _split(given: Input, folder: Path, parts: int, share: float, seed: int, progress: Progress) -> _Log:
    """All rows on the disk, those of people held out apart."""
    names, bound = source(seed).derive("split").names, name_bound(share)
    apart, kept = Store(folder, "held", parts), 0
    with apart.filling(by_person(parts)) as put:

        def divert(frame: pl.DataFrame) -> pl.DataFrame:
            nonlocal kept
            users = frame["user"].unique()
            held = users.filter(pl.Series(names(users.to_list()) < bound))
            theirs = frame["user"].is_in(held.implode())
            put(frame.filter(theirs))
            kept += frame.height - int(theirs.sum())
            return frame.filter(~theirs)

        table = read_disk(given, folder, parts, progress, hashed=True, divert=divert)
    people, lowest = 0, Lowest(drawing.CROWD)
    for part in replace(table, store=apart).parts():
        people += part.n_users
        lowest.add(part, names(part.users.to_list()))
    if lowest.people is None or people < FEWEST or not kept:
        raise RecveilError(f"the people are too few to compare on: {FEWEST} at least are held out, and {FEWEST} stay")
    return _Log(replace(table, rows=kept), lowest.people, people, table.digest)


@dataclass
class _Out:
    """A release in scratch, beside the log, over the same items; and how it stands in the report."""

    made: Made
    tables: tuple[DiskTable, DiskTable]
    entry: Entry

    def entered(self, _: Any, __: Any, ___: Any, whole: Whole) -> None:
        self.entry = whole.entered(self.entry)


@contextmanager
def _released(
    one: Mechanism | ExternalRelease, log: _Log, lists: Any, seed: int, here: Path, parts: int, progress: Progress
) -> Iterator[_Out]:
    """What a mechanism makes of all who are not held out, in scratch; gone in the end."""
    if isinstance(one, ExternalRelease):
        raise RecveilError(f"{one.name} exists already: recveil measure attacks it, with --memory")
    check_runs(one)
    here.mkdir(mode=0o700)
    try:
        made = release_chunks(
            DISK, log.table, one, placed(here / "out"), HowReleased(seed, catalogue=lists, keep_map=True)
        )
        files = [str(here / "out" / name) for name in data_files(made.manifest)]
        text = {column["name"] for column in made.manifest["schema"] if column["type"] == "String"}
        types: Any = dict.fromkeys(text & {"item", "tag"}, "text")
        rows = read_disk(Input(files, types=types, duplicates="all"), here, parts, progress)
        promise, drawn = from_record(made.manifest["guarantee"]), isinstance(one, Synthesis) and not one.knows_users
        entry = entry_of(
            spec_of(one), promise, first_paragraph(one.card()), log.table.specimen, rows.specimen, drawn=drawn
        )
        yield _Out(made, over_same_items(log.table, rows), entry)
    finally:
        shutil.rmtree(here, ignore_errors=True)


def _report(
    request: CompareRequest, log: _Log, entries: tuple[Entry, ...], found: list[Measurement], skipped: list[str]
) -> Report:
    from recveil import __version__

    facts, repeats = facts_of_parts(log.table.parts())
    design = {name: value for name, value in asdict(request.design).items() if name != "only"}
    judges = {"held_out": log.held, "judges": log.holdout.n_users, "trained": facts.n_users}
    return Report(
        data={"source": request.data.name, **described(facts, repeats)},
        entries=entries,
        measurements=tuple(found),
        advice=advise(facts),
        skipped=tuple(skipped),
        meta={"version": __version__, **design, "shadows": 0, "seeded": True, **judges,
              "crowd": min(drawing.CROWD, facts.n_users)},
        words=Words(person="session" if facts.specimen.unit == "session" else "person"),
        attackers=attackers(m.measure for m in found),
    )  # fmt: skip
