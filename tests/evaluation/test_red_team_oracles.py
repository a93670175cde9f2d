"""The attacks on real data, against figures that were measured apart from this program."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from recveil.data import Interactions, from_ids
from recveil.evaluation.attacks.across import across
from recveil.evaluation.attacks.attributes import PENALTY, attributes, profiles
from recveil.evaluation.attacks.linkage import linkage
from recveil.evaluation.attacks.membership import auc
from recveil.evaluation.attacks.shadow import breaches, shadow
from recveil.evaluation.shadows import Halves, maker, of_halves
from recveil.kernels.logistic import fit
from recveil.measurement import Measurement, SecondRelease, Trial, owners, trial
from recveil.mechanism import PublicInfo
from recveil.mechanisms.blur import Blur
from recveil.mechanisms.spec import parse
from recveil.releases.release import release
from recveil.views.records import records

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
    also = SecondRelease(second.data.over_items(subject.train.items), owner, (0.9, 0.9))
    found = {m.name: m for m in across(replace(subject, also=also), np.random.default_rng(0))}
    assert found["across-matched"].value == pytest.approx(0.93, abs=0.03)


def halves(rows: Interactions, spec: str, how: Halves) -> tuple[dict[str, Measurement], list[Measurement]]:
    """What the shadow attack finds on releases of halves: by name (of rates, that at 1%), and all of it."""
    mechanism = parse(spec)
    promise = mechanism.guarantee(PublicInfo(rows.kind, rows.unit, rows.items, None, True))
    given = of_halves(rows, maker(mechanism, rows), replace(how, promise=promise))
    found = shadow(Trial(rows, rows, shadows=(given,)), np.random.default_rng(0))
    for m in found:
        print(spec, m.name, dict(m.params), f"{m.value:.4f} [{m.low:.4f}, {m.high:.4f}], control {m.control}", m.note)
    return {m.name: m for m in reversed(found)}, found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "spec", "value", "tolerance", "rate"),
    [
        (movielens, "mbrw", 0.957, 0.015, None),
        (movielens, "microaggregation", 0.76, 0.03, None),
        (yahoo, "mbrw", 0.82, 0.02, 0.42),
        (yahoo, "microaggregation", 0.72, 0.02, 0.17),
        (yahoo, "dp-streams:epsilon=4,delta=1e-6", 0.595, 0.02, None),
        (yahoo, "dp-streams:epsilon=16,delta=1e-6", 0.69, 0.02, None),
    ],
)
def test_shadows(  # type: ignore[no-untyped-def]
    real_data: Path, data, spec: str, value: float, tolerance: float, rate: float | None
) -> None:
    told, found = halves(data(real_data), spec, Halves(32))
    assert told["shadow-auc"].value == pytest.approx(value, abs=tolerance)
    assert told["shadow-auc"].control == pytest.approx(0.5, abs=0.015)
    if rate is not None:
        assert told["shadow-tpr"].value == pytest.approx(rate, abs=0.03)
    realised = re.search(r"names ([0-9.]+)% of the outsiders", told["shadow-tpr"].note)
    assert realised is not None and 0.5 <= float(realised[1]) <= 1.5
    assert not breaches(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "spec", "value"),
    [(movielens, "mbrw", 0.90), (yahoo, "mbrw", 0.78), (yahoo, "microaggregation", 0.70)],
)
def test_shadows_of_an_attacker_who_knows_nobody_else(real_data: Path, data, spec: str, value: float) -> None:  # type: ignore[no-untyped-def]
    told, _ = halves(data(real_data), spec, Halves(16, "strict"))
    assert told["shadow-auc"].value == pytest.approx(value, abs=0.04)


def million(folder: Path) -> tuple[Interactions, dict[str, NDArray[np.int8]]]:
    """MovieLens 1M, and who is a woman, and who is 35 or older, by the codes of the users."""
    rows = pl.read_parquet(folder / "ml-1m" / "ratings.parquet")
    people = pl.read_parquet(folder / "ml-1m" / "users.parquet").sort("user")
    data = from_ids(rows["user"], rows["item"])
    assert data.users.to_list() == people["user"].to_list()
    return data, {
        "gender": (people["gender"] == "F").to_numpy().astype(np.int8),
        "age": (people["age"] >= 35).to_numpy().astype(np.int8),
    }


@pytest.mark.slow
def test_gender_and_age_from_released_records(real_data: Path) -> None:
    data, labels = million(real_data)
    made = release(data, parse("pseudonymise"), seed=1)
    subject = trial(data, made.data, id_map=made.id_map)
    subject = replace(subject, attributes={name: (label, None) for name, label in labels.items()})
    found = attributes(subject, np.random.default_rng(0))
    told = {m.params["attribute"]: m for m in found if m.params.get("trained") == "clean"}
    for name, value in (("gender", 0.851), ("age", 0.913)):
        print(name, f"{told[name].value:.4f} [{told[name].low:.4f}, {told[name].high:.4f}]")
        assert told[name].value == pytest.approx(value, abs=0.015)


@pytest.mark.slow
def test_gender_that_is_attributable_to_the_release(real_data: Path) -> None:
    data, labels = million(real_data)
    order = np.random.default_rng(0).permutation(data.n_users)
    n = 2 * len(order) // 3
    inside, outside = np.sort(order[:n]), np.sort(order[n:])
    train, held = (data.take_users(part).compact().over_items(data.items) for part in (inside, outside))
    made = release(train, parse("pseudonymise"), seed=1)
    subject = trial(train, made.data, id_map=made.id_map, holdout=held)
    gender = labels["gender"]
    subject = replace(subject, attributes={"gender": (gender[inside], gender[outside])})
    found = attributes(subject, np.random.default_rng(0), known=10)
    told = next(m for m in found if m.name == "attributes-attributable")
    print(f"{told.value:.4f} [{told.low:.4f}, {told.high:.4f}]", told.note)
    assert told.value == pytest.approx(0.10, abs=0.03)


@pytest.mark.slow
def test_greedy_blur_publishes_what_it_hides(real_data: Path) -> None:
    """Two halves of the people, each blurred by itself: one teaches the attacker, the other is judged."""
    data, labels = million(real_data)
    order = np.random.default_rng(0).permutation(data.n_users)
    who = dict(zip(data.users.cast(pl.String).to_list(), (labels["gender"] == 1).tolist(), strict=True))
    sides = []
    for part in (order[: len(order) // 2], order[len(order) // 2 :]):
        half = data.take_users(part).compact().over_items(data.items)
        made = release(half, Blur("greedy", 0.1).informed(who), seed=1)
        assert made.id_map is not None
        label = np.array([who[name] for name in half.users.cast(pl.String).to_list()])
        blurred = profiles(records(made.data.over_items(data.items)))
        sides.append((profiles(records(half)), label, blurred, label[owners(half, made.data, made.id_map)]))
    (real, label, taught, taught_label), (_, _, judged, judged_label) = sides
    found = {}
    for way, law in (("naive", fit(real, label, PENALTY)), ("aware", fit(taught, taught_label, PENALTY))):
        scores = law.score(judged)
        found[way] = auc(scores[judged_label], scores[~judged_label])
    print(found)
    assert found["naive"][0] == pytest.approx(0.38, abs=0.05)
    assert found["aware"][0] == pytest.approx(0.95, abs=0.05)
