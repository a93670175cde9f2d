"""Shuffle-NNN (Slokom, Larson, Hanjalic 2019): every published number beside ours, on MovieLens 100K and goodbooks-10k.

The paper leaves open the similarity, the direction of the shuffle, the split and all hyper-parameters. Ours: cosine of
ratings less the item's mean, shuffle within items, 80/20 splits of the rows, and the hyper-parameters of the referees,
which were tuned on neither side. The whole takes about 45 minutes of one core.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.evaluation.attacks.linkage import linkage
from recveil.evaluation.attacks.reconstruction import reconstruction
from recveil.evaluation.metrics.hiding import Hiding, charts, per_user
from recveil.evaluation.recommenders.bprfm import features
from recveil.formats import read
from recveil.measurement import Trial, trial
from recveil.mechanisms.shuffle_nnn import ShuffleNNN, critical
from recveil.papers.claim import Claim, Verdict
from recveil.papers.parts import Kept, Part, Progress, Step, gather, quiet
from recveil.papers.shuffle_nnn.tables import (
    GOODBOOKS,
    MOVIELENS,
    SPLITS,
    Printed,
    beside_paper,
    by_the_paper,
    genres,
    interval,
    masked,
    random_claims,
    recalls,
    rmses,
    table_2,
    table_3,
)
from recveil.releases.release import release


@dataclass(frozen=True)
class RatingSet:
    """A data set of the paper: mean and deviation of the data and of random ratings as printed, and hiding."""

    folder: str
    where: str
    published: Printed
    mean: tuple[float, float]
    deviation: tuple[float, float]
    hidden: float
    reading: str
    genres: str
    served: int | None = None  # people for whom lists are made; all where None


THETAS = (0.2, 0.27, 0.3, 0.4, 1.0)  # at which shuffled ratings are attacked
SETS = (
    RatingSet(
        "ml-100k", "MovieLens", MOVIELENS, (3.529, 2.997), (1.1256, 1.415), 0.7,
        "Mean of 5 splits, each with a shuffle of its own; hyper-parameters and split are not published.",
        "items.parquet",
    ),
    RatingSet(
        "goodbooks-10k", "GoodBook", GOODBOOKS, (3.8565, 3.858), (0.9839, 0.9837), 0.68,
        "Mean of 5 splits, each with a shuffle of its own; hyper-parameters and split are not published, and ours were "
        "tuned on MovieLens.",
        "genres.parquet", 2000,
    ),
)  # fmt: skip


def reproduce(
    folder: Path,
    told: Progress = quiet,
    figures: Path | None = None,
    before: Kept = Kept(),  # noqa: B008
) -> list[Claim]:
    """All claims. `told` hears of steps done, and of how many. Figures 1 and 2 are drawn where a folder is given."""
    parts = [part for chosen in SETS for part in _parts(folder, chosen, figures)]
    return [*gather(parts, told, before), *by_the_paper()]


def _parts(folder: Path, chosen: RatingSet, figures: Path | None) -> list[Part]:
    """The work on one data set, in pieces that can be taken up where a run was stopped."""
    movielens = chosen.published is MOVIELENS
    found = [
        Part(f"{chosen.where}, Table 1 and hiding", partial(_hiding, folder, chosen, figures)),
        Part(f"{chosen.where}, Table 3", partial(_rating, folder, chosen), (3 if movielens else 2) * SPLITS),
        Part(f"{chosen.where}, Table 2", partial(_ranking, folder, chosen), 2 * SPLITS),
    ]
    attacked = partial(_attacked, folder, chosen)
    return [*found, Part(f"{chosen.where}, attacks", attacked, len(THETAS))] if movielens else found


def _hiding(folder: Path, chosen: RatingSet, figures: Path | None, step: Step) -> list[Claim]:
    data = ratings(folder, chosen.folder)
    hidden = hidings(data, chosen.published.theta)
    if figures is not None:
        draw(chosen, hidden[0], figures)
    step()
    whole = read(folder / chosen.folder / "ratings.parquet", duplicates="all")
    return [*table_1(chosen, whole), *hiding_claims(chosen, data, hidden)]


def _rating(folder: Path, chosen: RatingSet, step: Step) -> list[Claim]:
    data, names = ratings(folder, chosen.folder), list(chosen.published.rmse)
    real, other = (rmses(rows, names, step) for rows in ([data] * SPLITS, _masked(data, chosen)))
    claims = table_3(chosen.where, chosen.published, real, other, chosen.reading)
    if chosen.published is MOVIELENS:
        random = masked(data, "random-ratings", range(SPLITS))
        same = all((r.matrix(binary=True) != data.matrix(binary=True)).nnz == 0 for r in random)
        claims += random_claims(real[:, 1:], other[:, 1:], rmses(random, names[1:], step), same)
    return claims


def _ranking(folder: Path, chosen: RatingSet, step: Step) -> list[Claim]:
    data = ratings(folder, chosen.folder)
    known = features(*genres(pl.read_parquet(folder / chosen.folder / chosen.genres)))
    before, after = (recalls(rows, known, step, chosen.served) for rows in ([data] * SPLITS, _masked(data, chosen)))
    return table_2(chosen.where, chosen.published, before, after, f"{chosen.reading} {_lists(chosen)}")


def _attacked(folder: Path, chosen: RatingSet, step: Step) -> list[Claim]:
    return attack_claims(ratings(folder, chosen.folder), step)


def _masked(data: Interactions, chosen: RatingSet) -> list[Interactions]:
    return masked(data, f"shuffle-nnn:theta={chosen.published.theta}", range(SPLITS))


def _lists(chosen: RatingSet) -> str:
    words = "Only ratings of 4 and 5 count as liked, in training and in testing; bpr-fm knows the genres of items."
    if chosen.served:
        words += f" All people are learned from; to bound the time, lists are made for {chosen.served:,} random ones."
    return words


def ratings(folder: Path, name: str) -> Interactions:
    path = folder / name / "ratings.parquet"
    if not path.is_file():
        raise RecveilError(f"{name}/ratings.parquet is not in the folder of data sets")
    return read(path, duplicates="last")


def draw(chosen: RatingSet, hidden: Hiding, folder: Path) -> None:
    """Figures 1 and 2 as .svg."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, chart in enumerate(charts(hidden, f"{chosen.where}, theta = {chosen.published.theta}"), 1):
        chart.save(str(folder / f"shuffle_nnn_{chosen.folder}_figure_{number}.svg"))


