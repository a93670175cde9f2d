"""Exact noise: discrete Laplace and discrete Gaussian on integers, fast, with a proof (docs/guarantees/noise.md).

Given uniform random bits, the law is exactly the one stated: no floating-point number takes part in a decision. Cell i
is drawn from a stream of its own block, so chunks, threads and engines never change what is drawn.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import ceil, isqrt, log, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from recveil.errors import RecveilError
from recveil.randomness import Source

Ints = NDArray[np.int64]
Words = Iterator[int]
_BUCKETS = 512  # a law is cut into 512 to 1,024 buckets, or into single values where that is fewer
_FEW = 50_000


@dataclass(frozen=True)
class Law:
    """Weights exp(-|x| / size) (laplace) or exp(-x^2 / (2 size)) (gaussian), with a rational `size`.

    start None: on all integers. Else: on start, start + 1, ... alone (start >= 0), which is the tail of the former.
    """

    kind: Literal["laplace", "gaussian"]
    size: Fraction
    start: int | None = None

    def __post_init__(self) -> None:
        if self.size <= 0:
            raise RecveilError(f"the {'scale' if self.kind == 'laplace' else 'variance'} of noise must be positive")

    @property
    def signed(self) -> bool:
        return self.start is None

    def exponent(self, x: int) -> Fraction:
        """Minus the logarithm of the weight of x >= 0, less that of the first value."""
        first = self.start or 0
        if self.kind == "laplace":
            return (x - first) / self.size
        return (x * x - first * first) / (2 * self.size)

    def end(self, exponent: int) -> int:
        """A value from which on exponents exceed `exponent`."""
        first = self.start or 0
        if self.kind == "laplace":
            return first + ceil(exponent * self.size)
        return isqrt(ceil(2 * self.size * exponent) + first * first) + 1

    @property
    def bits(self) -> int:
        """Buckets hold 2**bits values."""
        return max(0, ((self.end(48) - (self.start or 0)) // _BUCKETS).bit_length() - 1)

    @property
    def deviation(self) -> float:
        """The standard deviation, or slightly more where it is not far above 1; for de-noising."""
        size = float(self.size)
        return sqrt(2) * size if self.kind == "laplace" else sqrt(size)

    def pmf(self, x: Ints) -> NDArray[np.float64]:
        """Probabilities in floating point: for de-noising and tests, never for drawing."""
        reach = np.arange(self.start or 0, self.end(48))
        weight = np.exp(-self.exponents(reach))
        total = weight.sum() if not self.signed else 2 * weight.sum() - 1
        found = np.exp(-self.exponents(np.abs(x))) / total
        return found if self.signed else np.where(x >= (self.start or 0), found, 0.0)

    def exponents(self, x: Ints) -> NDArray[np.float64]:
        """`exponent` of many values in floating point: for de-noising and tests, never for drawing."""
        first, size, at = float(self.start or 0), float(self.size), x.astype(np.float64)
        return (at - first) / size if self.kind == "laplace" else (at * at - first**2) / (2 * size)


def laplace(scale: Fraction | int) -> Law:
    """P(x) proportional to exp(-|x| / scale)."""
    return Law("laplace", Fraction(scale))


def gaussian(variance: Fraction | int) -> Law:
    """P(x) proportional to exp(-x^2 / (2 variance))."""
    return Law("gaussian", Fraction(variance))


def draw(law: Law, n: int, source: Source, first: int = 0) -> Ints:
    """Noise for the cells first .. first + n - 1: cell i always gets the same from the same source."""
    from recveil.kernels.discrete import GUIDE_BITS, draw_few, draw_many

    low, high = bounds(law, 64)
    guide = np.searchsorted(
        low, np.arange(1 << GUIDE_BITS, dtype=np.uint64) << np.uint64(64 - GUIDE_BITS), "right"
    ).astype(np.int64)
    numerator, denominator = _coin_of(law, len(low))
    table = (low, high, guide, law.start or 0, law.bits, numerator, denominator, law.kind == "gaussian", law.signed)
    values, left_open = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    fill = draw_few if n < _FEW else draw_many
    fill(values, left_open, source.derive("cells").key(), first, table)
    spare = source.derive("open").key()
    for i in np.flatnonzero(left_open):
        values[i] = settle(law, int(values[i]) % 2**64, word_stream(spare, first + int(i)))
    return values


def settle(law: Law, u: int, words: Words) -> int:
    """The draw that begins with the 64 bits u, in integers of any size: the path where 64 bits do not decide."""
    while True:
        y = (law.start or 0) + (_bucket(law, u, words) << law.bits)
        rest = next(words)
        x = y + (rest & ((1 << law.bits) - 1))
        negative = law.signed and rest >> 63
        if not (negative and x == 0) and _coin(law.exponent(x) - law.exponent(y), words):
            return -x if negative else x
        u = next(words)


def _coin_of(law: Law, buckets: int) -> tuple[int, int]:
    """The factor and the denominator of gamma in the kernel's coins; buckets of one value need none.

    Gamma is at most 1 as far as the table reaches, so what the kernel multiplies is at most the denominator.
    """
    numerator, denominator = law.size.denominator, law.size.numerator * (2 if law.kind == "gaussian" else 1)
    if law.bits == 0:
        numerator, denominator = 0, 1
    if max(denominator, (law.start or 0) + (buckets << law.bits)) >= 2**62:
        raise RecveilError(f"noise of {law.kind} size {float(law.size):g} is beyond 64-bit integers")
    return numerator, denominator


@lru_cache(maxsize=32)
def bounds(law: Law, bits: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """For every bucket bounds of 2**64 P(this or an earlier bucket), as the kernel reads them."""
    low, high = _cumulated(law, bits)
    top = 2**64 - 1
    return np.array([min(x, top) for x in low], np.uint64), np.array([min(x, top) for x in high], np.uint64)


def _cumulated(law: Law, bits: int) -> tuple[list[int], list[int]]:
    """Rounded down and rounded up: 2**bits P(bucket <= j), up to where less than 2**-bits is left."""
    digits = ceil(bits * log(2, 10)) + 30
    with localcontext(Context(prec=digits)):
        step, weights = 1 << law.bits, []
        for x in range(law.start or 0, law.end(bits) + 2 * step, step):
            e = law.exponent(x)
            weights.append((-Decimal(e.numerator) / Decimal(e.denominator)).exp())
        *kept, beyond, next_ = weights
        tail = beyond / (1 - next_ / beyond)  # weights are log-concave: a geometric series bounds the rest
        total, doubt = sum(kept, Decimal(0)), Decimal(10) ** (15 - digits)
        low, high, c = [], [], Decimal(0)
        for w in kept:
            c += w
            low.append(int((2**bits * (c / (total + tail)) * (1 - doubt)).to_integral_value(ROUND_FLOOR)))
            high.append(int((2**bits * (c / total) * (1 + doubt)).to_integral_value(ROUND_CEILING)))
    return low, high


def _bucket(law: Law, u: int, words: Words) -> int:
    bits = 64
    while True:
        low, high = _cumulated(law, bits)
        j = bisect_right(low, u)
        if j < len(low) and (j == 0 or u >= high[j - 1]):
            return j
        u, bits = u << 64 | next(words), bits + 64


def _coin(gamma: Fraction, words: Words) -> bool:
    """Heads with probability exp(-gamma)."""
    while gamma > 1:
        if not _coin(Fraction(1), words):
            return False
        gamma -= 1
    k = 1
    while integer_below(gamma.denominator * k, words) < gamma.numerator:
        k += 1
    return k % 2 == 1


def integer_below(n: int, words: Words) -> int:
    """An integer in [0, n), exactly uniform."""
    while True:
        x = 0
        for _ in range((n.bit_length() + 63) // 64):
            x = x << 64 | next(words)
        x >>= -n.bit_length() % 64
        if x < n:
            return x


def word_stream(key: NDArray[np.uint64], number: int) -> Words:
    """The words of a stream, one by one."""
    from recveil.kernels.discrete import words

    n, given = 16, 0
    while True:
        for x in words(key, number, n)[given:]:
            yield int(x)
        given, n = n, 2 * n
