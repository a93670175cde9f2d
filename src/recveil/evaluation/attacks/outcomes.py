"""What linkage attackers come to on their targets, and the strongest of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.evaluation.attacks.truth import Truth
from recveil.views.records import Records

Attacker = Literal["intersection", "score", "normalised", "likelihood"]


class Side(NamedTuple):
    """People to be attacked: members, whose records are in the release, or people who are not in the data."""

    data: Interactions
    records: Records
    truth: Truth
    people: NDArray[np.int64]  # one entry a draw


class LinkageOutcome(NamedTuple):
    """Per target and number of known items; NaN where she has fewer."""

    success: NDArray[np.float64]  # the probability that the record picked is hers
    claims: NDArray[np.float64]  # whether the attacker claims to have found her
    picks: NDArray[np.int64]  # the record picked; -1: any


def strongest(
    options: Sequence[list[tuple[Side, LinkageOutcome]]], known: int, rng: np.random.Generator
) -> list[tuple[Side, LinkageOutcome]]:
    """For either half of the people the outcome of the attacker who does best on the other half."""
    first = options[0][0][0]
    half = rng.permutation(len(first.records)) % 2
    column = [sides[0][1].success[:, known - 1] for sides in options]
    finite = np.isfinite(column[0])
    chosen = []
    for side in (0, 1):
        others = finite & (half[first.people] != side)
        chosen.append(int(np.argmax([c[others].mean() for c in column])) if others.any() else 0)
    found = []
    for number, (side_of, _) in enumerate(options[0]):
        which = np.array(chosen)[half[side_of.people % len(half)]]
        rows = np.arange(len(which))
        parts = [np.stack([sides[number][1][part] for sides in options])[which, rows] for part in range(3)]
        found.append((side_of, LinkageOutcome(*parts)))
    return found


def per_person(people: NDArray[np.int64], values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The mean over the draws of each person who has any."""
    able = np.isfinite(values)
    who, place = np.unique(people[able], return_inverse=True)
    return who, np.bincount(place, weights=values[able]) / np.bincount(place)
