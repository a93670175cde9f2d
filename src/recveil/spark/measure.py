"""Hiding, linkage and popularity of a release on Spark: targets are a sample, what is searched or counted is all.

What lands on the driver: the rows of the sampled people (and as many held-out ones) in the data and in the release,
two numbers for each of them and each number of known items, and two counts of every item.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from recveil.data import Floats, Interactions
from recveil.errors import RecveilError
from recveil.evaluation.attacks.linkage_parts import linkage_among
from recveil.evaluation.measure import Findings
from recveil.evaluation.metrics.hiding import hiding
from recveil.evaluation.metrics.popularity import popularity_of
from recveil.measurement import Measure, Measurement, SkippedError, Trial, measure, trial
from recveil.randomness import seeded
from recveil.spark.chunks import Table, named, total

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PEOPLE = 2000
MEASURED = ("hiding", "linkage", "popularity")
NO_MAP = "on Spark it needs the id map, --map FILE"


def measure_table(
    data: Table,
    released: Table,
    id_map: DataFrame | None,
    names: Sequence[str] | None,
    seed: int,
    mechanism: str,
    wishes: dict[str, Any],
    holdout: Table | None = None,
) -> Findings:
    """What is linear in the data of `recveil measure`: people are a sample, counts of items those of everyone.

    Without the map, what needs it is left out with a reason; it raises where it was asked for by name. Held-out people
    are taken out of the data first.
    """
    chosen = list(names or MEASURED)
    outside = None if holdout is None else holdout.specimen
    subject = trial(data.specimen, released.specimen, holdout=outside)  # in which every item occurs
    data = data if holdout is None else without(data, holdout, id_map)
    skipped = {name: NO_MAP for name in chosen if id_map is None and name != "popularity"}
    if names and skipped:
        raise SkippedError(f"{next(iter(skipped))}: {NO_MAP}")
    rare = wishes.get("items") == "rare" and "linkage" in chosen
    held = holders(data, subject.train.items) if rare or "popularity" in chosen else np.zeros(0)
    after = partial(holders, released, subject.train.items)
    measures: dict[str, Measure] = {"popularity": lambda _, rng: popularity_of(held, after(), rng)}
    if id_map is not None:
        subject, known = sampled(data, released, id_map, seed, holdout=holdout)
        measures["hiding"] = hiding
        measures["linkage"] = lambda some, rng: linkage_table(some, known, released, held, rng, **wishes)
    made = {name: measures[name] for name in chosen if name not in skipped}
    return Findings(measure(subject, made, seed, mechanism), skipped, [], mechanism)


def without(data: Table, holdout: Table, id_map: DataFrame | None) -> Table:
    """The data of all people but those held out, none of whom may be in the release."""
    from pyspark.sql import functions as fn

    held = holdout.frame.select(fn.col("user").cast("string").alias("held")).distinct()
    released = 0 if id_map is None else held.join(id_map, held["held"] == id_map["original"], "left_semi").count()
    if released:
        raise RecveilError(f"{released} of the holdout users are in the release, according to its id map")
    rest = data.frame.join(held, data.frame["user"].cast("string") == held["held"], "left_anti")
    if not rest.head(1):
        raise RecveilError("every person of the data is in the holdout: nobody is left to be measured")
    return replace(data, frame=rest)


def holders(data: Table, items: pl.Series) -> Floats:
    """How many people have each of the items."""
    from pyspark.sql import functions as fn

    found = pl.DataFrame(data.frame.groupBy("item").agg(fn.count_distinct("user").alias("people")).toArrow())
    counts = pl.DataFrame({"item": items}).join(found, on="item", how="left", maintain_order="left")["people"]
    return counts.fill_null(0).to_numpy().astype(np.float64)


def sampled(
    data: Table, released: Table, id_map: DataFrame, seed: int, people: int = PEOPLE, holdout: Table | None = None
) -> tuple[Trial, Any]:
    """A Trial of some people, drawn by a hash of their ids, with all their rows; and the tokens of their records.

    id_map: the columns original and released. As many of those held out are drawn alike.
    """
    from pyspark.sql import functions as fn

    kind = dict(data.frame.dtypes)["user"]
    pairs = id_map.select(fn.col("original").try_cast(kind).alias("user"), fn.col("released").try_cast("bigint"))
    there = pairs.join(data.frame.select("user").distinct(), "user", "left_semi")
    first = _drawn(there, seed, people)
    chosen = pl.DataFrame(there.join(first, "user", "left_semi").toArrow()).sort("user", "released")
    if not chosen.height:
        raise RecveilError("the id map names no person of these data: it belongs to others")
    train = _rows_of(data, chosen["user"].unique())
    found = _rows_of(released, chosen["released"].rename("user"))
    others = None
    if holdout is not None:
        others = _rows_of(holdout, pl.DataFrame(_drawn(holdout.frame, seed, people).toArrow())["user"])
    known = chosen.rename({"user": "original"})
    return trial(train, found, id_map=known, holdout=others), known


def _drawn(frame: DataFrame, seed: int, people: int) -> DataFrame:
    names = named(frame.select("user").distinct(), seeded(seed))
    return names.orderBy("name", "user").limit(people).select("user")


def linkage_table(
    some: Trial, id_map: pl.DataFrame, released: Table, popularity: Floats, rng: np.random.Generator, **wishes: Any
) -> list[Measurement]:
    """The success of the intersection attacker on these people, searching all released records."""
    return linkage_among(some, id_map, lambda step: total(released, step, "user"), popularity, rng, **wishes)


def _rows_of(data: Table, users: pl.Series) -> Interactions:
    wanted = data.frame.sparkSession.createDataFrame(pl.DataFrame({"user": users}).to_arrow())
    rows = data.frame.join(wanted, "user", "left_semi").select(*data.frame.columns)
    return data.layout.interactions(pl.DataFrame(rows.toArrow()))
