"""recveil judge new: people are set aside, counted once with noise, and a folder is made of what is to be found of
them.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt
from pathlib import Path

import polars as pl

from recveil.court.folder import COUNTING, Court, Settled, put
from recveil.court.ladder import step_for
from recveil.court.people import judged
from recveil.court.values import parsed
from recveil.dp.budget import rho_of, variance
from recveil.dp.noise import draw, gaussian
from recveil.errors import RecveilError
from recveil.formats.files import check_writable
from recveil.ids import listed
from recveil.randomness import source as chance
from recveil.releases import aside, ledger
from recveil.releases.bundle import load
from recveil.releases.catalogue import Catalogue, read_catalogue
from recveil.releases.inputs import Input
from recveil.releases.places import Folder, check_vacant, whole
from recveil.releases.progress import SILENT, Progress

TABLE = (5, 10, 20, 50, 100, 200, 500)  # numbers of answers
FINE = 0.002  # deviation of a mean up to which more answers are advised
PER_CELL = 5e-9  # seconds for one person and one item


@dataclass(frozen=True)
class CourtRequest:
    """`people`: the share that is set aside. `find`: the last share of what each did; `like`: the rating from which on
    it counts. `items`: a file of public item ids; or those of a `bundle`; or the items of the data, if they are
    public.
    """

    data: Input
    out: str
    ledger: str
    people: float = 0.2
    epsilon: float = 1.0
    delta: float = 1e-6
    scores: int | None = None
    metrics: str | Sequence[str] = "ndcg@10"
    find: float = 0.2
    like: float | None = None
    step: float | None = None
    items: str | None = None
    bundle: str | None = None
    catalogue_is_public: bool = False
    seconds: float | None = None
    each: float = 0.05
    seed: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < float("inf") or not 0 < self.delta < 1:
            raise RecveilError("--epsilon must be above 0 and --delta between 0 and 1, such as 1 and 1e-6")
        if not 0 < self.people < 1 or not 0 < self.find < 1:
            raise RecveilError("--people and --find are shares strictly between 0 and 1, such as 20%")
        if self.scores is not None and not 1 <= self.scores <= 100_000:
            raise RecveilError(f"--scores must be from 1 to 100,000, not {self.scores}")
        if self.step is not None and not 0 < self.step < 1:
            raise RecveilError("--step lies strictly between 0 and 1, such as 0.01")
        if not 0 < self.each <= 60 or (self.seconds is not None and not 0 <= self.seconds <= 86400):
            raise RecveilError("--each is above 0 and at most 60 seconds, --answer-after at most a day")
        if self.items and self.bundle:
            raise RecveilError("the items are those of --catalogue or those of --bundle; give one of them")
        if not (self.bundle or self.catalogue_is_public or self.data.catalogue_is_public):
            raise RecveilError(
                "which items exist is shown to every participant: say with --catalogue-is-public that those of "
                "--catalogue FILE, or else of the data, are public; or take those of a published bundle (--bundle DIR)"
            )
        self.data.without_refusals()


def run_new(request: CourtRequest, progress: Progress = SILENT) -> Court:
    """The court; what it told the owner is free of the data but for the noisy number of people."""
    metrics = parsed(request.metrics)
    rho = rho_of(request.epsilon, request.delta)
    folder = Folder(Path(request.out))
    check_vacant(folder)
    check_writable(folder.path)
    items = _public_items(request)
    rows = request.data.without_refusals().rows(progress)
    rows = rows.over_items(listed(rows.items) if items is None else items)
    before = bool([e for e in ledger.read(request.ledger) if e.get("status") and e.get("people") is None])
    people = aside.parted(request.ledger, rows, request.people).test
    source = chance(request.seed).derive("court")
    where = os.path.relpath(Path(request.ledger).resolve(), folder.path.resolve())
    settled = Settled(
        secrets.token_hex(8), ledger.now(), rows.unit, request.people, request.epsilon, request.delta,
        request.scores or 1, metrics, request.step or 0.0, request.find, request.like, 1,
        variance(1, COUNTING * rho), 0.0, request.each,
        "the list of items" if items is not None else "the observed items", where, request.seed is not None,
    )  # fmt: skip
    found = judged(people, request.find, request.like, source.derive("order"))
    with whole(folder) as part:
        part.close_to_others()
        court = Court(part.path, settled)
        court.spend("count", "count", COUNTING * rho)
        aside.set_aside(request.ledger, request.people)
        noise = int(draw(gaussian(settled.count_variance), 1, source.derive("count"))[0])
        settled = _sized(settled, request, max(1, len(found) + noise), len(rows.items))
        put(Court(part.path, settled), found, rows.items, source)
    court = Court(folder.path, settled)
    for line in told(court, before):
        progress.note(line)
    return court


def _public_items(request: CourtRequest) -> pl.Series | None:
    if request.bundle:
        return listed(load(request.bundle).data.items)
    given = read_catalogue(request.items) if request.items else Catalogue()
    return None if given.items is None else listed(given.items)


def _sized(settled: Settled, request: CourtRequest, people: int, items: int) -> Settled:
    """What follows from the noisy number of people: how many answers, the step, and when an answer comes."""
    rho = settled.rho * (1 - COUNTING)
    scores = request.scores or max([q for q in TABLE if deviation(q, people, rho) <= FINE], default=TABLE[0])
    seconds = ceil(1 + PER_CELL * people * items) if request.seconds is None else request.seconds
    step = request.step or step_for(people, rho / scores)
    return replace(settled, people=people, scores=scores, seconds=float(seconds), step=step)


def deviation(scores: int, people: int, rho: float) -> float:
    """The standard deviation of a mean's noise where the budget is for so many scores."""
    return sqrt(scores / (2 * rho)) / people


def told(court: Court, before: bool) -> list[str]:
    """What an owner should know of a new court."""
    settled = court.settled
    rho = settled.rho * (1 - COUNTING)
    sizes = ", ".join(f"{q}: ±{1.96 * deviation(q, settled.people, rho):.4f}" for q in TABLE)
    lines = [
        f"about {settled.people:,} {settled.unit}s are set aside and judged (counted with noise)",
        f"95% noise of a mean, by the number of answers that the budget is for: {sizes}",
        f"this court is for {settled.scores} answers; --scores chooses another number",
        f"the ladder (score --ladder) asks for steps of {settled.step:g}",
        f"{court.path} holds real people and the key of the noise: it is for you alone",
    ]
    if before:
        lines.append(
            "releases were made under this ledger before: they hold these people too, and what is spent adds up"
        )
    if settled.given == "the observed items":
        lines.append("taken to be public: the observed items; if they are not, give the true list with --catalogue")
    if settled.seeded:
        lines.append("made with a seed: an experiment, not for publication")
    return lines
