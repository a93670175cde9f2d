"""choose: which of several mechanisms to release with, by use on the private data, within a budget of its own.

Candidates are fitted to a public stand-in, which costs nothing, or to a part of the data, each with its own promise and
entered in the ledger. What comes out is judged by other people: a score is a sum over them of values in [0, 1], each
a function of one person's rows alone. Only the noisy choice leaves. docs/guarantees/choosing.md has the theorem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm
from os import PathLike, fspath
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.dp.choice import noisy_choice
from recveil.errors import RecveilError
from recveil.evaluation.candidates import candidates, spec_of
from recveil.evaluation.recommenders.neighbours import ItemKNN
from recveil.evaluation.recommenders.ranker import Model, recommend
from recveil.guarantee import NEIGHBOURS, Guarantee
from recveil.mechanism import Mechanism
from recveil.randomness import seeded, source
from recveil.releases import ledger as ledgers
from recveil.releases.catalogue import as_catalogue
from recveil.releases.inputs import Input
from recveil.releases.progress import SILENT, Progress
from recveil.releases.release import release
from recveil.splits import Split, hold_out

TOP = 10  # items of a list
WHOLE = lcm(*range(1, TOP + 1))  # what a person gives at most, in whole numbers: every share of TOP or fewer is one
REFEREE = ItemKNN()  # what it says of one person is computed from her history alone, whoever else is asked about
PROOF = "docs/guarantees/choosing.md"
OUTSIDE = (
    "these figures look at the data themselves: choosing a mechanism or its epsilon by them is outside every proof",
    "covered by one: a public stand-in or a sample as DATA; a generated twin (recveil tune DATA --with SPEC --people "
    "100000); or a budget for the choice (recveil compare ... --choose-epsilon 0.5 --stand-in FILE --ledger FILE)",
)


@dataclass(frozen=True)
class ChooseRequest:
    """`data` judge the candidates, with a noisy choice of `epsilon`, entered in `ledger`.

    `stand_in`: public rows over the same items, to which the candidates are fitted. Without one they are fitted to
    `data`, but for a `share` of people, set aside, who judge; then every candidate has a proof and is entered too.
    """

    data: Input
    candidates: tuple[Any, ...]
    epsilon: float
    ledger: str
    stand_in: Input | None = None
    share: float = 0.2
    items: Any = None
    seed: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < float("inf"):
            raise RecveilError(f"--choose-epsilon is finite and above 0, such as 0.5, not {self.epsilon:g}")
        if not self.ledger:
            raise RecveilError("a choice with a budget is entered in a ledger: name it with --ledger FILE")
        if self.stand_in is not None and _same(self.stand_in.source, self.data.source):
            raise RecveilError("a stand-in is public: --stand-in names other rows than DATA")


@dataclass(frozen=True)
class NoisyChoice:
    """The spec that was chosen, and reasons in words."""

    spec: str
    lines: tuple[str, ...]
    epsilon: float
    among: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        return {"chosen": self.spec, "among": list(self.among), "epsilon": self.epsilon, "lines": list(self.lines)}


def run_choose(request: ChooseRequest, progress: Progress = SILENT) -> NoisyChoice:
    """The choice. What it spends stands in the ledger before any noise is drawn; the scores are forgotten."""
    chance = source(request.seed)
    # a refusal of a broken row would tell of it outside the noise
    rows = request.data.without_refusals().rows()
    stand_in = request.stand_in.rows(progress) if request.stand_in else None
    wanted = _mechanisms(candidates(rows if stand_in is None else stand_in, request.candidates), stand_in is None)
    if stand_in is None:
        names = chance.derive("set aside").names(rows.users.to_list())
        fitted, people = hold_out(rows, request.share, names)
    else:
        fitted, people = stand_in, rows
    step, made = progress.counter("choosing", len(wanted)), {}
    for one in wanted:
        made[spec_of(one)] = _fit(request, one, fitted)
        step(1)
    ledgers.into(request.ledger)(ledgers.CHOICE, promise(rows.unit, request.epsilon, request.seed is not None))
    judges = halves(people)
    scores = {
        name: 0 if data is None else score(REFEREE.fit(data, 0), data.items, judges) for name, data in made.items()
    }
    spec = noisy_choice(scores, WHOLE, request.epsilon, chance.derive(ledgers.CHOICE))
    return NoisyChoice(spec, _words(request, spec, rows.unit), request.epsilon, tuple(scores))


def promise(unit: str, epsilon: float, experiment: bool) -> Guarantee:
    """What the noisy choice promises by itself."""
    words = f"One of several mechanisms was chosen with noise of epsilon {epsilon:g}."
    made = Guarantee(words, "proved", epsilon, unit=unit, neighbours=NEIGHBOURS[unit], proof=PROOF)
    return made.as_experiment() if experiment else made


def halves(people: Interactions) -> Split:
    """Of each person's different items the earlier half, which a recommender is shown, and the later, which it should
    find; without times the order is a fixed hash of the item. Nothing about anybody else decides.
    """
    names = seeded(0).derive("halves").names(people.items.to_list())
    when = names[people.item] if people.moments is None else people.moments
    rows = people.take(np.lexsort((when, people.user)))
    first = np.unique(rows.user.astype(np.int64) * max(rows.n_items, 1) + rows.item, return_index=True)[1]
    rows = rows.take(np.sort(first))
    count = np.bincount(rows.user, minlength=rows.n_users)
    place = np.arange(len(rows)) - (np.cumsum(count) - count)[rows.user]
    shown = place < (count[rows.user] + 1) // 2
    return Split(rows.take(shown), rows.take(~shown))


def score(model: Model, items: pl.Series, judges: Split) -> int:
    """The sum over all judges of what a recommender over these items finds of what they did later.

    A judge gives WHOLE times the share that stands in her list, of at most TOP; one with nothing to find gives 0.
    """
    shown, wanted = (part.over_items(items) for part in judges)
    lists, n = recommend(model, shown, TOP), len(items)
    listed = np.arange(len(lists))[:, None] * n + lists
    here = np.isin(wanted.user.astype(np.int64) * n + wanted.item, listed[lists >= 0])
    found = np.bincount(wanted.user[here], minlength=len(lists))
    to_find = np.clip(np.bincount(judges.test.user, minlength=len(lists)), 1, TOP)  # also what is not among the items
    return int((found * (WHOLE // to_find)).sum())


def honest_ways(wanted: Sequence[Any], progress: Progress) -> None:
    """What is said before figures are computed on the data, where one of the candidates has a proof to lose."""
    if any(isinstance(one, Mechanism) and one.is_proved for one in wanted):
        for line in OUTSIDE:
            progress.note(line)


def _fit(request: ChooseRequest, one: Mechanism, rows: Interactions) -> Interactions | None:
    """What a candidate makes of these rows. None where it has spent and then refuses: that is an answer too."""
    spent = []

    def enter(mechanism: Any, made: Guarantee) -> None:
        if request.stand_in is None:
            ledgers.into(request.ledger)(mechanism, made)
            spent.append(mechanism)

    try:
        return release(rows, one, seed=request.seed, catalogue=as_catalogue(request.items), enter=enter).data
    except RecveilError:
        if not spent:  # of public rows, or by what is declared, or the ledger refuses
            raise
        return None


def _mechanisms(given: Sequence[Any], entered: bool) -> list[Mechanism]:
    for one in given:
        if not isinstance(one, Mechanism):
            raise RecveilError(f"{spec_of(one)} was made elsewhere; a choice with a budget is among mechanisms")
        if entered and not one.is_proved:
            raise RecveilError(
                f"{spec_of(one)} promises nothing, so fitting it to the data cannot be entered in a ledger; fit the "
                "candidates to public rows with --stand-in FILE"
            )
    if len(given) < 2:
        raise RecveilError("a choice needs two candidates at least; name each with --with")
    return list(given)


def _words(request: ChooseRequest, spec: str, unit: str) -> tuple[str, ...]:
    fits = (
        f"every {unit} of the data judged; the candidates were fitted to {request.stand_in.name}, which is taken to be "
        "public"
        if request.stand_in
        else f"{request.share:.0%} of the {unit}s were set aside and judged: the choice covers them, and the trial "
        "fits, each entered, cover the others"
    )
    return (
        f"chosen: {spec}",
        f"with noise of epsilon {request.epsilon:g} for every {unit}, entered in {request.ledger}; {fits}",
        "what the candidates scored is shown to nobody; by use alone weaker promises win, so name candidates whose "
        "promise you accept",
    )


def _same(one: Any, other: Any) -> bool:
    paths = isinstance(one, str | PathLike) and isinstance(other, str | PathLike)
    return fspath(one) == fspath(other) if paths else one is other
