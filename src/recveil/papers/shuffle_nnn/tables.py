"""The numbers of Tables 2 and 3 of the Shuffle-NNN paper, and the same tables measured by us.

Each split has a shuffle of its own, so intervals cover both. They are prediction intervals: where one more split would
fall, which is what a paper with a single split shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import kendalltau, t

from recveil.data import Floats, Interactions
from recveil.evaluation.metrics.challenge import beside, errors
from recveil.evaluation.metrics.ranking import GRADES, evaluate, relevant
from recveil.evaluation.recommenders import RANKERS, RATERS
from recveil.evaluation.recommenders.bprfm import BPRFM, Features
from recveil.kernels.ranking import grade
from recveil.measurement import trial
from recveil.mechanisms.spec import parse
from recveil.papers.claim import Claim, Verdict
from recveil.releases.release import release
from recveil.splits import random_rows

SPLITS = 5
LIKED = 4.0
PLAIN = ("user-knn", "bpr-mf", "item-knn", "most-popular")


@dataclass(frozen=True)
class Printed:
    """What the paper prints for one data set: (original, masked) for each algorithm, in the order of the original."""

    theta: float
    rmse: dict[str, tuple[float, float]]
    recall: dict[str, tuple[tuple[float, float], tuple[float, float]]]  # original (@5, @10), masked (@5, @10)


# Printed for MovieLens and for GoodBook, each (original, masked).
RMSE = {
    "svd++": ((0.902, 0.957), (0.825, 0.854)),
    "biased-mf": ((0.911, 0.962), (0.822, 0.850)),
    "item-knn": ((0.918, 0.972), (0.826, 0.861)),
    "mf": ((0.929, 0.968), (0.856, 0.873)),
    "user-knn": ((0.935, 0.979), (0.868, 0.894)),
    "slope-one": ((0.937, 0.986), (0.865, 0.903)),
    "co-clustering": ((0.974, 1.026), (0.891, 0.924)),
    "item-average": ((1.023, 1.030), (0.948, 0.947)),
    "user-average": ((1.042, 1.081), (0.883, 0.913)),
}
RECALL = {
    "user-knn": (((0.093, 0.177), (0.093, 0.178)), ((0.434, 0.595), (0.433, 0.594))),
    "bpr-mf": (((0.084, 0.165), (0.085, 0.166)), ((0.398, 0.575), (0.396, 0.571))),
    "bpr-fm": (((0.082, 0.159), (0.082, 0.159)), ((0.387, 0.567), (0.382, 0.563))),
    "item-knn": (((0.079, 0.156), (0.079, 0.155)), ((0.315, 0.452), (0.314, 0.451))),
    "most-popular": (((0.058, 0.099), (0.064, 0.108)), ((0.033, 0.053), (0.028, 0.059))),
}


def _printed(theta: float, column: int) -> Printed:
    rmse = {name: pair[column] for name, pair in RMSE.items()}
    best_first = dict(sorted(rmse.items(), key=lambda line: line[1][0]))
    return Printed(theta, best_first, {name: pair[column] for name, pair in RECALL.items()})


MOVIELENS, GOODBOOKS = _printed(0.4, 0), _printed(0.15, 1)


def masked(data: Interactions, spec: str, seeds: Sequence[int]) -> list[Interactions]:
    """The data with the ratings of a release in place of their own, for each seed."""
    found = []
    for seed in seeds:
        made = release(data, parse(spec), seed=seed)
        rows = beside(trial(data, made.data, id_map=made.id_map))
        assert rows is not None
        found.append(rows)
    return found


def interval(values: Floats) -> tuple[float, float, float]:
    """The mean, and where one more value would fall with 95% confidence."""
    n = len(values)
    half = float(t.ppf(0.975, n - 1) * values.std(ddof=1) * np.sqrt(1 + 1 / n))
    mean = float(values.mean())
    return mean, mean - half, mean + half


def beside_paper(where: str, claim: str, paper: float, values: Floats, why: str, rounding: float = 0.0005) -> Claim:
    """One printed number beside ours; within the interval it is compatible: settings and split are not published."""
    mean, low, high = interval(values)
    verdict: Verdict = "compatible" if low - rounding <= paper <= high + rounding else "not reproduced"
    return Claim(where, claim, paper, round(mean, 4), verdict, round(low, 4), round(high, 4), why)


# --- Table 3: rating prediction -----------------------------------------------------------------------------------


def rmses(data: Sequence[Interactions], names: Sequence[str], step: Callable[[], None]) -> Floats:
    """RMSE of each rater (columns) in each split (rows), trained and tested on that split's data."""
    raters = tuple(RATERS[name] for name in names)
    table = []
    for number, rows in enumerate(data):
        table.append([float(np.sqrt(np.mean(e**2))) for e in errors(raters, rows, number)])
        step()
    return np.array(table)


def order_kept(real: Floats, other: Floats) -> Floats:
    """Kendall's tau between the orders of the raters, split by split."""
    return np.array([kendalltau(a, b).statistic for a, b in zip(real, other, strict=True)])


