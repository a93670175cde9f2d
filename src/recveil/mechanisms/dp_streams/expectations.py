"""How often a space of items expects pairs of them, and what noisy pairs say beyond it: post-processing alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from recveil import kernels
from recveil.dp import denoise
from recveil.mechanisms.dp_streams.loadings import WHOLE, SpaceTables, Tastes, tastes

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

NEAREST = 128
_SHARP = (2.0, 3.0, 4.0, 6.0, 9.0, 13.0, 18.0)  # of people's tastes, which the noisy pairs choose
_CERTAIN = 2.0  # deviations by which people's places must fit better than moments do
_DOUBT = 0.5  # how far the strength of tastes may lie from 1, about
_EIGENS = 2048  # paired items up to which directions of their own are sought in what the space leaves
_BLOCK = 1 << 24
_ROUGH = 8  # steps of scaling where forms of expectation are only compared
_KIN = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 9.0)  # how much likeness of features pulls, which the noisy pairs choose
_BY_KIN = 0.5  # of an item's pairs among very many items: what features tell without anybody's rows
_SHARPER = 2.0  # times the pull that fits: drawn rows are few, and what is told must stand out of the chance in them


def likeness(known: SpaceTables, found: Tastes, sharp: float | None, left: Ints, right: Ints) -> Floats:
    """How much more often than by chance two items meet; without a sharpness by moments, else by people's places."""
    if sharp is None:
        values, axes = np.linalg.eigh(found.firm)
        half = found.mean @ (axes / np.sqrt(values))
        return np.asarray(np.maximum(1 + half[left] @ half[right].T, 0.0))
    place, toward = _places(known, found)
    return np.asarray(np.exp(np.minimum(sharp * (place[left] @ toward[right].T), 30.0)))


def _places(known: SpaceTables, found: Tastes) -> tuple[Singles, Singles]:
    """Where a person with one item stands, and where each item pulls."""
    length = np.maximum(np.linalg.norm(known.vectors, axis=1, keepdims=True), 1e-6)
    toward = found.mean @ np.linalg.inv(found.firm) / np.sqrt(known.vectors.shape[1])
    return (known.vectors / length).astype(np.float32), toward.astype(np.float32)


def sharpness(known: SpaceTables, found: Tastes, noisy: Singles, sigma: float) -> float | None:
    """Which form of expectation fits the noisy pairs best; people's places must do so beyond what noise could make."""
    best, chosen, chance = -np.inf, None, _by_chance(known)
    plain: Singles = np.zeros(0, dtype=np.float32)
    for sharp in (None, *_SHARP):
        table = likeness(known, found, sharp, known.paired, known.paired).astype(np.float32, copy=False)
        table = (table + table.T) * chance
        fit = _fit(table, known, noisy)
        if sharp is None:
            plain = table
        else:
            fit -= _CERTAIN * sigma * float(np.sqrt(2 * np.square(table - plain).sum(dtype=np.float64)))
        if fit > best:
            best, chosen = fit, sharp
    return chosen


def kinship(known: SpaceTables, noisy: Singles) -> float:
    """How much likeness of features pulls: twice as much as fits the noisy pairs."""
    own, chance = scipy.sparse.csr_array(known.facts[known.paired], dtype=np.float32), _by_chance(known)
    alike, best, chosen = (own @ own.T).toarray(), -np.inf, 0.0
    for pull in _KIN:
        table = np.exp(np.float32(pull) * alike)
        table *= chance
        fit = _fit(table, known, noisy)
        if fit > best:
            best, chosen = fit, pull
    return _SHARPER * chosen


def _by_chance(known: SpaceTables) -> Singles:
    """How often paired items would meet by popularity alone, in shares, so that single precision holds them."""
    share = (known.have[known.paired] / float(known.have[known.paired].mean())).astype(np.float32)
    return np.outer(share, share)


def _fit(table: Singles, known: SpaceTables, noisy: Singles) -> float:
    """How well a table, which is scaled in place to the sums of its rows and to length 1, goes with noisy pairs."""
    balanced(table, known.have[known.paired], _ROUGH)
    table /= np.float32(max(float(np.sqrt(np.square(table).sum(dtype=np.float64))), 1e-30))
    return float((table * noisy).sum(dtype=np.float64))


