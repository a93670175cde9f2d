"""The audit of a private selection: are ids that one person alone has kept, and has the selection its noise?

Where no public list is given, ids are selected within the budget, in the first round. A person whose ids nobody has
must not be seen in what is kept. Ids so frequent that no noise can lose them show the noise itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recveil.attacks.epsilon import EpsilonBound, judge
from recveil.data import Interactions, concat
from recveil.desk.audit.canaries import canaries, person
from recveil.desk.audit.watching import NoiseTally, Watch, tables
from recveil.desk.catalogue import Catalogue
from recveil.dp.vocabulary import Selected
from recveil.errors import RecveilError
from recveil.mechanism import Mechanism, Public, Synthesis
from recveil.randomness import source

SURE = {"gaussian": 5.5, "laplace": 8.0}  # deviations above what has to be exceeded: noise does not lose such an id


@dataclass(frozen=True)
class Selection:
    """What runs of the first round say: a bound on epsilon, and the noise of the counts that were kept."""

    columns: tuple[str, ...]
    claimed: float
    bound: EpsilonBound
    tallies: Mapping[str, NoiseTally]
    refused: float

    @property
    def short(self) -> tuple[str, ...]:
        return tuple(name for name, tally in self.tallies.items() if tally.short)

    @property
    def verdict(self) -> str:
        """untested: the runs are too few for this epsilon, or no id is so frequent that it shows the noise."""
        if self.short or self.bound.lower > self.claimed:
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
            "verdict": self.verdict,
        }


def audit_selection(
    mechanism: Mechanism, data: Interactions, given: Catalogue, runs: int, confidence: float, seed: int
) -> Selection | None:
    """The first round, many times, with and without each canary; None where all ids are public or nothing is proved."""
    if not isinstance(mechanism, Synthesis):
        return None
    lists = tuple(dict.fromkeys((*given.lists(), "users")))
    public = Public(data.kind, data.unit, data.items, data.tags, given.items is not None, lists, data.users)
    columns = mechanism.selects(public)
    try:
        promise = mechanism.guarantee(public)
    except RecveilError:  # without lists it makes no promise, and releases nothing
        return None
    if not columns or promise.epsilon is None or promise.status != "proved":
        return None
    whole_people = promise.unit in ("user", "session")
    people = canaries(data, promise.unit) if whole_people else {f"one {promise.unit}": person(data, 1)}
    each, found, refused = 1 - (1 - confidence) / len(people), [], []
    watch = Watch(mechanism.laws(public))  # type: ignore[attr-defined]
    public = replace(public, **{name: getattr(public, name).clear() for name in columns})
    for number, canary in enumerate(people.values()):
        first = seed + 2 * runs * number
        bound, share = _one(mechanism, public, (concat([data, canary]), data), watch, (runs, each, first))
        found.append(bound)
        refused.append(share)
    strongest = replace(max(found, key=lambda b: b.lower), confidence=confidence)
    return Selection(columns, promise.epsilon, strongest, watch.tallies, min(refused))


def _one(
    mechanism: Any,
    public: Public,
    pair: tuple[Interactions, Interactions],
    watch: Watch,
    effort: tuple[int, float, int],
) -> tuple[EpsilonBound, float]:
    """The bound from one canary, and the share of runs that were refused."""
    runs, confidence, seed = effort
    whole = concat(list(pair))
    everything = Catalogue(whole.items, whole.tags)  # what nobody has is never kept, so both may be coded over all
    counts = [mechanism.count(everything.over(side.compact()).canonical(), (), public) for side in pair]
    sizes = {"items": whole.n_items, "tags": whole.n_tags}
    seen = np.zeros((2, runs, 3))  # refused, ids that the other side lacks, what the canary adds to ids of many
    for number in range(runs):
        for side in (0, 1):
            chance = source(seed + 2 * number + side).derive(mechanism.name).derive("publish", 0)
            try:
                published = mechanism.publish(counts[side], (), public, chance)
            except RecveilError:
                seen[side, number, 0] = 1.0
                continue
            for name, kept in published.items():
                if isinstance(kept, Selected):
                    truth = [tables(c, {name: np.empty(sizes[kept.column])})[name] for c in counts]
                    seen[side, number, 1:] += _look(kept, truth)
                    _noise(name, kept, truth[side], watch)
    names, delta = ["refused", "ids of the canary alone", "counts"], mechanism.guarantee(public).delta
    bound = judge(seen[0], seen[1], names, delta=delta, confidence=confidence)
    return bound, float(seen[:, :, 0].mean())


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
