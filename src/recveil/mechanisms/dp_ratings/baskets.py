"""What new people have: items by their taste, swapped until pairs occur as often as expected, and some rare ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recveil import kernels
from recveil.mechanisms.dp_ratings.pairs import ExpectedPairs
from recveil.mechanisms.dp_streams.baskets import cumulated
from recveil.randomness import Source

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SWEEPS = 3
_SOFTNESS = 30  # errors of pair counts weigh 1 / (target + 30 typical contributions)
_MOST_RARE = 0.6  # of a person's kept items: how many rare ones she may have beside them


def draw_baskets(expected: ExpectedPairs, M: NDArray[np.float32], sizes: Ints, source: Source) -> NDArray[np.int32]:
    """Sets of kept items of the given sizes, one after the other, whose weighted pairs come near M."""
    starts = np.append(0, np.cumsum(sizes))
    q = np.maximum(expected.q, 1e-9 * max(float(expected.q.max()), 1e-9))
    item: NDArray[np.int32] = kernels.rating_draws.choose(source.derive("choose").key(), starts, q, expected.taste)
    strength = M.sum(1, dtype=np.float64)
    weight = 1 / np.sqrt(np.maximum(sizes * (sizes - 1) / 2, 1))
    target = M * np.float32((sizes * (sizes - 1) * weight).sum() / max(float(strength.sum()), 1e-12))
    error = kernels.pair_tables.pair_errors(starts, item, weight, target, _SOFTNESS * float(weight.mean()))
    del target
    kernels.rating_draws.swap(
        source.derive("swap").key(),
        starts,
        item,
        error,
        cumulated(strength[None])[0],
        kernels.pair_tables.cumulate_rows(M),
        SWEEPS,
    )
    return item


def add_rare(
    item: NDArray[np.int32], sizes: Ints, kept: Ints, have: Floats, source: Source
) -> tuple[NDArray[np.int32], Ints]:
    """Baskets over all items: items that are not kept are added as often as they occur; and how many each has now."""
    rare = np.setdiff1d(np.arange(len(have)), kept)
    codes = kept[item].astype(np.int32)
    share = float(have[rare].sum() / have.sum())
    if not len(rare) or share <= 0:
        return codes, sizes
    more = source.derive("number").generator().binomial(sizes, _chances(sizes, share))
    more = np.minimum(more, len(rare))
    starts = np.append(0, np.cumsum(more))
    added = rare[
        kernels.rating_draws.choose(source.derive("rare").key(), starts, have[rare], np.zeros((len(rare), 0)))
    ].astype(np.int32)
    user = np.concatenate([np.repeat(np.arange(len(sizes)), sizes), np.repeat(np.arange(len(sizes)), more)])
    order = np.argsort(user, kind="stable")
    return np.concatenate([codes, added])[order], sizes + more


def _chances(sizes: Ints, share: float) -> Floats:
    """For each person how many rare items stand beside a kept one, growing with the root of how many she has."""
    low, high = 0.0, 1.0
    for _ in range(50):
        factor = (low + high) / 2
        chance = np.minimum(_MOST_RARE, factor * np.sqrt(sizes))
        root = np.sqrt(sizes * (1 + chance))
        reached = (sizes * chance / root).sum() / root.sum() > share
        low, high = (low, factor) if reached else (factor, high)
    return np.asarray(np.minimum(_MOST_RARE, low * np.sqrt(sizes)))
