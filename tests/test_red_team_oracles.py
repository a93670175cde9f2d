"""The attacks on real data, against figures that were measured apart from this program."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from recveil.attacks.across import across
from recveil.attacks.linkage import linkage
from recveil.attacks.shadow import breaches, shadow
from recveil.data import Interactions, from_ids
from recveil.desk.release import release
from recveil.desk.shadows import Halves, maker, of_halves
from recveil.measurement import Also, Trial, owners, trial
from recveil.mechanism import Public
from recveil.mechanisms.spec import parse

pytestmark = pytest.mark.data


def movielens(folder: Path) -> Interactions:
    rows = pl.read_parquet(folder / "ml-100k" / "ratings.parquet")
    return from_ids(rows["user"], rows["item"], rating=rows["rating"].to_numpy(), time=rows["timestamp"].to_numpy())


def yahoo(folder: Path) -> Interactions:
    rows = pl.read_parquet(folder / "yahoo-music-mbrw" / "ratings.parquet")
    data = from_ids(rows["user"], rows["item"], time=rows["order"].to_numpy())
    return data.take_users(np.random.default_rng(0).permutation(data.n_users)[:4000]).compact()


@pytest.mark.parametrize(("spec", "least"), [("mask:p=0.9", 0.79), ("laplace-ratings", 0.42)])
def test_ten_known_items(real_data: Path, spec: str, least: float) -> None:
    data = movielens(real_data)
    made = release(data, parse(spec), seed=1)
    subject = trial(data, made.data, id_map=made.id_map)
    found = linkage(subject, np.random.default_rng(0), known=(10,), ratings=False, theta=None)
    assert next(m for m in found if m.params["attacker"] == "strongest").value >= least


def test_two_masks_are_matched(real_data: Path) -> None:
    data = movielens(real_data)
    first, second = (release(data, parse("mask:p=0.9"), seed=seed) for seed in (1, 2))
    subject = trial(data, first.data, id_map=first.id_map)
    assert second.id_map is not None
    owner = owners(data, second.data, second.id_map)
    also = Also(second.data.over_items(subject.train.items), owner, (0.9, 0.9))
    found = {m.name: m for m in across(replace(subject, also=also), np.random.default_rng(0))}
    assert found["across-matched"].value == pytest.approx(0.93, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "spec", "value", "tolerance"),
    [
        (movielens, "mbrw", 0.957, 0.015),
        (movielens, "microaggregation", 0.76, 0.03),
        (yahoo, "mbrw", 0.82, 0.02),
        (yahoo, "microaggregation", 0.72, 0.02),
        (yahoo, "dp-streams:epsilon=4,delta=1e-6", 0.595, 0.02),
        (yahoo, "dp-streams:epsilon=16,delta=1e-6", 0.69, 0.02),
    ],
)
def test_shadows(real_data: Path, data, spec: str, value: float, tolerance: float) -> None:  # type: ignore[no-untyped-def]
    rows, mechanism = data(real_data), parse(spec)
    promise = mechanism.guarantee(Public(rows.kind, rows.unit, rows.items, None, True))
    given = of_halves(rows, maker(mechanism, rows), Halves(32, promise=promise))
    found = shadow(Trial(rows, rows, shadows=(given,)), np.random.default_rng(0))
    told = next(m for m in found if m.name == "shadow-auc")
    assert told.value == pytest.approx(value, abs=tolerance)
    assert told.control == pytest.approx(0.5, abs=0.015)
    assert not breaches(found)
