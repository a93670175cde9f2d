"""The audit of a private selection: are ids that one person alone has kept, and has the selection its noise?

Where no public list is given, ids are selected within the budget, in the first round. A person whose ids nobody has
must not be seen in what is kept: as often as her part of delta says, which is told by calculation at the stated delta,
and by counting at one so large that it can be seen. Ids so frequent that no noise can lose them show the noise itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from recveil.data import Interactions, concat
from recveil.dp.noise import Law
from recveil.dp.vocabulary import Selected
from recveil.errors import RecveilError
from recveil.evaluation.attacks.epsilon import EpsilonBound, judge
from recveil.evaluation.audit.canaries import canaries, loners, person
from recveil.evaluation.audit.watching import NoiseTally, Watch, tables
from recveil.intervals import clopper_pearson
from recveil.mechanism import Mechanism, PublicInfo, Synthesis
from recveil.randomness import source
from recveil.releases.catalogue import Catalogue

VISIBLE = 0.01  # a delta at which a few hundred runs show whether ids pass too often
SURE = {"gaussian": 5.5, "laplace": 8.0}  # deviations above what has to be exceeded: noise does not lose such an id


@dataclass(frozen=True)
class Selection:
    """What runs of the first round say: a bound on epsilon, and the noise of the counts that were kept."""

    columns: tuple[str, ...]
    claimed: float
    bound: EpsilonBound
    tallies: Mapping[str, NoiseTally]
    refused: float
    passing: float = 0.0  # the chance that an id of a canary alone is kept, by calculation, in its part of delta
    seen_passing: float = 0.0  # a lower bound on it at a delta that can be seen, likewise

    @property
    def short(self) -> tuple[str, ...]:
        return tuple(name for name, tally in self.tallies.items() if tally.short)

    @property
    def verdict(self) -> str:
        """untested: the runs are too few for this epsilon, or no id is so frequent that it shows the noise."""
        if self.short or self.bound.lower > self.claimed or max(self.passing - 1e-6, self.seen_passing) > 1:
            return "broken"
        able = (
            self.bound.attainable > self.claimed and self.refused < 1.0 and any(t.cells for t in self.tallies.values())
        )
        return "holds" if able else "untested"

    def record(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "lower": self.bound.lower,
            "attainable": self.bound.attainable,
            "event": self.bound.event,
            "refused": self.refused,
            "noise": {name: tally.share for name, tally in self.tallies.items()},
            "short_of_noise": list(self.short),
            "passing": self.passing,
            "seen_passing": self.seen_passing,
            "verdict": self.verdict,
        }


def audit_selection(
    mechanism: Mechanism, data: Interactions, given: Catalogue, runs: int, confidence: float, seed: int
) -> Selection | None:
    """The first round, many times, with and without each canary; None where all ids are public or nothing is proved."""
    if not isinstance(mechanism, Synthesis):
        return None
    lists = tuple(dict.fromkeys((*given.lists(), "users")))
    sessions, listed = data.session is not None, given.items is not None
    public = PublicInfo(data.kind, data.unit, data.items, data.tags, listed, lists, data.users, sessions=sessions)
    columns = mechanism.selects(public)
    try:
        promise = mechanism.guarantee(public)
    except RecveilError:  # without lists it makes no promise, and releases nothing
        return None
    if not columns or promise.epsilon is None or promise.status != "proved":
        return None
    whole_people = promise.unit in ("user", "session")
    people = {f"one {promise.unit}": person(data, 1)}
    if whole_people:
        pair = f"a {data.unit} with a pair that nobody has"
        people = loners(data, mechanism.most_of_one) | {pair: canaries(data, promise.unit)[pair]}
    each = 1 - (1 - confidence) / len(people)
    watch = Watch(mechanism.laws(public))
    public = replace(public, **{name: getattr(public, name).clear() for name in columns})
    rounds = [FirstRound(mechanism, public, data, canary) for canary in people.values()]
    found = [r.judged(watch, runs, each, seed + 3 * runs * k) for k, r in enumerate(rounds)]
    strongest = replace(max((bound for bound, *_ in found), key=lambda b: b.lower), confidence=confidence)
    refused, passing = min(share for _, share, _ in found), max(chance for *_, chance in found)
    seen = max(r.seen_passing(runs, each, seed + 3 * runs * k + 2 * runs) for k, r in enumerate(rounds))
    return Selection(columns, promise.epsilon, strongest, watch.tallies, refused, passing, seen)


class FirstRound:
    """The first round with and without a canary: counted once, published many times."""

    def __init__(self, mechanism: Synthesis, public: PublicInfo, data: Interactions, canary: Interactions) -> None:
        self.mechanism, self.public, pair = mechanism, public, (concat([data, canary]), data)
        whole = concat(list(pair))
        everything = Catalogue(whole.items, whole.tags)  # what nobody has is never kept: both may be coded over all
        self.counts = [mechanism.count(everything.over(side.compact()).canonical(), (), public) for side in pair]
        self.sizes = {"items": whole.n_items, "tags": whole.n_tags}

    def published(self, mechanism: Synthesis, side: int, seed: int) -> Iterator[tuple[str, Selected, list[Any]]]:
        """What was selected: its name, what was kept, and the true counts with and without the canary."""
        chance = source(seed).derive(mechanism.name).derive("publish", 0)
        for name, kept in mechanism.publish(self.counts[side], (), self.public, chance).items():
            if isinstance(kept, Selected):
                truth = [tables(c, {name: np.empty(self.sizes[kept.column])})[name] for c in self.counts]
                yield name, kept, truth

    def judged(self, watch: Watch, runs: int, confidence: float, seed: int) -> tuple[EpsilonBound, float, float]:
        """The bound, the share of runs that were refused, and the chance that an id of the canary alone is kept."""
        seen = np.zeros((2, runs, 3))  # refused, ids that the other side lacks, what the canary adds to ids of many
        stated, passing = self.mechanism.selection_delta(self.public), 0.0
        for number in range(runs):
            for side in (0, 1):
                try:
                    for name, kept, truth in self.published(self.mechanism, side, seed + 2 * number + side):
                        seen[side, number, 1:] += _look(kept, truth)
                        _noise(name, kept, truth[side], watch)
                        passing = max(passing, _passing(watch.laws[name], kept, truth) / stated)
                except RecveilError:
                    seen[side, number] = 1.0, 0.0, 0.0
        names, delta = ["refused", "ids of the canary alone", "counts"], self.mechanism.guarantee(self.public).delta
        bound = judge(seen[0], seen[1], names, delta=delta, confidence=confidence)
        return bound, float(seen[:, :, 0].mean()), passing

    def seen_passing(self, runs: int, confidence: float, seed: int) -> float:
        """In how many runs at a visible delta an id of the canary alone is kept, at least, as a multiple of that."""
        wider: Any = self.mechanism
        if wider.delta < VISIBLE:
            wider = replace(wider, delta=VISIBLE)
        hits = 0
        for number in range(runs):
            try:
                made = self.published(wider, 0, seed + number)
                hits += any(_look(kept, truth)[0] > 0 for _, kept, truth in made)
            except RecveilError:  # too few ids were kept, so none of hers that matters
                continue
        return clopper_pearson(hits, runs, confidence)[0] / float(wider.selection_delta(self.public))


@lru_cache(maxsize=256)
def _exceeds(law: Law, count: int) -> float:
    """The chance of noise above a whole number >= 0."""
    from scipy.special import ndtr

    size = float(law.size)
    if law.kind == "laplace":
        return float(np.exp(-(count + 1) / size) / (1 + np.exp(-1 / size)))
    return float(ndtr(-(count + 0.5) / np.sqrt(size)))  # to 1e-9 at the variances of our tables


def _passing(law: Law, kept: Selected, truth: list[Any]) -> float:
    """The chance that any id of the canary alone passes what noisy counts had to exceed."""
    hers, times = np.unique(truth[0][(truth[0] > 0) & (truth[1] == 0)], return_counts=True)
    stays = sum(n * np.log1p(-_exceeds(law, max(kept.cut - int(w), 0))) for w, n in zip(hers, times, strict=True))
    return float(-np.expm1(stays))


def _look(kept: Selected, truth: list[Any]) -> tuple[float, float]:
    """How many kept ids are the canary's alone, and how much of the canary is in the counts of the others."""
    one, other = truth
    alone = (one[kept.codes] > 0) & (other[kept.codes] == 0)
    moved = np.where(alone, 0.0, one[kept.codes] - other[kept.codes])
    length = float(moved @ moved)
    return float(alone.sum()), float((kept.values - other[kept.codes]) @ moved) / length if length else 0.0


def _noise(name: str, kept: Selected, truth: Any, watch: Watch) -> None:
    """Kept counts less true ones, of ids that are kept whatever their noise: for these no noise was cut off."""
    law = watch.laws[name]
    sure = truth[kept.codes] > kept.cut + SURE[law.kind] * law.deviation
    if sure.any():
        watch.noise_seen(f"selected {kept.column}", (kept.values - truth[kept.codes])[sure], law)
