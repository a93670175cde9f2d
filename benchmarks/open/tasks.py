"""Tasks for transformers, to be carried to a machine with a GPU: streams by codes, recipes, and their noise.

    python benchmarks/open/tasks.py FOLDER [DATA,DATA]

Those with DP-SGD see the items that stand out of noisy counts, which take a tenth of the budget: over a whole catalogue
the noise on each item's vector drowns everything. The plain ones see all. Every recipe of a grid is trained on every
split, and the one that is best for the search people counts. FOLDER holds streams of real people: keep it to yourself.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from accounting import noise_for
from data_sets import SETS, absent, load
from methods.dpals import noise_for as unit_noise
from protocols import DELTA, EPSILONS, SPLITS, task

from recveil.data import Interactions

ORDERED = ("yahoo-music-mbrw", "beauty", "toys", "diginetica")
KEPT = 4096
MOST_DRAWN = 40_000
PLAIN = ({"epochs": 10}, {"epochs": 20})
PRIVATE = ({"batch": 1024, "rate": 0.004, "epochs": 30}, {"batch": 2048, "rate": 0.004, "epochs": 60})
SHORT_PLAIN = ({"length": 20, "epochs": 4, "batch": 1024}, {"length": 20, "epochs": 8, "batch": 1024})
SHORT_PRIVATE = (
    {"length": 20, "batch": 2048, "rate": 0.002, "epochs": 6},
    {"length": 20, "batch": 8192, "rate": 0.004, "epochs": 16},
)


def name_of(rows: Interactions, kind: str) -> str:
    """Tasks are found again by what is learnt from."""
    rows = rows.ordered()
    return f"{sha256(rows.user.tobytes() + rows.item.tobytes()).hexdigest()[:16]}.{kind}"


def export(folder: Path, names: Sequence[str]) -> None:
    for data in names:
        if reason := absent(data):
            print(f"{data}: left out, {reason}")
            continue
        loaded = load(data)
        for split in range(SPLITS):
            rows = task(SETS[data], loaded, split).train.ordered()
            short = rows.n_users > 50_000
            write(folder, "plain", rows, np.unique(rows.item), SHORT_PLAIN if short else PLAIN)
            for epsilon in EPSILONS:
                kept, recipes = budgeted(rows, epsilon, SHORT_PRIVATE if short else PRIVATE, split)
                write(folder, f"dp-sgd-{epsilon:g}", rows, kept, recipes)
            print(data, split, flush=True)


def budgeted(rows: Interactions, epsilon: float, given: Sequence[Any], seed: int) -> tuple[Any, list[Any]]:
    """The items that stand out, and recipes with the noise that the rest of the budget asks for."""
    selection = unit_noise(epsilon, DELTA) / 0.1**0.5
    X = rows.matrix(binary=True)
    weight = np.repeat(1 / np.sqrt(np.maximum(np.diff(X.indptr), 1)), np.diff(X.indptr))
    counts = np.bincount(X.indices, weight, minlength=rows.n_items)  # a person moves them by 1 in all
    counts = counts + np.random.default_rng([seed, *b"select"]).normal(0, selection, len(counts))
    kept = np.argsort(-counts, kind="stable")[:KEPT]
    kept = np.sort(kept[counts[kept] > 3 * selection])
    budget = {"epsilon": epsilon, "delta": DELTA, "selection": selection, "people": rows.n_users}
    noises = [noise_for(epochs=r["epochs"], batch=r["batch"], **budget) for r in given]
    return kept, [{**r, **budget, "noise": noise} for r, noise in zip(given, noises, strict=True)]


def write(folder: Path, kind: str, rows: Interactions, kept: Any, recipes: Sequence[Any]) -> None:
    place = np.full(rows.n_items, -1)
    place[kept] = np.arange(len(kept))
    known = rows.take(place[rows.item] >= 0)
    sizes = np.bincount(known.user, minlength=known.n_users)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        folder / f"{name_of(rows, kind)}.npz",
        sizes=sizes[sizes > 0].astype(np.int16),
        item=place[known.item].astype(np.uint16),
        kept=kept.astype(np.uint16),
        k=min(rows.n_users, MOST_DRAWN),
        recipes=json.dumps(list(recipes)),
    )


if __name__ == "__main__" and len(sys.argv) > 1:
    export(Path(sys.argv[1]), sys.argv[2].split(",") if len(sys.argv) > 2 else ORDERED)
