"""Supports: counting by popcount, reconstruction and its variance, Apriori; against twins, algebra and repetition."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import naive
import numpy as np
import polars as pl
import pytest

from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.formats import read, write
from recveil.kernels.chacha import stream
from recveil.kernels.flips import flip_cells, skip_table
from recveil.kernels.popcount import add_counts, ones_histograms, pair_counts, pattern_counts, stripe_counts
from recveil.mechanisms.mask import flips
from recveil.randomness import seeded
from recveil.views.bits import Columns, columns, empty
from recveil.views.itemsets import association_rules, frequent_itemsets
from recveil.views.supports import (
    inverse,
    itemset_support,
    noise,
    pair_support,
    reconstruct,
    single_support,
    variance,
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
    for size in range(1, min(m, 4) + 1):
        itemset = list(range(size))
        assert ones_histograms(seen.bits, np.array([itemset], np.int32), n)[0].tolist() == naive.ones_histogram(
            profiles, itemset
        )
        assert pattern_counts(seen.bits, np.array(itemset, np.int32), n).tolist() == naive.pattern_counts(
            profiles, itemset
        )


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


def test_closed_forms_are_the_butterfly() -> None:
    profiles = crowd(90, 6)
    seen = packed(profiles, 6)
    p, ones, pairs = 0.8, seen.singles, seen.pairs()
    for a, b in combinations(range(6), 2):
        whole = reconstruct(pattern_counts(seen.bits, np.array([a, b], np.int32), 90), p)[-1]
        assert pair_support(pairs[a, b], ones[a], ones[b], 90, p) == pytest.approx(whole, rel=1e-12)
        histogram = ones_histograms(seen.bits, np.array([[a, b]], np.int32), 90)
        assert itemset_support(histogram, p)[0][0] == pytest.approx(whole, rel=1e-12)
    assert single_support(ones[0], 90, p) == pytest.approx(reconstruct([90 - ones[0], ones[0]], p)[-1])
    assert itemset_support(ones_histograms(seen.bits, np.array([[0, 1, 2]], np.int32), 90), 1.0)[0] == [
        sum({0, 1, 2} <= q for q in profiles)
    ]


@pytest.mark.parametrize("p", [0.8, 0.943])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_the_variance_formula_holds_over_4000_repetitions(p: float, n: int) -> None:
    """All repetitions at once: their users stand one after the other in one long row of bits per item."""
    users, repeats = 150, 4000
    rng = np.random.default_rng(n)
    truth = rng.random((users, n)) < np.linspace(0.9, 0.5, n)
    cells = flip_cells(users * repeats * n, *skip_table(flips(p)), stream(seeded(n).key(), 1), 1000)
    seen = np.tile(truth, (repeats, 1)).ravel()
    seen[cells] ^= True
    ones = seen.reshape(repeats, users, n).sum(axis=2)
    histograms = np.stack([(ones == k).sum(axis=1) for k in range(n + 1)], axis=1)
    estimates, errors = itemset_support(histograms, p)
    true = np.bincount(truth.sum(axis=1), minlength=n + 1)
    theory = float(variance(true, p)[0])
    assert abs(estimates.mean() - true[n]) < 4.5 * np.sqrt(theory / repeats)
    assert estimates.var(ddof=1) / theory == pytest.approx(1, abs=4.5 * np.sqrt(2 / repeats))
    assert (errors**2).mean() / theory == pytest.approx(1, abs=0.05)
    if n == 1 and not true[1]:
        assert np.sqrt(theory) == pytest.approx(noise(users, p))


def test_apriori_on_a_plain_basket() -> None:
    """Bread and butter always together, jam with half of them, and one item that is too rare."""
    profiles = [{0, 1, 2}] * 10 + [{0, 1}] * 10 + [{0}] * 5 + [{3}] * 1
    found = frequent_itemsets(packed(profiles, 4), 0.3)
    assert {k: v.value for k, v in found.items()} == {
        (0,): 25, (1,): 20, (2,): 10, (0, 1): 20, (0, 2): 10, (1, 2): 10, (0, 1, 2): 10,
    }  # fmt: skip
    assert all(v.error == 0 for v in found.values())
    rules = {(r.left, r.right): r for r in association_rules(found, 26, confidence=0.75)}
    assert rules[(1,), (0,)].confidence == 1
    assert rules[(1,), (0,)].lift == pytest.approx(26 / 25)
    assert rules[(0,), (1,)].confidence == pytest.approx(0.8)
    assert ((0,), (2,)) not in rules
    assert rules[(0, 2), (1,)].support.value == 10


@pytest.mark.data
def test_apriori_on_real_data(real_data: Path) -> None:
    data = read(real_data / "ml-100k" / "ratings.parquet")
    found = frequent_itemsets(columns(data), 0.25)
    assert len(found) == 444
    dense = data.matrix(binary=True).toarray().astype(bool)
    kept = np.random.default_rng(5).random(dense.shape, dtype=np.float32) < 0.943
    user, item = np.nonzero(np.where(kept, dense, ~dense))
    guessed = frequent_itemsets(columns(Interactions(user.astype(np.int32), item.astype(np.int32), data.users, data.items)), 0.25, p=0.943)  # fmt: skip  # noqa: E501
    right = len(set(found) & set(guessed))
    assert right / len(guessed) == pytest.approx(0.926, abs=0.001)
    assert right / len(found) == pytest.approx(0.896, abs=0.001)
    off = [(guessed[s].value - found[s].value) / guessed[s].error for s in set(found) & set(guessed)]
    assert 0.7 < float(np.sqrt(np.mean(np.square(off)))) < 1.3


@pytest.mark.data
def test_oracle_deviations(real_data: Path) -> None:
    seen = columns(read(real_data / "ml-100k" / "ratings.parquet"))
    popular = np.argsort(-seen.singles, kind="stable").astype(np.int32)
    for n, expected in ((1, 8.036), (2, 8.899), (3, 8.734), (5, 8.403)):
        true = ones_histograms(seen.bits, popular[None, :n], seen.n_users)
        assert np.sqrt(variance(true, 0.943)[0]) == pytest.approx(expected, abs=6e-4)


def test_bad_requests_are_one_line() -> None:
    seen = packed(crowd(20, 5), 5)
    cases = [
        (lambda: reconstruct([1, 2], 0.5), "coin toss"),
        (lambda: reconstruct([1, 2], 1.5), "must lie in"),
        (lambda: reconstruct([1, 2, 3], 0.9), "2\\^n counts"),
        (lambda: reconstruct(np.zeros(2**21), 0.9), "1 to 20 items, not 21"),
        (lambda: frequent_itemsets(seen, 0.5, longest=21), "1 to 20 items, not 21"),
        (lambda: frequent_itemsets(seen, 10_000), "above every item"),
        (lambda: frequent_itemsets(seen, 0), "minsup must be"),
        (lambda: frequent_itemsets(seen, 0.01, most=1), "raise minsup"),
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
