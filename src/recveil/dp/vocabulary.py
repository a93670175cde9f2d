"""Private vocabularies: ids that enough people share are chosen within the budget, and all others are forgotten.

Only observed ids have counts, so the set of them would tell who alone has one. Noise is added to their counts, and an
id is kept above a threshold so high that those of one person, which nobody else has, pass with probability at most
`delta`. docs/guarantees/dp_streams.md has the theorem.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, isqrt, log
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recveil.dp.noise import Law, draw
from recveil.randomness import Source

Ints = NDArray[np.int64]

_SAFE = 1e-9  # relative; far above what rounding can do here


@dataclass(frozen=True)
class Selected:
    """What was kept of a list of observed ids: the places of the ids in it, ascending, and their noisy counts.

    Places tell how many others there are: they serve to look the ids up, once, and are published nowhere. Nor is `cut`,
    which noisy counts had to exceed: an audit reads it.
    """

    column: Literal["items", "tags"]
    codes: Ints
    values: Ints
    cut: int = 0


def select(column: Literal["items", "tags"], counts: Ints, law: Law, above: int, most: int, source: Source) -> Selected:
    """The ids whose noisy counts exceed a threshold, the largest `most` of them; one without a count is never kept."""
    noisy = counts + draw(law, len(counts), source)
    passed = np.flatnonzero((counts > 0) & (noisy > above))
    largest = passed[np.argsort(-noisy[passed], kind="stable")]
    codes = np.sort(largest[:most])
    return Selected(column, codes, noisy[codes], int(noisy[largest[most]]) if len(largest) > most else above)


@lru_cache(maxsize=32)
def threshold(law: Law, delta: float, unit: int = 1, most_items: int = 1) -> int:
    """A count that ids of one person alone exceed with probability at most `delta`, all of them together.

    She has at most `most_items` ids, and with t of them adds floor(sqrt(unit^2 / t)) to each.
    """
    return max(isqrt(unit * unit // t) + exceeded(law, delta / t) for t in range(1, most_items + 1))


def threshold_of_sums(law: Law, delta: float, unit: int, most_items: int) -> int:
    """The same where she may add anything up to `unit` to each of her ids."""
    return unit + exceeded(law, delta / most_items)


def exceeded(law: Law, chance: float) -> int:
    """An integer that noise exceeds with probability at most `chance`; the least one, or slightly more.

    A discrete Gaussian exceeds an integer x >= 0 no more often than a continuous one of the same variance does.
    """
    size = float(law.size)
    if law.kind == "laplace":  # P(noise > x) = e^(-(x + 1) / size) / (1 + e^(-1 / size))
        beyond = size * -log(chance * (1 + exp(-1 / size))) - 1
    else:
        beyond = -NormalDist().inv_cdf(chance) * size**0.5
    return max(ceil(beyond * (1 + _SAFE) + _SAFE), 0)
