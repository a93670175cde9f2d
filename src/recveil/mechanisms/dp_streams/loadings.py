"""What lies behind noisy loadings, and how often a space of items expects pairs of them: post-processing alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from recveil import kernels
from recveil.dp import denoise
from recveil.mechanisms.dp_streams.space import conjugate

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

WHOLE = 4096  # items up to which a table of all pairs is drawn from; of more, each has its nearest alone
NEAREST = 128
_SHARP = (2.0, 3.0, 4.0, 6.0, 9.0, 13.0, 18.0)  # of people's tastes, which the noisy pairs choose
_RIDGE, _FLOOR = 2.0, 0.1  # of the second moments, in shares of their mean
_EIGENS = 2048  # paired items up to which directions of their own are sought in what the space leaves
_CLASSES = 8  # of items by popularity
_BLOCK = 1 << 24


@dataclass(frozen=True)
class SpaceTables:
    """Published tables in a space of items, in units of one person. `paired`: the items of which pairs were counted."""

    facts: Any  # items x features, sparse
    vectors: Singles
    have: Floats  # how many have an item, a person with s items counting 1 / sqrt(s)
    moments: Floats
    loadings: Floats
    paired: Ints
    people: float
    moment_sigma: float
    loading_sigma: float


@dataclass(frozen=True)
class Tastes:
    """Second moments of people's places, and for each item the mean place of those who have it, by its other items."""

    moments: Floats
    firm: Floats  # the same with a ridge: its inverse does not raise noise
    mean: Floats


def tastes(known: SpaceTables) -> Tastes:
    """De-noised: moments toward equal ones, means toward what vectors and features tell of them, then by themselves."""
    n, d = known.vectors.shape
    values, axes = np.linalg.eigh(known.moments / known.people)
    level, noise = max(float(values.mean()), 1e-9), (known.moment_sigma / known.people) ** 2 * (d + 1) / 2
    signal = max(float(((values - level) ** 2).mean()) - noise, 0.0)
    values = np.maximum(level + (values - level) * (signal / max(signal + noise, 1e-300)), _FLOOR * level)
    have, s2 = np.maximum(known.have, 1e-6), known.loading_sigma**2
    seen = (known.loadings @ axes) / have[:, None]
    design = np.hstack([np.ones((n, 1)), known.vectors])
    own = np.full((n, d), 0.09 / d)
    parts = np.array_split(np.argsort(-have, kind="stable"), _CLASSES)
    mean = seen
    for _ in range(2):
        weight = 1 / (own.mean(1) + s2 / have**2)
        prior = _told(design, seen, weight, 0.3 * (values + _RIDGE * level))
        prior += _told_by_features(known.facts, seen - prior, weight)
        rest, mean = seen - prior, prior.copy()
        for part in parts:
            h2 = (have[part] ** 2)[:, None]
            spread = np.maximum(((rest[part] ** 2 * h2**2).sum(0) - s2 * h2.sum()) / (h2**2).sum(), 1e-6)
            own[part] = spread
            mean[part] += rest[part] * (spread * h2 / (spread * h2 + s2))
    firm = values + _RIDGE * level
    return Tastes((axes * values) @ axes.T, (axes * firm) @ axes.T, mean @ axes.T)


def _told(design: Floats, seen: Floats, weight: Floats, slack: Floats) -> Floats:
    """What columns explain of each table column by a ridge whose size the data tell (expectation, maximisation)."""
    values, axes = np.linalg.eigh((design * weight[:, None]).T @ design)
    wanted = axes.T @ (design.T @ (weight[:, None] * seen))
    values = np.maximum(values, 0.0)[:, None]
    for _ in range(6):
        precise = values + 1 / slack
        slack = np.maximum(((wanted / precise) ** 2 + 1 / precise).mean(0), 1e-7)
    return np.asarray(design @ (axes @ (wanted / (values + 1 / slack))))


def _told_by_features(facts: Any, rest: Floats, weight: Floats) -> Floats:
    """What features one by one explain of what is left; their variance by moments, so that noise explains nothing."""
    if not facts.shape[1]:
        return np.zeros_like(rest)
    wanted = facts.T @ (weight[:, None] * rest)
    square = scipy.sparse.csr_array(facts.T @ (scipy.sparse.diags_array(weight) @ facts))
    own = square.diagonal()
    slack = np.maximum(((wanted**2).sum(0) - own.sum()) / max(float((square.data**2).sum()), 1e-300), 1e-9)
    scale = 1 / np.sqrt(own[:, None] + 1 / slack)
    found = scale * conjugate(lambda v: scale * (square @ (scale * v) + scale * v / slack), scale * wanted)
    return np.asarray(facts @ found)


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


