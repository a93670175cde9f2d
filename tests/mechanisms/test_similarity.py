"""The cosine search against its slow twin, on data that use head and tail of the index."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from numpy.typing import NDArray

from recveil.kernels.record_search import HEAD, cosines, index, nearest, reaches

N_ITEMS = HEAD + 150


def rows(sets: list[set[int]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    starts = np.concatenate([[0], np.cumsum([len(s) for s in sets])]).astype(np.int64)
    return starts, np.array([i for s in sets for i in sorted(s)], dtype=np.int32)


def world(rng: np.random.Generator, n: int, popular: float) -> list[set[int]]:
    """Sets of 0 to 25 items; a share of the clicks goes to few popular items."""
    sets = []
    for size in rng.integers(0, 26, size=n):
        top = rng.random(size) < popular
        sets.append(set(np.where(top, rng.integers(0, 40, size), rng.integers(0, N_ITEMS, size)).tolist()))
    return sets


@pytest.mark.kernel
@pytest.mark.parametrize("popular", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("seed", [0, 1])
def test_nearest_and_reaches_equal_their_twin(seed: int, popular: float) -> None:
    rng = np.random.default_rng(seed)
    records = world(rng, 60, popular)
    queries = [*world(rng, 25, popular), records[3], set()]
    expected = naive.nearest(queries, records)
    at = index(*rows(records), N_ITEMS)
    cosine, record = nearest(at, *rows(queries))
    np.testing.assert_allclose(cosine, expected, rtol=1e-12)
    for q, r in enumerate(record):
        assert expected[q] == pytest.approx(naive.cosine(queries[q], records[r]) if r >= 0 else 0.0)
    for theta in (0.1, 0.25, 0.5, 0.7, 1.0):
        assert reaches(at, *rows(queries), theta).tolist() == [c >= theta - 1e-9 for c in expected]


@pytest.mark.kernel
def test_a_cosine_of_exactly_theta_reaches_it() -> None:
    record, query = set(range(10)), set(range(3, 13))
    at = index(*rows([record]), 13)
    assert reaches(at, *rows([query]), 0.7).tolist() == [True]
    assert reaches(at, *rows([query]), 0.7000001).tolist() == [False]


@pytest.mark.kernel
def test_cosines_of_pairs_equal_their_twin() -> None:
    rng = np.random.default_rng(2)
    here, there = world(rng, 12, 0.8), world(rng, 9, 0.8)
    pairs = np.array([[a, b] for a in range(12) for b in range(-1, 9)])
    expected = [0.0 if b < 0 else naive.cosine(here[a], there[b]) for a, b in pairs]
    np.testing.assert_allclose(cosines(*rows(here), *rows(there), pairs), expected, rtol=1e-12)


@pytest.mark.kernel
def test_no_records_and_no_items() -> None:
    empty = index(*rows([]), 5)
    cosine, record = nearest(empty, *rows([{1, 2}, set()]))
    assert cosine.tolist() == [0.0, 0.0] and record.tolist() == [-1, -1]
    assert not reaches(empty, *rows([{1}]), 0.5).any()
    assert math.isclose(nearest(index(*rows([{1}]), 2), *rows([{1}]))[0][0], 1.0)
