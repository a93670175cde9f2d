"""threshold: what it keeps and drops, its profiles, and what one release more tells of who came between two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import recveil as package
from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.mechanisms import Threshold
from recveil.mechanisms.spec import parse, text
from recveil.releases.release import release

YEAR = 365 * 86400


def clicks(people: int = 400, items: int = 150, seed: int = 1) -> Interactions:
    rng = np.random.default_rng(seed)
    share = 1 / (np.arange(items) + 2)
    item = np.concatenate([rng.choice(items, 8, replace=False, p=share / share.sum()) for _ in range(people)])
    return from_ids(pl.Series(np.repeat(np.arange(people), 8)), pl.Series(item), time=rng.integers(0, YEAR, len(item)))


def test_it_keeps_what_enough_people_had_lately_and_all_of_it() -> None:
    rows = from_ids(pl.Series([1, 2, 3, 1, 2, 3, 1]), pl.Series([7, 7, 7, 8, 8, 9, 9]),
                    time=np.array([0, 3 * YEAR, 3 * YEAR, 3 * YEAR, 3 * YEAR, 0, 3 * YEAR]))  # fmt: skip
    made = release(rows, Threshold(k=2, months=13), seed=1)
    assert sorted(made.data.frame()["item"].to_list()) == [7, 7, 7, 8, 8]
    assert release(rows, Threshold(k=2, months=60), seed=1).data.n_items == 3
    assert made.guarantee.status == "none"
    repeated = from_ids(pl.Series([1, 1, 1, 2]), pl.Series([7, 7, 8, 8]))  # a person counts once
    assert release(repeated, Threshold(k=2), seed=1).data.frame()["item"].to_list() == [8, 8]


def test_profiles_are_rules_in_use() -> None:
    for name, rule in (("dma-draft", (50, 13.0)), ("google", (30, 13.0))):
        made = parse(f"threshold:profile={name}")
        assert isinstance(made, Threshold) and (made.k, made.months) == rule and parse(text(made)) == made
    with pytest.raises(RecveilError, match="a rule of its own"):
        Threshold(k=7, profile="google")


def test_differencing_finds_what_newcomers_did_and_nothing_of_a_proof(recveil: Callable[..., Any]) -> None:
    package.write(clicks(), "log.parquet")
    arguments = ("compare", "log.parquet", "--with", "threshold:k=5", "--with", "dp-streams:epsilon=8,delta=0.01")
    found = recveil(*arguments, "--only", "differencing", "--seed", 3, json_answer=True)
    values = {m["mechanism"]: m for m in found["measurements"] if m["name"] == "differencing"}
    open_, proved = values["threshold:k=5"], values["dp-streams:epsilon=8.0,delta=0.01"]
    assert open_["low"] > 0.6 and open_["control"] < open_["low"]
    assert proved["low"] <= 0.5 <= proved["high"] + 0.1


def test_differencing_of_two_bundles(recveil: Callable[..., Any]) -> None:
    rows = clicks()
    package.write(rows, "today.parquet")
    package.write(rows.take(rows.user >= 10), "yesterday.parquet")
    for day in ("today", "yesterday"):
        recveil("release", f"{day}.parquet", "--with", "threshold:k=5", "-o", day, "--keep-map", f"{day}.csv")
    both = ("--also", "yesterday", "--also-map", "yesterday.csv", "--map", "today.csv")
    found = recveil("measure", "today.parquet", "today", *both, "--only", "differencing", json_answer=True)
    (one,) = [m for m in found["measurements"] if m["name"] == "differencing"]
    assert one["params"]["newcomers"] == 10 and one["low"] > 0.6
