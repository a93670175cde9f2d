"""Noise on a large table that is nearly all zero, in time linear in what is kept: the exact law of "noise, then cut".

Noise is added to the cells that are not zero. Of the others only those matter whose noise exceeds the threshold: their
number is binomial, their places are uniform, their values follow the tail of the noise. All three are drawn exactly
(docs/guarantees/noise.md), so that the result has the law of noise on every cell followed by the cut.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Context, Decimal, localcontext
from math import ceil

import numpy as np
from numpy.typing import NDArray

from recveil.dp.noise import Ints, Law, Words, draw, word_stream
from recveil.errors import RecveilError
from recveil.randomness import Source

_DIGITS = 60  # beyond those that the random bits need; fewer than 35 are lost to rounding, up to 10**12 cells
Bounds = tuple[Decimal, Decimal]


def noisy_above(cells: Ints, values: Ints, n_cells: int, threshold: int, law: Law, source: Source) -> tuple[Ints, Ints]:
    """The cells of a table, and their values, where value + noise > threshold; `cells` (sorted) are not zero in it."""
    if not law.signed:
        raise ValueError("the noise must be on all integers")
    if threshold < 0:
        raise RecveilError(f"a threshold for sparse noise must not be negative, not {threshold}")
    noisy = values + draw(law, len(cells), source.derive("nonzero"))
    kept = noisy > threshold
    number = word_stream(source.derive("number").key(), 0)
    n = binomial(n_cells - len(cells), lambda digits: exceeding(law, threshold, digits), number)
    false = _places(n, n_cells, cells, source.derive("places").key())
    tail = draw(replace(law, start=threshold + 1), n, source.derive("tail"))
    all_cells, all_values = np.concatenate([cells[kept], false]), np.concatenate([noisy[kept], tail])
    order = np.argsort(all_cells)
    return all_cells[order], all_values[order]


def exceeding(law: Law, threshold: int, digits: int) -> Bounds:
    """Bounds of the probability that noise exceeds a threshold >= 0."""
    with localcontext(Context(prec=digits)):
        size = Decimal(law.size.numerator) / Decimal(law.size.denominator)
        doubt = Decimal(10) ** (20 - digits)
        if law.kind == "laplace":
            a = (-1 / size).exp()
            found = (-(threshold + 1) / size).exp() / (1 + a)
            return found * (1 - doubt), found * (1 + doubt)
        # weights by recurrence: w(x + 1) = w(x) ratio(x), ratio(x + 1) = ratio(x) exp(-1 / variance)
        weight, ratio, step = Decimal(1), (-1 / (2 * size)).exp(), (-1 / size).exp()
        half = above = Decimal(0)
        for x in range(1, law.end(digits + ceil(law.exponent(threshold)))):
            weight *= ratio
            ratio *= step
            half += weight
            if x > threshold:
                above += weight
        rest = weight * ratio / (1 - ratio)
        low, high = above / (1 + 2 * (half + rest)), (above + rest) / (1 + 2 * half)
        return low * (1 - doubt), high * (1 + doubt)


def binomial(n: int, p: Callable[[int], Bounds], words: Words) -> int:
    """The number of heads in n tosses; p(digits) gives bounds of the coin's probability as tight as asked for."""
    u, bits = next(words), 64
    while True:
        digits = _DIGITS + bits // 3
        found = _inverse(n, p(digits), u, bits, digits)
        if found is not None:
            return found
        u, bits = u << 64 | next(words), bits + 64


def _inverse(n: int, p: Bounds, u: int, bits: int, digits: int) -> int | None:
    """The k with P(fewer than k) <= U < P(at most k), for all uniform U that begin with u; None if not one k."""
    with localcontext(Context(prec=digits)):
        doubt = Decimal(10) ** (35 - digits)
        below, above = Decimal(u) / 2**bits, Decimal(u + 1) / 2**bits
        more, fewer = p[1] / (1 - p[1]), p[0] / (1 - p[0])  # odds: the larger p gives the lower cumulated law
        low = low_term = (n * (1 - p[1]).ln()).exp()
        high = high_term = (n * (1 - p[0]).ln()).exp()
        before = Decimal(0)
        for k in range(n + 1):
            if above <= low * (1 - doubt) or k == n:
                return k if k == 0 or below >= before * (1 + doubt) else None
            if below < high * (1 + doubt) and above > low * (1 - doubt):
                return None
            before = high
            factor = Decimal(n - k) / (k + 1)
            low_term *= factor * more
            high_term *= factor * fewer
            low += low_term
            high += high_term
        return None


def _places(n: int, n_cells: int, nonzero: Ints, key: NDArray[np.uint64]) -> Ints:
    """n different cells, uniformly among those that are zero."""
    from recveil.kernels.discrete import zero_cells

    places, batch = np.empty(0, dtype=np.int64), 0
    while len(places) < n:
        places = np.unique(np.concatenate([places, zero_cells(key, batch, n - len(places), n_cells, nonzero)]))
        batch += 1
    return places