# --- Table 1 and hiding -------------------------------------------------------------------------------------------


def table_1(chosen: RatingSet, data: Interactions) -> list[Claim]:
    assert data.rating is not None
    where, values = f"Table 1, {chosen.where}", data.rating
    rng = np.random.default_rng(0)
    drawn = {"empirical": rng.choice(values, len(values)), "uniform": rng.choice(np.unique(values), len(values))}
    claims = [
        _exact(where, "average rating, original and masked", chosen.mean[0], float(values.mean())),
        _exact(
            where, "variance, original", chosen.deviation[0], float(values.var()),
            why=f"The printed number is the standard deviation: {values.std():.4f}.",
        ),
    ]  # fmt: skip
    for name, paper, of in (("average", chosen.mean[1], np.mean), ("variance", chosen.deviation[1], np.std)):
        ours = {law: float(of(draw)) for law, draw in drawn.items()}
        words = f"As the text has it, drawn from the ratings as they occur; drawn uniformly: {ours['uniform']:.4g}."
        if name == "variance":
            words += " Deviations, as above."
        claims.append(_exact(where, f"{name} of the random empirical data", paper, ours["empirical"], words, 0.004))
    return claims


def _exact(where: str, claim: str, paper: float, ours: float, why: str = "", tolerance: float | None = None) -> Claim:
    """Equal as far as it is printed: to one unit of the last digit, for the paper cuts where others round."""
    tolerance = tolerance or 10.0 ** -len(str(paper).partition(".")[2])
    verdict: Verdict = "reproduced" if abs(ours - paper) <= tolerance else "not reproduced"
    return Claim(where, claim, paper, round(ours, 4), verdict, why=why)


def hidings(data: Interactions, theta: float, seeds: int = SPLITS) -> list[Hiding]:
    """Person by person what is hidden, for each seed."""
    found = [per_user(_shuffled(data, theta, seed)) for seed in range(seeds)]
    return [f for f in found if f is not None]


def _shuffled(data: Interactions, theta: float, seed: int) -> Trial:
    made = release(data, ShuffleNNN(theta=theta), seed=seed)
    return trial(data, made.data, id_map=made.id_map)