def table_3(where: str, published: Printed, real: Floats, shuffled: Floats, why: str) -> list[Claim]:
    """Every RMSE, and what happens to the order. Columns are the raters in the order of the published table."""
    claims, place = [], f"Table 3, {where}"
    for column, (name, printed) in enumerate(published.rmse.items()):
        for side, paper, values in (("original", printed[0], real), ("masked", printed[1], shuffled)):
            claims.append(beside_paper(place, f"RMSE of {name}, {side}", paper, values[:, column], why))
    printed_tau = round(kendalltau(*zip(*published.rmse.values(), strict=True)).statistic, 4)
    words = "Kendall's tau of the raters by RMSE, original against masked; the paper's is that of its own table. "
    kept = order_kept(real, shuffled)
    return [*claims, beside_paper(place, "the order of the algorithms is kept", printed_tau, kept, words + why)]


def random_claims(real: Floats, shuffled: Floats, drawn: Floats, same: bool) -> list[Claim]:
    ours, theirs = order_kept(real, shuffled), order_kept(real, drawn)
    gap = interval(ours - theirs)
    return [
        Claim(
            "Rating prediction, MovieLens", "random ratings keep the order less well than Shuffle-NNN", "less",
            f"tau {theirs.mean():.2f} against {ours.mean():.2f}",
            "reproduced" if (ours > theirs).all() else "not reproduced", round(gap[1], 4), round(gap[2], 4),
            "Eight raters, without svd++; the interval is that of the difference of the taus.",
        ),
        Claim(
            "Ranking prediction", "on random ratings the order of the rankers is kept too", "kept",
            "the same input" if same else "another input", "compatible" if same else "not reproduced",
            why="If every rating counts as liked, rankers see the same pairs before and after, and nothing can change. "
            "With a threshold it can; the paper does not say which it used.",
        ),
    ]  # fmt: skip


def by_the_paper() -> list[Claim]:
    worse = {name: 100 * (after / before - 1) for name, (before, after) in MOVIELENS.rmse.items()}
    over = ", ".join(f"{name} {w:+.1f}" for name, w in worse.items() if w > 5)
    return [
        Claim(
            "Rating prediction", "RMSE on masked data is within 5% of the original", "5%",
            f"{max(worse.values()):.1f}%", "contradicted by the paper",
            why=f"Computed from the paper's own Table 3, MovieLens: {over} percent.",
        )
    ]  # fmt: skip


# --- Table 2: ranking -----------------------------------------------------------------------------------------------


def recalls(
    data: Sequence[Interactions],
    features: Features,
    step: Callable[[], None],
    people: int | None = None,
) -> dict[str, Floats]:
    """Recall at 5 and 10 (columns) in each split (rows). Only ratings of 4 and 5 count, in training and in testing.

    people: how many random ones are served, to bound the time; all are learned from.
    """
    rankers: list[Any] = [RANKERS[n] for n in PLAIN]
    table: dict[str, list[list[float]]] = {}
    for number, rows in enumerate(data):
        assert rows.rating is not None
        rng = np.random.default_rng(number)
        train, test = random_rows(rows.take(rows.rating >= LIKED), 0.8, rng)
        wanted = relevant(train, test if people is None else subset(test, people, number))
        for ranker in [*rankers, BPRFM(features=features)]:
            lists = evaluate(ranker.fit(train, number), train, wanted, 10)
            bounds = wanted[lists.users]
            short = grade(lists.lists[:, :5].copy(), bounds.indptr.astype(np.int64), bounds.indices.astype(np.int32), 5)
            found = [float(short[:, GRADES.index("recall")].mean()), float(lists.values["recall"].mean())]
            table.setdefault(ranker.name, []).append(found)
        step()
    return {name: np.array(lines) for name, lines in table.items()}


def table_2(
    where: str, published: Printed, real: dict[str, Floats], shuffled: dict[str, Floats], why: str
) -> list[Claim]:
    claims = []
    for name, printed in published.recall.items():
        for side, papers, values in zip(("original", "masked"), printed, (real[name], shuffled[name]), strict=True):
            for k, n in enumerate((5, 10)):
                words = f"R@{n} of {name}, {side}"
                claims.append(beside_paper(f"Table 2, {where}", words, papers[k], values[:, k], why))
    lines = [np.array([table[name][:, 1] for name in published.recall]).T for table in (real, shuffled)]
    ends = np.array([a.argmax() == b.argmax() and a.argmin() == b.argmin() for a, b in zip(*lines, strict=True)])
    claims.append(
        Claim(
            f"Table 2, {where}", "the best stays the best and the worst the worst", "always",
            f"{ends.sum()} of {len(ends)} splits", "reproduced" if ends.all() else "not reproduced",
            why="By R@10, ratings of 4 and 5 alone. If every rating counts as liked, the input of the rankers is the "
            "same before and after masking, and the table could show no difference at all.",
        )
    )  # fmt: skip
    return claims


def subset(data: Interactions, people: int, seed: int) -> Interactions:
    """The rows of so many random people."""
    return data.take_users(np.random.default_rng(seed).permutation(data.n_users)[:people])


def genres(frame: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Rows of (item, genre) from a column of genres separated by spaces, commas or bars."""
    long = frame.select("item", genre=pl.col("genres").str.extract_all(r"[^\s,|]+")).explode("genre").drop_nulls()
    return long["item"].cast(pl.Int64), long["genre"]
