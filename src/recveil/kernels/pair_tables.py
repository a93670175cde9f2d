"""Symmetric tables of pairs, row by row on all cores: whole from a triangle, shrunk, what is largest in each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Singles = NDArray[np.float32]

STEPS, FAR = 16, 8.0  # residuals are told apart in 16 steps to a deviation; beyond 8 deviations, 16 to a doubling
LEVELS = 1024  # more than any residual reaches


@njit(cache=True, parallel=True)
def square(triangle: Ints, m: int, unit: float) -> Singles:
    """The table of an upper triangle in whole numbers of 1 / unit; its diagonal is empty."""
    found = np.zeros((m, m), dtype=np.float32)
    for i in prange(m):
        for j in range(i):
            found[i, j] = np.float32(triangle[j * (2 * m - j - 1) // 2 + i - j - 1] / unit)
        row = i * (2 * m - i - 1) // 2 - i - 1
        for j in range(i + 1, m):
            found[i, j] = np.float32(triangle[row + j] / unit)
    return found


@njit(inline="always")
def _level(z: Any) -> Any:
    if z < FAR:
        return np.int64(z * STEPS + 0.5)
    return np.int64(FAR * STEPS) + np.int64(np.log2(z / FAR) * STEPS + 0.5)


@njit(inline="always")
def _kind(prior: Any, edges: Any) -> Any:
    kind = 0
    while kind < len(edges) and prior < edges[kind]:
        kind += 1
    return kind


@njit(cache=True, parallel=True)
def count_levels(noisy: Singles, prior: Singles, edges: Singles, sigma: float) -> Ints:
    """How often each level of |noisy - prior| / sigma occurs above the diagonal, by class of prior (falling edges)."""
    m = len(noisy)
    parts = 64  # rows that stand for themselves, so that no two threads count in one place
    counts = np.zeros((parts, len(edges) + 1, LEVELS), dtype=np.int64)
    for part in prange(parts):
        for i in range(part, m, parts):
            for j in range(i + 1, m):
                z = abs(np.float64(noisy[i, j]) - np.float64(prior[i, j])) / sigma
                counts[part, _kind(prior[i, j], edges), min(_level(z), LEVELS - 1)] += 1
    found: Ints = counts.sum(0)
    return found


@njit(cache=True, parallel=True)
def shrink_cells(noisy: Singles, prior: Singles, edges: Singles, sigma: float, factor: Floats) -> Singles:
    """prior + (noisy - prior) factor[class, level], never below 0; an empty diagonal."""
    m = len(noisy)
    found = np.zeros((m, m), dtype=np.float32)
    for i in prange(m):
        for j in range(m):
            if i != j:
                rest = np.float64(noisy[i, j]) - np.float64(prior[i, j])
                level = min(_level(abs(rest) / sigma), LEVELS - 1)
                found[i, j] = max(prior[i, j] + rest * factor[_kind(prior[i, j], edges), level], 0.0)
    return found


@njit(cache=True, parallel=True)
def nearest_cells(table: Singles, norm: Floats, k: int) -> tuple[NDArray[np.int32], Singles]:
    """Of each row the k columns whose cell / norm / norm is largest, in their order, and those cosines; -1: no more.

    Of equal ones the first columns are taken.
    """
    m = len(table)
    k = min(k, m)
    column, value = np.full((m, k), -1, dtype=np.int32), np.zeros((m, k), dtype=np.float32)
    for i in prange(m):
        row = np.empty(m, dtype=np.float32)
        for j in range(m):
            row[j] = table[i, j] / norm[i] / norm[j]
        least = np.partition(row, m - k)[m - k]
        above = 0
        for j in range(m):
            above += row[j] > least
        size, level = 0, k - above  # so many of those that equal the least one
        for j in range(m):
            if row[j] > least or (row[j] == least and level > 0):
                level -= row[j] == least
                if row[j] > 0:
                    column[i, size], value[i, size] = j, row[j]
                    size += 1
    return column, value


@njit(cache=True, parallel=True)
def largest_cells(table: Singles, k: int) -> tuple[Ints, Singles]:
    """Of each row the k columns whose cell is largest, in no order, and those cells.

    A heap for each row, whose root is the least of its k.
    """
    n, m = table.shape
    column, value = np.empty((n, k), dtype=np.int64), np.empty((n, k), dtype=np.float32)
    for i in prange(n):
        best, at = value[i], column[i]
        for j in range(m):
            new, place = table[i, j], min(j, k - 1)
            if j < k:
                while place > 0 and best[(place - 1) // 2] > new:
                    best[place], at[place] = best[(place - 1) // 2], at[(place - 1) // 2]
                    place = (place - 1) // 2
            elif new > best[0]:
                place = 0
                while 2 * place + 1 < k:
                    child = 2 * place + 1
                    child += child + 1 < k and best[child + 1] < best[child]
                    if best[child] >= new:
                        break
                    best[place], at[place] = best[child], at[child]
                    place = child
            else:
                continue
            best[place], at[place] = new, j
    return column, value


@njit(cache=True, parallel=True)
def pair_errors(starts: Ints, item: NDArray[np.int32], weight: Floats, target: Singles, softness: float) -> Singles:
    """Of each pair: what the baskets that have it weigh together, less its target; and 1 / (target + softness)."""
    m, parts = len(target), 16
    found = np.empty((m, m, 2), dtype=np.float32)
    for part in prange(parts):
        for i in range(part, m, parts):
            for j in range(m):
                found[i, j, 0], found[i, j, 1] = -target[i, j], 1 / (target[i, j] + softness)
        for basket in range(len(starts) - 1):
            w = np.float32(weight[basket])
            for a in range(starts[basket], starts[basket + 1]):
                if item[a] % parts == part:
                    for b in range(starts[basket], starts[basket + 1]):
                        found[item[a], item[b], 0] += w
    for i in range(m):
        found[i, i, 0] = 0.0
    return found


@njit(cache=True, parallel=True)
def cumulate_rows(table: Singles) -> NDArray[np.uint32]:
    """Rows summed up from left to right and scaled to 32 bits; a row of zeros becomes uniform."""
    m = table.shape[1]
    found = np.empty(table.shape, dtype=np.uint32)
    for i in prange(len(table)):
        total, whole = 0.0, 0.0
        for j in range(m):
            whole += np.float64(table[i, j])
        for j in range(m):
            total += np.float64(table[i, j]) if whole > 0 else 1.0
            found[i, j] = np.uint32(min(total / (whole if whole > 0 else m), 1.0) * 4294967295.0)
    return found