def strength(known: SpaceTables, alike: Floats, noisy: Singles, sigma: float) -> float:
    """How much stronger tastes are than their moments say, by the noisy pairs; they are short of it where streams are.

    A line through noisy pairs, toward 1 as far as it is uncertain.
    """
    among = np.ix_(known.paired, known.paired)
    chance = np.outer(known.have[known.paired], known.have[known.paired])
    np.fill_diagonal(chance, 0.0)
    beyond = chance * (alike[among] - 1)
    columns = np.stack([chance.ravel(), beyond.ravel()])
    square = columns @ columns.T + 1e-12 * np.eye(2)
    level, slope = np.linalg.solve(square, columns @ noisy.ravel().astype(np.float64))
    if level <= 0:
        return 1.0
    unsure = 2 * sigma**2 * np.linalg.inv(square)[1, 1] / level**2
    return float(np.clip(1 + (slope / level - 1) / (1 + unsure / _DOUBT**2), 1.0, 4.0))


def balanced(table: Any, sums: Floats, steps: int = 20) -> Any:
    """A symmetric table, scaled by rows and columns so that its rows have these sums; a dense one in place."""
    if not scipy.sparse.issparse(table):
        np.fill_diagonal(table, 0.0)
    sums = sums.astype(table.dtype)
    scale, least = np.ones_like(sums), np.finfo(table.dtype).tiny
    for _ in range(steps):
        scale = np.sqrt(scale * sums / np.maximum(table @ scale, least))
    if scipy.sparse.issparse(table):
        spread = scipy.sparse.diags_array(scale)
        return scipy.sparse.csr_array(spread @ table @ spread)
    table *= scale
    table *= scale[:, None]
    return table


def expected_pairs(
    known: SpaceTables, noisy: Singles, sigma: float
) -> tuple[kernels.baskets.PairTable, Floats, Floats, Tastes | None]:
    """Pairs as the space expects them, and of the items paired as noisy pairs correct it; flat, with sums of rows."""
    found, n = tastes(known), len(known.have)
    sharp = sharpness(known, found, noisy, sigma)
    if n <= WHOLE:
        every = np.arange(n)
        table = likeness(known, found, sharp, every, every)
        if sharp is None:
            strong = strength(known, table, noisy, sigma)
            table = np.maximum(1 + strong * (table - 1), 0.0)
            found = Tastes(found.moments, found.firm, found.mean * np.sqrt(strong))
        table = (table + table.T) / 2 * np.outer(known.have, known.have)
        np.fill_diagonal(table, 0.0)
        if sharp is not None:
            table = balanced(table, known.have)
        among = np.ix_(known.paired, known.paired)
        table[among] = _turned(table[among], noisy, sigma)
        return (
            kernels.baskets.PairTable(np.arange(n + 1) * n, np.empty(0, np.int32)),
            table.ravel(),
            table.sum(1),
            found if sharp is None else None,
        )
    near = balanced(_nearest(known, found, sharp, kinship(known, noisy)), known.have)
    inside = near[known.paired][:, known.paired].toarray()
    better = _corrected(inside, noisy, sigma)
    keep = _largest(better.astype(np.float32), NEAREST)
    mask = np.zeros(n, dtype=bool)
    mask[known.paired] = True
    rows = np.repeat(np.arange(n), np.diff(near.indptr))
    outside = ~(mask[rows] & mask[near.indices])
    i, j = keep
    whole = scipy.sparse.csr_array(
        (
            np.concatenate([near.data[outside], better[i, j]]),
            (
                np.concatenate([rows[outside], known.paired[i]]),
                np.concatenate([near.indices[outside], known.paired[j]]),
            ),
        ),
        shape=(n, n),
    )
    whole = scipy.sparse.csr_array(balanced(scipy.sparse.csr_array(whole.maximum(whole.T)), known.have))
    whole.sort_indices()
    sums = np.asarray(whole.sum(1)).ravel()
    return (
        kernels.baskets.PairTable(whole.indptr.astype(np.int64), whole.indices.astype(np.int32)),
        whole.data,
        sums,
        None,
    )


def _scale(prior: Floats, noisy: Singles) -> float:
    """What a table of the space must be multiplied with to come near noisy pairs."""
    return max(float((prior * noisy).sum()) / max(float((prior**2).sum()), 1e-300), 1e-9)


def _turned(prior: Floats, noisy: Singles, sigma: float) -> Floats:
    """A table of the space with the directions in which noisy pairs differ from it beyond noise; no cell by itself."""
    if len(prior) > _EIGENS:
        return prior
    scale = _scale(prior, noisy)
    rest = noisy - prior * scale
    np.fill_diagonal(rest, 0.0)
    return np.asarray(np.maximum(prior + denoise.low_rank(rest, sigma) / scale, 0.0))