def sharpness(known: SpaceTables, found: Tastes, noisy: Singles) -> float | None:
    """Which form of expectation fits the noisy pairs best."""
    sums = known.have[known.paired]
    best, chosen = -np.inf, None
    for sharp in (None, *_SHARP):
        table = likeness(known, found, sharp, known.paired, known.paired)
        table = balanced((table + table.T) / 2 * np.outer(sums, sums), sums)
        fit = float((table * noisy).sum()) / max(float(np.sqrt((table**2).sum())), 1e-300)
        if fit > best:
            best, chosen = fit, sharp
    return chosen


def balanced(table: Any, sums: Floats, steps: int = 20) -> Any:
    """A symmetric table, dense or sparse, scaled by rows and columns so that its rows have these sums; no diagonal."""
    if not scipy.sparse.issparse(table):
        np.fill_diagonal(table, 0.0)
    scale = np.ones(len(sums))
    for _ in range(steps):
        scale = np.sqrt(scale * sums / np.maximum(table @ scale, 1e-300))
    if scipy.sparse.issparse(table):
        spread = scipy.sparse.diags_array(scale)
        return scipy.sparse.csr_array(spread @ table @ spread)
    return table * scale * scale[:, None]


def expected_pairs(
    known: SpaceTables, noisy: Singles, sigma: float
) -> tuple[kernels.baskets.PairTable, Floats, Floats, Tastes | None]:
    """Pairs as the space expects them, and of the items paired as noisy pairs correct it; flat, with sums of rows."""
    found, n = tastes(known), len(known.have)
    sharp = sharpness(known, found, noisy)
    if n <= WHOLE:
        every = np.arange(n)
        table = likeness(known, found, sharp, every, every)
        table = balanced((table + table.T) / 2 * np.outer(known.have, known.have), known.have)
        among = np.ix_(known.paired, known.paired)
        table[among] = _corrected(table[among], noisy, sigma)
        return (
            kernels.baskets.PairTable(np.arange(n + 1) * n, np.empty(0, np.int32)),
            table.ravel(),
            table.sum(1),
            found if sharp is None else None,
        )
    near = balanced(_nearest(known, found, sharp), known.have)
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


def _corrected(prior: Floats, noisy: Singles, sigma: float) -> Floats:
    """A table of the space with what noisy pairs say beyond it, in the space's own scale."""
    scale = max(float((prior * noisy).sum()) / max(float((prior**2).sum()), 1e-300), 1e-9)
    scaled = prior * scale
    if len(prior) <= _EIGENS:
        rest = noisy - scaled
        np.fill_diagonal(rest, 0.0)
        scaled = scaled + denoise.low_rank(rest, sigma)
    expected: Singles = np.ascontiguousarray(scaled, dtype=np.float32)
    (better,) = denoise.shrink_table(np.ascontiguousarray(noisy), expected, sigma, (1.0,))
    better = np.maximum(better, 0.0)
    np.fill_diagonal(better, 0.0)
    return np.asarray(better.astype(np.float64) / scale)


def _nearest(known: SpaceTables, found: Tastes, sharp: float | None) -> scipy.sparse.csr_array:
    """The pairs that the space expects most of, some for each item, a block of items at a time."""
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
        top = np.argpartition(table, n - NEAREST, axis=1)[:, n - NEAREST :]
        value = np.take_along_axis(table, top, 1).astype(np.float64)
        if sharp is not None:
            value = np.exp(value - value.max(1, keepdims=True))
        rows.append(np.repeat(block, NEAREST))
        columns.append(top.ravel())
        values.append((value / value.sum(1, keepdims=True) * known.have[block, None]).ravel())
    one_way = scipy.sparse.csr_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(n, n)
    )
    return scipy.sparse.csr_array((one_way + one_way.T) / 2)


def _largest(table: Singles, many: int) -> tuple[Ints, Ints]:
    """The largest positive cells of each row, as two lists of places."""
    many = min(many, table.shape[1])
    top = np.argpartition(table, table.shape[1] - many, axis=1)[:, table.shape[1] - many :]
    row = np.repeat(np.arange(len(table)), many)
    there = table[row, top.ravel()] > 0
    return row[there], top.ravel()[there].astype(np.int64)