def hiding_claims(chosen: RatingSet, data: Interactions, hidden: list[Hiding]) -> list[Claim]:
    shares, most = (
        np.array([np.average(h.hidden, weights=h.ratings) for h in many])
        for many in (hidden, hidings(data, 1.0, seeds=SPLITS))
    )
    kept = len(critical(data, ShuffleNNN(theta=chosen.published.theta)))
    fractions = {name: float(np.mean([f(h) for h in hidden])) for name, f in FRACTIONS.items()}
    mean, low, high = interval(np.array([np.corrcoef(h.before, h.after)[0, 1] for h in hidden]))
    where, rounding = f"Rating hiding, {chosen.where}", 0.5 * 10.0 ** -len(str(chosen.hidden).partition(".")[2])
    claims = [
        beside_paper(
            where, f"share of ratings that changed, theta = {chosen.published.theta}", chosen.hidden, shares,
            f"{kept:,} of {data.n_items:,} items are critical.", rounding,
        ),
        beside_paper(
            where, "the same if next to nothing is critical (theta = 1)", chosen.hidden, most,
            "Not what the paper says it did, but the printed shares of both data sets are those of a shuffle within "
            "all items, which is also the most that such a shuffle can reach. The printed RMSE are not: see Table 3.",
            rounding,
        ),
        Claim(
            f"Figure 1, {chosen.where}", "averages of users change but stay correlated", "correlated",
            round(mean, 4), "compatible" if low > 0 and high < 1 else "not reproduced", round(low, 4), round(high, 4),
            "Pearson's correlation of each person's mean before and after. The paper prints no number.",
        ),
        Claim(
            f"Figure 2, {chosen.where}", "protection varies per user but is relatively high", "a figure",
            f"{fractions['more than half']:.0%} of users have more than half hidden",
            "compatible" if fractions["more than half"] > 0.5 else "not reproduced",
            why=f"Nothing is hidden for {fractions['nothing']:.1%} of users.",
        ),
    ]  # fmt: skip
    if chosen.folder == "goodbooks-10k":
        sizes = float(np.mean([h.ratings[h.hidden == 0].mean() for h in hidden]))
        number = float(np.mean([(h.hidden == 0).sum() for h in hidden]))
        claims.append(
            Claim(
                f"Figure 2, {chosen.where}",
                "a large number of users has hiding zero, and rated under 30 books on average", "< 30", round(sizes, 2),
                "reproduced" if sizes < 30 and number > 500 else "not reproduced",
                why=f"{number:,.0f} users of {len(hidden[0].users):,}; ours is the mean number of books they rated.",
            )
        )  # fmt: skip
    return claims


FRACTIONS: dict[str, Callable[[Hiding], float]] = {
    "more than half": lambda h: float(np.mean(h.hidden > 0.5)),
    "nothing": lambda h: float(np.mean(h.hidden == 0)),
}


# --- what else the paper says ----------------------------------------------------------------------------------------


def attack_claims(data: Interactions, step: Callable[[], None]) -> list[Claim]:
    """What the paper leaves for later: are shuffled ratings harder to reconstruct the fewer items are critical?"""
    lines, hits = [], []
    for theta in THETAS:
        subject = _shuffled(data, theta, 0)
        trusted = critical(data, ShuffleNNN(theta=theta))
        rng = np.random.default_rng(0)
        found = reconstruction(subject, rng, targets=data.n_users)
        guess = {m.params["attacker"]: m for m in found if m.params.get("rows") == "masked"}
        link = linkage(subject, rng, known=[8], ratings=True, attackers=("intersection",), theta=None, trusted=trusted)[
            0
        ]
        share = float(data.items.is_in(trusted.implode()).to_numpy()[data.item].mean())
        hits.append(guess["factors"].value)
        lines.append(
            f"{share:.0%} of ratings critical (theta {theta}): factor model {guess['factors'].value:.3f}, user bias "
            f"{guess['bias'].value:.3f}, linkage with 8 known items {link.value:.3f}"
        )
        step()
    return [
        Claim(
            "Conclusions", "the more items are critical, the easier the shuffled ratings are to reconstruct", "easier",
            "easier" if hits[0] > hits[-1] + 0.01 else "not easier",
            "reproduced" if hits == sorted(hits, reverse=True) else "not reproduced", min(hits), max(hits),
            "Share of the changed ratings that an attacker guesses right, MovieLens, critical items known to nobody. "
            + "; ".join(lines) + ". The paper leaves this for future work.",
        )
    ]  # fmt: skip
