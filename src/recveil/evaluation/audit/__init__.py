"""audit(): a mechanism's epsilon put to the test, on data that differ in one canary.

An attacker who knows everything but the canary looks at what a bundle publishes (rows, tables, and the statistics that
an owner may keep) and guesses whether it was there. Beside the guesses, the noise itself is checked: what was published
less what was counted, against the law that the proof rests on.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from recveil.data import Interactions, concat
from recveil.errors import RecveilError
from recveil.evaluation.attacks.epsilon import EpsilonBound, discriminant, judge
from recveil.evaluation.attacks.one_run import gaussian_estimate
from recveil.evaluation.audit.canaries import canaries, neighbours, person, toy
from recveil.evaluation.audit.selecting import Selection, audit_selection
from recveil.evaluation.audit.signs import signs
from recveil.evaluation.audit.verdict import Verdict, claim_and_bound, verdict
from recveil.evaluation.audit.watching import Watch, all_public, fitted, watched
from recveil.guarantee import Guarantee
from recveil.items import PublicItems
from recveil.mechanism import Mechanism, Synthesis
from recveil.mechanisms import spec
from recveil.randomness import source
from recveil.releases.catalogue import Catalogue
from recveil.releases.release import publish, release

__all__ = ["Audited", "audit", "neighbours", "person", "toy"]
Looks = tuple[list[Mapping[str, float]], list[Mapping[str, float]]]  # what was seen in each run, on both data sets
FEWEST = 20
DRAWN = 100  # runs of a Synthesis that draw rows: these are made of what it published, so more of them show no more


@dataclass(frozen=True)
class Audited:
    """What was claimed, and what the runs say."""

    mechanism: str
    guarantee: Guarantee
    bound: EpsilonBound
    canary: str  # the one that gave the bound
    refused: float = 0.0  # the share of runs that were refused
    estimate: float | None = None  # of epsilon from below, if the noise is Gaussian: a model, and no proof
    noise: Mapping[str, float] | None = None  # what was seen of the stated noise, table by table; 1 but for chance
    short: tuple[str, ...] = ()  # tables with less noise than stated
    shared: tuple[str, ...] = ()  # tables that have each other's noise
    excess: float = 0.0  # by how much a canary moves the tables farther than the guarantee reckons with; a factor - 1
    selection: Selection | None = None  # of ids where no list is public; None: there is none

    @property
    def verdict(self) -> Verdict:
        lost = self.selection is not None and self.selection.verdict == "broken"
        refuted = bool(self.short or self.shared) or self.excess > 1e-6 or lost
        return verdict(self.guarantee, self.bound, self.estimate, refuted, self.refused == 1.0)

    def record(self) -> dict[str, Any]:
        return claim_and_bound(self.mechanism, self.guarantee, self.bound, self.estimate) | {
            "runs": self.bound.runs,
            "refused": self.refused,
            "canary": self.canary,
            "event": self.bound.event,
            "noise": dict(self.noise or {}),
            "short_of_noise": list(self.short),
            "shared_noise": list(self.shared),
            "excess": self.excess,
            "selection": None if self.selection is None else self.selection.record(),
            "verdict": self.verdict,
        }


def audit(
    mechanism: Mechanism,
    data: Interactions | None = None,
    *,
    runs: int = 1000,
    confidence: float = 0.95,
    seed: int | None = None,
    catalogue: Catalogue | None = None,
    tick: Callable[[int], None] = lambda steps: None,  # noqa: ARG005
) -> Audited:
    """A lower confidence bound on a mechanism's epsilon, from `runs` releases of each of two neighbouring data sets.

    There is a pair of data sets for each canary, and the confidence holds for all of them together. `catalogue`: public
    lists, to which the canaries' ids are added; without one, those of the data, and where a release without lists would
    select ids within its budget, that selection is put to the test by itself, with the same confidence.
    """
    if runs < FEWEST:
        raise RecveilError(f"an audit needs at least {FEWEST} runs, not {runs}")
    if not 0 < confidence < 1:
        raise RecveilError(f"the confidence must lie between 0 and 1, not {confidence}")
    mechanism, data = fitted(mechanism, toy(mechanism) if data is None else data)
    data = (catalogue or Catalogue()).over(data)
    facts = catalogue.features if catalogue else None
    promise = mechanism.guarantee(all_public(data, mechanism, facts))
    people = canaries(data, promise.unit)
    each = 1 - (1 - confidence) / len(people)
    first = secrets.randbits(48) if seed is None else seed * 2**32
    steps = count(1)
    part = lambda _: tick(1 if next(steps) % len(people) == 0 else 0)  # noqa: E731  (2 * runs in all)
    found = [
        _one_canary(mechanism, data, canary, promise, name, (runs, each, first + 2 * runs * number), part, facts)
        for number, (name, canary) in enumerate(people.items())
    ]
    chosen = audit_selection(
        mechanism, data, catalogue or Catalogue(), runs, confidence, first + 2 * runs * len(people)
    )
    strongest = max(found, key=lambda a: a.bound.lower)
    estimates = [a.estimate for a in found if a.estimate is not None]
    return replace(
        strongest,
        bound=replace(strongest.bound, confidence=confidence),
        refused=min(a.refused for a in found),
        estimate=max(estimates) if estimates else None,
        noise={name: min((a.noise or {}).get(name, np.inf) for a in found) for a in found for name in a.noise or {}},
        short=tuple(dict.fromkeys(name for a in found for name in a.short)),
        shared=tuple(dict.fromkeys(name for a in found for name in a.shared)),
        excess=max(a.excess for a in found),
        selection=chosen,
    )


def _one_canary(
    mechanism: Mechanism,
    data: Interactions,
    canary: Interactions,
    promise: Guarantee,
    name: str,
    effort: tuple[int, float, int],
    tick: Callable[[int], None],
    facts: PublicItems | None,
) -> Audited:
    runs, confidence, seed = effort
    pair = neighbours(data, canary, promise.unit)
    whole = concat([data, canary])
    lists = Catalogue(whole.items, whole.tags, whole.users, facts)
    public = all_public(whole, mechanism, facts)
    knows = isinstance(mechanism, Synthesis) and mechanism.knows_users
    coded = tuple(lists.over(side.compact(), knows).canonical() for side in pair)
    seen_through, watch = watched(mechanism, public, (coded[0], coded[1]))
    looks: Looks = ([], [])
    for number in range(runs):
        for side in (0, 1):
            watch.begin()
            made, chance = None, seed + 2 * number + side
            try:
                if isinstance(seen_through, Synthesis) and number >= DRAWN:
                    publish(coded[side], seen_through, public, source(chance))
                    seen: Mapping[str, float] = {"refused": 0.0}
                else:
                    made = release(pair[side], seen_through, seed=chance, catalogue=lists)
                    seen = signs(made, canary)
            except RecveilError:  # a refusal is an output too: it must not tell the two apart either
                seen = signs(None, canary)
            looks[side].append({**seen, **watch.scores})
            tick(1)
    return Audited(
        spec.text(mechanism),
        promise,
        _bound(looks, promise.delta, confidence),
        name,
        float(np.mean([look["refused"] for side in looks for look in side])),
        _estimate(watch, looks, promise.delta, confidence),
        {table: tally.share for table, tally in watch.tallies.items()},
        tuple(watch.short),
        tuple(watch.together.found),
        _excess(watch, promise),
    )


def _bound(looks: Looks, delta: float, confidence: float) -> EpsilonBound:
    """From what was seen in every run; and from rows, where those were drawn in some of the runs only."""
    names = list(dict.fromkeys(name for side in looks for look in side for name in look))
    always = [name for name in names if name == "refused" or name.startswith("table ") or len(looks[0]) <= DRAWN]
    if not any(name.startswith("table ") for name in names):
        always = names
    rest = ["refused", *(name for name in names if name not in always)]
    parts = [(always, len(looks[0]))] + [(rest, DRAWN)] * (len(rest) > 1)
    each = 1 - (1 - confidence) / len(parts)
    found = [judge(*_columns(looks, part, n), part, delta=delta, confidence=each) for part, n in parts]
    return replace(max(found, key=lambda b: b.lower), attainable=found[0].attainable, runs=len(looks[0]))


def _columns(looks: Looks, names: list[str], n: int) -> tuple[Any, Any]:
    one, other = (np.array([[look.get(name, 0.0) for name in names] for look in side[:n]]) for side in looks)
    return one, other


def _estimate(watch: Watch, looks: Looks, delta: float, confidence: float) -> float | None:
    """From all tables' scores: each half of the runs is read with the weights that part the other half best.

    A claim is all that its noise spends, so an honest one is exceeded as often as the confidence lets it: ten times
    more seldom than a bound.
    """
    names = list(dict.fromkeys(n for side in looks for look in side for n in look if n.startswith("table ")))
    if not names or not delta or not watch.gaussian:
        return None
    a, b = _columns(looks, names, len(looks[0]))
    half = len(a) // 2
    parts: tuple[list[Any], list[Any]] = ([], [])
    for chosen, read in ((slice(half), slice(half, None)), (slice(half, None), slice(half))):
        weights = discriminant(a[chosen], b[chosen])
        gap = float((a[chosen].mean(0) - b[chosen].mean(0)) @ weights)
        for part, side in zip(parts, (a, b), strict=True):
            part.append(side[read] @ weights / (gap or 1.0))
    one, other = (np.concatenate(part) for part in parts)
    return gaussian_estimate(one, other, delta, 1 - (1 - confidence) / 10)


def _excess(watch: Watch, promise: Guarantee) -> float:
    """How much farther than reckoned with a canary moves the tables, at the noise that is stated."""
    reckoned = promise.rho if watch.gaussian else promise.epsilon
    return max(watch.cost / reckoned - 1, 0.0) if reckoned and watch.cost else 0.0
