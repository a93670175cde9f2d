"""Exact noise: the kernel against its twin, its tables against high precision, its law against the pmf and opendp's."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import naive
import numpy as np
import pytest
from scipy import stats

from recveil.dp import noise
from recveil.dp.noise import Law, bounds, draw, gaussian, laplace, settle
from recveil.errors import RecveilError
from recveil.kernels.discrete import BLOCK
from recveil.randomness import seeded

LAWS = {
    "narrow laplace": laplace(Fraction(1, 3)),
    "laplace": laplace(Fraction(7, 2)),
    "wide laplace": laplace(Fraction(10**6, 7)),
    "narrow gaussian": gaussian(Fraction(1, 5)),
    "gaussian": gaussian(Fraction(37, 4)),
    "wide gaussian": gaussian(10**10),
    "laplace tail": Law("laplace", Fraction(5), start=12),
    "gaussian tail": Law("gaussian", Fraction(10**8), start=41_000),
    "gaussian tail of few": Law("gaussian", Fraction(30), start=11),
}
every = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


@pytest.mark.kernel
@every
def test_kernel_equals_its_twin(law: Law) -> None:
    source = seeded(5)
    low, high = (list(map(int, b)) for b in bounds(law, 64))
    q = law.size.numerator * (2 if law.kind == "gaussian" else 1)
    twin = naive.discrete_cells(
        source.derive("cells").key().tobytes(),
        BLOCK + 40,
        BLOCK,
        low,
        high,
        (law.start or 0, law.bits, law.size.denominator, q, law.kind == "gaussian", law.signed),
    )
    assert draw(law, BLOCK + 40, source).tolist() == twin


@every
def test_bounds_enclose_the_cumulated_law(law: Law) -> None:
    """Against mpmath with 60 digits and a reach far beyond the table's."""
    from mpmath import mp, mpf

    low, high = bounds(law, 64)
    assert np.all(high - low <= 1)
    with mp.workdps(60):
        step = 1 << law.bits
        values = range(law.start or 0, law.end(140), step)
        weights = [mp.exp(-mpf(law.exponent(x).numerator) / law.exponent(x).denominator) for x in values]
        total, c = mp.fsum(weights), mpf(0)
        for j in range(len(low)):
            c += weights[j]
            assert int(low[j]) <= c / total * 2**64 <= int(high[j]) + (int(high[j]) == 2**64 - 1)


@every
def test_law_is_the_stated_one(law: Law) -> None:
    drawn = draw(law, 200_000, seeded(17))
    assert fits(drawn, law) > 1e-4
    if law.signed:
        assert stats.binomtest(int((drawn > 0).sum()), int((drawn != 0).sum())).pvalue > 1e-4


def test_a_wrong_law_is_noticed() -> None:
    assert fits(draw(gaussian(10_000), 1_000_000, seeded(1)), gaussian(10_200)) < 1e-4
    assert fits(draw(laplace(50), 1_000_000, seeded(1)), laplace(51)) < 1e-4


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.4, 3.0, 250.0])
def test_same_law_as_opendp(kind: str, scale: float) -> None:
    theirs = opendp_draw(kind, scale, 20_000)
    size = Fraction(str(scale))
    ours = draw(laplace(size) if kind == "laplace" else gaussian(size * size), 20_000, seeded(3))
    edges = np.unique(np.quantile(np.concatenate([ours, theirs]), np.linspace(0, 1, 25)))
    table = np.array([np.histogram(x, [-np.inf, *edges[1:-1], np.inf])[0] for x in (ours, theirs)])
    table = table[:, table.sum(0) > 0]
    assert stats.chi2_contingency(table).pvalue > 1e-4


