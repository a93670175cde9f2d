"""Stochastic steps of a pairwise factorisation machine: a person, an item, and features of the item."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recveil.kernels.chacha import below, stream


@njit(cache=True, nogil=True)
def learn(
    starts: NDArray[np.int64],
    history: NDArray[np.int32],
    feature_starts: NDArray[np.int64],
    features: NDArray[np.int32],
    amounts: NDArray[np.float64],
    U: NDArray[np.float64],
    V: NDArray[np.float64],
    bias: NDArray[np.float64],
    steps: int,
    rate: float,
    penalty: float,
    key: NDArray[np.uint64],
) -> tuple[Any, Any, Any]:
    """U (people), V and bias (items, then features) after so many steps of BPR from the given ones.

    `history` is sorted within a person. The features of item i are features[feature_starts[i] : feature_starts[i + 1]],
    numbered from 0, each in its amount. A drawn item that is in the person's history is skipped.
    """
    U, V, bias = U.copy(), V.copy(), bias.copy()
    n_items, k = len(feature_starts) - 1, V.shape[1]
    person = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    liked, other, gap, mine = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    s = stream(key, np.uint64(0))
    for _ in range(steps):
        cell = below(s, len(history))
        u, i, j = person[cell], np.int64(history[cell]), below(s, n_items)
        at = starts[u] + np.searchsorted(history[starts[u] : starts[u + 1]], j)
        if at < starts[u + 1] and history[at] == j:
            continue
        ahead = _sum(i, n_items, feature_starts, features, amounts, V, bias, liked)
        ahead -= _sum(j, n_items, feature_starts, features, amounts, V, bias, other)
        for f in range(k):
            mine[f] = U[u, f]
            gap[f] = liked[f] - other[f]
            ahead += mine[f] * gap[f]
        z = 1.0 / (1.0 + np.exp(ahead))
        for f in range(k):
            U[u, f] += rate * (z * gap[f] - penalty * U[u, f])
        _step(i, z, n_items, feature_starts, features, amounts, V, bias, liked, mine, rate, penalty)
        _step(j, -z, n_items, feature_starts, features, amounts, V, bias, other, mine, rate, penalty)
    return U, V, bias


@njit(cache=True)
def _sum(
    item: int, n_items: int, feature_starts: Any, features: Any, amounts: Any, V: Any, bias: Any, total: Any
) -> float:
    """The factors of an item and its features added up, and what they are worth to anybody."""
    total[:] = V[item]
    worth, squares = bias[item], np.sum(V[item] ** 2)
    for at in range(feature_starts[item], feature_starts[item + 1]):
        row, x = n_items + features[at], amounts[at]
        worth += x * bias[row]
        total += x * V[row]
        squares += x * x * np.sum(V[row] ** 2)
    return worth + 0.5 * (np.sum(total**2) - squares)  # type: ignore[no-any-return]


@njit(cache=True)
def _step(
    item: int,
    z: float,
    n_items: int,
    feature_starts: Any,
    features: Any,
    amounts: Any,
    V: Any,
    bias: Any,
    total: Any,
    mine: Any,
    rate: float,
    penalty: float,
) -> None:
    """Move an item and its features along z times the gradient of the score."""
    for at in range(feature_starts[item] - 1, feature_starts[item + 1]):
        itself = at < feature_starts[item]
        row, x = (item, 1.0) if itself else (n_items + features[at], amounts[at])
        bias[row] += rate * (z * x - penalty * bias[row])
        for f in range(V.shape[1]):
            V[row, f] += rate * (z * x * (mine[f] + total[f] - x * V[row, f]) - penalty * V[row, f])
