"""The KNN attack: fake people who copy what is known of a target, and like what her nearest neighbour likes.

All fakes are alike, so that besides each other they have one neighbour: the real record most similar to them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import get_num_threads, njit, prange
from numpy.typing import NDArray


def recommended(
    records: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]],
    postings: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]],
    facts: tuple[NDArray[np.int32], NDArray[np.float64]],
    cosine: bool,
    rounds: int,
    top: int,
) -> NDArray[np.int32]:
    """What the fakes of each target are recommended in all rounds, padded with -1.

    Records come as (starts, items, signs), by item as (starts, records, signs), and facts as (items, signs) with a row
    for each target. The items of a record must stand in the order in which they are recommended, best first. Similarity
    is agreements minus disagreements, over the root of the record's length if `cosine`. Of equals the first record
    counts.
    """
    found: NDArray[np.int32] = _recommended(records, postings, facts, cosine, rounds, top, 8 * get_num_threads())
    return found


@njit(cache=True, parallel=True)
def _recommended(records: Any, postings: Any, facts: Any, cosine: Any, rounds: Any, top: Any, blocks: Any) -> Any:
    starts, items, signs = records
    posting_starts, posting_records, posting_signs = postings
    known, known_signs = facts
    n, n_records = len(known), len(starts) - 1
    found = np.full((n, rounds * top), -1, dtype=np.int32)
    scale = np.ones(n_records)
    if cosine:
        for r in range(n_records):
            scale[r] = 1.0 / np.sqrt(max(starts[r + 1] - starts[r], 1))
    for block in prange(blocks):
        agree = np.zeros(n_records)
        held = np.zeros(len(posting_starts) - 1, dtype=np.bool_)
        fake = np.empty(known.shape[1] + rounds * top, dtype=np.int32)
        for t in range(n * block // blocks, n * (block + 1) // blocks):
            agree[:] = 0.0
            size, told = 0, 0
            for k in range(known.shape[1]):
                if known[t, k] >= 0:
                    fake[size] = known[t, k]
                    size += 1
                    _like(agree, posting_starts, posting_records, posting_signs, known[t, k], known_signs[t, k])
            for k in range(size):
                held[fake[k]] = True
            for _ in range(rounds):
                best = 0
                for r in range(1, n_records):
                    if agree[r] * scale[r] > agree[best] * scale[best]:
                        best = r
                before = told
                for p in range(starts[best], starts[best + 1]):
                    if told - before == top:
                        break
                    if signs[p] > 0 and not held[items[p]]:
                        found[t, told] = items[p]
                        told += 1
                for k in range(before, told):
                    held[found[t, k]] = True
                    fake[size] = found[t, k]
                    size += 1
                    _like(agree, posting_starts, posting_records, posting_signs, found[t, k], 1.0)
                if told == before:
                    break
            for k in range(size):
                held[fake[k]] = False
    return found


@njit(cache=True)
def _like(agree: Any, starts: Any, records: Any, signs: Any, item: Any, sign: Any) -> None:
    for p in range(starts[item], starts[item + 1]):
        agree[records[p]] += sign * signs[p]
