"""Watching a mechanism at work: what it counted beside what it published, and the noise between the two.

The auditor owns the data. So the noise of every published table is known cell by cell, and can be held against the law
that the guarantee rests on; so is how far a canary moves each table. No statistics over many releases are needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import exp, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.data import Interactions
from recveil.desk.release import Release
from recveil.dp.noise import Law
from recveil.mechanism import Mechanism, Public, Synthesis
from recveil.mechanisms.dp_tags.posts import ONE, Answers, DpPostTags
from recveil.mechanisms.mask import Mask

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

    @property
    def gaussian(self) -> bool:
        return bool(self.laws) and all(law.kind == "gaussian" for law in self.laws.values())

    @property
    def short(self) -> list[str]:
        """The tables whose noise is smaller than stated."""
        return [name for name, tally in self.tallies.items() if tally.short]

    def begin(self) -> None:
        self.scores, self.costs = {}, {}

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
        moved = 1 - untouched
        touched = self.tallies.setdefault(f"{name}, cells with noise", NoiseTally(0.0))
        touched.add(float(np.count_nonzero(noise)) / moved, len(noise), len(noise) * untouched / moved)


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


def watched(mechanism: Mechanism, public: Public, pair: tuple[Interactions, Interactions]) -> tuple[Mechanism, Watch]:
    """The same mechanism, seen through; `pair`: the data with and without the canary, coded over the public lists."""
    laws = getattr(mechanism, "laws", None)
    watch = Watch(laws(public) if laws else {})
    kind: Any = type(mechanism)
    if isinstance(mechanism, Synthesis):
        kind = _synthesis(kind, watch, pair)
    elif isinstance(mechanism, DpPostTags):
        kind = _post_tags(watch)
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


def _post_tags(watch: Watch) -> Any:
    """dp-post-tags with its noisy tables and its answers looked at."""

    class Watched(DpPostTags):
        def noisy(self, counts: Any, source: Any) -> Any:
            tags, found = super().noisy(counts, source)
            totals = np.asarray(counts["item_tag"].sum(0)).ravel()[:-1]
            watch.look(found, {"tag": totals} | {k: v[:, tags] for k, v in counts.items()}, None)
            return tags, found

        def answers(self, *args: Any) -> Answers:
            made = super().answers(*args)
            kept = self.kept_weight()
            replaced = ((made.k - 1) * ONE / (kept + (made.k - 1) * ONE))[made.inside]
            changed = (made.chosen != made.place)[made.inside]
            if replaced.sum() > 0:  # the terms are scaled so that one is expected for each cell
                mean = replaced.mean()
                spread = float((replaced * (1 - replaced)).sum() / mean**2)
                tally = watch.tallies.setdefault("answers replaced", NoiseTally(0.0))
                tally.add(float(changed.sum() / mean), len(replaced), spread)
            return made

    return Watched


def flips(made: Release, rows: Interactions, watch: Watch) -> None:
    """Of mask: the bits that were flipped, against the share of them that p states."""
    mechanism = made.mechanism
    if not isinstance(mechanism, Mask) or isinstance(mechanism.p, str) or made.id_map is None:
        return
    real = rows.frame().select("user", "item").unique()
    tokens = made.id_map.rename({"released": "user"})
    kept = made.data.frame().select("user", "item").join(tokens, on="user").select(user="original", item="item")
    common = real.join(kept, on=["user", "item"]).height
    changed, bits = real.height + kept.height - 2 * common, rows.n_users * rows.n_items
    share = 1 - mechanism.p
    watch.tallies.setdefault("bits flipped", NoiseTally(0.0)).add(changed / share, bits, bits * (1 - share) / share)
