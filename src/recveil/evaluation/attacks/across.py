"""across: what two releases of the same people tell together.

Records of one release are matched with those of the other: by likelihood ratio where both are known to flip bits with a
stated probability, else by the cosine of rare items. Who knows a few items of a person looks for her in both at once.
And where records stand for groups, being in one group here and in another there can leave a person alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp

from recveil.data import Floats
from recveil.evaluation.attacks.knowledge import learn
from recveil.evaluation.attacks.scorings import Scoring, likelihood
from recveil.evaluation.attacks.truth import Truth, set_names, truth
from recveil.evaluation.attacks.verdict import measured
from recveil.intervals import share
from recveil.measurement import Measurement, SkippedError, Trial
from recveil.views.records import Records, records

TARGETS = 2000  # records matched
ASKED = 300  # people of whom a few items are known
CANDIDATES = 100  # records of the first release that are looked at with the second
KNOWN = 10
SHARP = 20.0  # of the softmax over cosines
_BLOCK = 256


def across(trial: Trial, rng: np.random.Generator) -> list[Measurement]:
    """Records matched between two releases; people found by known items with both; people alone in their groups.

    control: what the attacker names of one person, taken for another's.
    """
    if trial.also is None:
        raise SkippedError("across needs another release of the same people: give its bundle with --also")
    train, first, second = records(trial.train), records(trial.released), records(trial.also.released)
    here, there = truth(train, first, trial.owner), truth(train, second, trial.also.owner)
    if "closest" in (here.how, there.how):
        raise SkippedError("nobody owns a record in one of the two releases, or nobody knows whose it is: give its map")
    people = np.intersect1d(here.people, there.people)
    if len(people) < 2:
        raise SkippedError("the two releases have hardly anybody in common")
    compare = _Matching(first, second, trial.also.kept)
    found = [_matched(compare, here, there, people, rng)]
    lengths = train.lengths[people]
    k = min(KNOWN, max(1, int(np.median(lengths)) // 3))
    able = rng.permutation(people[lengths >= k])[:ASKED]
    if len(able):
        known, _ = learn(trial.train, train, able, k, "random", rng)
        found.append(_found_with_both(compare, here, able, known))
    alone = _alone(first, second, here, there, people)
    return found if alone is None else [*found, alone]


class _Matching:
    """How well records of two releases fit each other: rows of a table, made as they are needed."""

    def __init__(self, first: Records, second: Records, kept: tuple[float, float] | None) -> None:
        self.first, self.second, self.kept = first, second, kept
        self.how = "likelihood ratio" if kept else "cosine of rare items"
        if kept:
            weight, own, other = _likelihood_ratio(first, second, kept)
            self.left, self.right = _bits(first), _bits(second)
            self.base = (self.left @ own, self.right @ other)
            self.left = (self.left @ sparse.diags_array(weight)).tocsr()
        else:
            rare = np.log(max(len(first), 2) / np.maximum(first.popularity() + second.popularity(), 1)) + 1.0
            self.left, self.right = (
                _unit(_bits(of) @ sparse.diags_array(np.maximum(rare, 0.1))) for of in (first, second)
            )
            self.base = (np.zeros(len(first)), np.zeros(len(second)))

    def rows(self, wanted: NDArray[np.int64]) -> Floats:
        """scores[record of the first release, record of the second]."""
        table = (self.left[wanted] @ self.right.T).toarray()
        return np.asarray(table + self.base[0][wanted][:, None] + self.base[1][None, :])

    def log_chance(self, wanted: NDArray[np.int64]) -> Floats:
        """The logarithm of how likely each record of the second release is the same person's."""
        scores = self.rows(wanted) * (1.0 if self.kept else SHARP)
        return np.asarray(scores - logsumexp(scores, axis=1, keepdims=True))


def _likelihood_ratio(first: Records, second: Records, kept: tuple[float, float]) -> tuple[Floats, Floats, Floats]:
    """Of each item, what it adds where both records have it, where the first has it, and where the second does."""
    shares = [of.popularity() / max(len(of.people), 1) for of in (first, second)]
    true = [(s - (1 - p)) / (2 * p - 1) for s, p in zip(shares, kept, strict=True)]
    pi = np.clip(np.mean(true, axis=0), 1e-4, 0.99)
    (p, r), (q, s) = kept, (1 - kept[0], 1 - kept[1])
    one, two = pi * p + (1 - pi) * q, pi * r + (1 - pi) * s
    both = np.log((pi * p * r + (1 - pi) * q * s) / (one * two))
    only_first = np.log((pi * p * s + (1 - pi) * q * r) / (one * (1 - two)))
    only_second = np.log((pi * q * r + (1 - pi) * p * s) / ((1 - one) * two))
    neither = np.log((pi * q * s + (1 - pi) * p * r) / ((1 - one) * (1 - two)))
    return both - only_first - only_second + neither, only_first - neither, only_second - neither


