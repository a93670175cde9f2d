"""A lower bound of epsilon from runs on two neighbouring data sets, judged as the audit judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from recveil.evaluation.attacks.epsilon import EpsilonBound, judge


def lower_bound(
    run: Callable[[Any, int], Any],
    pair: tuple[Any, Any],
    statistics: Callable[[Any], Mapping[str, float]],
    *,
    runs: int,
    delta: float = 0.0,
    confidence: float = 0.95,
    seed: int = 0,
    tick: Callable[[int], None] = lambda steps: None,  # noqa: ARG005
) -> EpsilonBound:
    """Run a mechanism `runs` times on each of two neighbouring data sets and bound its epsilon from below.

    `run(data, seed)` gives an output; `statistics(output)` the numbers that an attacker would look at, always under the
    same names. Every statistic gets an event of its own, and the confidence holds for all of them together.
    """
    seen: tuple[list[Mapping[str, float]], list[Mapping[str, float]]] = ([], [])
    for number in range(runs):
        for side in (0, 1):
            seen[side].append(statistics(run(pair[side], seed + 2 * number + side)))
            tick(1)
    names = list(dict.fromkeys(name for side in seen for row in side for name in row))
    one, other = (np.array([[float(row.get(name, 0.0)) for name in names] for row in side]) for side in seen)
    return judge(one, other, names, delta=delta, confidence=confidence)
