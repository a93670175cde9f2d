"""Sequences: do the same items follow each other, and are they seen together? DS and CVS, row by row.

Two readings of "the 100 strongest entries of a row agree": `padded`, the MBRW paper's, fills short rows up to 100 with
columns that are zero in the real data, and matching zeros inflate it; `strict` ranks the non-zero entries alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import ks_2samp

from recveil.data import Floats, Interactions
from recveil.intervals import bootstrap_groups, bootstrap_mean
from recveil.measurement import Measurement, SkippedError, Trial
from recveil.views.transitions import common_views, direct_sequence

TOP = 100
ROWS = 5000  # rows compared; more are drawn from
BLOCK = 256

Views = Callable[[NDArray[np.int64]], sparse.csr_array]  # items in, their rows of a table of pairs out


def sequences(trial: Trial, rng: np.random.Generator) -> list[Measurement]:
    """Spearman of DS and CVS rows; distance of the lengths; difference of the repeats."""
    if not len(trial.released) or not len(trial.train):
        raise SkippedError("there are no rows")
    found: list[Measurement] = []
    real, released = trial.train.ordered(), trial.released.ordered()
    for name, views in (("DS", _followed), ("CVS", common_views)):
        before, after = views(real), views(released)
        rows = _not_empty(real, before)
        if len(rows) > ROWS:
            rows = np.sort(rng.choice(rows, ROWS, replace=False))
        for padded, each in _agreed(before, after, rows).items():
            told = each[np.isfinite(each)]
            if not len(told):
                continue
            left_out = 1 - len(told) / len(rows)
            found.append(
                Measurement(
                    f"{name} rows",
                    *bootstrap_mean(told, rng),
                    n=len(told),
                    params={"entries": "padded" if padded else "strict", "top": TOP},
                    note=f"{left_out:.0%} of the rows have no two different ranks on one side and are left out",
                )
            )
    return [*found, _lengths(trial, rng), _repeats(trial, rng)]


def _followed(rows: Interactions) -> Views:
    ds = direct_sequence(rows)
    return lambda items: ds[items]


def _not_empty(data: Interactions, views: Views) -> NDArray[np.int64]:
    return np.concatenate([b[np.diff(views(b).indptr) > 0] for b in _blocks(np.arange(data.n_items))])


def _blocks(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Few enough at a time for their pairs with all items to stand in memory."""
    return np.split(rows, range(BLOCK, len(rows), BLOCK))


def _agreed(before: Views, after: Views, rows: NDArray[np.int64]) -> dict[bool, Floats]:
    """Row correlations by whether short rows are padded."""
    found: dict[bool, list[Floats]] = {True: [], False: []}
    for block in _blocks(rows):
        mine, theirs = before(block), after(block)
        for padded, parts in found.items():
            parts.append(row_correlations(mine, theirs, np.arange(len(block)), padded=padded))
    return {padded: np.concatenate(parts) for padded, parts in found.items()}


def row_correlations(
    before: sparse.csr_array, after: sparse.csr_array, rows: NDArray[np.int64], *, padded: bool, top: int = TOP
) -> Floats:
    """Spearman's rho of each row over the real row's `top` largest entries; NaN where one side is constant."""
    return np.array([_row(before, after, r, padded, top) for r in rows])


def _row(before: sparse.csr_array, after: sparse.csr_array, r: int, padded: bool, top: int) -> float:
    mine = slice(before.indptr[r], before.indptr[r + 1])
    columns, values = before.indices[mine], before.data[mine]
    best = np.lexsort((columns, -values))[:top]
    columns, values = columns[best], values[best].astype(np.float64)
    if padded and len(columns) < top:
        lowest = np.setdiff1d(np.arange(min(2 * top, before.shape[1])), columns)[: top - len(columns)]
        columns, values = np.concatenate([columns, lowest]), np.concatenate([values, np.zeros(len(lowest))])
    theirs = slice(after.indptr[r], after.indptr[r + 1])
    other = np.zeros(len(columns))
    if theirs.stop > theirs.start:
        there = after.indices[theirs]
        at = np.minimum(np.searchsorted(there, columns), len(there) - 1)
        other = np.where(there[at] == columns, after.data[theirs][at], 0.0)
    return spearman(values, other)


def spearman(x: Floats, y: Floats) -> float:
    """Pearson's correlation of average ranks; NaN where either side is constant."""
    a, b = _ranks(x), _ranks(y)
    scale = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / scale) if scale > 0 else float("nan")


def _ranks(x: Floats) -> Floats:
    """Average ranks, less their mean."""
    _, which, count = np.unique(x, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(count) - (count + len(x)) / 2)[which]
    return ranks


def _lengths(trial: Trial, rng: np.random.Generator) -> Measurement:
    real, released = (
        np.unique(d.user, return_counts=True)[1].astype(np.float64) for d in (trial.train, trial.released)
    )
    estimate = bootstrap_groups(
        lambda a, b: float(ks_2samp(a, b, method="asymp").statistic), [real, released], rng, repeats=200
    )
    note = f"Kolmogorov-Smirnov distance; mean {released.mean():.1f} in the release, {real.mean():.1f} in the data"
    return Measurement("session length", *estimate, n=len(released), note=note)


def _repeats(trial: Trial, rng: np.random.Generator) -> Measurement:
    real, released = (_again(d) for d in (trial.train, trial.released))
    value, low, high = bootstrap_groups(lambda a, b: b.mean() - a.mean(), [real, released], rng)
    note = f"mean share per user {released.mean():.3f} in the release, {real.mean():.3f} in the data"
    return Measurement("repeat rate", value, low, high, n=len(released), note=note)


def _again(data: Interactions) -> Floats:
    """Of each user's rows, the share whose item she had before."""
    rows = np.bincount(data.user, minlength=data.n_users)
    different = np.diff(data.matrix(binary=True).indptr)
    share: Floats = (1 - different / np.maximum(rows, 1))[rows > 0]
    return share
