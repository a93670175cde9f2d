"""Tables of tags: noise on every cell, which tags they are about, and what the noisy numbers lead one to expect."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, log, sqrt
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from recveil.dp.noise import Law, draw
from recveil.dp.posterior import posterior
from recveil.errors import RecveilError
from recveil.randomness import Source

Ints = NDArray[np.int64]

MOST_TAGS = 2500  # of tables at record level
MOST_CELLS = 2**28
LEAST_OF_USERS = 0.001  # people have few tags, so that smaller expectations tell them apart
_FINE = 10**6  # scales are multiples of its inverse, rounded up
_TILE = 1 << 20


def scale(epsilon: float, share: int, norm: int = 1) -> Fraction:
    """Of the Laplace noise that spends at most `share` hundredths of epsilon on a table of this L1 sensitivity."""
    return Fraction(ceil(_FINE * norm / (Fraction(share, 100) * Fraction(epsilon))), _FINE)


def vocabulary(noisy: Ints, law: Law, most: int) -> Ints:
    """The tags that the tables are about, from the noisy totals of a public list: most that never occur are not."""
    return largest(noisy, 0.25 * float(law.size) * log(max(len(noisy), 2) / 2), 100, most)


def most_tags(rows: int) -> int:
    """The tags that fit into a table with so many rows, all of whose cells get noise."""
    most = min(MOST_TAGS, MOST_CELLS // max(rows, 1))
    if most < 1:
        raise RecveilError(f"{rows:,} rows are too many for noise on every cell; give fewer with --catalogue")
    return most


def outstanding(noisy: Ints, law: Law, share: float, most: int) -> Ints:
    """What lies above a share of the largest of as many Gaussian noises; at least 30."""
    from scipy.special import ndtri

    return largest(noisy, share * float(ndtri(1 - 1 / max(len(noisy), 2))) * sqrt(law.size), 30, most)


def noisy_table(counts: scipy.sparse.csr_array, law: Law, source: Source) -> NDArray[Any]:
    """Noise on every cell of a table, some rows at a time; numbers take no more room than they need."""
    rows = max(1, _TILE // max(counts.shape[1], 1))
    parts: list[NDArray[Any]] = []
    for begin in range(0, counts.shape[0], rows):
        part = counts[begin : begin + rows].toarray()
        part += draw(law, part.size, source, begin * counts.shape[1]).reshape(part.shape)
        parts.append(part.astype(np.min_scalar_type(-int(np.abs(part).max()) - 1)))
    return np.concatenate(parts)


def expected(
    noisy: NDArray[Any], rows: Ints, columns: Ints, law: Law, one: int = 1, least: float = 0.01
) -> scipy.sparse.csr_array:
    """What a noisy table leads one to expect, given noisy totals of its rows and columns; `one` stands for a person.

    Expected counts below `least` are left out.
    """
    found = posterior(noisy, np.maximum(rows / one, 0.3), np.maximum(columns / one, 0.5), law, least * one)
    found.data /= np.float32(one)
    return found


def largest(noisy: Ints, threshold: float, fewest: int, most: int) -> Ints:
    above = int(np.count_nonzero(noisy > threshold))
    return np.sort(np.argsort(-noisy, kind="stable")[: min(max(above, fewest), most)])


def cells_of(row: NDArray[Any], column: NDArray[Any], shape: tuple[int, int]) -> scipy.sparse.csr_array:
    return scipy.sparse.coo_array((np.ones(len(row), dtype=np.int64), (row, column)), shape=shape).tocsr()


def spread(table: scipy.sparse.csr_array, rows: Ints, columns: Ints, shape: tuple[int, int]) -> scipy.sparse.csr_array:
    """A table over some rows and columns as one over all of them."""
    cells = table.tocoo()
    return scipy.sparse.csr_array((cells.data, (rows[cells.row], columns[cells.col])), shape=shape)


def places(kept: Ints, n: int) -> NDArray[np.int32]:
    """Where each code stands in a list; -1: not in it."""
    place = np.full(n, -1, dtype=np.int32)
    place[kept] = np.arange(len(kept), dtype=np.int32)
    return place
