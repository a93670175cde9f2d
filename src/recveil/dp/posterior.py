"""Posterior means of noisy counts: what a table says, once its noise, whose law is known, is taken into account.

Cells are put into classes of like expectation by their row and column. In each class a prior on a grid of values is
fitted to the noisy numbers themselves, and every number is replaced by the mean of what may stand behind it. That sees
published numbers and public constants alone, so it spends no privacy; no threshold decides what is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from recveil.dp.denoise import class_ends, mixture
from recveil.dp.noise import Law

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FIRST_CLASS, _GROWTH = 512, 2.5
_ALIKE = 0.05  # rows (columns) whose weights differ by less are alike
_TILE = 1 << 20
_STEPS = 300
_LEVELS = 8  # of a standard deviation


def posterior(noisy: NDArray[Any], rows: Floats, columns: Floats, law: Law, least: float) -> scipy.sparse.csr_array:
    """The expected numbers behind a noisy table; those below `least` are left out.

    rows, columns: positive weights whose product tells which cells to expect the most of.
    """
    kinds, row, column = _kinds(rows, columns)
    step = _step(law)
    low = _level(int(noisy.min()), step)
    n = _level(int(noisy.max()), step) + 1 - low
    counts = np.zeros((int(kinds.max()) + 1, n), dtype=np.int64)
    for part, kind in _tiles(noisy, kinds, row, column):
        place = kind * n + (_level(part.astype(np.int64), step) - low)
        counts += np.bincount(place.ravel(), minlength=counts.size).reshape(counts.shape)
    seen = np.flatnonzero(counts.any(0))
    means = np.zeros(counts.shape, dtype=np.float32)
    means[:, seen] = _means(counts[:, seen], seen + low, law, step)
    found, start = [], 0
    for part, kind in _tiles(noisy, kinds, row, column):
        mean = means[kind, _level(part.astype(np.int64), step) - low]
        r, c = np.nonzero(mean >= least)
        found.append((r + start, c, mean[r, c]))
        start += len(part)
    r, c, value = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return scipy.sparse.csr_array((value, (r, c)), shape=noisy.shape)


def posterior_list(noisy: NDArray[Any], law: Law) -> Floats:
    """The expected numbers behind a noisy list, all of whose entries are alike beforehand."""
    step = _step(law)
    levels, which, counts = np.unique(_level(noisy, step), return_inverse=True, return_counts=True)
    return np.asarray(_means(counts[None], levels, law, step)[0, which])


def _means(counts: Ints, levels: Ints, law: Law, step: int) -> Floats:
    """For each class and level the posterior mean under the class's own prior; counts: classes x levels."""
    support = _support(int(levels[-1]) * step, law, step)
    exponent = law.exponents(np.abs(levels[:, None] * step - support))
    likelihood = np.exp(exponent.min(1, keepdims=True) - exponent)
    start = np.full(len(support), 0.5 / (len(support) - 1))
    start[0] = 0.5
    means = np.zeros(counts.shape)
    for kind, numbers in enumerate(counts):
        joint = likelihood * mixture(likelihood, numbers, start, _STEPS)
        means[kind] = joint @ support / joint.sum(1)
    return means


def _support(highest: int, law: Law, step: int) -> Ints:
    """Integers that may stand behind a noisy table: as far apart as the noise, or the need, can tell them."""
    fine, growth = (9.0, 1.25) if step == 1 else (0.02 * law.deviation, 1.4)
    many = int(np.ceil(np.log(max(highest, law.deviation, 9) / fine) / np.log(growth))) + 2
    values = np.concatenate([np.arange(9 if step == 1 else 1), np.rint(fine * growth ** np.arange(many))])
    return np.unique(values.astype(np.int64))


def _step(law: Law) -> int:
    """Numbers that differ by less are taken for the same: a part of the noise, or one."""
    return max(1, int(law.deviation / _LEVELS))


def _kinds(rows: Floats, columns: Floats) -> tuple[Ints, Ints, Ints]:
    """A class for each pair of kinds of rows and columns, by falling weight, and the kind of each row and column."""
    (a, row), (b, column) = (np.unique(np.rint(np.log(w) / _ALIKE), return_inverse=True) for w in (rows, columns))
    cells = np.outer(np.bincount(row), np.bincount(column)).ravel()
    _, which = np.unique(-np.add.outer(a, b).ravel(), return_inverse=True)
    size = np.bincount(which, cells)
    before = np.cumsum(size) - size
    ends = class_ends(len(rows) * len(columns), _FIRST_CLASS, _GROWTH)
    return np.searchsorted(ends, before, side="right")[which].reshape(len(a), len(b)), row, column


def _tiles(noisy: NDArray[Any], kinds: Ints, row: Ints, column: Ints) -> Iterator[tuple[NDArray[Any], Ints]]:
    """Some rows at a time, with the classes of their cells."""
    wide = kinds[:, column]
    rows = max(1, _TILE // max(noisy.shape[1], 1))
    for begin in range(0, len(noisy), rows):
        yield noisy[begin : begin + rows], wide[row[begin : begin + rows]]


def _level(number: Any, step: int) -> Any:
    return (number + step // 2) // step