@every
def test_open_cells_are_settled_with_the_same_law(law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds loosened by a 64th leave many cells open; the settled ones must not show."""
    low, high = bounds(law, 64)
    slack = np.uint64(2**58)
    loose = np.maximum(low, slack) - slack, np.minimum(high, ~slack) + slack
    settled = []
    monkeypatch.setattr(noise, "bounds", lambda law, bits: loose)  # noqa: ARG005
    monkeypatch.setattr(noise, "_cumulated", lru_cache(noise._cumulated))
    monkeypatch.setattr(noise, "settle", lambda *a: settled.append(1) or settle(*a))
    drawn = draw(law, 20_000, seeded(2))
    assert len(settled) > 200
    assert fits(drawn, law) > 1e-4


def test_settling_reads_on_until_the_bits_decide() -> None:
    law = gaussian(25)
    low, _ = noise._cumulated(law, 64)
    exact, _ = noise._cumulated(law, 128)
    u, rest = exact[3] >> 64, exact[3] % 2**64
    assert u == low[3]
    later = [0, 1, 0, 0]  # a positive sign, then whatever a coin may need
    assert settle(law, u, iter([rest - 1, *later])) == 3
    assert settle(law, u, iter([rest + 1, *later])) == 4
    assert settle(law, 2**64 - 1, iter([5, *later])) > 40  # beyond the table


def test_chunks_do_not_matter() -> None:
    whole = draw(gaussian(10**8), 2_000, seeded(4))
    pieces = [draw(gaussian(10**8), n, seeded(4), first) for first, n in ((0, 3), (3, 700), (703, 1), (704, 1296))]
    assert np.array_equal(whole, np.concatenate(pieces))
    assert len(draw(laplace(1), 0, seeded(4))) == 0


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("size", [40, Fraction(10**7, 3), 10**12, 2**55])
@pytest.mark.parametrize("start", [None, 1, 700])
def test_no_coin_of_the_kernel_has_a_gamma_above_1(kind: Any, size: Any, start: int | None) -> None:
    """Of every bucket of the table; so the products in the kernel stay below the denominator, and that below 2**62."""
    law = Law(kind, Fraction(size), start)
    n = len(bounds(law, 64)[0])
    numerator, denominator = noise._coin_of(law, n)
    for j in (0, n // 2, n - 1):
        y, r = (law.start or 0) + (j << law.bits), (1 << law.bits) - 1
        above = r * (2 * y + r) if kind == "gaussian" else r
        assert numerator * above <= denominator < 2**62
        if r:
            assert Fraction(numerator * above, denominator) == law.exponent(y + r) - law.exponent(y)


def test_sizes_end_where_64_bits_do() -> None:
    """The last law that fits, and the first that does not, by its denominator and by its reach."""
    for kind, last in (("laplace", 2**62 - 1), ("gaussian", 2**61 - 1)):
        assert noise._coin_of(Law(kind, Fraction(last, 2)), 3)[1] == (last if kind == "laplace" else 2 * last)
        with pytest.raises(RecveilError, match="beyond 64-bit"):
            noise._coin_of(Law(kind, Fraction(last + 1)), 3)
    law = Law("gaussian", Fraction(25), 2**62 - 8)
    assert noise._coin_of(law, 7)[1] == 1
    with pytest.raises(RecveilError, match="beyond 64-bit"):
        noise._coin_of(law, 8)


def test_bad_sizes() -> None:
    with pytest.raises(RecveilError, match="variance of noise must be positive"):
        gaussian(0)
    with pytest.raises(RecveilError, match="beyond 64-bit"):
        draw(gaussian(2**63), 10, seeded(1))
    assert len(draw(gaussian(Fraction(0.4)), 10, seeded(1))) == 10  # a fraction of long integers, but no coin


def fits(drawn: np.ndarray, law: Law) -> float:
    """The p-value of a chi-square test over cells of the exact law, each expecting at least 20 draws."""
    first = -law.end(48) if law.signed else (law.start or 0)
    values = np.arange(first, law.end(48))
    expected = law.pmf(values) * len(drawn)
    group = np.floor(np.cumsum(expected) / max(20.0, len(drawn) / 60)).astype(int)
    observed = np.bincount(group[np.clip(drawn - first, 0, len(values) - 1)], minlength=group[-1] + 1)
    wanted = np.bincount(group, expected, minlength=group[-1] + 1)
    used = wanted > 5
    observed, wanted = np.append(observed[used], observed[~used].sum()), np.append(wanted[used], wanted[~used].sum())
    if wanted[-1] < 5:
        observed, wanted = np.append(observed[:-2], observed[-2:].sum()), np.append(wanted[:-2], wanted[-2:].sum())
    return float(stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue) if len(wanted) > 1 else 1.0


def opendp_draw(kind: str, scale: float, n: int) -> np.ndarray:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    vectors = dp.vector_domain(dp.atom_domain(T="i64"))
    if kind == "laplace":
        return np.array(dp.m.make_laplace(vectors, dp.l1_distance(T="i64"), scale=scale)([0] * n))
    return np.array(dp.m.make_gaussian(vectors, dp.l2_distance(T=float), scale=scale)([0] * n))


@pytest.mark.parametrize("gamma", [Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(5, 2)], ids=str)
def test_a_coin_has_its_law(gamma: Fraction) -> None:
    words, n = noise.word_stream(seeded(7).key(), 0), 4_000
    heads = sum(noise._coin(gamma, words) for _ in range(n))
    assert stats.binomtest(heads, n, float(np.exp(-float(gamma)))).pvalue > 1e-4


def test_an_integer_takes_no_more_words_than_it_has() -> None:
    assert noise.integer_below(2**64 - 1, iter([2**64 - 1, 5])) == 5
    assert noise.integer_below(2**64, iter([0, 3 << 62])) == 3 << 61 >> 62
