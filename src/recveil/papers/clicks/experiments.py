"""The experiments of the clicks paper: precision of recommenders, the KNN attack, and disclosure of protected data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.clicks.profiles import Clicks, clicks, commonality, disclosure
from recveil.data import Floats, Interactions
from recveil.evaluation.attacks.knowledge import Choice, learn
from recveil.evaluation.attacks.sybil import Similarity, accuracy, attack, most_liked
from recveil.kernels.ranking import top_n
from recveil.mechanism import Masking
from recveil.randomness import seeded
from recveil.views.records import records

Recommender = Callable[[Floats], Floats]  # train, people x items -> scores
RANK, NEIGHBOURS = 14, 30
BLOCK = 1024  # people whose neighbours are looked for at once


# --- precision ------------------------------------------------------------------------------------------------------


def reconstruction(train: Floats) -> Floats:
    """Singular value decomposition, the matrix put together again from its first factors."""
    taste = _factors(train)
    return (train @ taste) @ taste.T


def svd_neighbours(train: Floats) -> Floats:
    """Neighbours in the space of the first factors speak for what they clicked."""
    return _neighbours(train @ _factors(train), train)


def knn(train: Floats) -> Floats:
    """Neighbours by cosine between profiles speak for what they clicked."""
    return _neighbours(train, train)


@dataclass(frozen=True)
class Precision:
    """Mean precision over people, and its correlation with commonality on the training data and on all."""

    mean: float
    on_train: float
    on_all: float


def precision(
    of: Clicks, how: Recommender, seed: int, signed: bool = True, liked: bool = False, told: Clicks | None = None
) -> Precision:
    """Each click goes to the test part with probability 0.2; as many recommendations as a fifth of all her clicks.

    Relevant: every click of the test part, or only `liked` ones. `told`: the clicks whose commonality is correlated.
    """
    test = np.random.default_rng(seed).random(len(of)) < 0.2
    train = of.take(~test)
    shape = (of.users, of.data.n_items)
    seen, wanted = np.zeros(shape), np.zeros(shape, dtype=bool)
    seen[train.data.user, train.data.item] = train.sign if signed else 1.0
    hidden = test & (of.sign > 0) if liked else test
    wanted[of.data.user[hidden], of.data.item[hidden]] = True
    scores = how(seen)
    scores[seen != 0] = -np.inf
    top = np.maximum(np.round(0.2 * np.bincount(of.data.user, minlength=of.users)), 1).astype(int)
    order = np.argsort(-scores, axis=1, kind="stable")[:, : top.max()]
    hits = np.take_along_axis(wanted, order, axis=1) & (np.arange(order.shape[1]) < top[:, None])
    found = hits.sum(axis=1) / top
    everything = of if told is None else told
    return Precision(
        float(found.mean()),
        float(np.corrcoef(commonality(train), found)[0, 1]),
        float(np.corrcoef(commonality(everything), found)[0, 1]),
    )


def _factors(matrix: Floats) -> Floats:
    _, vectors = np.linalg.eigh(matrix.T @ matrix)
    return np.asarray(vectors[:, -RANK:])


def _neighbours(points: Floats, said: Floats) -> Floats:
    """What the nearest by cosine said, weighted by it; of equally near ones the first. In blocks of people."""
    length = np.linalg.norm(points, axis=1, keepdims=True)
    unit = points / np.where(length > 0, length, 1.0)
    near, alike = [], []
    for begin in range(0, len(unit), BLOCK):
        cosine = unit[begin : begin + BLOCK] @ unit.T
        np.fill_diagonal(cosine[:, begin:], -np.inf)
        near.append(top_n(cosine, np.zeros(len(cosine) + 1, np.int64), np.empty(0, np.int32), NEIGHBOURS))
        alike.append(np.take_along_axis(cosine, near[-1], axis=1))
    starts = NEIGHBOURS * np.arange(len(unit) + 1)
    weight = sparse.csr_array((np.concatenate(alike).ravel(), np.concatenate(near).ravel(), starts))
    return np.asarray(weight @ said)


# --- the KNN attack -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Attacked:
    """Who was attacked; of what was recommended to the fakes, which share is hers; which share of hers came out."""

    people: NDArray[np.int64]
    accuracy: Floats
    extracted: Floats
    control: Floats  # accuracy of guessing the most liked items instead


def knn_attack(
    of: Clicks,
    similarity: Similarity,
    *,
    known: int = 3,
    items: Choice = "random",
    rounds: int = 5,
    top: int = 7,
    targets: int | None = None,
    seed: int = 0,
    facts: dict[int, list[int]] | None = None,
) -> Attacked:
    """Fakes that hold `known` items of a target with her signs, for everyone, for some, or with the given facts."""
    data = replace(of.data, rating=of.sign.astype(np.float64))
    record = records(data)
    rng = np.random.default_rng(seed)
    if facts is not None:
        people = np.array(list(facts))
        hold = {
            (u, i): s
            for u, i, s in zip(of.data.user.tolist(), of.data.item.tolist(), of.sign.tolist(), strict=True)
            if u in facts
        }
        width = max(map(len, facts.values()))
        told = np.full((len(people), width), -1, dtype=np.int32)
        signs = np.full((len(people), width), np.nan)
        for k, (user, about) in enumerate(facts.items()):
            mine = [i for i in about if (user, i) in hold]
            told[k, : len(mine)] = mine
            signs[k, : len(mine)] = [hold[user, i] for i in mine]
    else:
        people = np.flatnonzero(record.lengths > known)
        if targets is not None:
            people = np.sort(rng.permutation(people)[:targets])
        told, signs = learn(data, record, people, known, items, rng)
    guess = most_liked(record)
    found = attack(record, guess, (told, signs), similarity, rounds, top)
    right = accuracy(record, people, found)
    held = (told >= 0).sum(axis=1)
    share = right * (found >= 0).sum(axis=1) / np.maximum(record.lengths[people] - held, 1)
    popular = np.broadcast_to(guess[: rounds * top].astype(np.int32), (len(people), min(rounds * top, len(guess))))
    return Attacked(people, right, share, accuracy(record, people, popular))


def partial(x: Floats, y: Floats, given: Floats) -> float:
    """Rank correlation of x and y, given a third."""
    from scipy.stats import spearmanr

    xy, xg, yg = (float(spearmanr(a, b).statistic) for a, b in ((x, y), (x, given), (y, given)))
    return (xy - xg * yg) / float(np.sqrt((1 - xg**2) * (1 - yg**2)))


# --- protected data -------------------------------------------------------------------------------------------------


def protected(data: Interactions, by: Masking, like: float, seed: int = 0) -> tuple[float, int]:
    """Mean disclosure (base 10) of all people after protection, also those left without a click; clicks left."""
    rows = data.ordered()
    plan = by.plan(by.count(rows), seeded(seed).derive("plan"))
    made = by.mask(rows, plan, seeded(seed).derive("mask")).rows
    return float(disclosure(clicks(made, like), "10").mean()), len(made)
