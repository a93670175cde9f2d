"""How large a log is, counted with noise: for a forecast that looks at no row. Entered in a ledger before it is drawn.

docs/guarantees/noise.md has the theorem. Half of epsilon goes to people by how many rows they have, the other half to
items, of which every person marks a few.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.data import Interactions
from recveil.dp.noise import draw, laplace
from recveil.errors import RecveilError
from recveil.guarantee import NEIGHBOURS, Guarantee
from recveil.randomness import source
from recveil.releases import ledger as ledgers
from recveil.releases.forecast import LogSize

CELLS = 13  # people with 1, 2 to 3, 4 to 7, ... rows; the last with 4,096 or more
MARKED = 20  # items that a person marks at most
WITHIN = 1.4  # rows of a person, on average, in units of the fewest of her cell
CLEAR = 3  # deviations of noise above which a cell is taken to be there


def check_count(epsilon: float | None, size: LogSize | None, ledger: str | None, local: bool) -> None:
    """Raise where a noisy count is not needed, would not be kept, or is not made."""
    if epsilon is None:
        return
    if not 0 < epsilon < float("inf"):
        raise RecveilError(f"--count is an epsilon above 0, such as 0.1, not {epsilon:g}")
    if size is not None:
        raise RecveilError("--size declares what --count would spend on; give one of them")
    if not ledger:
        raise RecveilError("--count spends, and a ledger keeps what was spent: --ledger FILE")
    if not local:
        raise RecveilError("--count is for --engine local without --memory; elsewhere declare --size")


def enter_count(
    what: str, unit: str, epsilon: float, seed: int | None, ledger: str | None, without: float = 0.0
) -> None:
    """The line of a noisy count in a ledger, if there is one."""
    promise = Guarantee(
        f"The number of {what} was published with noise of epsilon {epsilon:g}.",
        status="proved",
        epsilon=epsilon,
        unit=unit,
        neighbours=NEIGHBOURS[unit],
        proof="docs/guarantees/noise.md",
    )
    if ledger:
        ledgers.into(ledger, without=without)("count", promise if seed is None else promise.as_experiment())


def noisy_size(
    rows: Interactions, epsilon: float, seed: int | None = None, ledger: str | None = None, without: float = 0.0
) -> LogSize:
    """People (or sessions), items and rows of a log, about."""
    enter_count(f"{rows.unit}s, items and rows", rows.unit, epsilon, seed, ledger, without)
    half, chance = Fraction(str(epsilon)) / 2, source(seed).derive("size")
    people = _cells(rows) + draw(laplace(1 / half), CELLS, chance.derive("people"))
    items = _marked(rows) + int(draw(laplace(MARKED / half), 1, chance.derive("items"))[0])
    people[people < CLEAR * 1.5 / float(half)] = 0  # a deviation is 1.4 of the scale
    each = np.array([1.0, *(WITHIN * 2.0**cell for cell in range(1, CELLS))])
    many = max(int(people.sum()), 1)
    found = many, max(items, 1), max(round(float((people * each).sum())), many)
    return LogSize(*(int(float(f"{number:.2g}")) for number in found))


def _cells(rows: Interactions) -> NDArray[np.int64]:
    """How many people have how many rows; everybody is in one cell."""
    many = np.bincount(rows.user, minlength=rows.n_users)
    cell = np.minimum(np.log2(many[many > 0]).astype(np.int64), CELLS - 1)
    return np.bincount(cell, minlength=CELLS).astype(np.int64)


def _marked(rows: Interactions) -> int:
    """How many items somebody marks: of hers those whose names have the lowest hashes, whoever else is there."""
    hashes = rows.items.cast(pl.String).hash(seed=1).to_numpy()
    pairs = pl.DataFrame({"user": rows.user, "item": rows.item}).unique()
    pairs = pairs.with_columns(pl.Series("hash", hashes[pairs["item"].to_numpy()])).sort("hash")
    return pairs.group_by("user").head(MARKED)["item"].n_unique()