def _corrected(prior: Floats, noisy: Singles, sigma: float) -> Floats:
    """A table of the space with what noisy pairs say beyond it, in the space's own scale."""
    scale = _scale(prior, noisy)
    expected: Singles = np.ascontiguousarray(_turned(prior, noisy, sigma) * scale, dtype=np.float32)
    (better,) = denoise.shrink_table(np.ascontiguousarray(noisy), expected, sigma, (1.0,))
    better = np.maximum(better, 0.0)
    np.fill_diagonal(better, 0.0)
    return np.asarray(better.astype(np.float64) / scale)


def _nearest(known: SpaceTables, found: Tastes, sharp: float | None, pull: float) -> scipy.sparse.csr_array:
    """The pairs that are expected most of, some for each item: by the space, and by kin.

    The space has few directions, and what is told of rare items in it is mostly noise; features have neither.
    """
    one_way = _near_in_space(known, found, sharp)
    if pull > 0:
        kin = _near_by_features(known, pull)
        told = scipy.sparse.diags_array(np.where(np.diff(kin.indptr) > 0, _BY_KIN, 0.0))
        one_way = one_way - told @ one_way + told @ kin
    one_way = scipy.sparse.csr_array(scipy.sparse.diags_array(known.have) @ one_way)
    return scipy.sparse.csr_array((one_way + one_way.T) / 2)


def _near_in_space(known: SpaceTables, found: Tastes, sharp: float | None) -> scipy.sparse.csr_array:
    """For each item what its nearest have of its pairs, by the space, a block of items at a time."""
    n = len(known.have)
    every, rows, columns, values = np.arange(n), [], [], []
    logs = np.log(np.maximum(known.have, 1e-9)).astype(np.float32)
    place, toward = _places(known, found)
    for begin in range(0, n, max(1, _BLOCK // n)):
        block = every[begin : begin + max(1, _BLOCK // n)]
        if sharp is None:
            table = (likeness(known, found, None, block, every) * known.have).astype(np.float32)
        else:
            table = place[block] @ toward.T
            table *= np.float32(sharp)
            table += logs
        table[np.arange(len(block)), block] = -np.inf if sharp is not None else 0.0
        top, value = kernels.pair_tables.largest_cells(table, NEAREST)
        value = value.astype(np.float64)
        if sharp is not None:
            value = np.exp(value - value.max(1, keepdims=True))
        rows.append(np.repeat(block, NEAREST))
        columns.append(top.ravel())
        values.append((value / value.sum(1, keepdims=True)).ravel())
    return scipy.sparse.csr_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(n, n)
    )


def _near_by_features(known: SpaceTables, pull: float) -> scipy.sparse.csr_array:
    """Likewise, by how alike features are; items with the same features have the same nearest, but for themselves."""
    n = len(known.have)
    facts = scipy.sparse.csr_array(known.facts, dtype=np.float32)
    logs = np.log(np.maximum(known.have, 1e-9)).astype(np.float32)
    told = np.flatnonzero(np.diff(facts.indptr))
    marks = facts[told] @ np.random.default_rng(0).standard_normal(facts.shape[1])
    _, kinds, which = np.unique(marks, return_index=True, return_inverse=True)
    near, weigh = [], []
    for part in np.array_split(told[kinds], max(1, len(kinds) * n // _BLOCK)):
        table = (facts[part] @ facts.T).toarray() * np.float32(pull) + logs
        top, value = kernels.pair_tables.largest_cells(table, NEAREST + 1)
        near.append(top)
        weigh.append(np.exp(value.astype(np.float64) - value.max(1, keepdims=True)))
    column, value = np.concatenate(near)[which], np.concatenate(weigh)[which]
    value[column == told[:, None]] = 0.0
    value /= np.maximum(value.sum(1, keepdims=True), 1e-300)
    found = scipy.sparse.csr_array((value.ravel(), (np.repeat(told, NEAREST + 1), column.ravel())), shape=(n, n))
    found.eliminate_zeros()
    return found


def _largest(table: Singles, many: int) -> tuple[Ints, Ints]:
    """The largest positive cells of each row, as two lists of places."""
    column, value = kernels.pair_tables.largest_cells(table, min(many, table.shape[1]))
    row, there = np.repeat(np.arange(len(table)), column.shape[1]), value.ravel() > 0
    return row[there], column.ravel()[there]
