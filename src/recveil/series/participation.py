"""In which windows of a period a person counts: decided by a keyed hash of her id, never by anybody else.

The W windows are cut into P stretches, none of them empty, and of each stretch one window is drawn for her. So she
counts in at most P windows, whatever the log holds (docs/guarantees/series.md).
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil import kernels
from recveil.ids import keys
from recveil.randomness import Source

Bits = NDArray[np.bool_]
_NAMES = 2**62


def stretch(place: int, windows: int, participations: int) -> tuple[int, int, int]:
    """The stretch in which a window (from 0 on) lies: its number, its first window, and how many it has."""
    number = place * participations // windows
    begin, end = (-(-part * windows // participations) for part in (number, number + 1))
    return number, begin, end - begin


def counts(users: pl.Series, place: int, windows: int, participations: int, chance: Source) -> Bits:
    """Of each person, whether this window is the one of its stretch that was drawn for her."""
    number, begin, size = stretch(place, windows, participations)
    return np.asarray(_drawn(users, size, chance.derive("window", number)) == place - begin)


def names(users: pl.Series, chance: Source) -> NDArray[np.uint64]:
    """What the private state calls each person: nothing to whoever has not the key."""
    return _drawn(users, _NAMES, chance).astype(np.uint64)


def _drawn(users: pl.Series, bound: int, chance: Source) -> NDArray[np.int64]:
    n = len(users)
    bounds = np.full(n, bound, dtype=np.int64)
    found: NDArray[np.int64] = kernels.draws.below_per_group(
        np.arange(n + 1, dtype=np.int64), keys(users), bounds, chance.key()
    )
    return found