def _matched(
    compare: _Matching, here: Truth, there: Truth, people: NDArray[np.int64], rng: np.random.Generator
) -> Measurement:
    chosen = rng.permutation(people)[:TARGETS]
    mine = np.array([here.of(chosen[n : n + 1])[1][0] for n in range(len(chosen))])
    starts, hers = there.of(chosen)
    turned = np.roll(np.arange(len(chosen)), 1)
    right, wrong = np.zeros(len(chosen)), np.zeros(len(chosen))
    for begin in range(0, len(chosen), _BLOCK):
        scores = compare.rows(mine[begin : begin + _BLOCK])
        best = scores >= scores.max(axis=1, keepdims=True) - 1e-9
        for row, n in enumerate(range(begin, min(begin + _BLOCK, len(chosen)))):
            ties = best[row].sum()
            right[n] = best[row, hers[starts[n] : starts[n + 1]]].any() / ties
            m = turned[n]
            wrong[n] = best[row, hers[starts[m] : starts[m + 1]]].any() / ties
    return measured(
        "across-matched",
        share(right),
        len(chosen),
        chance=1 / len(compare.second.people),
        control=float(wrong.mean()),
        params={"by": compare.how},
        note="records of the second release named for those of the first",
    )


def _found_with_both(
    compare: _Matching, here: Truth, people: NDArray[np.int64], known: NDArray[np.int32]
) -> Measurement:
    kept = compare.kept or (None, None)
    laws = [(likelihood(of, p), _bits(of).tocsc()) for of, p in zip((compare.first, compare.second), kept, strict=True)]
    starts, hers = here.of(people)
    alone, both, wrong = (np.zeros(len(people)) for _ in range(3))
    other = np.roll(np.arange(len(people)), 1)
    for n in range(len(people)):
        one, two = (_fit(law, bits, known[n][known[n] >= 0]) for law, bits in laws)
        near = np.argsort(-one, kind="stable")[:CANDIDATES]
        together = one[near] + logsumexp(compare.log_chance(near) + two[None, :], axis=1)
        mine = hers[starts[n] : starts[n + 1]]
        alone[n] = _hit(one, np.arange(len(one)), mine)
        both[n] = _hit(together, near, mine)
        wrong[n] = _hit(together, near, hers[starts[other[n]] : starts[other[n] + 1]])
    words = f"with the first release alone: {alone.mean():.1%}"
    return measured(
        "across-linkage",
        share(both),
        len(people),
        chance=1 / len(compare.first.people),
        control=float(wrong.mean()),
        control_n=len(people),
        params={"known": known.shape[1], "by": compare.how},
        note=words,
    )


def _fit(law: Scoring, bits: Any, known: NDArray[np.int32]) -> Floats:
    """The log likelihood ratio of every record, given the known items."""
    held = bits[:, known].toarray()
    gains = law.gains[known][:, law.kind].T
    return np.asarray((held * gains).sum(axis=1) + law.misses[known].sum(axis=0)[law.kind])


def _hit(scores: Floats, of: NDArray[np.int64], hers: NDArray[np.int64]) -> float:
    best = of[scores >= scores.max() - 1e-9]
    return float(np.isin(hers, best).any() / len(best))


def _alone(first: Records, second: Records, here: Truth, there: Truth, people: NDArray[np.int64]) -> Measurement | None:
    """Where records are shared by groups: people who are the only ones of their group here and their group there."""
    name = np.random.default_rng(0).integers(0, 2**63, size=first.n_items, dtype=np.uint64)
    groups = []
    for of, whose in ((first, here), (second, there)):
        owned = np.array([whose.of(people[n : n + 1])[1][0] for n in range(len(people))])
        groups.append(np.unique(set_names(of, name)[owned], return_inverse=True)[1])
    one, two = groups
    sizes = [np.bincount(g)[g] for g in (one, two, one * (int(two.max()) + 1) + two)] if len(people) else []
    single = [float(np.mean(s == 1)) for s in sizes[:2]]
    if max(single) > 0.5:
        return None
    sets = np.mean(1 / sizes[0]), np.mean(1 / sizes[2])
    note = f"mean of 1 / people who could be meant: {sets[0]:.3f} from one release, {sets[1]:.3f} from both"
    return measured(
        "across-alone",
        share((sizes[2] == 1).astype(np.float64)),
        len(people),
        chance=max(single),
        control=max(single),
        params={},
        note=f"{note}; control and chance: one release alone",
    )


def _bits(of: Records) -> sparse.csr_array:
    return sparse.csr_array((np.ones(len(of.items)), of.items, of.starts), shape=(len(of), of.n_items))


def _unit(rows: Any) -> sparse.csr_array:
    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return (sparse.diags_array(1.0 / np.maximum(length, 1e-12)) @ rows).tocsr()
