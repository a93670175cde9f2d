"""reconstruction: how many of the true values behind a masked record does an attacker recover?

Ratings: `released` believes what it sees; `bias` tilts each item's released ratings by how far the person's own ones
lie from those of their items; `factors` tilts them by a low-rank model of these residuals. Clicks: `released` guesses
the items of the record, then popular ones; `bayes` takes every bit as flipped with one probability, which it reads off
the rarest items, and guesses by the posterior; `factors` guesses by a low-rank model of the released bits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import svds

from recveil.evaluation.attacks.truth import Truth, truth
from recveil.evaluation.attacks.verdict import measured
from recveil.intervals import bootstrap_mean
from recveil.measurement import Measurement, SkippedError, Trial
from recveil.views.records import Records, records

Guess = Callable[[int], NDArray[np.float64]]  # of a released record: a score for every item
_VALUES = 20  # finer scales are cut into so many steps
_PRIOR = 5.0  # ratings that a person's bias must outweigh


def reconstruction(
    trial: Trial,
    rng: np.random.Generator,
    *,
    targets: int = 1000,
    rank: int = 10,
    keep: float | None = None,
) -> list[Measurement]:
    """The share of ratings (where there are any) and of clicks that each attacker recovers.

    keep: the probability with which a bit was left alone, if the attacker knows it. control: the same for people who
    are not in the data, of whom the attacker sees no record. chance: guesses made with the same frequencies, or as many
    items, but blindly.
    """
    train, released = records(trial.train), records(trial.released)
    whose = truth(train, released, trial.owner)
    if whose.how == "closest":
        raise SkippedError("reconstruction needs to know which record is whose; give the id map of the release")
    people = rng.permutation(whose.people)[:targets]
    held = None if trial.holdout is None else records(trial.holdout)
    found = []
    if trial.train.rating is not None and trial.released.rating is not None:
        found += _ratings(train, released, held, whose, people, rank, rng)
    return found + _clicks(train, released, held, whose, people, rank, keep, rng)


# --- ratings ---------------------------------------------------------------------------------------------------------


def _ratings(
    train: Records,
    released: Records,
    held: Records | None,
    whose: Truth,
    people: NDArray[np.int64],
    rank: int,
    rng: np.random.Generator,
) -> list[Measurement]:
    values = _scale(np.concatenate([train.ratings, released.ratings]))
    mine, theirs = _common(train, released, whose, people)
    if not len(mine):
        return []
    person = np.repeat(np.arange(len(train)), train.lengths)[mine]
    true = _nearest_value(train.ratings[mine], values)
    seen = _nearest_value(released.ratings, values)
    table = np.zeros((released.n_items, len(values)))
    np.add.at(table, (released.items, seen), 1.0)
    item = released.items[theirs]
    bias, low_rank, variance = _tastes(released, values[seen], theirs, rank, rng)
    own = np.eye(len(values))[seen[theirs]]
    mode = table.argmax(axis=1)
    guesses = {
        "released": seen[theirs],
        "bias": _tilt(table[item] - own, values, bias / variance),
        "factors": _tilt(table[item] - own, values, (bias + low_rank) / variance),
    }
    control = None
    if held is not None:
        whom = np.repeat(np.arange(len(held)), held.lengths)
        control = float(_per_person(mode[held.items] == _nearest_value(held.ratings, values), whom).mean())
    changed = true != seen[theirs]
    found = []
    for which, rows in (("all", np.ones(len(true), dtype=bool)), ("masked", changed)):
        if which == "masked" and np.count_nonzero(changed) < 30:
            continue
        words = (
            f"each item's most common rating: {_mean(mode[item] == true, person, rows):.1%}; "
            f"the most common of all: {_mean(table.sum(axis=0).argmax() == true, person, rows):.1%}"
        )
        for attacker, guess in guesses.items():
            if which == "masked" and attacker == "released":
                continue
            hits = _per_person((guess == true)[rows], person[rows])
            found.append(
                measured(
                    "reconstruction",
                    bootstrap_mean(hits, rng),
                    len(hits),
                    chance=_blind(guess[rows], true[rows], person[rows], len(values)),
                    control=control,
                    control_n=None if held is None else len(held),
                    params={"values": "ratings", "rows": which, "attacker": attacker},
                    note=words,
                )
            )
    return found


def _tastes(
    released: Records, ratings: NDArray[np.float64], rows: NDArray[np.int64], rank: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """For the given rows: how far the person's other ratings lie above those of their items; the same by a low-rank
    model of what this leaves; the variance of ratings around their items' means. The row itself never counts."""
    record = np.repeat(np.arange(len(released)), released.lengths)
    count = released.popularity()
    mean = np.bincount(released.items, ratings, released.n_items) / np.maximum(count, 1)
    residual = ratings - mean[released.items]
    total = np.bincount(record, residual, len(released))
    bias = (total[record] - residual) / (released.lengths[record] - 1 + _PRIOR)
    rest = residual - bias
    matrix = sparse.csr_array((rest, released.items, released.starts), shape=(len(released), released.n_items))
    left, right = _factors(matrix, rank, rng)
    low_rank = np.einsum("ij,ij->i", left[record[rows]], right[released.items[rows]])
    itself = rest[rows] * (right[released.items[rows]] ** 2).sum(axis=1)
    return bias[rows], low_rank - itself, max(float(np.var(residual)), 1e-9)


