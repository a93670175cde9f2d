"""How the referees' hyper-parameters were found: once, on validation data of MovieLens 100K, never on a release.

80% of the ratings to train on, 10% to choose by, 10% not looked at. Rankers are chosen by NDCG@10 (relevant: rated 4 or
5), raters by RMSE. The grids end where more work brings little: 64 factors, 100 epochs of BPR, 60 of mf, 30 of
biased-mf. `python benchmarks/referees.py FOLDER` with the folder of the data sets takes about a quarter of an hour;
`python benchmarks/referees.py FOLDER given` tells P@10 of the rankers as they are, the mean of five 80/20 splits.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions, from_ids
from recveil.evaluation.metrics.ranking import evaluate, relevant
from recveil.evaluation.recommenders import RANKERS, RATERS
from recveil.evaluation.recommenders.rater import Surprise
from recveil.splits import random_rows

RANKER_GRIDS: dict[str, dict[str, list[Any]]] = {
    "item-knn": {"k": [10, 20, 50, 100, 200]},
    "user-knn": {"k": [20, 40, 80, 160, 320]},
    "bpr-mf": {"factors": [32], "rate": [0.01, 0.02, 0.03], "penalty": [0.01, 0.02]},
    "wrmf": {"factors": [16, 32, 64], "penalty": [1.0, 3.0, 10.0, 30.0], "weight": [1.0, 2.0, 5.0]},
    "ease": {"penalty": [50.0, 100.0, 200.0, 500.0, 1000.0]},
}

RATER_GRIDS: dict[str, dict[str, list[Any]]] = {
    "item-knn": {"k": [20, 40, 80], "shrinkage": [50, 100, 200]},
    "user-knn": {"k": [20, 40, 80], "shrinkage": [50, 100, 200]},
    "slope-one": {},
    "co-clustering": {"n_cltr_u": [2, 3, 5], "n_cltr_i": [2, 3, 5], "n_epochs": [20, 40]},
    "mf": {"n_epochs": [30, 60], "lr_all": [0.005, 0.01], "reg_all": [0.05, 0.1, 0.15]},
    "biased-mf": {"n_epochs": [30], "lr_all": [0.005, 0.01], "reg_all": [0.05, 0.1, 0.15]},
    "svd++": {"n_epochs": [20, 40], "reg_all": [0.02, 0.05, 0.1]},
}


def films(folder: Path) -> Interactions:
    frame = pl.read_parquet(folder / "ml-100k" / "ratings.parquet")
    return from_ids(frame["user"], frame["item"], frame["rating"].to_numpy())


def given(data: Interactions) -> None:
    """Trained on all ratings; relevant is a held-out rating of 4 or 5."""
    splits = [random_rows(data, 0.8, np.random.default_rng(seed)) for seed in range(5)]
    for name, ranker in RANKERS.items():
        found = [
            evaluate(ranker.fit(train, 0), train, relevant(train, test, 4.0), 10).values["precision"].mean()
            for train, test in splits
        ]
        print(f"{name}: P@10 {np.mean(found):.4f}, {min(found):.4f} to {max(found):.4f}", flush=True)


def main(data: Interactions) -> None:
    order = np.random.default_rng(100).permutation(len(data))
    train, validation = data.take(np.sort(order[:80_000])), data.take(np.sort(order[80_000:90_000]))
    for name, grid in RANKER_GRIDS.items():
        show(name, "NDCG@10", [(c, ndcg(name, c, train, validation)) for c in choices(grid)], best=max)
    for name, grid in RATER_GRIDS.items():
        show(name, "RMSE", [(c, rmse(name, c, train, validation)) for c in choices(grid)], best=min)


def choices(grid: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for values in product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def ndcg(name: str, chosen: dict[str, Any], train: Interactions, validation: Interactions) -> float:
    ranker: Any = replace(RANKERS[name], **chosen)  # type: ignore[type-var]
    return float(evaluate(ranker.fit(train, 0), train, relevant(train, validation, 4.0), 10).values["ndcg"].mean())


def rmse(name: str, chosen: dict[str, Any], train: Interactions, validation: Interactions) -> float:
    rater = RATERS[name]
    assert isinstance(rater, Surprise) and validation.rating is not None
    options = {**rater.options, **{k: v for k, v in chosen.items() if k != "shrinkage"}}
    if "shrinkage" in chosen:
        options["sim_options"] = {**options["sim_options"], "shrinkage": chosen["shrinkage"]}
    guess = replace(rater, options=options).fit(train, 0).predict(validation.user, validation.item)
    return float(np.sqrt(np.mean((guess - validation.rating) ** 2)))


def show(name: str, metric: str, found: list[tuple[dict[str, Any], float]], best: Any) -> None:
    print(f"{name}: best {best(found, key=lambda f: f[1])}")
    for chosen, value in found:
        print(f"  {metric} {value:.4f}  {chosen}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        (given if "given" in sys.argv else main)(films(Path(sys.argv[1])))
    else:
        print("left out: name the folder of the data sets")
