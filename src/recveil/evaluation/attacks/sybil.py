"""sybil: fake profiles copy a few items of a target; what a neighbourhood recommender then tells them is hers, too.

The recommender is trained on the release. The control is to guess the most popular items of the release, without any
attack: large profiles hold popular items anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from recveil import kernels
from recveil.data import Interactions
from recveil.errors import unknown
from recveil.evaluation.attacks.knowledge import Choice, learn
from recveil.evaluation.attacks.verdict import measured
from recveil.intervals import bootstrap_mean
from recveil.measurement import Measurement, SkippedError, Trial
from recveil.views.records import Records, postings, records

Similarity = Literal["cosine", "agreement"]


def sybil(
    trial: Trial,
    rng: np.random.Generator,
    *,
    similarities: Sequence[Similarity] = get_args(Similarity),
    known: int = 3,
    items: Choice = "random",
    rounds: int = 5,
    top: int = 7,
    like: float | None = None,
    targets: int = 1000,
) -> list[Measurement]:
    """The share of recommended items that the target touched. A rating of `like` or more is a like, less a dislike
    (default: the middle of the scale); without ratings everything is a like.

    control: the share among the most popular items of the release. chance: among all items.
    """
    train, released = _signed(records(trial.train), like), _signed(records(trial.released), like)
    guess = most_liked(released)
    found = []
    people = _targets(train, known, targets, rng)
    held = None if trial.holdout is None else _signed(records(trial.holdout), like)
    for similarity in similarities:
        if similarity not in get_args(Similarity):
            raise unknown("similarity", similarity, get_args(Similarity))
        facts = learn(trial.train, train, people, known, items, rng)
        told = attack(released, guess, facts, similarity, rounds, top)
        right = accuracy(train, people, told)
        popular = accuracy(train, people, _popular(guess, facts[0], rounds * top))
        rest = (train.lengths[people] - known) / max(train.n_items - known, 1)
        note = "control: guessing the most popular items of the release"
        if held is not None and trial.holdout is not None:
            note += f"; {_of_others(trial.holdout, held, released, guess, known, items, similarity, rounds, top, rng)}"
        found.append(
            measured(
                "sybil",
                bootstrap_mean(right, rng),
                len(people),
                chance=float(rest.mean()),
                control=float(popular.mean()),
                params={"similarity": similarity, "known": known, "items": items, "rounds": rounds, "top": top},
                note=note,
            )
        )
    return found


def _signed(of: Records, like: float | None) -> Records:
    """Ratings as +1 and -1."""
    if np.isnan(of.ratings).all():
        return replace(of, ratings=np.ones_like(of.ratings))
    bound = (of.ratings.min() + of.ratings.max()) / 2 if like is None else like
    return replace(of, ratings=np.where(of.ratings >= bound, 1.0, -1.0))


def most_liked(of: Records) -> NDArray[np.int64]:
    """All items, the most liked first; of equals the lowest id."""
    likes = np.bincount(of.items[of.ratings > 0], minlength=of.n_items)
    return np.lexsort((np.arange(of.n_items), -likes))


def _targets(of: Records, known: int, targets: int, rng: np.random.Generator) -> NDArray[np.int64]:
    able = np.flatnonzero(of.lengths > known)
    if not len(able):
        raise SkippedError(f"nobody has more than {known} items: the longest profile has {of.lengths.max(initial=0)}")
    return rng.permutation(able)[:targets]


def attack(
    released: Records,
    guess: NDArray[np.int64],
    facts: tuple[NDArray[np.int32], NDArray[np.float64]],
    similarity: Similarity,
    rounds: int,
    top: int,
) -> NDArray[np.int32]:
    """What the fakes who hold these facts are recommended, padded with -1; `guess` is the order of recommendation."""
    place = np.empty(released.n_items, dtype=np.int64)
    place[guess] = np.arange(released.n_items)
    record = np.repeat(np.arange(len(released)), released.lengths)
    order = np.lexsort((place[released.items], record))
    records = (released.starts, released.items[order], released.ratings[order])
    return kernels.sybil.recommended(records, postings(released), facts, similarity == "cosine", rounds, top)


def _popular(guess: NDArray[np.int64], known: NDArray[np.int32], n: int) -> NDArray[np.int32]:
    """The n most popular items that are not known already."""
    first = guess[: n + known.shape[1]]
    new = ~(known[:, :, None] == first[None, None, :]).any(axis=1)
    rank = np.cumsum(new, axis=1) - 1
    return np.where(new & (rank < n), first[None, :], -1).astype(np.int32)


def accuracy(of: Records, people: NDArray[np.int64], told: NDArray[np.int32]) -> NDArray[np.float64]:
    """Of the items told about each person, the share that she touched; 0 where nothing was told."""
    pairs = np.repeat(np.arange(len(of)), of.lengths) * np.int64(of.n_items) + of.items
    wanted = people[:, None] * np.int64(of.n_items) + told
    at = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
    right = (pairs[at] == wanted) & (told >= 0)
    return np.asarray(right.sum(axis=1) / np.maximum((told >= 0).sum(axis=1), 1))


def _of_others(
    data: Interactions,
    held: Records,
    released: Records,
    guess: NDArray[np.int64],
    known: int,
    items: Choice,
    similarity: Similarity,
    rounds: int,
    top: int,
    rng: np.random.Generator,
) -> str:
    """The same attack on people who are not in the data, in words."""
    if not (held.lengths > known).any():
        return "nobody who is not in the data has enough items"
    people = _targets(held, known, 1000, rng)
    facts = learn(data, held, people, known, items, rng)
    value = accuracy(held, people, attack(released, guess, facts, similarity, rounds, top)).mean()
    return f"on people who are not in the data the same attack is right in {value:.1%}"
