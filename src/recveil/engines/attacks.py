"""Hiding and linkage of a release on Spark: the attacker's targets are a sample, what is searched is everything.

What lands on the driver: the rows of the sampled people in the data and in the release, and two numbers for each of
them and each number of known items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.attacks.knowledge import Choice, learn
from recveil.attacks.linkage import Outcome, Side, levels_of, linked, ways_of
from recveil.attacks.records import postings, records
from recveil.attacks.truth import truth
from recveil.data import Interactions
from recveil.engines.spark import Table, total
from recveil.errors import RecveilError
from recveil.kernels.linkage import intersect
from recveil.measurement import Measure, Measurement, Trial, measure, trial
from recveil.measures import Findings
from recveil.metrics.hiding import hiding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PEOPLE = 2000
MEASURED = ("hiding", "linkage")


@dataclass(frozen=True, eq=False)
class Tally:
    """Of every target and number of known items the candidates, and how many are hers; of all, the records."""

    sizes: NDArray[np.int64]
    hits: NDArray[np.int64]
    records: int

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.sizes + other.sizes, self.hits + other.hits, self.records + other.records)


def measure_table(
    data: Table,
    released: Table,
    id_map: DataFrame,
    names: Sequence[str] | None,
    seed: int,
    mechanism: str,
    wishes: dict[str, Any],
) -> Findings:
    """What is linear in the data of `recveil measure`, on a sample of people."""
    some, known = sampled(data, released, id_map, seed)
    measures: dict[str, Measure] = {
        "hiding": hiding,
        "linkage": lambda subject, rng: linkage_table(subject, known, released, rng, **wishes),
    }
    chosen = {name: measures[name] for name in names or MEASURED}
    return Findings(measure(some, chosen, seed, mechanism), {}, [])


def sampled(data: Table, released: Table, id_map: DataFrame, seed: int, people: int = PEOPLE) -> tuple[Trial, Any]:
    """A Trial of some people, drawn by a hash of their ids, with all their rows; and the tokens of their records.

    id_map: the columns original and released.
    """
    from pyspark.sql import functions as fn

    kind = dict(data.frame.dtypes)["user"]
    pairs = id_map.select(fn.col("original").try_cast(kind).alias("user"), fn.col("released").try_cast("bigint"))
    there = pairs.join(data.frame.select("user").distinct(), "user", "left_semi")
    first = there.select("user").distinct().orderBy(fn.xxhash64(fn.lit(seed), "user"), "user").limit(people)
    chosen = pl.DataFrame(there.join(first, "user", "left_semi").toArrow()).sort("user", "released")
    if not chosen.height:
        raise RecveilError("the id map names no person of these data: it belongs to others")
    train = _rows_of(data, chosen["user"].unique())
    found = _rows_of(released, chosen["released"].rename("user"))
    known = chosen.rename({"user": "original"})
    return trial(train, found, id_map=known), known


def linkage_table(
    some: Trial,
    id_map: pl.DataFrame,
    released: Table,
    rng: np.random.Generator,
    *,
    known: Sequence[int] | None = None,
    ratings: bool | None = None,
    items: Choice = "random",
) -> list[Measurement]:
    """The success of the intersection attacker on these people, searching all released records."""
    if items == "rare":
        raise RecveilError("--items rare needs the popularity of every item; on Spark the attacker knows random ones")
    train, theirs = records(some.train), records(some.released)
    whose = truth(train, theirs, some.owner)
    levels = levels_of(known, train.lengths[whose.people])
    side = Side(some.train, train, whose, whose.people)
    owners = pl.DataFrame({"original": some.train.users.gather(side.people), "target": np.arange(len(side.people))})
    hers = id_map.join(owners, on="original").select("target", "released").sort("released")
    found: list[Measurement] = []
    for rated in ways_of(ratings, some):
        facts, values = learn(some.train, train, side.people, max(levels), items, rng)
        values = values if rated else np.full_like(values, np.nan)
        step = partial(_tally, known=facts, items=some.train.items, ratings=values, hers=hers)
        tally = total(released, step, "user")
        fewer = facts < 0
        blind = np.diff(whose.of(side.people)[0])[:, None] / tally.records
        success = np.where(tally.sizes > 0, tally.hits / np.maximum(tally.sizes, 1), blind)
        claims = np.where(fewer, np.nan, tally.sizes == 1)
        outcome = Outcome(np.where(fewer, np.nan, success), claims, np.full(facts.shape, -1))
        params = {"ratings": rated, "items": items, "attacker": "intersection"}
        found += [linked({"known": r, **params}, [(side, outcome)], whose, tally.records) for r in levels]
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


def _rows_of(data: Table, users: pl.Series) -> Interactions:
    wanted = data.frame.sparkSession.createDataFrame(pl.DataFrame({"user": users}).to_arrow())
    rows = data.frame.join(wanted, "user", "left_semi").select(*data.frame.columns)
    return data.layout.interactions(pl.DataFrame(rows.toArrow()))
