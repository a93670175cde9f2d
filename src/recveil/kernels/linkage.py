"""Linkage: an attacker who learns items of a person one after the other narrows down the released records.

One pass per target gives the whole curve: the candidates after r items are those after r - 1 that also hold the r-th.
Postings are the records of an item, ascending, with the rating each gave. Known items stand in rows of equal length,
padded with -1; a known rating of NaN matches any.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import get_num_threads, njit, prange
from numpy.typing import NDArray


@njit(cache=True)
def _first_at_least(values: Any, begin: Any, end: Any, wanted: Any) -> Any:
    """The first place from `begin` whose value is not below `wanted`: in steps that double, then by halves."""
    step = 1
    high = begin
    while high < end and values[high] < wanted:
        begin = high + 1
        high += step
        step *= 2
    high = min(high, end)
    while begin < high:
        middle = (begin + high) // 2
        if values[middle] < wanted:
            begin = middle + 1
        else:
            high = middle
    return begin


@njit(cache=True)
def _narrow(candidates: Any, n: Any, starts: Any, postings: Any, ratings: Any, item: Any, rating: Any, tol: Any) -> Any:
    """Keep, in place, the first n candidates that hold the item with a rating near enough; how many are left."""
    left = 0
    p, end = starts[item], starts[item + 1]
    for k in range(n):
        p = _first_at_least(postings, p, end, candidates[k])
        if p == end:
            break
        if postings[p] == candidates[k]:
            if np.isnan(rating) or abs(ratings[p] - rating) <= tol:
                candidates[left] = candidates[k]
                left += 1
            p += 1
    return left


@njit(cache=True)
def _open(candidates: Any, starts: Any, postings: Any, ratings: Any, item: Any, rating: Any, tol: Any) -> Any:
    """All records that hold the item with a rating near enough become the candidates; how many there are."""
    n = 0
    for p in range(starts[item], starts[item + 1]):
        if np.isnan(rating) or abs(ratings[p] - rating) <= tol:
            candidates[n] = postings[p]
            n += 1
    return n


@njit(cache=True, parallel=True)
def intersect(
    starts: NDArray[np.int64],
    postings: NDArray[np.int32],
    ratings: NDArray[np.float64],
    known: NDArray[np.int32],
    known_ratings: NDArray[np.float64],
    tolerance: float,
    hers_starts: NDArray[np.int64],
    hers: NDArray[np.int64],
    luck: NDArray[np.float64],
) -> Any:
    """For every target and number of known items: how many candidates, how many of them are hers, one picked by luck.

    -1 stands where fewer items are known, and as the pick where there are no candidates.
    """
    n, most = known.shape
    sizes = np.full((n, most), -1, dtype=np.int64)
    hits = np.zeros((n, most), dtype=np.int64)
    picks = np.full((n, most), -1, dtype=np.int64)
    for t in prange(n):
        first = known[t, 0]
        candidates = np.empty(starts[first + 1] - starts[first] if first >= 0 else 0, dtype=np.int32)
        left = 0
        for r in range(most):
            item = known[t, r]
            if item < 0:
                break
            rating = known_ratings[t, r]
            if r == 0:
                left = _open(candidates, starts, postings, ratings, item, rating, tolerance)
            else:
                left = _narrow(candidates, left, starts, postings, ratings, item, rating, tolerance)
            sizes[t, r] = left
            if left:
                picks[t, r] = candidates[np.int64(luck[t, r] * left)]
            for h in range(hers_starts[t], hers_starts[t + 1]):
                at = np.searchsorted(candidates[:left], hers[h])
                if at < left and candidates[at] == hers[h]:
                    hits[t, r] += 1
    return sizes, hits, picks


def score(
    index: tuple[NDArray[Any], ...],
    scoring: tuple[NDArray[Any], ...],
    known: NDArray[np.int32],
    known_ratings: NDArray[np.float64],
    spread: float,
    hers_starts: NDArray[np.int64],
    hers: NDArray[np.int64],
    luck: NDArray[np.float64],
    asked: NDArray[np.bool_],
) -> tuple[NDArray[Any], ...]:
    """A record scores its gain for each known item that it holds, and a miss for every known item; then it is scaled.

    index: starts, postings, ratings. scoring: gains, misses, kind, scale, where gains[item, kind[record]] and
    misses[item, kind[record]] treat records of one kind alike, say those of one length. A gain counts
    exp(-|difference of ratings| / spread) of itself. For every target and every number of known items that is asked
    for: how many records share the best score (0 if none holds a known item, -1 where fewer items are known or nobody
    asks), how many of them are hers, one picked by luck, and the eccentricity: how many standard deviations of all
    scores lie between the best and the second best.
    """
    blocks = 8 * get_num_threads()
    best, hits, picks, eccentricity = _score(
        *index, *scoring, known, known_ratings, spread, hers_starts, hers, luck, asked, blocks
    )
    return best, hits, picks, eccentricity


@njit(cache=True, parallel=True)
def _score(
    starts: Any,
    postings: Any,
    ratings: Any,
    gains: Any,
    misses: Any,
    kind: Any,
    scale: Any,
    known: Any,
    known_ratings: Any,
    spread: Any,
    hers_starts: Any,
    hers: Any,
    luck: Any,
    asked: Any,
    blocks: Any,
) -> Any:
    n, most = known.shape
    n_records = len(kind)
    best = np.full((n, most), -1, dtype=np.int64)
    hits = np.zeros((n, most), dtype=np.int64)
    picks = np.full((n, most), -1, dtype=np.int64)
    eccentricity = np.zeros((n, most))
    for block in prange(blocks):
        scores = np.zeros(n_records)
        touched = np.empty(n_records, dtype=np.int64)
        final = np.zeros(n_records)
        missed = np.zeros(gains.shape[1])
        for t in range(n * block // blocks, n * (block + 1) // blocks):
            m = 0
            missed[:] = 0.0
            for r in range(most):
                item = known[t, r]
                if item < 0:
                    break
                missed += misses[item]
                for p in range(starts[item], starts[item + 1]):
                    record = postings[p]
                    gain = gains[item, kind[record]]
                    if not np.isnan(known_ratings[t, r]):
                        gain *= np.exp(-abs(ratings[p] - known_ratings[t, r]) / spread)
                    gain = max(gain, 1e-300)  # a score of 0 means: not touched yet
                    if scores[record] == 0.0:
                        touched[m] = record
                        m += 1
                    scores[record] += gain
                if not asked[r]:
                    continue
                top, second, total, squares = -np.inf, 0.0, 0.0, 0.0
                ties = 0
                for k in range(m):
                    record = touched[k]
                    s = (scores[record] + missed[kind[record]]) * scale[record]
                    final[record] = s
                    total += s
                    squares += s * s
                    if s > top:
                        second = max(top, 0.0)
                        top = s
                        ties = 1
                    elif s == top:
                        second = s
                        ties += 1
                    elif s > second:
                        second = s
                best[t, r] = ties
                if ties == 0:
                    continue
                variance = squares / n_records - (total / n_records) ** 2
                if variance > 0.0:
                    eccentricity[t, r] = (top - second) / np.sqrt(variance)
                wanted = np.int64(luck[t, r] * ties)
                for k in range(m):
                    if final[touched[k]] == top:
                        if wanted == 0:
                            picks[t, r] = touched[k]
                        wanted -= 1
                for h in range(hers_starts[t], hers_starts[t + 1]):
                    hits[t, r] += scores[hers[h]] != 0.0 and final[hers[h]] == top
            for k in range(m):
                scores[touched[k]] = 0.0
    return best, hits, picks, eccentricity
