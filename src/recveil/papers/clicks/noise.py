"""Figure 4 of the clicks paper: disclosure after Laplace noise at level eps, in seven readings of what is noisy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from recveil.clicks.profiles import Clicks, Profiles, clicks, disclosure, profiles
from recveil.data import Codes, Floats, Interactions
from recveil.mechanisms.laplace_ratings import LaplaceRatings
from recveil.papers.claim import Claim
from recveil.papers.clicks.experiments import protected

LEVELS = (0.1, 0.5, 1.0, 4.0, 16.0)
LIKE = 3.0
Told = tuple[float, int]  # mean disclosure (base 10) of all people, and clicks left
Laplace = Callable[[float, int], Floats]  # of a scale, so many


def figure_4(films: Interactions) -> list[Claim]:
    """Whether disclosure falls as noise grows."""
    of = clicks(films, LIKE)
    readings: list[tuple[str, Callable[[float], Told]]] = [
        ("noisy ratings, dropped off the scale", lambda eps: protected(films, LaplaceRatings(eps, "drop"), LIKE)),
        ("noisy ratings, clamped to the scale", lambda eps: protected(films, LaplaceRatings(eps, "clamp"), LIKE)),
        ("noisy likes and dislikes, rounded", lambda eps: _signs(of, eps)),
        ("the same, where nobody clicked too", lambda eps: _all_cells(of, eps)),
        ("noisy counts of items", lambda eps: _counts(of, eps)),
        ("noisy means of items for every rating", lambda eps: _means(films, eps)),
        ("clicks dropped where noise exceeds 1", lambda eps: _dropped(of, eps)),
    ]
    start = _told(of)[0]
    return [_claim(words, [told(eps) for eps in LEVELS], start) for words, told in readings]


def _claim(words: str, runs: list[Told], start: float) -> Claim:
    told = [t for t, _ in runs]
    falls, rises = (all(a * s < b * s for a, b in pairwise(told)) for s in (1, -1))
    fewer = all(a < b for (_, a), (_, b) in pairwise(runs))
    course = "falls" if falls else "rises" if rises else "stays" if len(set(told)) == 1 else "neither falls nor rises"
    shown = ", ".join(f"{t:.1f} ({left:,} clicks)" for t, left in runs)
    return Claim(
        "figure 4", f"disclosure falls as noise grows: {words}", "falls", course,
        "compatible" if falls else "not reproduced",
        why=f"Mean disclosure (base 10) at eps = {', '.join(f'{e:g}' for e in LEVELS)}: {shown}; without noise "
        f"{start:.1f}." + (" It falls because clicks disappear." if falls and fewer else ""),
    )  # fmt: skip


def _laplace() -> Laplace:
    rng = np.random.default_rng(0)
    return lambda scale, n: rng.laplace(0.0, scale, n)


def _told(of: Clicks, against: Profiles | None = None) -> Told:
    return float(disclosure(of, "10", against).mean()), len(of)


def _rounded(of: Clicks, noisy: Floats, user: Codes, item: Codes) -> Clicks:
    """Values nearest to 1 or beyond as likes, to -1 as dislikes, to 0 as no click."""
    sign = np.clip(np.rint(noisy), -1, 1).astype(np.int8)
    kept: NDArray[np.bool_] = sign != 0
    return Clicks(Interactions(user[kept], item[kept], of.data.users, of.data.items), sign[kept])


def _signs(of: Clicks, eps: float) -> Told:
    return _told(_rounded(of, of.sign + _laplace()(2 / eps, len(of)), of.data.user, of.data.item))


def _all_cells(of: Clicks, eps: float) -> Told:
    shape = (of.users, of.data.n_items)
    cells = np.zeros(shape)
    cells[of.data.user, of.data.item] = of.sign
    user, item = (index.ravel().astype(np.int32) for index in np.indices(shape))
    return _told(_rounded(of, cells.ravel() + _laplace()(2 / eps, cells.size), user, item))


def _counts(of: Clicks, eps: float) -> Told:
    """True clicks against noisy profiles: counts of less than 1 are taken as 1."""
    item, noise = profiles(of), _laplace()
    likes, dislikes = (
        np.maximum(np.rint(true + noise(1 / eps, len(true))), 1).astype(np.int64)
        for true in (item.likes, item.dislikes)
    )
    return _told(of, Profiles(likes, dislikes, of.users))


def _means(films: Interactions, eps: float) -> Told:
    """An item's clicks are all likes or all dislikes, by its noisy mean. Which of both does not change disclosure."""
    assert films.rating is not None
    size = np.bincount(films.item, minlength=films.n_items)
    scale = (films.rating.max() - films.rating.min()) / eps
    noisy = np.bincount(films.item, films.rating, minlength=films.n_items) + _laplace()(scale, films.n_items)
    liked = (noisy >= LIKE * size)[films.item]
    return _told(Clicks(films, np.where(liked, 1, -1).astype(np.int8)))


def _dropped(of: Clicks, eps: float) -> Told:
    return _told(of.take(np.abs(_laplace()(1 / eps, len(of))) < 1))
