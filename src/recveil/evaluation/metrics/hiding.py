"""Hiding: which ratings changed between the data and the release, overall and person by person.

A rating is hidden if the person's released record does not hold its value for its item. That a value changed does not
say that it cannot be guessed: reconstruction measures that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.data import Codes, Floats, Interactions
from recveil.intervals import bootstrap, bootstrap_mean, share
from recveil.measurement import NO_OWNERS, Measurement, SkippedError, Trial

POINTS = 5000  # people in a scatter plot


@dataclass(frozen=True, eq=False)
class Hiding:
    """Of each person with ratings: how many, the share that changed, and the mean rating before and after."""

    users: Codes
    ratings: NDArray[np.int64]
    hidden: Floats
    before: Floats
    after: Floats  # NaN where the record has no rating left


def hiding(trial: Trial, rng: np.random.Generator) -> list[Measurement]:
    """The share of ratings that changed, over all and per person; people with nothing hidden; how their means agree."""
    if trial.owner is None:
        raise SkippedError(NO_OWNERS)
    found = per_user(trial)
    if found is None:
        raise SkippedError("there are no ratings, in the data or in the release")
    n = len(found.users)
    changed = found.hidden * found.ratings
    none = found.hidden == 0
    rows = [
        ("hiding", bootstrap(_ratio, [changed, found.ratings], rng), f"of {found.ratings.sum():,} ratings"),
        ("hiding per user", bootstrap_mean(found.hidden, rng), "the mean over people, each counted once"),
        ("users with nothing hidden", share(none), _lengths(found, none)),
    ]
    both = np.isfinite(found.after)
    means = found.before[both], found.after[both]
    if both.sum() > 1 and all(m.max() > m.min() for m in means):
        words = "Pearson's, of each person's mean rating before and after"
        rows.append(("user mean correlation", bootstrap(_pearson, means, rng), words))
    return [Measurement(name, *estimate, n=n, note=note) for name, estimate, note in rows]


def per_user(trial: Trial) -> Hiding | None:
    """What changed for each person; None where it cannot be said."""
    after = released_ratings(trial)
    if after is None or not len(after):
        return None
    before = trial.train.rating
    assert before is not None
    users, person = np.unique(trial.train.user, return_inverse=True)
    size = np.bincount(person)
    known = np.isfinite(after)
    left = np.bincount(person[known], minlength=len(users))
    total = np.bincount(person[known], after[known], len(users))
    return Hiding(
        users.astype(np.int32),
        size,
        np.bincount(person, before != after) / size,
        np.bincount(person, before) / size,
        np.divide(total, left, out=np.full(len(users), np.nan), where=left > 0),
    )


def released_ratings(trial: Trial) -> Floats | None:
    """For each rating of the data what the person's released record holds for its item; NaN where it holds none.

    Repeated ratings of a pair are compared lowest with lowest and so on, so no more of them count as changed than must.
    """
    train, released, owner = trial.train, trial.released, trial.owner
    if train.rating is None or released.rating is None or owner is None:
        return None
    theirs = np.flatnonzero(owner[released.user] >= 0)
    mine = _numbered(train.user, train.item, train.rating, train)
    their = _numbered(owner[released.user[theirs]], released.item[theirs], released.rating[theirs], train)
    _, here, there = np.intersect1d(mine, their, assume_unique=True, return_indices=True)
    after = np.full(len(train), np.nan)
    after[here] = released.rating[theirs[there]]
    return after


def charts(found: Hiding, title: str) -> tuple[Any, Any]:
    """The paper's two figures (altair): mean ratings before and after, and how many people have which share hidden."""
    import altair as alt

    some = np.flatnonzero(np.isfinite(found.after))
    some = some[:: -(-len(some) // POINTS) or 1]
    means = [{"before": b, "after": a} for b, a in zip(found.before[some], found.after[some], strict=True)]
    counts, edges = np.histogram(found.hidden, bins=20, range=(0, 1))
    bars = [{"low": a, "high": b, "users": n} for a, b, n in zip(edges[:-1], edges[1:], counts.tolist(), strict=True)]
    scale = alt.Scale(zero=False)
    scatter = (
        alt.Chart(alt.Data(values=means), title=f"{title}: mean rating of {len(some):,} people")
        .mark_point(size=8, opacity=0.5)
        .encode(x=alt.X("before:Q", title="original", scale=scale), y=alt.Y("after:Q", title="masked", scale=scale))
    )
    levels = (
        alt.Chart(alt.Data(values=bars), title=f"{title}: people by the share of their ratings that changed")
        .mark_bar()
        .encode(x=alt.X("low:Q", bin="binned", title="share hidden"), x2="high:Q", y=alt.Y("users:Q", title="people"))
    )
    return scatter, levels


def _numbered(user: Codes, item: Codes, rating: Floats, train: Interactions) -> NDArray[np.int64]:
    """A number for each row: its pair, and which of the pair's ratings it is, from the lowest."""
    pair = user.astype(np.int64) * train.n_items + item
    order = np.lexsort((rating, pair))
    first = np.searchsorted(pair[order], pair[order])
    numbers = np.empty(len(pair), dtype=np.int64)
    numbers[order] = np.arange(len(pair)) - first
    return pair + numbers * (np.int64(train.n_users) * train.n_items)


def _ratio(part: Floats, whole: Floats) -> float:
    return float(part.sum() / whole.sum())


def _pearson(a: Floats, b: Floats) -> float:
    a, b = a - a.mean(), b - b.mean()
    spread = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / spread if spread > 0 else np.nan


def _lengths(found: Hiding, none: NDArray[np.bool_]) -> str:
    if not none.any():
        return "nobody"
    return f"{none.sum():,} people, who rated {found.ratings[none].mean():.1f} items on average"
