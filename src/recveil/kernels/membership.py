"""How close a release comes to a person: her items against every released record, her pairs against the counted ones.

Records are sets of items; postings are the records of an item, ascending. What is counted in a release is set beside
the same count in a population that the attacker knows, so that common tastes do not pass for traces.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import get_num_threads, njit, prange
from numpy.typing import NDArray

CLOSENESS = ("maxcos", "top5", "gap", "lse", "jaccard", "inrec", "recin", "maxw", "lift")
PAIRS = ("pairlift", "pairlog", "pairrare")
SHARP = 20.0  # of the soft maximum over all records
RARE = 3  # people at most who have a rare pair
_TOP = 5


def closeness(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    posting_starts: NDArray[np.int64],
    postings: NDArray[np.int32],
    lengths: NDArray[np.int64],
    weights: NDArray[np.float64],
    weighted: NDArray[np.float64],
) -> NDArray[np.float64]:
    """One row for each person, one column for each name in CLOSENESS.

    lengths and weighted: how many items each released record has, and the sum of their weights.
    """
    found: NDArray[np.float64] = _closeness(
        starts, items, posting_starts, postings, lengths, weights, weighted, 8 * get_num_threads()
    )
    return found


@njit(cache=True)
def _insert(best: Any, value: Any) -> None:
    """Keep the largest values, in falling order."""
    at = len(best) - 1
    if value <= best[at]:
        return
    while at > 0 and best[at - 1] < value:
        best[at] = best[at - 1]
        at -= 1
    best[at] = value


@njit(cache=True, parallel=True)
def _closeness(
    starts: Any,
    items: Any,
    posting_starts: Any,
    postings: Any,
    lengths: Any,
    weights: Any,
    weighted: Any,
    blocks: Any,
) -> Any:
    n, m = len(starts) - 1, len(lengths)
    out = np.zeros((n, len(CLOSENESS)))
    shortest, total = lengths.min(), lengths.sum()
    for block in prange(blocks):
        shared = np.zeros(m)
        heavy = np.zeros(m)
        touched = np.empty(m, dtype=np.int64)
        best = np.zeros(_TOP)
        for x in range(n * block // blocks, n * (block + 1) // blocks):
            begin, end = starts[x], starts[x + 1]
            size = np.float64(end - begin)
            t = 0
            expected = 0.0  # items that a record of one item shares by popularity alone
            weight = 0.0
            for k in range(begin, end):
                item = items[k]
                expected += (posting_starts[item + 1] - posting_starts[item]) / total
                weight += weights[item]
                for p in range(posting_starts[item], posting_starts[item + 1]):
                    r = postings[p]
                    if shared[r] == 0.0:
                        touched[t] = r
                        t += 1
                    shared[r] += 1.0
                    heavy[r] += weights[item]
            best[:] = 0.0
            soft = np.float64(m - t)
            jaccard, inside, holds, most = 0.0, 0.0, 0.0, 0.0
            least = expected * shortest
            lift = -least / np.sqrt(least + 1.0) if t < m else -np.inf
            for k in range(t):
                r = touched[k]
                both, length = shared[r], np.float64(lengths[r])
                cosine = both / np.sqrt(size * length)
                _insert(best, cosine)
                soft += np.exp(SHARP * cosine)
                jaccard = max(jaccard, both / (size + length - both))
                inside = max(inside, both / size)
                if length >= 3.0:
                    holds = max(holds, (both - 1.0) / length)
                most = max(most, heavy[r] / np.sqrt(weight * weighted[r]))
                chance = expected * length
                lift = max(lift, (both - chance) / np.sqrt(chance + 1.0))
                shared[r] = 0.0
                heavy[r] = 0.0
            out[x, 0] = best[0]
            out[x, 1] = best.mean()
            out[x, 2] = best[0] - best[1]
            out[x, 3] = np.log(soft / m)
            out[x, 4] = jaccard
            out[x, 5] = inside
            out[x, 6] = holds
            out[x, 7] = most
            out[x, 8] = lift
    return out


@njit(cache=True, parallel=True)
def pair_traces(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    counted: NDArray[np.int32],
    usual: NDArray[np.int32],
    share: float,
) -> NDArray[np.float64]:
    """One row for each person, one column for each name in PAIRS, over all pairs of her items.

    counted, usual: how many records of the release, and how many people of the known population, have both items;
    share: the number of the former over that of the latter.
    """
    n = len(starts) - 1
    out = np.zeros((n, len(PAIRS)))
    largest, common = 0, 0
    for i in range(counted.shape[0]):
        largest = max(largest, counted[i].max())
        common = max(common, usual[i].max())
    logs = np.log(np.arange(largest + 1) + 0.25)
    usual_logs = np.log(np.arange(common + 1) * share + 0.25)
    once = 1.0 / np.maximum(np.arange(common + 1), 1)
    for x in prange(n):
        lifts, ratios, seen, rare, pairs = 0.0, 0.0, 0, 0, 0
        for a in range(starts[x], starts[x + 1]):
            release, people = counted[items[a]], usual[items[a]]
            for b in range(a + 1, starts[x + 1]):
                here, there = release[items[b]], people[items[b]]
                lifts += here * once[there]
                ratios += logs[here] - usual_logs[there]
                if there <= RARE:
                    rare += 1
                    seen += here > 0
            pairs += starts[x + 1] - a - 1
        if pairs:
            out[x, 0] = lifts / pairs
            out[x, 1] = ratios / pairs
        if rare:
            out[x, 2] = seen / rare
    return out
