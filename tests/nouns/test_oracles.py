"""Numbers that others measured on real data, and ours: means of five splits, since those of a single one are noise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from recveil.data import Interactions, from_ids
from recveil.evaluation.metrics.lift import lift
from recveil.evaluation.metrics.ranking import arms, outcome
from recveil.evaluation.recommenders import Ranker
from recveil.evaluation.recommenders.factors import BPR, WRMF
from recveil.evaluation.recommenders.neighbours import ItemKNN, UserKNN
from recveil.evaluation.recommenders.popular import MostPopular
from recveil.evaluation.recommenders.rater import Rater, Surprise
from recveil.measurement import Trial
from recveil.splits import Split, both, random_rows

SPLITS = 5

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def films(real_data: Path) -> list[Split]:
    frame = pl.read_parquet(real_data / "ml-100k" / "ratings.parquet")
    data = from_ids(frame["user"], frame["item"], frame["rating"].to_numpy())
    return [random_rows(data, 0.8, np.random.default_rng(s)) for s in range(SPLITS)]


@pytest.fixture(scope="module")
def songs(real_data: Path) -> Interactions:
    frame = pl.read_parquet(real_data / "yahoo-music-mbrw" / "ratings.parquet")
    return from_ids(frame["user"], frame["item"], time=frame["order"].to_numpy())


def precision(ranker: Ranker, splits: list[Split]) -> float:
    """Trained on all ratings; relevant is a held-out rating of 4 or 5."""
    found = [outcome(ranker, train, train, test, 4.0, 10, 0).values["precision"].mean() for train, test in splits]
    return float(np.mean(found))


@pytest.mark.parametrize(
    ("ranker", "low", "high"),
    [
        (MostPopular(), 0.130, 0.136),
        (ItemKNN(), 0.20, 0.23),
        (ItemKNN(k=50), 0.20, 0.23),
        (UserKNN(k=50), 0.229, 0.232),
        pytest.param(BPR(factors=32, rate=0.01, penalty=0.01, epochs=100), 0.22, 0.23, marks=pytest.mark.slow),
        (WRMF(factors=64, penalty=0.01, weight=1.0), 0.195, 0.205),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_precision_on_movielens(ranker: Ranker, low: float, high: float, films: list[Split]) -> None:
    assert low <= precision(ranker, films) <= high


@pytest.mark.slow
def test_a_stranger_fares_as_well_with_bpr_as_those_it_was_trained_on(films: list[Split]) -> None:
    ranker = BPR(factors=32, rate=0.01, penalty=0.01, epochs=100)
    train, test = films[0]
    copy = train.take(np.arange(len(train)))  # the same histories, but not the training data themselves
    known, stranger = (outcome(ranker, train, q, test, 4.0, 10, 0).values["precision"].mean() for q in (train, copy))
    assert stranger == pytest.approx(known, abs=0.02)


ITEMS = {"name": "pearson_baseline", "user_based": False}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "options", "rmse"),
    [
        ("SlopeOne", {}, 0.953),
        ("CoClustering", {}, 0.97),
        ("KNNBaseline", {"sim_options": ITEMS}, 0.924),
        ("KNNWithMeans", {"sim_options": {"user_based": False}}, 0.945),
        ("SVD", {"n_factors": 100, "n_epochs": 30, "lr_all": 0.01, "reg_all": 0.1}, 0.92),
    ],
)
def test_rmse_on_movielens(algorithm: str, options: dict[str, Any], rmse: float, films: list[Split]) -> None:
    rater: Rater = Surprise(algorithm, algorithm, options)
    found = []
    for train, test in films:
        assert test.rating is not None
        guess = rater.fit(train, 0).predict(test.user, test.item)
        found.append(np.sqrt(np.mean((guess - test.rating) ** 2)))
    assert np.mean(found) == pytest.approx(rmse, abs=0.015)


def test_recall_on_yahoo(songs: Interactions) -> None:
    real, popular = [], []
    for seed in range(SPLITS):
        parts = both(songs, 0.9, 0.5, np.random.default_rng(seed))
        for ranker, found in ((ItemKNN(k=15), real), (MostPopular(), popular)):
            made = outcome(ranker, parts.train, parts.query, parts.result, None, 5, 0)
            found.append(made.values["recall"].mean())
    assert np.mean(real) == pytest.approx(0.161, abs=0.003)
    assert np.mean(popular) == pytest.approx(0.128, abs=0.003)


def test_a_ratio_misleads_where_lift_does_not(songs: Interactions) -> None:
    """Items permuted across users keep .72 to .83 of the real recall, and teach nothing."""
    parts = both(songs, 0.9, 0.5, np.random.default_rng(0))
    useless = replace(parts.train, item=np.random.default_rng(1).permutation(parts.train.item))
    trial = Trial(parts.train, useless, query=parts.query, result=parts.result)
    ranker = ItemKNN(k=15)
    served = arms(trial, ranker, 5)
    assert served is not None
    release, real, _ = (made.values["recall"].mean() for made in served)
    assert 0.72 <= release / real <= 0.83
    found = {m.name: m for m in lift(trial, np.random.default_rng(0), [ranker], n=5, metric="recall")}
    assert found["lift"].value < 0.05 and found["lift"].high < 0.1