def _common(
    train: Records, released: Records, whose: Truth, people: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of the data and of the release that are the same item of the same person (in her first record)."""
    first = whose.records[whose.starts[people]]
    ours, theirs = train.rows_of(people), released.rows_of(first)
    width = np.int64(train.n_items)
    a = np.repeat(np.arange(len(people)), train.lengths[people]) * width + train.items[ours]
    b = np.repeat(np.arange(len(people)), released.lengths[first]) * width + released.items[theirs]
    _, at, there = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    return ours[at], theirs[there]


def _scale(ratings: NDArray[np.float64]) -> NDArray[np.float64]:
    values = np.unique(ratings)
    return values if len(values) <= _VALUES else np.linspace(values[0], values[-1], _VALUES)


def _nearest_value(ratings: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    between = (values[1:] + values[:-1]) / 2
    return np.searchsorted(between, ratings)


def _tilt(table: NDArray[np.float64], values: NDArray[np.float64], by: NDArray[np.float64]) -> NDArray[np.int64]:
    """The most likely value when an item's ratings are moved up or down: an exponential tilt of their distribution."""
    score = np.log(table + 0.5) + by[:, None] * (values - values.mean())[None, :]
    return np.asarray(score.argmax(axis=1), dtype=np.int64)


def _per_person(hits: NDArray[np.bool_], person: NDArray[np.int64]) -> NDArray[np.float64]:
    _, place = np.unique(person, return_inverse=True)
    return np.bincount(place, hits) / np.bincount(place)


def _mean(hits: NDArray[np.bool_], person: NDArray[np.int64], rows: NDArray[np.bool_]) -> float:
    return float(_per_person(hits[rows], person[rows]).mean())


def _blind(guess: NDArray[np.int64], true: NDArray[np.int64], person: NDArray[np.int64], n: int) -> float:
    """How often guesses as frequent as these would be right if they knew nothing of the row they are for."""
    _, place, count = np.unique(person, return_inverse=True, return_counts=True)
    weight = 1.0 / (count[place] * len(count))
    return float(np.bincount(guess, weight, n) @ np.bincount(true, weight, n))


# --- clicks ----------------------------------------------------------------------------------------------------------


def _clicks(
    train: Records,
    released: Records,
    held: Records | None,
    whose: Truth,
    people: NDArray[np.int64],
    rank: int,
    keep: float | None,
    rng: np.random.Generator,
) -> list[Measurement]:
    rate = released.popularity() / max(len(released.people), 1)
    known = float(1 - np.quantile(rate, 0.05)) if keep is None else keep
    wanted = np.clip((rate - (1 - known)) / max(2 * known - 1, 1e-6), 0.5 / max(len(released), 1), 1 - 1e-9)
    clicked = known * wanted / (known * wanted + (1 - known) * (1 - wanted))
    silent = (1 - known) * wanted / ((1 - known) * wanted + known * (1 - wanted))
    bits = sparse.csr_array(
        (np.ones(len(released.items)), released.items, released.starts), shape=(len(released), released.n_items)
    )
    left, right = _factors(bits, rank, rng)

    def of(record: int) -> NDArray[np.int32]:
        return released.items[released.starts[record] : released.starts[record + 1]]

    def believed(record: int) -> NDArray[np.float64]:
        score = rate / 2
        score[of(record)] = 1.0
        return score

    def bayes(record: int) -> NDArray[np.float64]:
        score = silent.copy()
        score[of(record)] = clicked[of(record)]
        return score

    def factors(record: int) -> NDArray[np.float64]:
        return np.asarray(right @ left[record])

    control = None
    if held is not None:
        control = float(np.mean([_recovered(rate, held, p, rng) for p in rng.permutation(held.people)[: len(people)]]))
    first = whose.records[whose.starts[people]]
    attackers: dict[str, Guess] = {"released": believed, "bayes": bayes, "factors": factors}
    found = []
    for attacker, guess in attackers.items():
        hits = [_recovered(guess(r), train, p, rng) for p, r in zip(people, first, strict=True)]
        found.append(
            measured(
                "reconstruction",
                bootstrap_mean(hits, rng),
                len(hits),
                chance=float((train.lengths[people] / train.n_items).mean()),
                control=control,
                control_n=None if held is None else min(len(held.people), len(people)),
                params={"values": "clicks", "attacker": attacker},
                note=f"as many guesses as she has items; bits left alone with probability {known:.3f}"
                if attacker == "bayes"
                else "as many guesses as she has items",
            )
        )
    return found


def _recovered(score: NDArray[np.float64], of: Records, person: int, rng: np.random.Generator) -> float:
    """Of as many guesses as the person has items, the best by score, the share that is right; ties by lot."""
    items = of.items[of.starts[person] : of.starts[person + 1]]
    last = np.partition(score, len(score) - len(items))[len(score) - len(items)]  # of the best, the least
    above, ties = int(np.count_nonzero(score > last)), int(np.count_nonzero(score == last))
    right, level = int(np.count_nonzero(score[items] > last)), int(np.count_nonzero(score[items] == last))
    drawn = rng.hypergeometric(level, ties - level, len(items) - above) if level else 0
    return float(right + drawn) / len(items)


def _factors(
    matrix: sparse.csr_array, rank: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows and columns in `rank` dimensions, whose products approximate the matrix."""
    rank = min(rank, min(matrix.shape) - 1)
    if rank < 1 or not np.any(matrix.data):
        return np.zeros((matrix.shape[0], 1)), np.zeros((matrix.shape[1], 1))
    u, s, v = svds(matrix.astype(np.float64), k=rank, v0=rng.random(min(matrix.shape)))
    return u * s, v.T
