"""Watching a mechanism at work: what it counted beside what it published, and the noise between the two.

The auditor owns the data. So the noise of every published table is known cell by cell, and can be held against the law
that the guarantee rests on; so is how far a canary moves each table. No statistics over many releases are needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import exp, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.data import Interactions
from recveil.dp.noise import Law
from recveil.evaluation.audit.shared_noise import SharedNoise
from recveil.items import PublicItems
from recveil.mechanism import Mechanism, PublicInfo, Synthesis
from recveil.releases.catalogue import Catalogue

SIGMAS = 5.0  # noise that lies so far below its law is no accident
_KURTOSIS = {"gaussian": 3.0, "laplace": 6.0}
Floats = NDArray[np.float64]


@dataclass
class NoiseTally:
    """Of one table over all releases: the noise seen, in units of what is stated."""

    spread: float  # the sum of deviations of each cell's term in `seen`, squared
    seen: float = 0.0
    cells: int = 0

    @property
    def share(self) -> float:
        """The noise seen as a share of the noise stated; 1 but for chance."""
        return self.seen / self.cells if self.cells else 1.0

    @property
    def short(self) -> bool:
        """Whether noise is missing beyond chance; the second term is for events as rare as a cell left as it was."""
        return self.cells - self.seen > SIGMAS * sqrt(self.spread) + SIGMAS**2

    def add(self, seen: float, cells: int, spread: float) -> None:
        self.seen += seen
        self.cells += cells
        self.spread += spread


@dataclass
class Watch:
    """What all watched releases showed: the noise of each table, and the most that the canary moved them by."""

    laws: Mapping[str, Law]
    tallies: dict[str, NoiseTally] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)  # of the latest release: how much of the canary is in it
    costs: dict[str, float] = field(default_factory=dict)  # of the latest release, by table: see `cost`
    cost: float = 0.0  # the most that the canary moved the tables by, in rho (Gaussian noise) or epsilon (Laplace)
    together: SharedNoise = field(default_factory=SharedNoise)

    @property
    def gaussian(self) -> bool:
        return bool(self.laws) and all(law.kind == "gaussian" for law in self.laws.values())

    @property
    def short(self) -> list[str]:
        """The tables whose noise is smaller than stated."""
        return [name for name, tally in self.tallies.items() if tally.short]

    def begin(self) -> None:
        self.scores, self.costs = {}, {}
        self.together.begin()

    def look(self, published: Mapping[str, Any], here: Any, pair: tuple[Any, Any] | None) -> None:
        """One round: published tables, what was counted for them, and what is counted with and without the canary."""
        truth = tables(here, published)
        sides = None if pair is None else [tables(side, published) for side in pair]
        for name, table in published.items():
            if name not in truth or (self.laws and name not in self.laws):
                continue
            noisy = np.asarray(table).astype(np.float64).ravel()
            law = self.laws.get(name)
            if law is not None:
                self.noise_seen(name, noisy - truth[name], law)
            if sides is None:
                continue
            moved = sides[0][name] - sides[1][name]
            length = float(moved @ moved)
            self.scores[f"table {name}"] = float((noisy - sides[1][name]) @ moved) / length if length else 0.0
            if law is not None:
                size = float(law.size)
                self.costs[name] = length / (2 * size) if self.gaussian else float(np.abs(moved).sum()) / size
                self.cost = max(self.cost, sum(self.costs.values()))

    def noise_seen(self, name: str, noise: Floats, law: Law) -> None:
        """Squares of all cells, and cells left as they were, which a law of exact noise makes rare."""
        stated, untouched = law_facts(law)
        tally = self.tallies.setdefault(name, NoiseTally(0.0))
        tally.add(float(noise @ noise) / stated, len(noise), (_KURTOSIS[law.kind] - 1) * len(noise))
        self.together.add(name, noise / sqrt(stated))
        moved = 1 - untouched
        touched = self.tallies.setdefault(f"{name}, cells with noise", NoiseTally(0.0))
        touched.add(float(np.count_nonzero(noise)) / moved, len(noise), len(noise) * untouched / moved)

    def struck(self, name: str, times: int, expected: float, spread: float, cells: int) -> None:
        """Chances taken so many times, of so many cells: each term is scaled so that one is expected for a cell."""
        if expected > 0:
            scale = cells / expected
            self.tallies.setdefault(name, NoiseTally(0.0)).add(times * scale, cells, spread * scale**2)


@lru_cache(maxsize=64)
def law_facts(law: Law) -> tuple[float, float]:
    """The variance of exact noise on integers, and how likely it is zero."""
    size = float(law.size)
    if law.kind == "laplace":
        a = exp(-1 / size)
        return 2 * a / (1 - a) ** 2, (1 - a) / (1 + a)
    if size > 100:  # a discrete Gaussian is then all but a rounded one
        return size, 1 / sqrt(2 * pi * size)
    reach = np.arange(law.end(48))
    likely = law.pmf(reach)
    return float(2 * (likely * reach.astype(np.float64) ** 2).sum()), float(likely[0])


def tables(counts: Any, published: Mapping[str, Any]) -> dict[str, Floats]:
    """Counts under the names of the published tables, flat; those that have a place there, cell by cell."""
    if isinstance(counts, np.ndarray):
        named: dict[str, Any] = dict.fromkeys(published, counts) if len(published) == 1 else {}
    else:
        named = dict(counts) if isinstance(counts, Mapping) else dict(vars(counts))
    dense = {k: v.toarray() if sparse.issparse(v) else np.asarray(v) for k, v in named.items() if k in published}
    return {
        name: table.astype(np.float64).ravel()
        for name, table in dense.items()
        if isinstance(published[name], np.ndarray) and published[name].size == table.size
    }


def fitted(mechanism: Mechanism, data: Interactions) -> tuple[Mechanism, Interactions]:
    """The mechanism as it would be run on these data, and the data as it would read them."""
    mechanism.check_fit(data)
    return mechanism.with_declared(data), data if mechanism.reads_sessions else replace(data, session=None)


def all_public(data: Interactions, mechanism: Mechanism, facts: PublicItems | None) -> PublicInfo:
    """What is known where all lists of ids are; `facts`: what is public of items."""
    features = Catalogue(features=facts).facts(data.items) if mechanism.reads_features else None
    return PublicInfo(
        data.kind, data.unit, data.items, data.tags, True, ("tags", "users"), data.users,
        features=features, sessions=data.session is not None,
    )  # fmt: skip


def watched(
    mechanism: Mechanism, public: PublicInfo, pair: tuple[Interactions, Interactions]
) -> tuple[Mechanism, Watch]:
    """The same mechanism, seen through; `pair`: the data with and without the canary, coded over the public lists."""
    watch = Watch(mechanism.laws(public))
    if not isinstance(mechanism, Synthesis):
        return mechanism.seen_through(watch), watch
    kind: Any = _synthesis(type(mechanism), watch, pair)
    return kind(**vars(mechanism)), watch


def _synthesis(kind: Any, watch: Watch, pair: tuple[Interactions, Interactions]) -> Any:
    """A Synthesis whose every round is looked at. Once ids were selected, the pair is coded over other lists."""
    asked: dict[str, Any] = {}

    class Watched(kind):  # type: ignore[misc]
        def count(self, chunk: Interactions, *args: Any, **facts: Any) -> Any:
            same = (chunk.n_items, chunk.n_tags) == (pair[0].n_items, pair[0].n_tags)
            asked.update(args=args, facts=facts, same=same)
            return super().count(chunk, *args, **facts)

        def publish(self, counts: Any, *args: Any, **facts: Any) -> Any:
            found = super().publish(counts, *args, **facts)
            sides = None
            if asked["same"]:
                first, second = (super(Watched, self).count(d, *asked["args"], **asked["facts"]) for d in pair)
                sides = (first, second)
            watch.look(found, counts, sides)
            return found

    return Watched
