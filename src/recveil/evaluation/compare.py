"""compare(): several mechanisms on the same people, with the same seeds, attacked and put to use alike.

Some people are held out: no mechanism sees them. They are the strangers of the attacks, and of what each of them did a
part is shown to recommenders trained on a release (the query) and the rest is what these should find (the result).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from recveil.data import Interactions, concat
from recveil.errors import NO_MEMORY, RecveilError
from recveil.evaluation.advice import advise
from recveil.evaluation.cache import Cache, fingerprint
from recveil.evaluation.candidates import ExternalRelease, candidates, first_paragraph, spec_of
from recveil.evaluation.catalogue import MEASURES, attackers
from recveil.evaluation.design import Design, HeldOut, measures, split
from recveil.evaluation.inspect import inspect
from recveil.evaluation.losses import entry_of
from recveil.evaluation.measured import mismatch
from recveil.evaluation.people import labelled, print_of
from recveil.evaluation.shadows import Halves, maker, of_halves, with_day_before
from recveil.guarantee import from_record
from recveil.measurement import Measure, Measurement, SkippedError, Trial, attempt, trial
from recveil.mechanism import Mechanism
from recveil.releases.catalogue import Catalogue, shared, tells
from recveil.releases.release import Release, release
from recveil.report.table import Entry, Report, Words

Step = Callable[[str], None]  # told what has just been done


def compare(
    data: Interactions,
    given: Sequence[Any],
    design: Design = Design(),
    *,
    cache: Cache = Cache(None),
    step: Step = lambda done: None,  # noqa: ARG005
    source: str = "data",
    words: Words | None = None,
    catalogue: Any = None,
    people: pl.DataFrame | None = None,
) -> Report:
    """A Report on the candidates. What `cache` knows of these data and this design is not done again."""
    wanted, lists = candidates(data, given, people), shared(catalogue, data)
    chosen, facts = measures(design, people is not None, tells(lists)), lists.features if lists else None
    splits = [split(data, design.holdout, [design.seed, number], facts) for number in range(design.splits)]
    key: tuple[object, ...] = (fingerprint(data), design.seed, design.holdout, design.quick, print_of(people))
    key += () if lists is None else (lists.digest(),)
    jobs, results, refused = _done(
        [_job(one, data, splits, design, cache, key, people, lists) for one in wanted], chosen, step
    )
    found = [m for numbers, _ in results for m in numbers]
    undefined = dict.fromkeys(m.note for m in found if m.name.endswith("advantage") and m.note)
    reasons: dict[tuple[str, str], list[str]] = {}
    for job, (_, missing) in zip(jobs, results, strict=True):
        for gap in missing.items():
            reasons.setdefault(gap, []).append(job.spec)
    from recveil import __version__

    return Report(
        data={"source": source, **inspect(data)},
        entries=tuple(job.entry for job in jobs),
        measurements=tuple(found),
        advice=advise(data),
        skipped=(*refused, *undefined, *(f"{name} of {', '.join(of)}: {why}" for (name, why), of in reasons.items())),
        meta={
            "version": __version__,
            **{name: value for name, value in asdict(design).items() if name != "only"},
            "seeded": True,
            "held_out": splits[0].holdout.n_users,
            "judges": splits[0].query.n_users,
            "trained": splits[0].train.n_users,
        },
        words=words or Words(person="session" if data.unit == "session" else "person"),
        attackers=attackers(m.measure for m in found),
    )


def _done(
    jobs: list[_Job], chosen: Mapping[str, Measure], step: Step
) -> tuple[list[_Job], list[tuple[list[Measurement], dict[str, str]]], list[str]]:
    """The jobs whose mechanism could release these people, what was found, and why the others could not.

    One after the other, and forgotten once it is measured, so that no more than one release stands in memory.
    """
    able, results, refused = [], [], []
    for job in jobs:
        try:
            job.entry  # noqa: B018
        except (RecveilError, MemoryError) as reason:
            refused.append(str(reason) if isinstance(reason, RecveilError) else f"{job.spec}: {NO_MEMORY}")
            continue
        able.append(job)
        results.append(job.run(chosen, step))
        job.forget()
    if not able:
        raise RecveilError(refused[0])
    return able, results, refused


def _job(
    one: Mechanism | ExternalRelease, data: Interactions, splits: list[HeldOut], design: Design, cache: Cache,
    key: tuple[object, ...], people: pl.DataFrame | None, lists: Catalogue | None,
) -> _Job:  # fmt: skip
    if isinstance(one, ExternalRelease):
        return _Given(one, splits, design, cache, (*key, fingerprint(one.data)), people, data)
    ours = type(one).__module__.startswith("recveil.")  # the cache is not told when another's program changes
    return _Released(one, splits, design, cache if ours else Cache(None), key, people, lists)


@dataclass(frozen=True)
class _Job:
    """One candidate: released once for each split, and only if something is left to be measured."""

    candidate: Any
    splits: list[HeldOut]
    design: Design
    cache: Cache
    key: tuple[object, ...]
    people: pl.DataFrame | None

    @property
    def spec(self) -> str:
        return spec_of(self.candidate)

    @cached_property
    def first(self) -> Trial:
        raise NotImplementedError

    @cached_property
    def trials(self) -> list[Trial]:
        raise NotImplementedError

    def facts(self) -> Entry:
        raise NotImplementedError

    @cached_property
    def entry(self) -> Entry:
        facts = self.cache.get(*self.key, self.spec, "entry")
        if facts is None:
            facts = self.facts().record()
            self.cache.put(facts, *self.key, self.spec, "entry")
        return Entry(**{**facts, "guarantee": from_record(facts["guarantee"]), "lost": tuple(facts["lost"])})

    def forget(self) -> None:
        """The releases themselves: what they are and what was found is kept."""
        for name in ("made", "first", "trials"):
            self.__dict__.pop(name, None)

    def asked(self, subject: Trial) -> Trial:
        """The trial with what people are, where that is known."""
        return subject if self.people is None else replace(subject, attributes=labelled(subject, self.people))

    def run(self, chosen: Mapping[str, Measure], step: Step) -> tuple[list[Measurement], dict[str, str]]:
        """Measurements, and what could not be measured, each with its reason."""
        found: list[Measurement] = []
        missing: dict[str, str] = {}
        step(f"{self.entry.spec}: release")
        for name, function in chosen.items():
            entry = MEASURES[name]
            own = [self.design.splits] if entry.splits else [self.design.n_shadows] * (entry.brought == "shadows")
            key = (*self.key, self.spec, name, *own)
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
        """The records of a measure; where it cannot be computed, none and the line that says why."""
        run: Measure = function
        if MEASURES[name].splits:
            run = lambda _, rng: function(self.trials, rng)  # type: ignore[arg-type]  # noqa: E731
        found, why = attempt(self.first, name, run, self.design.seed, self.spec)
        return {"measurements": [m.record() for m in found], "why": why}


@dataclass(frozen=True)
class _Released(_Job):
    """A mechanism, which is shown the people who are not held out, and public lists."""

    lists: Catalogue | None

    def released(self, people: Interactions, later: int = 0) -> Release:
        return release(people, self.candidate, seed=self.design.seed + later, catalogue=self.lists)

    @cached_property
    def made(self) -> Release:
        return self.released(self.splits[0].train)

    @cached_property
    def first(self) -> Trial:
        subject = with_day_before(self.asked(self.splits[0].trial(self.made)), self.design, self.released)
        if not self.design.n_shadows:
            return subject
        everybody = concat([self.splits[0].train, self.splits[0].holdout])
        how = Halves(self.design.n_shadows, seed=self.design.seed, promise=self.made.guarantee)
        # What a mechanism chose by itself is published, and the attacker takes it; what it was told is not.
        attacked = self.candidate if self.candidate.hides_attribute else self.made.mechanism
        return replace(subject, shadows=(of_halves(everybody, maker(attacked, everybody, self.lists), how),))

    @cached_property
    def trials(self) -> list[Trial]:
        return [self.first, *(s.trial(self.released(s.train)) for s in self.splits[1:])]

    def facts(self) -> Entry:
        drawn = self.made.published is not None and self.made.id_map is None
        done = first_paragraph(self.made.mechanism.card())
        return entry_of(self.spec, self.made.guarantee, done, self.splits[0].train, self.made.data, drawn=drawn)


@dataclass(frozen=True)
class _Given(_Job):
    """A release made elsewhere, of all the data: what needs people whom it never saw is left out with that reason."""

    data: Interactions

    @cached_property
    def first(self) -> Trial:
        return self.asked(trial(self.data, self.candidate.data))

    @cached_property
    def trials(self) -> list[Trial]:
        raise SkippedError("it was made elsewhere, once, so that there are no splits to compare")

    def facts(self) -> Entry:
        self.first  # noqa: B018  # refuses what is no release of these data
        one = self.candidate
        entry = entry_of(self.spec, one.guarantee, one.done, self.data, one.data)
        return replace(entry, lost=(*entry.lost, *filter(None, [mismatch(self.data, one.data, None)])))
