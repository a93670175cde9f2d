"""Supports: counting by popcount, reconstruction and its variance, Apriori; against twins, algebra and repetition."""

from __future__ import annotations

from pathlib import Path

import naive
import numpy as np
import polars as pl
import pytest

from recveil.data import from_ids
from recveil.errors import RecveilError
from recveil.formats import read, write
from recveil.kernels.chacha import stream
from recveil.kernels.flips import flip_cells, skip_table
from recveil.kernels.popcount import add_counts, pair_counts, stripe_counts
from recveil.mechanisms.mask import flips
from recveil.randomness import seeded
from recveil.views.bits import Columns, columns, empty
from recveil.views.supports import (
    inverse,
    noise,
    reconstruct,
    single_support,
)


def packed(profiles: list[set[int]], m: int) -> Columns:
    bits = empty(m, len(profiles))
    for u, profile in enumerate(profiles):
        for i in profile:
            bits[i, u >> 6] |= np.uint64(1) << np.uint64(u & 63)
    return Columns(bits, len(profiles), pl.Series(range(m)))


def crowd(n: int, m: int, seed: int = 0) -> list[set[int]]:
    rng = np.random.default_rng(seed)
    return [set(np.flatnonzero(rng.random(m) < rng.random()).tolist()) for _ in range(n)]


@pytest.mark.kernel
@pytest.mark.parametrize(("n", "m"), [(70, 9), (64, 8), (3, 2), (1, 1)])
def test_counts_are_the_twins(n: int, m: int) -> None:
    profiles = crowd(n, m)
    seen = packed(profiles, m)
    expected = np.array(naive.pair_counts(profiles, m))
    assert np.array_equal(seen.pairs(), expected)
    assert np.array_equal(seen.singles, np.diag(expected))
    assert np.array_equal(stripe_counts(seen.bits, 0, 2)[: min(m, 2), :m], expected[:2])


@pytest.mark.kernel
def test_counts_of_two_blocks_add_up_over_chunks_of_people() -> None:
    profiles = crowd(150, 20, seed=2)
    counts = np.ones((8, 12), dtype=np.int32)
    for chunk in (profiles[:70], profiles[70:]):
        bits = packed(chunk, 20).bits
        add_counts(bits[:8], bits[8:], counts)
    assert np.array_equal(counts - 1, np.array(naive.pair_counts(profiles, 20))[:8, 8:])


def test_pairs_equal_a_matrix_product_over_many_tiles_and_strips() -> None:
    rng = np.random.default_rng(1)
    dense = rng.random((64 * 513 + 7, 131)) < 0.2
    user, item = np.nonzero(dense)
    seen = columns(from_ids(pl.Series(user), pl.Series(item)))
    product = dense.astype(np.float32).T @ dense.astype(np.float32)
    assert np.array_equal(seen.pairs(), product)
    assert np.array_equal(pair_counts(seen.bits)[131:], np.zeros((1, 132)))
    assert np.array_equal(stripe_counts(seen.bits, 64, 132)[:67, :131], product[64:])


def test_the_support_of_one_item_is_the_butterfly() -> None:
    seen = packed(crowd(90, 6), 6)
    for ones in seen.singles:
        assert single_support(ones, 90, 0.8) == pytest.approx(reconstruct([90 - ones, ones], 0.8)[-1])


@pytest.mark.parametrize("p", [0.8, 0.943])
def test_the_noise_of_an_item_that_nobody_has(p: float) -> None:
    users, repeats = 150, 4000
    cells = flip_cells(users * repeats, *skip_table(flips(p)), stream(seeded(1).key(), 1), 1000)
    estimates = single_support(np.bincount(cells // users, minlength=repeats), users, p)
    assert abs(estimates.mean()) < 4.5 * noise(users, p) / np.sqrt(repeats)
    assert estimates.var(ddof=1) / noise(users, p) ** 2 == pytest.approx(1, abs=4.5 * np.sqrt(2 / repeats))


def test_taking_items_keeps_their_bits() -> None:
    seen = packed(crowd(80, 11), 11)
    some = seen.take(np.array([2, 7, 9]))
    assert some.items.to_list() == [2, 7, 9]
    assert np.array_equal(some.pairs(), seen.pairs()[np.ix_([2, 7, 9], [2, 7, 9])])


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_butterfly_is_the_dense_inverse(n: int) -> None:
    p = 0.943
    matrix = np.ones((1, 1))
    for _ in range(n):
        matrix = np.kron(np.array([[p, 1 - p], [1 - p, p]]), matrix)
    counts = np.random.default_rng(n).integers(0, 100, 2**n).astype(float)
    assert np.abs(inverse(n, p) - np.linalg.inv(matrix)).max() < 1e-12
    scale = counts.sum()
    assert np.abs(reconstruct(counts, p) - np.linalg.inv(matrix) @ counts).max() < 1e-12 * scale
    assert np.abs(matrix @ reconstruct(counts, p) - counts).max() < 1e-12 * scale


def test_bad_requests_are_one_line() -> None:
    cases = [
        (lambda: reconstruct([1, 2], 0.5), "coin toss"),
        (lambda: reconstruct([1, 2], 1.5), "must lie in"),
        (lambda: reconstruct([1, 2, 3], 0.9), "2\\^n counts"),
        (lambda: reconstruct(np.zeros(2**21), 0.9), "1 to 20 items, not 21"),
        (lambda: inverse(13, 0.9), "4\\^13"),
    ]
    for request, line in cases:
        with pytest.raises(RecveilError, match=line):
            request()


def test_itemset_files(tmp_path: Path) -> None:
    data = from_ids(pl.Series(["b", "a", "b", "b"]), pl.Series([3, 10, 2, 3]))
    path = tmp_path / "clicks.itemsets"
    write(data, path)
    assert path.read_text() == "a\t10\nb\t2,3\n"
    assert read(path).frame().rows() == [("a", 10), ("b", 2), ("b", 3)]
    with pytest.raises(RecveilError, match="the data have rating too"):
        write(from_ids(pl.Series([1]), pl.Series([1]), rating=np.ones(1)), path)
    with pytest.raises(RecveilError, match="comma"):
        write(from_ids(pl.Series(["a"]), pl.Series(["x,y"])), path)
    for text, fault in (("a\t1\nb\t \n", "line 2: user 'b' has an empty profile"), ("a 1\n", "line 1: no tab"),
                        ("a\t1\n\nb\t2,,3\n", "line 3: item is empty"), ("\n\n", "empty")):  # fmt: skip
        path.write_text(text)
        with pytest.raises(RecveilError, match=fault):
            read(path)
