"""attributes: what a release tells of people that is not in it, such as gender or age.

Released records: a classifier learns from some people's own records (clean) or from their released ones (aware), and
names the attribute of the others from their released records. Known items: an attacker who knows a few items of a
person guesses from these alone, and then with the release. What he gains for people who are not in the release, too, is
what the data teach about anybody; only what members lose beyond that is attributable to their being in it. Where rows
were added, such as to hide the attribute, it is also asked whether they can be told from real ones (additions.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil import kernels
from recveil.data import Floats
from recveil.evaluation.attacks.additions import additions
from recveil.evaluation.attacks.knowledge import learn
from recveil.evaluation.attacks.membership import auc
from recveil.evaluation.attacks.roc import REPEATS, Ranked, ranked
from recveil.evaluation.attacks.scorings import normalised
from recveil.evaluation.attacks.truth import truth
from recveil.evaluation.attacks.verdict import measured
from recveil.measurement import FEWEST_LABELLED, Measurement, SkippedError, Trial
from recveil.views.records import Records, records

PENALTY = 0.3
KNOWN = 10
TARGETS = 3000
SHARP = 3.0  # of the softmax over records by how well they fit what is known
_DRAWS = 3  # of known items for each person that the base classifier learns from
_BLOCK = 256

Labels = NDArray[np.int8]  # 1: has it, 0: has it not, -1: unknown


def attributes(trial: Trial, rng: np.random.Generator, *, known: int | None = None) -> list[Measurement]:
    """For each attribute: AUC of naming it from released records, by an attacker who takes them for real ones (clean)
    or has learnt from released ones (aware), and what is attributable where items are known.

    known: how many items of a person; by default 10, or a third of what people have.
    """
    if not trial.attributes:
        raise SkippedError("attributes needs a table of what people are: give one with --attributes users.csv")
    train, released = records(trial.train), records(trial.released)
    whose = truth(train, released, trial.owner)
    found: list[Measurement] = []
    few = []
    for name, (members, others) in trial.attributes.items():
        able = train.people[members[train.people] >= 0]
        if min(np.count_nonzero(members[able] == side) for side in (0, 1)) < FEWEST_LABELLED:
            few.append(name)
            continue
        if whose.how != "closest":
            owned = np.intersect1d(able, whose.people)
            found += _from_records(train, released, whose.of(owned), owned, members[owned] == 1, name, rng)
        if trial.holdout is not None and others is not None:
            found += _from_items(trial, train, released, able, (name, members, others), known, rng)
    if not found:
        why = f"of {', '.join(few)} " if few else ""
        raise SkippedError(
            f"there is no attribute {why}that {FEWEST_LABELLED} people have and {FEWEST_LABELLED} others have not"
        )
    if whose.how == "map":
        found += additions(trial.train, train, released, whose, rng)
    return found


def profiles(of: Records) -> sparse.csr_array:
    """Binary records as rows of length 1."""
    value = np.repeat(1.0 / np.sqrt(np.maximum(of.lengths, 1)), of.lengths)
    return sparse.csr_array((value, of.items, of.starts), shape=(len(of), of.n_items))


def _from_records(
    train: Records,
    released: Records,
    owned: tuple[NDArray[np.int64], NDArray[np.int64]],
    people: NDArray[np.int64],
    label: NDArray[np.bool_],
    name: str,
    rng: np.random.Generator,
) -> list[Measurement]:
    """One half of the people judged by a classifier of the other.

    Not the other way round as well: the two would rest on the same chance likeness of the halves, and be counted twice.
    """
    starts, rows = owned
    judged = rng.permutation(len(people)) % 2 == 1
    real, out = profiles(train)[people], profiles(released)
    person = np.repeat(np.arange(len(people)), np.diff(starts))
    theirs = ~judged[person]
    found = []
    for way in ("clean", "aware"):
        if way == "clean":
            law = kernels.logistic.fit(real[~judged], label[~judged], PENALTY)
        else:
            law = kernels.logistic.fit(out[rows[theirs]], label[person[theirs]], PENALTY)
        every = np.bincount(person, weights=law.score(out[rows]), minlength=len(people)) / np.diff(starts)
        scores, has = every[judged], label[judged]
        others = scores[rng.permutation(len(scores))]
        found.append(
            measured(
                "attributes-auc",
                auc(scores[has], scores[~has]),
                len(scores),
                chance=0.5,
                control=auc(others[has], others[~has])[0],
                params={"attribute": name, "from": "records", "trained": way},
                note="control: the records of other people in the place of hers",
            )
        )
    return found


def _from_items(
    trial: Trial,
    train: Records,
    released: Records,
    able: NDArray[np.int64],
    attribute: tuple[str, Labels, Labels],
    known: int | None,
    rng: np.random.Generator,
) -> list[Measurement]:
    name, members, others = attribute
    if trial.holdout is None:
        return []
    held = records(trial.holdout)
    outside = held.people[others[held.people] >= 0]
    if min(np.count_nonzero(others[outside] == side) for side in (0, 1)) < FEWEST_LABELLED:
        return []
    k = known or min(KNOWN, max(1, int(np.median(train.lengths[able])) // 3))
    order = rng.permutation(able)
    n = len(order)
    teach, tune, hit = order[: n // 3], order[n // 3 : n // 2], order[n // 2 :][:TARGETS]
    away = rng.permutation(outside)[:TARGETS]
    drawn = np.repeat(teach, _DRAWS)
    base = kernels.logistic.fit(_few(trial.train, train, drawn, k, rng), members[drawn] == 1, PENALTY)
    whole = kernels.logistic.fit(profiles(train)[teach], members[teach] == 1, PENALTY)
    told = _standard(whole.score(profiles(released)))
    sides = {}
    for side, data, of, people in (
        ("tune", trial.train, train, tune),
        ("in", trial.train, train, hit),
        ("out", trial.holdout, held, away),
    ):
        few = _few(data, of, people, k, rng)
        sides[side] = np.stack([base.score(few), _linked(few, released, told)], axis=1)
    middle, spread = sides["tune"].mean(axis=0), np.maximum(sides["tune"].std(axis=0), 1e-9)
    both = kernels.logistic.fit((sides["tune"] - middle) / spread, members[tune] == 1, PENALTY)
    gains = [
        _Gain(sides[side][:, 0], both.score((sides[side] - middle) / spread), label == 1)
        for side, label in (("in", members[hit]), ("out", others[away]))
    ]
    value = gains[0].of() - gains[1].of()
    draws = [gains[0].of(rng) - gains[1].of(rng) for _ in range(REPEATS)]
    low, high = np.nanquantile(draws, [0.025, 0.975])
    before, after = gains[0].parts()
    note = f"members {before:.3f} from {k} items alone, {after:.3f} with the release; control: what outsiders lose"
    params = {"attribute": name, "from": "items", "known": k}
    estimate = (value, min(float(low), value), max(float(high), value))
    return [
        measured(
            "attributes-attributable", estimate, len(hit), chance=0.0, control=gains[1].of(), params=params, note=note
        )
    ]


class _Gain:
    """By how much the AUC of the same people grows from one score to another."""

    def __init__(self, before: Floats, after: Floats, label: NDArray[np.bool_]) -> None:
        self.ranks: tuple[Ranked, Ranked] = ranked(before, label), ranked(after, label)
        self.n = len(label)

    def parts(self, weight: Floats | None = None) -> tuple[float, float]:
        weight = np.ones(self.n) if weight is None else weight
        return self.ranks[0].auc(weight), self.ranks[1].auc(weight)

    def of(self, rng: np.random.Generator | None = None) -> float:
        weight = None
        if rng is not None:
            weight = np.bincount(rng.integers(0, self.n, self.n), minlength=self.n).astype(np.float64)
        before, after = self.parts(weight)
        return after - before


def _few(data: Any, of: Records, people: NDArray[np.int64], k: int, rng: np.random.Generator) -> sparse.csr_array:
    """k random items of each person, as rows of length 1."""
    known, _ = learn(data, of, people, k, "random", rng)
    place, item = np.nonzero(known >= 0)[0], known[known >= 0]
    size = np.bincount(place, minlength=len(people))
    value = 1.0 / np.sqrt(size[place])
    return sparse.coo_array((value, (place, item)), shape=(len(people), of.n_items)).tocsr()


def _linked(few: sparse.csr_array, released: Records, told: Floats) -> Floats:
    """What the records say that fit best what is known of each person."""
    scoring = normalised(released)
    held = profiles(released)
    held.data[:] = 1.0
    table = (held.multiply(scoring.scale[:, None])).tocsr().T.tocsr()
    weights = sparse.diags_array(scoring.gains[:, 0])
    binary = few.copy()
    binary.data[:] = 1.0
    found = np.zeros(few.shape[0])
    for begin in range(0, few.shape[0], _BLOCK):
        score = (binary[begin : begin + _BLOCK] @ weights @ table).toarray()
        spread = np.maximum(score.std(axis=1, keepdims=True), 1e-12)
        power = SHARP * (score - score.max(axis=1, keepdims=True)) / spread
        weight = np.exp(power)
        found[begin : begin + _BLOCK] = weight @ told / weight.sum(axis=1)
    return found


def _standard(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / max(float(values.std()), 1e-12))
