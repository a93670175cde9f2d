"""Exact noise: cells a second, ours and opendp's, in one run."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import opendp.prelude as dp

from recveil.dp.noise import draw, gaussian, laplace
from recveil.dp.sparse_noise import noisy_above
from recveil.randomness import entropy


def rate(run: Callable[[int], object], n: int, repeats: int = 3) -> float:
    run(min(n, 1000))
    best = min(_seconds(run, n) for _ in range(repeats))
    return n / best


def _seconds(run: Callable[[int], object], n: int) -> float:
    begin = time.perf_counter()
    run(n)
    return time.perf_counter() - begin


def main() -> None:
    dp.enable_features("contrib")
    vectors = dp.vector_domain(dp.atom_domain(T="i64"))
    print(f"{'law':<28}{'ours':>14}{'opendp':>12}{'ratio':>8}   cells/s")
    for name, scale in (("laplace", 2.0), ("laplace", 150_000.0), ("gaussian", 3.0), ("gaussian", 262_144.0)):
        size = Fraction(scale)
        law = laplace(size) if name == "laplace" else gaussian(size * size)
        if name == "laplace":
            theirs = dp.m.make_laplace(vectors, dp.l1_distance(T="i64"), scale=scale)
        else:
            theirs = dp.m.make_gaussian(vectors, dp.l2_distance(T=float), scale=scale)
        fast = rate(lambda n, law=law: draw(law, n, entropy()), 8_000_000)  # type: ignore[misc]
        slow = rate(lambda n, m=theirs: m([0] * n), 30_000)  # type: ignore[misc]
        print(f"{f'{name}, scale {scale:g}':<28}{fast:>14,.0f}{slow:>12,.0f}{fast / slow:>7.0f}x")
    cells = np.unique(np.random.default_rng(1).integers(0, 5 * 10**9, 2_000_000))
    values = np.full(len(cells), 4096)
    law = gaussian(4 * 4096**2)
    seconds = _seconds(lambda n: noisy_above(cells, values, n, 5 * 2 * 4096, law, entropy()), 5 * 10**9)
    print(f"sparse: 5e9 cells, {len(cells):,} not zero, threshold 5 sigma: {seconds:.1f} s")


if __name__ == "__main__":
    main()
