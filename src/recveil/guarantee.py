"""Guarantee: what a release promises, as frozen data. "None" is a value with a reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal

from recveil.errors import RecveilError

EXPERIMENT = "Experiment, not for publication. "  # before the sentence of a promise that was made with a seed
Status = Literal["proved", "claimed", "refuted", "none", "experiment"]

# What two neighbouring data sets differ in, one relation for each unit: promises about one unit add up.
NEIGHBOURS = {
    "user": "add or remove one user with everything she did",
    "session": "add or remove one session with everything in it",
    "record": "add or remove one record of one user",
    "tag": "replace one tag of one post by another one",
    "bit": "change whether one user has one item",
}
LESS = {  # whom a promise about one unit protects less
    "session": " A person with several sessions is protected less: epsilon grows with each.",
    "record": " A person with many tags is protected less: epsilon is multiplied by their number.",
}
MOST_EPSILON = 10.0  # above it a promise means little

# Whether mechanism and parameters were chosen by figures that were computed on the private data. Nobody can prove that
# they were not, so there is no answer "no".
ON_DATA, IN_BUDGET, NOT_ON_RECORD = "yes", "within a budget", "not on record"
CHOSEN_ON_DATA = {
    ON_DATA: "Before this release was made, figures that were computed on the private data were looked at (on record). "
    "As far as the mechanism or its epsilon were chosen by them, the choice itself tells something about the data, and "
    "no promise covers that.",
    IN_BUDGET: "As far as is on record, the private data were looked at before this release by a noisy choice alone, "
    "with a budget of its own; what it spent is in the owner's ledger and adds to the epsilon of this release.",
    NOT_ON_RECORD: "Whether the mechanism or its epsilon were chosen by figures that were computed on the private data "
    "is not on record. If they were, no promise covers the choice.",
}


@dataclass(frozen=True)
class Guarantee:
    """A promise about one `unit` (user, session, record, tag, bit) under a neighbouring relation.

    status: proved (docs/ has the theorem), claimed (by a paper, not by us), refuted (we show that it does not hold),
    none (nothing is promised), experiment (the noise was seeded, so nothing holds).
    """

    sentence: str
    status: Status = "none"
    epsilon: float | None = None
    delta: float = 0.0
    unit: str | None = None
    neighbours: str | None = None
    given: str | None = None  # what is taken to be public
    proof: str | None = None  # where in docs/ the theorem stands
    rho: float | None = None  # the budget, where the noise is Gaussian (dp/budget.py): rhos of several releases add up
    rho_fails: float = 0.0  # the chance, part of delta, with which rho does not hold; chances add up too
    weakness: str | None = None  # why it means little, in a sentence; None: it means what it says

    def __post_init__(self) -> None:
        if not self.sentence.strip():
            raise ValueError("a guarantee says in a plain sentence what it promises, or why it promises nothing")
        if self.status == "none" and self.epsilon is not None:
            raise ValueError("a guarantee of status none has no epsilon")
        if self.status in ("proved", "claimed", "refuted") and (
            self.epsilon is None or self.unit is None or self.neighbours is None
        ):
            raise ValueError(f"a guarantee of status {self.status} names epsilon, unit and neighbours")
        if self.epsilon is not None and not 0 <= self.epsilon < math.inf:
            raise ValueError(f"epsilon must be finite and not negative, not {self.epsilon}")
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta must lie in [0, 1), not {self.delta}")

    def weighed(self, people: int | None = None) -> Guarantee:
        """The same promise; where it means little, its first sentence says so. `people`: as the release states them."""
        reasons = [self.weakness] if self.weakness else []
        if self.epsilon is not None and self.epsilon > MOST_EPSILON:
            reasons.append(f"epsilon {self.epsilon:.3g} lets an attacker's odds grow {factor(self.epsilon)} times")
        if people and self.delta * people >= 1:
            reasons.append(f"delta {self.delta:g} would let it fail for one of {people:,} people and more")
        if not reasons or self.status == "refuted":
            return self
        says = f"This promise means little: {'; '.join(reasons)}."
        return replace(self, weakness="; ".join(reasons), sentence=f"{says} {self.sentence}")

    def as_experiment(self) -> Guarantee:
        """The same promise made with a seed: it no longer holds, since whoever guesses the seed undoes the noise."""
        if self.status != "proved":
            return self
        return replace(self, status="experiment", sentence=EXPERIMENT + self.sentence)

    def _repr_html_(self) -> str:
        budget = "" if self.epsilon is None else f", epsilon {self.epsilon:g}, delta {self.delta:g} for one {self.unit}"
        return f"<p><b>{self.status}</b>{escape(budget)}: {escape(self.sentence)}</p>"

    def record(self) -> dict[str, Any]:
        """As plain data, for manifests and reports."""
        return {
            "status": self.status,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rho": self.rho,
            "rho_fails": self.rho_fails,
            "unit": self.unit,
            "neighbours": self.neighbours,
            "given": self.given,
            "sentence": self.sentence,
            "proof": self.proof,
            "weakness": self.weakness,
        }


def from_record(record: Mapping[str, Any]) -> Guarantee:
    """A promise as manifests and reports keep it; until version 0.2 `weakness` was written `little`."""
    return Guarantee(**{"weakness" if name == "little" else name: value for name, value in record.items()})


def nothing(reason: str, weakness: str | None = None) -> Guarantee:
    """No promise, and why."""
    return Guarantee(sentence=reason, weakness=weakness)


def proved(
    whom: str,
    unit: str,
    given: str | None,
    proof: str,
    *,
    epsilon: float,
    delta: float,
    rho: float | None,
    rho_fails: float,
) -> Guarantee:
    """The promise that a release hardly tells whether `whom`, one unit, was in the data; `given` is public."""
    known = f", given that {given} {'are' if ' and ' in given else 'is'} public" if given else ""
    return Guarantee(
        f"{learns(epsilon)} whether or not {whom} was in the data "
        f"({strength(epsilon, delta)}){known}.{LESS.get(unit, '')}",
        status="proved",
        epsilon=epsilon,
        delta=delta,
        unit=unit,
        neighbours=NEIGHBOURS[unit],
        given=given,
        proof=proof,
        rho=rho,
        rho_fails=rho_fails,
    )


LEARNS = {
    "strong": "learns almost the same",
    "some": "learns something, within a bound, about",
    "weak": "could, in the worst case, become nearly certain",
}


def grade(epsilon: float) -> str:
    """How strong a promise is, by what one may believe who held it for even before: up to 75%, to 95%, beyond."""
    return "strong" if epsilon <= math.log(3) else "some" if epsilon < math.log(19) else "weak"


def learns(epsilon: float) -> str:
    """How a promise begins: its words are as strong as it is."""
    return f"Whoever sees the release {LEARNS[grade(epsilon)]}"


def strength(epsilon: float, delta: float | None = None) -> str:
    """An epsilon and what it bounds, in words: "epsilon 4: an attacker's odds grow at most 55 times"."""
    says = f"an attacker's odds grow at most {factor(epsilon)} times"
    if not delta:
        return f"epsilon {epsilon:g}: {says}"
    return f"epsilon {epsilon:g}, delta {delta:g}: but for delta, {says}"


def factor(epsilon: float) -> str:
    """exp(epsilon), rounded up."""
    if epsilon > 30:
        return f"10^{math.ceil(epsilon / math.log(10))}"
    times = math.exp(epsilon)
    return f"{math.ceil(100 * times) / 100:g}" if times < 10 else f"{math.ceil(times):,}"


def compose(first: Guarantee, second: Guarantee) -> Guarantee:
    """What two releases of the same data promise together: epsilons and deltas add up (basic composition)."""
    for g in (first, second):
        if g.status != "proved" or g.epsilon is None:
            return nothing(f"One of the releases promises nothing: {g.sentence}")
    if (first.unit, first.neighbours) != (second.unit, second.neighbours):
        raise RecveilError(
            f"guarantees of different units do not add up: {first.unit} ({first.neighbours}) "
            f"and {second.unit} ({second.neighbours})"
        )
    assert first.epsilon is not None and second.epsilon is not None
    given = "; ".join(dict.fromkeys(g for g in (first.given, second.given) if g)) or None
    return replace(
        first,
        epsilon=first.epsilon + second.epsilon,
        delta=first.delta + second.delta,
        rho=None if first.rho is None or second.rho is None else first.rho + second.rho,
        rho_fails=first.rho_fails + second.rho_fails,
        given=given,
        sentence=f"Two releases together. {first.sentence} {second.sentence}",
        proof=None,
        weakness="; ".join(dict.fromkeys(g for g in (first.weakness, second.weakness) if g)) or None,
    )
