"""To click or not to click (clicks paper): every published number beside ours, on MovieLens 100K and Jester.

Likes are ratings of 3 or more (MovieLens) and of 0 or more (Jester); logarithms those that give the paper's.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from recveil.clicks.profiles import Clicks, clicks, disclosure, profiles
from recveil.clicks.replay import replay
from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.formats import read
from recveil.mechanisms.microaggregation import Microaggregation
from recveil.papers.claim import Claim, Verdict
from recveil.papers.clicks.attacks import TABLE_8, attacks, listed_users, table_10
from recveil.papers.clicks.experiments import (
    Recommender,
    knn,
    precision,
    protected,
    reconstruction,
    svd_neighbours,
)
from recveil.papers.clicks.noise import figure_4
from recveil.papers.clicks.theory import theory
from recveil.papers.parts import Kept, Part, Progress, gather, quiet

SEEDS = (0, 1, 2)
ZONES_6_3 = {"trade_off": 77.63, "safe": 5.94, "dangerous": 2.00, "deleterious": 14.43}


def reproduce(
    folder: Path,
    told: Progress = quiet,
    before: Kept = Kept(),  # noqa: B008
) -> list[Claim]:
    """All claims. `told` hears of steps done, and of how many."""
    films, jokes = _ratings(folder, "ml-100k"), _ratings(folder, "jester")
    liked_films, liked_jokes = clicks(films, 3), clicks(jokes, 0)
    of_films, of_jokes = (3, 5, 10, 20, 50, 100), (50, 100)
    work: dict[str, Callable[[], list[Claim]]] = {
        "theory": lambda: theory(liked_films),
        "zones": lambda: _zones(liked_films),
        "disclosure": lambda: _disclosure(liked_films, liked_jokes),
        "figure 2": lambda: _figure_2(liked_films),
        "figure 3": lambda: _figure_3(liked_jokes),
        "figure 4": lambda: figure_4(films),
        "figure 5": lambda: [*_figure_5(films, 3, "MovieLens", of_films), *_figure_5(jokes, 0, "Jester", of_jokes)],
        "attacks": lambda: [
            *attacks(liked_films, "MovieLens", 3, None),
            *attacks(liked_jokes, "Jester", 5, 500),
            *listed_users(liked_jokes),
        ],
        "table 10": lambda: table_10(liked_films),
    }
    parts = [Part(name, lambda _, make=make: make()) for name, make in work.items()]  # type: ignore[misc]
    return [*gather(parts, told, before), *_survey()]


def _ratings(folder: Path, name: str) -> Interactions:
    path = folder / name / "ratings.parquet"
    if not path.is_file():
        raise RecveilError(f"{name}/ratings.parquet is not in the folder of data sets")
    return read(path)


# --- zones ----------------------------------------------------------------------------------------------------------


def _zones(of: Clicks) -> list[Claim]:
    log, grown = replay(of), replay(of, growing=True)
    item = profiles(of)
    none = 100 * np.count_nonzero(log.commonality <= 0) / len(of)
    invariant = 100 * int(np.minimum(item.likes, item.dislikes).sum()) / len(of)
    share = {z: 100 * n / len(of) for z, n in log.counts.items()}
    growing = {z: 100 * n / len(of) for z, n in grown.counts.items()}
    found = [
        Claim(
            "6.3", f"share of clicks that are {zone.replace('_', '-')}, %", paper, share[zone],
            "reproduced" if abs(share[zone] - paper) < 0.005 else "not reproduced",
            why=f"In time order among all {of.users} people; {growing[zone]:.2f} among those seen so far.",
        )
        for zone, paper in ZONES_6_3.items()
    ]  # fmt: skip
    exact: Verdict = "reproduced" if abs(none - 16.48) < 0.005 else "not reproduced"
    return [
        *found,
        Claim(
            "1", "clicks that risk privacy without gaining utility, %", 16.48, none, exact,
            why=f"Its sum over items of the smaller of likes and dislikes is {invariant:.3f} % in any order of the "
            "clicks, so it does not depend on how the log is replayed.",
        ),
        Claim(
            "abstract and 6.3", "clicks that risk privacy without gaining utility, %", 16.43, none,
            "contradicted by the paper",
            why="The introduction says 16.48, the abstract 16.43 (2.00 + 14.43 of section 6.3). They are the same "
            "quantity of the same data.",
        ),
        Claim(
            "abstract and 1", "clicks that are safe, %", "5.94 and 5.23", share["safe"], "contradicted by the paper",
            why="The abstract says 5.94, the introduction 5.23, of the same data. Safe clicks need an item that half "
            f"of all people clicked; {share['safe']:.2f} % are ({growing['safe']:.2f} % if people count once seen).",
        ),
    ]  # fmt: skip


# --- disclosure -----------------------------------------------------------------------------------------------------


def _disclosure(films: Clicks, jokes: Clicks) -> list[Claim]:
    told = disclosure(jokes)
    claims = [
        Claim(
            "table 8", f"disclosure of Jester's user {user}", paper, float(told[user]),
            "reproduced" if abs(told[user] - paper) < 0.005 else "not reproduced",
            why="Natural logarithm, like from 0 on, users counted from 0.",
        )
        for user, (paper, *_) in TABLE_8.items()
    ]  # fmt: skip
    mine = disclosure(films)
    for user, paper in ((3, 235.09), (86, 191.66), (200, 118.07)):
        near = min(float(mine[user]), float(mine[user - 1]), key=lambda x: abs(x - paper))
        claims.append(
            Claim(
                "table 8", f"disclosure of MovieLens's user {user}", paper, near,
                "reproduced" if abs(near - paper) < 0.005 else "not reproduced",
                why=f"The nearer of both ways to count users. On all of MovieLens 100K nobody is below "
                f"{mine.min():.1f} in natural logarithms: the paper's MLV is some part of it.",
            )
        )  # fmt: skip
    size = np.bincount(films.data.user, minlength=films.users)
    claims.append(
        Claim(
            "6.2", "disclosure is a measure of a profile's uniqueness", None,
            float(np.corrcoef(size, mine)[0, 1]), "compatible",
            why="Its correlation with the number of clicks. Whatever holds for disclosure must be compared with that "
            "number alone.",
        )
    )  # fmt: skip
    return claims


# --- commonality and precision ----------------------------------------------------------------------------------------


def _figure_2(of: Clicks) -> list[Claim]:
    claims = []
    for where, name, paper, how in (
        ("figure 2a", "SVD by reconstruction", 0.6557, reconstruction),
        ("figure 2b", "SVD by neighbourhood", 0.6838, svd_neighbours),
        ("figure 2c", "nearest neighbours", None, knn),
    ):
        runs = [precision(of, how, s) for s in (SEEDS if how is not svd_neighbours else SEEDS[:1])]
        ours = [r.on_train for r in runs]
        whole, mean = np.mean([r.on_all for r in runs]), 100 * np.mean([r.mean for r in runs])
        positive = min(ours) > 0
        verdict: Verdict = "reproduced" if positive and paper is None else "not reproduced"
        if paper is not None and min(ours) <= paper <= max(ours):
            verdict = "compatible"
        claims.append(
            Claim(
                where, f"commonality grows with precision, MovieLens, {name}", "grows" if paper is None else paper,
                float(np.mean(ours)), verdict, min(ours), max(ours),
                f"Positive, as the paper says, but its value depends on rank, relevance and split. Commonality on the "
                f"training part; on all clicks, which know the test part, {whole:.3f}. Precision {mean:.2f} %.",
            )
        )  # fmt: skip
    return claims


def _figure_3(of: Clicks) -> list[Claim]:
    every, liked = (precision(of, reconstruction, 0, liked=only) for only in (False, True))
    clicked = precision(of, reconstruction, 0, signed=False)
    return [
        Claim(
            "figure 3a", "commonality grows with precision, Jester, SVD by reconstruction", "grows", every.on_train,
            "compatible" if every.on_train > 0 else "not reproduced",
            why=f"If only liked test clicks are relevant {liked.on_train:.3f}; with commonality on all clicks "
            f"{every.on_all:.3f} and {liked.on_all:.3f}. Recommended from who clicked, without signs, "
            f"{clicked.on_all:.3f}: the claim depends on the variant.",
        ),
        *[_neighbourhood(of, where, name, how) for where, name, how in (
            ("figure 3b", "SVD by neighbourhood", svd_neighbours), ("figure 3c", "nearest neighbours", knn),
        )],
    ]  # fmt: skip


def _neighbourhood(of: Clicks, where: str, name: str, how: Recommender) -> Claim:
    found, liked = (precision(of, how, 0, liked=only) for only in (False, True))
    return Claim(
        where, f"commonality grows with precision, Jester, {name}", "grows", found.on_train,
        "compatible" if found.on_train > 0 else "not reproduced",
        why=f"If only liked test clicks are relevant {liked.on_train:.3f}; with commonality on all clicks "
        f"{found.on_all:.3f} and {liked.on_all:.3f}. Precision {100 * found.mean:.2f} and {100 * liked.mean:.2f} %.",
    )  # fmt: skip


# --- other notions of privacy -----------------------------------------------------------------------------------------


def _figure_5(data: Interactions, like: float, name: str, levels: tuple[int, ...]) -> list[Claim]:
    start = float(disclosure(clicks(data, like), "10").mean())
    claims = []
    for keep, words in (("majority", "rounded centroids"), ("union", "all that anyone of the group rated")):
        runs = [protected(data, Microaggregation(k, keep, like), like) for k in levels]
        told = [start, *(t for t, _ in runs)]
        falls = all(a > b for a, b in pairwise(told))
        shown = ", ".join(f"{t:.1f} ({left:,} clicks)" for t, left in runs)
        claims.append(
            Claim(
                f"figure 5, {name}", f"disclosure falls as k grows: {words}", "falls", "falls" if falls else "does not",
                "compatible" if falls else "not reproduced",
                why=f"Mean disclosure (base 10) at k = 1: {start:.1f}; at k = {', '.join(map(str, levels))}: {shown}. "
                "It depends on what a group's profile is, which the paper does not say"
                + ("; it falls because clicks disappear." if falls and runs[-1][1] < len(data) else "."),
            )
        )  # fmt: skip
    return claims


def _survey() -> list[Claim]:
    why = "A survey among the paper's own users; Table 9's dangerous row adds up to 78.8 %, not 100."
    return [Claim("table 9", "preferred default actions", "survey", None, "not available", why=why)]
