"""compare(): several mechanisms on the same people, with the same seeds, attacked and put to use alike.

Some people are held out: no mechanism sees them. They are the strangers of the attacks, and of what each of them did a
part is shown to recommenders trained on a release (the query) and the rest is what these should find (the result).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from recveil.data import Interactions
from recveil.desk.cache import Cache, fingerprint
from recveil.desk.inspect import inspect
from recveil.desk.measure import MEASURES
from recveil.desk.release import Release, release
from recveil.errors import RecveilError, unknown
from recveil.guarantee import Guarantee
from recveil.measurement import Measure, Measurement, Trial, measure, trial
from recveil.mechanism import Mechanism
from recveil.mechanisms.advice import advise
from recveil.mechanisms.spec import parse, text
from recveil.report.table import Entry, Report, Words
from recveil.splits import before_and_after, holdout_users

FEWEST = 10  # people on either side of the split
QUICK_RANKERS = ("item-knn", "user-knn", "ease")
QUICK_RATERS = ("item-average", "user-average", "item-knn", "slope-one")
NOT_QUICK = ("sequences", "latent")
AGREEMENT = "agreement"  # the one measure that looks at several splits together


@dataclass(frozen=True)
class Plan:
    """How to compare: `holdout` is the share of people kept out, `splits` are for the order of algorithms alone."""

    seed: int = 0
    holdout: float = 0.2
    splits: int = 1
    quick: bool = False
    only: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not 0 < self.holdout < 1:
            raise RecveilError(f"holdout must be strictly between 0 and 1, not {self.holdout:g}")
        if self.splits < 1:
            raise RecveilError(f"splits must be at least 1, not {self.splits}")


@dataclass(frozen=True)
class Split:
    """Whom the mechanisms see, and whom they do not. All parts are coded over the items of the whole data."""

    train: Interactions
    holdout: Interactions
    query: Interactions
    result: Interactions

    def trial(self, made: Release) -> Trial:
        parts = {"holdout": self.holdout, "query": self.query, "result": self.result}
        return trial(self.train, made.data, id_map=made.id_map, **parts)


Step = Callable[[str], None]  # told what has just been done


def compare(
    data: Interactions,
    specs: Sequence[str],
    plan: Plan = Plan(),  # noqa: B008
    *,
    cache: Cache = Cache(None),  # noqa: B008
    step: Step = lambda done: None,  # noqa: ARG005
    source: str = "data",
    words: Words | None = None,
) -> Report:
    """A Report on the mechanisms named by `specs`. What `cache` knows of these data and this plan is not done again."""
    mechanisms = check(data, specs)
    chosen = measures(plan)
    splits = [split(data, plan.holdout, [plan.seed, number]) for number in range(plan.splits)]
    key = (fingerprint(data), plan.seed, plan.holdout, plan.quick)
    jobs, refused = _willing([_Job(m, splits, plan, cache, key) for m in mechanisms])
    results = [job.run(chosen, step) for job in jobs]
    found = [m for numbers, _ in results for m in numbers]
    undefined = dict.fromkeys(m.note for m in found if m.name == "advantage" and m.note)
    reasons: dict[tuple[str, str], list[str]] = {}
    for job, (_, missing) in zip(jobs, results, strict=True):
        for name, why in missing.items():
            reasons.setdefault((name, why), []).append(job.spec)
    from recveil import __version__

    return Report(
        data={"source": source, **inspect(data)},
        entries=tuple(job.entry for job in jobs),
        measurements=tuple(found),
        advice=advise(data),
        left_out=(*refused, *undefined, *(f"{name} of {', '.join(of)}: {why}" for (name, why), of in reasons.items())),
        meta={
            "version": __version__,
            **{name: value for name, value in asdict(plan).items() if name != "only"},
            "seeded": True,
            "held_out": splits[0].holdout.n_users,
            "trained": splits[0].train.n_users,
        },
        words=words or Words(person="session" if data.unit == "session" else "person"),
    )


def check(data: Interactions, specs: Sequence[str]) -> list[Mechanism]:
    """The mechanisms, each once; all of them fit the data, or the first that does not is named."""
    if not specs:
        raise RecveilError("nothing to compare; name at least one mechanism with --with")
    mechanisms = [parse(spec) for spec in specs]
    for mechanism in mechanisms:
        mechanism.fits(data)
    return list({text(m): m for m in mechanisms}.values())


def measures(plan: Plan) -> dict[str, Measure]:
    """Attacks and metrics by name: those named, or all; with the quick referees if wanted."""
    known = dict(MEASURES)
    for name in plan.only or ():
        if name not in known:
            raise unknown("measure", name, known)
    if plan.quick:
        from recveil.recommenders import RANKERS, RATERS

        rankers = tuple(RANKERS[name] for name in QUICK_RANKERS)
        raters = tuple(RATERS[name] for name in QUICK_RATERS)
        few: dict[str, dict[str, Any]] = {
            **{name: {"referees": rankers} for name in ("lift", "ranking", "exposure", "damage")},
            "ratings": {"raters": raters},
            AGREEMENT: {"rankers": rankers, "raters": raters},
        }
        known = {name: partial(m, **few[name]) if name in few else m for name, m in known.items()}
    names = plan.only or [name for name in known if not (plan.quick and name in NOT_QUICK)]
    return {name: known[name] for name in names}


def split(data: Interactions, share: float, seed: Sequence[int]) -> Split:
    """The people who are released, those held out, and what the latter did before and after."""
    rng = np.random.default_rng([*seed, *b"split"])
    train, holdout = (part.compact().over_items(data.items) for part in holdout_users(data, share, rng))
    if min(train.n_users, holdout.n_users) < FEWEST:
        raise RecveilError(
            f"{data.n_users} {data.unit}s are too few to compare on: {FEWEST} at least are held out, and {FEWEST} stay"
        )
    return Split(train, holdout, *before_and_after(holdout, rng))


def _willing(jobs: list[_Job]) -> tuple[list[_Job], list[str]]:
    """The jobs whose mechanism could release these people, and why the others could not; an error if none could."""
    able, refused = [], []
    for job in jobs:
        try:
            job.entry  # noqa: B018
        except RecveilError as reason:
            refused.append(str(reason))
        else:
            able.append(job)
    if not able:
        raise RecveilError(refused[0])
    return able, refused


@dataclass(frozen=True)
class _Job:
    """One mechanism: released once for each split, and only if something is left to be measured."""

    mechanism: Mechanism
    splits: list[Split]
    plan: Plan
    cache: Cache
    key: tuple[object, ...]

    @property
    def spec(self) -> str:
        return text(self.mechanism)

    @cached_property
    def made(self) -> Release:
        return release(self.splits[0].train, self.mechanism, seed=self.plan.seed)

    @cached_property
    def first(self) -> Trial:
        return self.splits[0].trial(self.made)

    @cached_property
    def trials(self) -> list[Trial]:
        others = [(s, release(s.train, self.mechanism, seed=self.plan.seed)) for s in self.splits[1:]]
        return [self.first, *(s.trial(made) for s, made in others)]

    @cached_property
    def entry(self) -> Entry:
        facts = self.cache.get(*self.key, self.spec, "entry")
        if facts is None:
            rows = self.made.data
            facts = Entry(
                self.spec, self.made.guarantee, _first(self.made.mechanism.card()), len(rows), rows.n_users
            ).record()
            self.cache.put(facts, *self.key, self.spec, "entry")
        return Entry(**{**facts, "guarantee": Guarantee(**facts["guarantee"])})

    def run(self, chosen: Mapping[str, Measure], step: Step) -> tuple[list[Measurement], dict[str, str]]:
        """Measurements, and what could not be measured, each with its reason."""
        found: list[Measurement] = []
        missing: dict[str, str] = {}
        step(f"{self.entry.spec}: release")
        for name, function in chosen.items():
            key = (*self.key, self.spec, name, *([self.plan.splits] if name == AGREEMENT else []))
            known = self.cache.get(*key)
            if known is None:
                known = self._measured(name, function)
                self.cache.put(known, *key)
            found += [Measurement(**record) for record in known["measurements"]]
            if known["why"]:
                missing[name] = known["why"]
            step(f"{self.spec}: {name}")
        return found, missing

    def _measured(self, name: str, function: Measure) -> dict[str, Any]:
        """The records of a measure; where it says in one line why it cannot be computed, that line."""
        run: Measure = function
        if name == AGREEMENT:
            run = lambda _, rng: function(self.trials, rng)  # type: ignore[arg-type]  # noqa: E731
        try:
            found = measure(self.first, {name: run}, self.plan.seed, self.spec)
        except RecveilError as reason:
            return {"measurements": [], "why": str(reason)}
        return {"measurements": [m.record() for m in found], "why": ""}


def _first(card: str) -> str:
    """The first paragraph of a card: what was done."""
    return " ".join(card.split("\n\n")[0].split())
