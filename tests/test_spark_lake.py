"""What Spark measures of everyone and writes by its executors: popularity, people's rows, held-out people, bundles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from test_contracts import fitting
from test_spark import frame, spark  # noqa: F401  (a fixture)

from recveil.bundle import load
from recveil.data import from_ids

pytest.importorskip("pyspark", reason="the extra spark is not installed")
pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def released(recveil: Callable[..., Any], *options: str, spec: str = "random-ratings") -> None:
    """data.parquet, and a release of it in `out` with its map."""
    fitting("random-ratings").frame().write_parquet("data.parquet")
    recveil("release", "data.parquet", "--with", spec, "-o", "out", "--keep-map", "map.csv", "--seed", "1", *options)


def test_popularity_is_that_of_the_local_engine_and_needs_no_map(recveil: Callable[..., Any]) -> None:
    released(recveil, spec="mask:p=0.8")
    command = ["measure", "data.parquet", "out", "--seed", "2"]
    here = recveil(*command, "--only", "popularity", json_answer=True)
    there = recveil(*command, "--engine", "spark", json_answer=True)
    assert there["measurements"] == here["measurements"]
    assert 0 < here["measurements"][0]["value"] < 1
    assert [gap["name"] for gap in there["left_out"]] == ["hiding", "linkage"]
    asked = recveil(*command, "--engine", "spark", "--only", "linkage", code=1)
    assert asked.stderr == "recveil: linkage: on Spark it needs the id map, --map FILE\n"


def test_rare_items_are_rare_among_everyone(recveil: Callable[..., Any], spark: Any) -> None:  # noqa: F811
    """A person's rarest item finds her among those who have it: of all people, though few are targets."""
    from recveil.engines import attacks
    from recveil.engines.table import here, read_bundle, table

    item = np.repeat(np.arange(30), np.arange(30) + 5)  # item i has i + 5 people
    user = np.concatenate([np.arange(i + 5) for i in range(30)])
    data = from_ids(pl.Series(user * 7 % 34), pl.Series(item))
    data.frame().write_parquet("data.parquet")
    recveil("release", "data.parquet", "--with", "pseudonymise", "-o", "out", "--keep-map", "map.csv")
    rows, out = table(frame(spark, data)), read_bundle(spark, "out", load("out").manifest)
    some, known = attacks.sampled(rows, out, spark.read.csv(here("map.csv"), header=True), 5, people=6)
    counts = attacks.holders(rows, some.train.items)
    assert counts.tolist() == [i + 5 for i in range(30)]
    found = attacks.linkage_table(some, known, out, counts, np.random.default_rng(0), known=[1], items="rare")
    hers = data.frame().filter(pl.col("user").is_in(known["original"].implode())).group_by("user").agg(pl.min("item"))
    assert hers.height == 6
    assert found[0].value == pytest.approx((1 / (hers["item"] + 5)).mean())
