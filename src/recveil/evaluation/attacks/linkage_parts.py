"""linkage by intersection among released records that never stand in memory together: candidates add up over chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Floats, Interactions
from recveil.evaluation.attacks.knowledge import Choice, learn
from recveil.evaluation.attacks.linkage import levels_of, linked, ways_of
from recveil.evaluation.attacks.outcomes import LinkageOutcome, Side
from recveil.evaluation.attacks.truth import Truth, truth
from recveil.kernels.linkage import intersect
from recveil.measurement import Measurement, Trial
from recveil.views.records import postings, records


@dataclass(frozen=True, eq=False)
class Tally:
    """Of every target and number of known items the candidates, and how many are hers; of all, the records."""

    sizes: NDArray[np.int64]
    hits: NDArray[np.int64]
    records: int

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.sizes + other.sizes, self.hits + other.hits, self.records + other.records)


def linkage_among(
    some: Trial,
    id_map: pl.DataFrame,
    total: Callable[[Callable[[Interactions], Tally]], Tally],
    popularity: Floats,
    rng: np.random.Generator,
    *,
    known: Sequence[int] | None = None,
    ratings: bool | None = None,
    items: Choice = "random",
) -> list[Measurement]:
    """The success of the intersection attacker on these people, searching all released records.

    total: the sum of what a function counts of each chunk of them. popularity: how many people have each item; the
    attacker who knows rare ones goes by it.
    """
    train, theirs = records(some.train), records(some.released)
    whose = truth(train, theirs, some.owner)
    levels = levels_of(known, train.lengths[whose.people])
    sides = [Side(some.train, train, whose, whose.people)]
    if some.holdout is not None:
        others = records(some.holdout)
        nothing = Truth(np.zeros(len(others) + 1, np.int64), np.zeros(0, np.int64), np.ones(len(others)), "map")
        sides.append(Side(some.holdout, others, nothing, others.people))
    ids = some.train.users.gather(sides[0].people)
    hers = id_map.join(pl.DataFrame({"original": ids, "target": np.arange(len(ids))}), on="original")
    hers = hers.select("target", "released").sort("released")
    found: list[Measurement] = []
    for rated in ways_of(ratings, some):
        told = [learn(s.data, s.records, s.people, max(levels), items, rng, popularity) for s in sides]
        facts, values = (np.concatenate(parts) for parts in zip(*told, strict=True))
        values = values if rated else np.full_like(values, np.nan)
        step = partial(_tally, known=facts, items=some.train.items, ratings=values, hers=hers)
        tally = total(step)
        blind = np.concatenate([np.diff(s.truth.of(s.people)[0]) for s in sides])[:, None] / tally.records
        success = np.where(tally.sizes > 0, tally.hits / np.maximum(tally.sizes, 1), blind)
        success, claims = (np.where(facts < 0, np.nan, told) for told in (success, tally.sizes == 1))
        params = {"ratings": rated, "items": items, "attacker": "intersection"}
        whom = (slice(len(ids)), slice(len(ids), None))  # members, and others where there are any
        attacked = [
            (side, LinkageOutcome(success[rows], claims[rows], np.full(facts[rows].shape, -1)))
            for side, rows in zip(sides, whom, strict=False)
        ]
        found += [linked({"known": r, **params}, attacked, whose, tally.records) for r in levels]
    return found


def _tally(chunk: Interactions, known: Any, items: pl.Series, ratings: Any, hers: pl.DataFrame) -> Tally:
    """Candidates among the records of a chunk."""
    people, rows = chunk.compact().n_users, chunk.compact().over_items(items)
    if not len(rows):
        return Tally(np.zeros(known.shape, np.int64), np.zeros(known.shape, np.int64), people)
    here = hers.join(
        pl.DataFrame({"released": rows.users, "record": np.arange(rows.n_users)}), on="released", how="inner"
    ).sort("target")
    starts = np.searchsorted(here["target"].to_numpy(), np.arange(len(known) + 1)).astype(np.int64)
    none = np.zeros(known.shape)
    index = postings(records(rows))
    sizes, hits, _ = intersect(*index, known, ratings, 0.0, starts, here["record"].to_numpy(), none)
    return Tally(np.maximum(sizes, 0), hits, people)
