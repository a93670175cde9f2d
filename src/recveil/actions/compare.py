"""compare, as a request: the same people, protected in several ways, attacked and put to use alike."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from recveil.actions.engine import LOCAL, Engine
from recveil.evaluation.cache import Cache, fingerprint
from recveil.evaluation.candidates import candidates, spec_of
from recveil.evaluation.choose import honest_ways
from recveil.evaluation.compare import compare
from recveil.evaluation.design import Design, measures
from recveil.evaluation.estimate import estimate
from recveil.evaluation.item_overview import looks_private
from recveil.evaluation.people import read_people
from recveil.options import asked, option, part
from recveil.releases.asked import ITEMS, LOOKED
from recveil.releases.catalogue import as_catalogue, tells
from recveil.releases.disk import planned
from recveil.releases.inputs import Input
from recveil.releases.ledger import look
from recveil.releases.progress import SILENT, Progress
from recveil.report.table import Report, Words
from recveil.samples import WORDS


@dataclass(frozen=True)
class CompareRequest:
    """`candidates`: specs, mechanisms, and files or bundles made elsewhere. A cache without a folder keeps nothing.

    `items`: the public file, or lists of ids, over which the mechanisms release, as a Catalogue or as a file.
    `attributes`: what people are, which attackers infer, blur hides. `ledger`: where this look at the data is entered.
    A log that takes more than the memory of its engine is compared in parts.
    """

    data: Input = part(Input, "source", "columns", "schema", "types", "duplicates", "fold_tags")
    candidates: tuple[Any, ...] = option(
        MISSING,
        "--with",
        "--mechanism",
        metavar="SPEC",
        many=True,
        help="A mechanism, or a release made elsewhere; once for each.",
    )
    releases: tuple[Any, ...] = option(
        (), "--release", metavar="FILE", many=True, help="A release made by another tool; once for each."
    )
    design: Design = part(Design, "holdout", "splits", "quick", "only", "shadows", default=Design())
    items: Any = asked(ITEMS, None)
    attributes: str | pl.DataFrame | None = option(
        None, metavar="FILE", help="What people are, to be inferred, or hidden by blur: csv, parquet."
    )
    ledger: str | None = asked(LOOKED, None)
    engine: Engine = part(Engine, "memory", "scratch", default=LOCAL)
    cache: Cache = Cache(None)

    @property
    def all_candidates(self) -> tuple[Any, ...]:
        return (*self.candidates, *map(Path, self.releases))


def run_compare(request: CompareRequest, progress: Progress = SILENT) -> Report:
    """A Report on what the request names, after a note on how long it will take."""
    if (plan := planned(request.data, request.engine.memory_bytes)) is not None:
        from recveil.evaluation.compare_parts import compare_parts

        return compare_parts(request, plan, progress)
    lists, about = as_catalogue(request.items), request.attributes
    people = None if about is None else read_people(about)
    chosen = measures(request.design, people is not None, tells(lists))
    rows = request.data.rows(progress)
    wanted = candidates(rows, request.all_candidates, people)
    if len(wanted) < len(request.all_candidates):
        progress.note("what was named twice is compared once")
    if not request.data.is_sample:
        look(request.ledger, "compare", list(map(spec_of, wanted)), lambda: fingerprint(rows))
        honest_ways(wanted, progress)
        for line in looks_private(lists, rows):
            progress.note(line)
    cost = f"{estimate(rows, wanted, chosen, request.design)} at most"
    progress.note(f"{len(wanted)} mechanisms, {len(chosen)} measures: {cost}")
    tick, name = progress.counter("comparing", len(wanted) * (len(chosen) + 1)), request.data.name
    words = WORDS.get(name.removeprefix("sample:").partition("?")[0]) if request.data.is_sample else None
    return compare(
        rows, wanted, request.design, cache=request.cache,
        step=lambda _: tick(1),
        source=name,
        words=Words(*words) if words else None,
        catalogue=lists,
        people=people,
    )  # fmt: skip
