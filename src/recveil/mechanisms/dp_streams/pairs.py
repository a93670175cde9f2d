"""Pairs of very many items: only those that stand out of the noise are published, in memory linear in what is kept.

A cell is a pair i < j of m items, numbered row by row. The published table has the law of noise on every cell, cut at a
public threshold (sparse_noise.py); pairs below it are explained by popularity alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isqrt

import numpy as np
from numpy.typing import NDArray

from recveil.dp import denoise
from recveil.dp.noise import gaussian
from recveil.dp.sparse_noise import noisy_above
from recveil.errors import RecveilError
from recveil.randomness import Source

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FALSE = 8  # pairs to an item that are expected above the threshold by noise alone


@dataclass(frozen=True)
class Listed:
    """Cells that are not zero (ascending), their values, and lengths by class; they add with `+`."""

    cells: Ints
    values: Ints
    lengths: Ints

    def __add__(self, other: Listed) -> Listed:
        cells, values = np.append(self.cells, other.cells), np.append(self.values, other.values)
        return listed(cells, values, self.lengths + other.lengths)


@dataclass(frozen=True)
class Above:
    """Noisy values above a threshold, in units of one person."""

    cells: Ints
    values: Floats
    threshold: float


def listed(cells: Ints, values: Ints, lengths: Ints) -> Listed:
    """Values of the same cell added up."""
    order = np.argsort(cells, kind="stable")
    cells, values = cells[order], values[order]
    first = np.flatnonzero(np.diff(cells, prepend=-1))
    return Listed(cells[first], np.add.reduceat(values, first) if len(first) else values, lengths)


def cut(m: int, variance: int) -> int:
    """The threshold, by a public formula: above it lie FALSE pairs an item by chance."""
    from scipy.special import ndtri

    return ceil(float(ndtri(1 - 2 * FALSE / m)) * (isqrt(variance) + 1))


def noisy_cells(counts: Listed, m: int, variance: int, source: Source) -> tuple[Ints, Ints]:
    """The cells above the threshold and their noisy values; every cell of the table has noise, kept or not."""
    at = cut(m, variance)
    return noisy_above(counts.cells, counts.values, m * (m - 1) // 2, at, gaussian(variance), source)


def places(cells: Ints, m: int) -> tuple[Ints, Ints]:
    """The pairs i < j that cells stand for."""
    first = np.arange(m, dtype=np.int64)
    begin = first * (2 * m - first - 1) // 2  # the number of the first cell of each row
    i = np.searchsorted(begin, cells, side="right") - 1
    i = np.minimum(i, m - 2)
    return i, cells - begin[i] + i + 1


def expected(found: Above, items: Floats, total: float, sigma: float) -> tuple[Ints, NDArray[np.int32], Floats, Floats]:
    """A symmetric table by rows: where rows begin, their columns and expected counts; and the sums of whole rows.

    Counts are shrunk as the whole table suggests, hidden cells included. What is left of the `total` of all pairs is
    spread over the items by their popularity.
    """
    m = len(items)
    if not len(found.cells):
        raise RecveilError("no pair of items stands out of the noise; more people or a larger epsilon would help")
    hidden = m * (m - 1) // 2 - len(found.cells)
    counts = denoise.above(found.values, sigma, found.threshold, hidden)
    i, j = places(found.cells, m)
    order = np.lexsort((np.append(j, i), np.append(i, j)))
    row, column, weight = np.append(i, j)[order], np.append(j, i)[order], np.append(counts, counts)[order]
    indptr = np.searchsorted(row, np.arange(m + 1)).astype(np.int64)
    rest = max(2 * total - float(weight.sum()), 0.0)
    strength = np.bincount(row, weight, minlength=m) + rest * items / items.sum()
    return indptr, column.astype(np.int32), weight, strength


def pair_table(second: dict[str, Ints], m: int, variance: int, unit: int) -> Floats | Above:
    """The published pairs in persons, each `unit`: all of them, or of very many items those above a threshold."""
    if "cells" in second:
        return Above(second["cells"], second["values"] / unit, cut(m, variance) / unit)
    G = np.zeros((m, m))
    G[np.triu_indices(m, 1)] = second["pairs"] / unit
    return G + G.T
