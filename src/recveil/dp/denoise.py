"""De-noising with a known noise: what lies behind a noisy table, as far as it can be told.

Everything here sees noisy numbers and public constants alone, so it spends no privacy. Counts of pairs are explained by
popularity first, then by few directions in which items differ, and what is left is shrunk as much as the table itself
suggests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from recveil import kernels

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Classes = NDArray[np.int8]  # a byte a cell, of which there may be very many

_LARGEST = 2048  # items up to which eigenvectors are computed
_SPREAD = 0.5  # of the factors of shrinkage: people who are drawn should differ as real ones do
_NEAR = 0.2  # deviations by which a first estimate must exceed the prior to count as a neighbour
_FIRST_BIN, _GROWTH = 256, 3
_BLOCK = 1 << 20  # cells that are worked on at a time
_STILL = 1e-7  # of the largest: a step that changes less is the last
_VARIANCES = np.concatenate([[0.0], np.outer(10.0 ** np.arange(-1, 6), [1, 3]).ravel(), [1e6]])


def pairs(G: Floats, sigma: float, vectors: Floats | None = None) -> Floats:
    """The expected table behind a symmetric noisy one with an empty diagonal and noise of deviation sigma.

    vectors: what is known of items, a row each; directions of few of them are sought first, where noise is less.
    Of few items the directions in which they differ are found. Of many, pairs that have neighbours in common are told
    from those that have none, and shrunk less: a first estimate of the other pairs says which they are.
    """
    m = len(G)
    q = independence(G)
    prior = np.outer(q, q)
    if m <= _LARGEST:
        if vectors is not None:
            span = q[:, None] * np.hstack([np.ones((m, 1)), vectors])
            prior = np.maximum(prior + within(_hollow(G - prior), span, sigma), 0.0)
        prior += low_rank(_hollow(G - prior), sigma)
    above = np.triu(np.ones((m, m), dtype=bool), 1)
    expected = prior[above]
    residual, kinds = G[above] - expected, classes(expected)
    if m > _LARGEST:
        first = _symmetric(np.maximum(expected + shrink(residual, kinds, sigma), 0.0), above)
        common = common_neighbours(first, prior, sigma)[above]
        del first
        near = common > 0
        kinds[near] = kinds.max() + 1 + classes(common[near])
    del prior
    return _symmetric(np.maximum(expected + shrink(residual, kinds, sigma, _SPREAD), 0.0), above)


def common_neighbours(M: Floats, prior: Floats, sigma: float) -> NDArray[np.float32]:
    """How near two items are by way of a third: sums of products of cosines beyond the prior, from a first estimate.

    The noise of a cell has no part in its own sum, since no item is its own neighbour.
    """
    norm = np.sqrt(np.maximum(M.sum(1), 1e-9))
    i, j = np.nonzero(M - prior > _NEAR * sigma)
    E = scipy.sparse.csr_array((((M - prior)[i, j] / norm[i] / norm[j]).astype(np.float32), (i, j)), shape=M.shape)
    found: NDArray[np.float32] = (E @ E).toarray()
    return found


def independence(G: Floats | Singles, steps: int = 60) -> Floats:
    """q >= 0 such that q_i q_j fits the cells off the diagonal best in squares."""
    rows = np.maximum(G.sum(1, dtype=np.float64), 0.0)
    q: Floats = rows / np.sqrt(max(rows.sum(), 1e-12))
    for _ in range(steps):
        rest = q @ q - q * q
        before, q = q, np.sqrt(q * np.maximum((G @ q.astype(G.dtype)) / np.maximum(rest, 1e-12), 0.0))
        if np.abs(q - before).max(initial=0.0) <= _STILL * q.max(initial=0.0):
            break
    return q


def low_rank(R: Floats, sigma: float) -> Floats:
    """The directions of a symmetric table that stand above noise, each shrunk by what noise adds to it."""
    return _hollow(_above_noise(R, sigma))


def within(R: Floats, span: Floats, sigma: float) -> Floats:
    """The same among directions that the columns of `span` hold: the fewer, the less noise they stand above."""
    basis, _ = np.linalg.qr(span)
    return _hollow(basis @ _above_noise(basis.T @ R @ basis, sigma) @ basis.T)


def _above_noise(R: Floats, sigma: float) -> Floats:
    edge = 2 * sigma * np.sqrt(len(R))
    values, vectors = np.linalg.eigh(R)
    kept = np.abs(values) > edge
    w = np.abs(values[kept])
    true = (w + np.sqrt(w * w - edge * edge)) / 2
    true *= 1 - (edge / 2) ** 2 / true**2
    return np.asarray((vectors[:, kept] * (true * np.sign(values[kept]))) @ vectors[:, kept].T)


def shrink(residual: Floats, kinds: Classes, sigma: float, power: float = 1.0) -> Floats:
    """The posterior mean of residuals: in each class of like cells a mixture of normals is fitted, noise known.

    With the power 1/2 of its factors they vary as much as the true ones do; posterior means vary less. There may be
    very many cells: beside what it returns it holds two bytes of each.
    """
    blocks = [slice(begin, begin + _BLOCK) for begin in range(0, len(residual), _BLOCK)]
    levels = np.empty(len(residual), dtype=np.int16)
    for block in blocks:
        levels[block] = _levels(np.abs(residual[block]) / sigma)
    shape = int(kinds.max(initial=0)) + 1, int(levels.max(initial=0)) + 1
    counts = np.zeros(shape, dtype=np.int64)
    for block in blocks:
        cell = kinds[block] * np.int64(shape[1]) + levels[block]
        counts += np.bincount(cell, minlength=counts.size).reshape(shape)
    heights, factors = _heights(shape[1]), np.zeros(shape)
    for kind in np.flatnonzero(counts.any(1)):
        factors[kind] = _factor(heights, counts[kind]) ** power
    found = residual.copy()
    for block in blocks:
        found[block] *= factors[kinds[block], levels[block]]
    return found


def shrink_table(noisy: Singles, prior: Singles, sigma: float, powers: Sequence[float]) -> list[Singles]:
    """A symmetric table shrunk toward its prior as `shrink` does in classes of like priors: one for each power."""
    cells = prior[np.triu_indices(len(prior), 1)]
    ends = class_ends(len(cells), _FIRST_BIN, _GROWTH)
    places = len(cells) - np.array(ends, dtype=np.int64)
    edges = np.partition(cells, places)[places] if ends else cells[:0]
    counts = kernels.pair_tables.count_levels(noisy, prior, edges, sigma)
    factors = np.zeros(counts.shape)
    heights = _heights(int(np.flatnonzero(counts.any(0)).max(initial=0)) + 1)
    for kind in np.flatnonzero(counts.any(1)):
        factors[kind, : len(heights)] = _factor(heights, counts[kind, : len(heights)])
    return [kernels.pair_tables.shrink_cells(noisy, prior, edges, sigma, factors**power) for power in powers]


def above(values: Floats, sigma: float, threshold: float, hidden: int) -> Floats:
    """The posterior mean of values above a threshold, where `hidden` others are known to lie below it."""
    levels = _levels(values / sigma)
    heights = _heights(int(levels.max(initial=0)) + 1)
    counts = np.bincount(levels, minlength=len(heights))
    return values * _factor(heights, counts, (threshold / sigma, hidden))[levels]


def _levels(z: Floats) -> NDArray[np.int64]:
    """A number for each class of like deviations."""
    near = np.minimum(z, kernels.pair_tables.FAR) * kernels.pair_tables.STEPS + 0.5
    return near.astype(np.int64) + (
        np.log2(np.maximum(z, kernels.pair_tables.FAR) / kernels.pair_tables.FAR) * kernels.pair_tables.STEPS + 0.5
    ).astype(np.int64)


def _heights(n: int) -> Floats:
    """The deviation that each class of _levels stands for."""
    level = np.arange(n)
    return np.asarray(
        np.minimum(level / kernels.pair_tables.STEPS, kernels.pair_tables.FAR)
        * 2.0
        ** (np.maximum(level - kernels.pair_tables.FAR * kernels.pair_tables.STEPS, 0) / kernels.pair_tables.STEPS)
    )


def _factor(z: Floats, counts: NDArray[np.int64], hidden: tuple[float, int] = (0.0, 0), steps: int = 2000) -> Floats:
    """How much of a residual of z deviations is kept, given how often each z occurs in the class.

    hidden: a number of deviations, and how many further residuals are known to lie below it.
    """
    spread = 1 + _VARIANCES
    likelihood = np.exp(-0.5 * z[:, None] ** 2 / spread + 0.5 * z[:, None] ** 2 / spread[-1]) / np.sqrt(spread)
    below = 0.5 * scipy.special.erfc(-hidden[0] / np.sqrt(2 * spread))
    start = np.full(len(_VARIANCES), 1 / len(_VARIANCES))
    joint = likelihood * mixture(np.vstack([likelihood, below]), np.append(counts, hidden[1]), start, steps)
    return np.asarray((joint * (_VARIANCES / spread)).sum(1) / joint.sum(1))


def mixture(likelihood: Floats, counts: NDArray[np.int64], weight: Floats, steps: int) -> Floats:
    """Weights of the columns of a likelihood that explain best how often each of its rows was seen, by EM."""
    table = np.ascontiguousarray(likelihood, dtype=np.float64)
    found: Floats = kernels.mixtures.mixture_weights(table, counts.astype(np.int64), weight.astype(np.float64), steps)
    return found


def class_ends(n: int, first: int, growth: float) -> list[int]:
    """Where classes of n cells end, the last one apart: `first` cells, then `growth` times as many, and so on."""
    ends: list[int] = []
    end, size = first, float(first)
    while end < n:
        ends.append(end)
        size *= growth
        end += int(size)
    return ends


def classes(prior: NDArray[np.floating[Any]]) -> Classes:
    """Classes of cells by their prior, largest first: 256 cells, three times as many, and so on."""
    ends = class_ends(len(prior), _FIRST_BIN, _GROWTH)
    if not ends:
        return np.zeros(len(prior), dtype=np.int8)
    places = len(prior) - np.array(ends)
    edges = np.partition(prior, places)[places][::-1]
    found = np.empty(len(prior), dtype=np.int8)
    for begin in range(0, len(prior), _BLOCK):
        block = slice(begin, begin + _BLOCK)
        found[block] = len(edges) - np.searchsorted(edges, prior[block], side="right")
    return found


def _symmetric(cells: Floats, above: NDArray[np.bool_]) -> Floats:
    M = np.zeros(above.shape)
    M[above] = cells
    M.T[above] = cells
    return M


def _hollow(R: Floats) -> Floats:
    R = R.copy()
    np.fill_diagonal(R, 0.0)
    return R
