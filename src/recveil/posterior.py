"""Posterior means of noisy counts: what a table says, once its noise, whose law is known, is taken into account.

Cells are put into classes of like expectation by their row and column. In each class a prior on a grid of values is
fitted to the noisy numbers themselves, and every number is replaced by the mean of what may stand behind it. That sees
published numbers and public constants alone, so it spends no privacy; no threshold decides what is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.denoise import class_ends, mixture
from recveil.noise import Law

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST = 0.01  # expected counts below it are left out of tables
_FIRST_CLASS, _GROWTH = 512, 2.5
_ALIKE = 0.05  # rows (columns) whose weights differ by less are alike
_TILE = 1 << 20
_STEPS = 300


def posterior(
    noisy: NDArray[Any], rows: Floats, columns: Floats, law: Law, step: int = 1, least: float = LEAST
) -> sparse.csr_array:
    """The expected numbers behind a noisy table; those below `least` are left out.

    rows, columns: positive weights whose product tells which cells to expect the most of. step: numbers that differ by
    less are taken for the same, as suits noise that is much wider.
    """
    kinds, row, column = _kinds(rows, columns)
    low = _level(int(noisy.min()), step)
    n = _level(int(noisy.max()), step) + 1 - low
    counts = np.zeros((int(kinds.max()) + 1, n), dtype=np.int64)
    for part, kind in _tiles(noisy, kinds, row, column):
        place = kind * n + (_level(part.astype(np.int64), step) - low)
        counts += np.bincount(place.ravel(), minlength=counts.size).reshape(counts.shape)
    means = (step * _means(counts, low, law, step)).astype(np.float32)
    found, start = [], 0
    for part, kind in _tiles(noisy, kinds, row, column):
        mean = means[kind, _level(part.astype(np.int64), step) - low]
        r, c = np.nonzero(mean >= least)
        found.append((r + start, c, mean[r, c]))
        start += len(part)
    r, c, value = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return sparse.csr_array((value, (r, c)), shape=noisy.shape)


def posterior_list(noisy: NDArray[Any], law: Law, step: int = 1) -> Floats:
    """The expected counts behind a noisy list, all of whose entries are alike beforehand."""
    one = np.ones(1)
    return np.asarray(posterior(noisy[None], one, np.ones(len(noisy)), law, step, 0.0).toarray()[0], dtype=np.float64)


def _means(counts: Ints, low: int, law: Law, step: int) -> Floats:
    """For each class and level the posterior mean, in units of `step`, under the class's own prior."""
    seen = np.flatnonzero(counts.any(0))
    support = _support(int(seen[-1]) + low, law, step)
    centre = (seen + low) * step
    exponent = law.exponents(np.abs(centre[:, None] - np.rint(support * step).astype(np.int64)))
    likelihood = np.exp(exponent.min(1, keepdims=True) - exponent)
    start = np.full(len(support), 0.5 / max(len(support) - 1, 1))
    start[0] = 0.5
    means = np.zeros(counts.shape)
    for kind, numbers in enumerate(counts):
        joint = likelihood * mixture(likelihood, numbers[seen], start, _STEPS)
        means[kind, seen] = joint @ support / joint.sum(1)
    return means


def _support(highest: int, law: Law, step: int) -> Floats:
    """Values that may stand behind a noisy table, in units of `step`: finer than the noise can tell apart."""
    if step == 1:
        grown = np.rint(9 * 1.25 ** np.arange(max(1, np.ceil(np.log(max(highest, 9) / 9) / np.log(1.25)) + 2)))
        return np.unique(np.concatenate([np.arange(9.0), grown]))
    sigma = float(np.sqrt(float(law.size))) / step
    grown = 0.02 * sigma * 1.4 ** np.arange(np.ceil(np.log(max(highest / sigma, 1.0) / 0.02) / np.log(1.4)) + 2)
    return np.concatenate([[0.0], grown])


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
