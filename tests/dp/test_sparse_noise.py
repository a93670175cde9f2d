"""Sparse noise has the law of noise on every cell followed by a cut."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from recveil.dp.noise import Law, draw, gaussian, laplace, word_stream
from recveil.dp.sparse_noise import binomial, exceeding, noisy_above
from recveil.randomness import seeded

CASES = {"gaussian": (gaussian(400), 50), "laplace": (laplace(Fraction(17, 2)), 40), "zero": (gaussian(3), 0)}
every = pytest.mark.parametrize(("law", "threshold"), CASES.values(), ids=CASES)


@every
def test_probability_of_exceeding(law: Law, threshold: int) -> None:
    low, high = exceeding(law, threshold, 80)
    assert 0 < high - low < Decimal(10) ** -30
    assert float(low) == pytest.approx(law.pmf(np.arange(threshold + 1, law.end(60))).sum(), rel=1e-12)


@pytest.mark.parametrize("n", [0, 1, 30, 10**9])
def test_binomial_is_the_inverse_of_its_law(n: int) -> None:
    p = 0.3 if n < 100 else 250 / n
    bounds = Decimal(p), Decimal(p)
    rng = np.random.default_rng(n)
    for _ in range(200):
        u = int(rng.integers(0, 2**63)) * 2 + 1
        assert binomial(n, lambda digits: bounds, iter([u])) == int(stats.binom.ppf(u / 2**64, n, p))  # noqa: ARG005


def test_binomial_reads_on_until_the_bits_decide() -> None:
    third = lambda digits: (Decimal(1) / 3, (1 + Decimal(10) ** -27) / 3)  # noqa: E731, ARG005
    first = 2**65 // 3  # P(0 of 1) = 2/3 = 0.1010...: these bits lie on the edge, and only later ones decide
    assert binomial(1, third, iter([first - 1])) == 0
    assert binomial(1, third, iter([first, 2**63 - 1])) == 0
    assert binomial(1, third, iter([first, 2**63 + 2**62])) == 1


@every
def test_same_law_as_noise_on_every_cell(law: Law, threshold: int) -> None:
    n_cells, runs = 4_000, 40
    cells = np.arange(0, n_cells, 40)
    values = np.linspace(1, 2 * threshold + 3, len(cells)).astype(np.int64)
    table = np.zeros(n_cells, dtype=np.int64)
    table[cells] = values
    sparse, dense = [], []
    for run in range(runs):
        where, what = noisy_above(cells, values, n_cells, threshold, law, seeded(run))
        assert np.all(np.diff(where) > 0) and np.all(what > threshold)
        sparse.append(np.column_stack([np.full(len(where), run), where, what]))
        noisy = table + draw(law, n_cells, seeded(10_000 + run))
        kept = np.flatnonzero(noisy > threshold)
        dense.append(np.column_stack([np.full(len(kept), run), kept, noisy[kept]]))
    ours, theirs = np.concatenate(sparse), np.concatenate(dense)
    for zero in (True, False):
        a, b = (x[np.isin(x[:, 1], cells, invert=zero)] for x in (ours, theirs))
        counts = [np.bincount(x[:, 0], minlength=runs) for x in (a, b)]
        assert stats.ttest_ind(*counts).pvalue > 1e-4
        assert stats.ks_2samp(a[:, 1], b[:, 1]).pvalue > 1e-4
        assert stats.ks_2samp(a[:, 2], b[:, 2]).pvalue > 1e-4
        if zero:  # the number of false positives is binomial, not only right in the mean
            p = law.pmf(np.arange(threshold + 1, law.end(48))).sum()
            n = n_cells - len(cells)
            spread = counts[0].var(ddof=1) / (n * p * (1 - p)) * (runs - 1)
            assert 1e-4 < stats.chi2.cdf(spread, runs - 1) < 1 - 1e-4


def test_words_are_those_of_the_stream() -> None:
    words = word_stream(seeded(1).key(), 3)
    first = [next(words) for _ in range(100)]
    again = word_stream(seeded(1).key(), 3)
    assert first == [next(again) for _ in range(100)]
    assert len(set(first)) == 100


@every
def test_bounds_of_few_digits_hold_those_of_many(law: Law, threshold: int) -> None:
    (low, high), (lower, upper) = exceeding(law, threshold, 200), exceeding(law, threshold, 40)
    assert lower < low < high < upper
