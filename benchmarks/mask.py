"""Speed of MASK on 60,000 users, as ratios in one run; CPU time where one core is meant: neighbours do not count.

- All pair supports of 10,000 items: at least 6x float32 BLAS (X.T @ X) per core, equal to it; two cores at least 1.7x.
- Perturbation: at least 10x one random number for each cell from the same cipher. Against numpy's generator, which is
  not cryptographic and several times faster than the cipher, the ratio is smaller; it is printed beside it.
- --large: 1,000,000 users x 20,000 items, perturbed and reduced to each item's 50 nearest, in less than 12 GB.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from recveil.cli.arguments import progress
from recveil.data import Interactions
from recveil.evaluation.recommenders.mask import similar_items
from recveil.kernels.bits import pack
from recveil.kernels.chacha import stream, word
from recveil.kernels.flips import flip_profiles, skip_table
from recveil.kernels.popcount import pair_counts
from recveil.mechanisms.mask import Mask, flips, perturb
from recveil.randomness import seeded
from recveil.views.bits import Columns, empty

USERS, P = 60_000, 0.943


@njit
def one_word_a_cell(rows: int, m: int, key: NDArray[np.uint64], limit: Any) -> NDArray[np.uint64]:
    """The opponent: 64 random bits for every cell, flipped where they are below q."""
    out = np.zeros((rows, (m + 63) >> 6), dtype=np.uint64)
    for u in range(rows):
        s = stream(key, np.uint64(u))
        for cell in range(m):
            if word(s) < limit:
                out[u, cell >> 6] ^= np.uint64(1) << np.uint64(cell & 63)
    return out


def clock(work: Callable[[], Any], cpu: bool = True, times: int = 3) -> float:
    now = time.process_time if cpu else time.perf_counter
    best = float("inf")
    for _ in range(times):
        begin = now()
        work()
        best = min(best, now() - begin)
    return best


def pairs(items: int) -> bool:
    rng = np.random.default_rng(0)
    dense = np.zeros((USERS, items), dtype=np.float32)
    for begin in range(0, USERS, 2000):
        dense[begin : begin + 2000] = rng.random((2000, items), dtype=np.float32) < 1 - P + 0.02
    where = np.ascontiguousarray(dense.T) > 0
    bits = empty(items, USERS)
    starts = np.append(0, np.cumsum(where.sum(axis=1)))
    pack(starts, np.nonzero(where)[1].astype(np.int32), bits)
    del where
    pair_counts(bits[:8])
    numba.set_num_threads(1)
    ours = clock(lambda: pair_counts(bits), times=2)
    wall = both = float("inf")
    for _ in range(4):  # in turns, so that neighbours disturb both alike
        numba.set_num_threads(1)
        wall = min(wall, clock(lambda: pair_counts(bits), cpu=False, times=1))
        numba.set_num_threads(2)
        both = min(both, clock(lambda: pair_counts(bits), cpu=False, times=1))
    counts = pair_counts(bits)[:items, :items]
    with threadpool_limits(1):
        begin = time.process_time()
        product = dense.T @ dense
        blas = time.process_time() - begin
    number = items * (items + 1) / 2e6
    same = bool(np.array_equal(counts, product))
    print(f"pair supports, {USERS:,} x {items:,}: {number / ours:.1f} M pairs per CPU second, BLAS {number / blas:.2f}")
    print(
        f"  {blas / ours:.1f}x BLAS per core (at least 6), equal: {same}; two cores {wall / both:.2f}x (at least 1.7)"
    )
    return same and blas / ours >= 6 and wall / both >= 1.7


def perturbation(items: int, rows: int = 3000) -> bool:
    key, table = seeded(1).key(), skip_table(flips(P))
    starts, nobody = np.zeros(rows + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
    keys = np.arange(rows, dtype=np.uint64)
    numba.set_num_threads(1)
    limit = np.uint64(flips(P) << 32)
    flip_profiles(starts[:2], nobody, keys[:1], items, *table, key)
    one_word_a_cell(1, items, key, limit)
    rng = np.random.default_rng(0)
    ours = clock(lambda: flip_profiles(starts, nobody, keys, items, *table, key))
    theirs = clock(lambda: one_word_a_cell(rows, items, key, limit))
    plain, double = (
        clock(lambda kind=kind: np.packbits(rng.random((rows, items), dtype=kind) < 1 - P, axis=1))
        for kind in (np.float32, np.float64)
    )
    numba.set_num_threads(2)
    cells = rows * items / 1e6
    print(f"perturbation: {cells / ours:.0f} M cells per CPU second by exact skipping")
    print(f"  {theirs / ours:.1f}x a number for each cell from the same cipher (at least 10)")
    print(
        f"  numpy's default generator, which is not cryptographic: {double / ours:.1f}x, as float32 {plain / ours:.1f}x"
    )
    return theirs / ours >= 10


def large(users: int, items: int, k: int = 50) -> bool:
    rng = np.random.default_rng(0)
    popular = (items * rng.random((users, 30), dtype=np.float32) ** 3).astype(np.int32)
    data = Interactions(
        np.repeat(np.arange(users, dtype=np.int32), 30),
        popular.ravel(),
        pl.Series(range(users)),
        pl.Series(range(items)),
    )
    begin = time.perf_counter()
    seen: Columns = perturb(data, Mask(P), seed=1)[0]
    perturbed = time.perf_counter() - begin
    with progress("similar items", items) as tick:
        similar = similar_items(seen, p=P, minsup=0, k=k, tick=tick)  # minsup 0: no item is spared
    took = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    with_list = int((similar.neighbour[:, 0] >= 0).sum())
    print(
        f"{users:,} x {items:,}: perturbed in {perturbed:.0f} s, {k} nearest of {with_list:,} items after {took:.0f} s"
    )
    print(f"  peak memory {peak:.1f} GB (less than 12)")
    return peak < 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--large", action="store_true", help="only the run with 1,000,000 users and 20,000 items")
    parser.add_argument("--users", type=int, default=1_000_000, help="of --large")
    asked = parser.parse_args()
    if asked.large:
        sys.exit(0 if large(asked.users, 20_000) else 1)
    sys.exit(0 if all([perturbation(asked.items), pairs(asked.items)]) else 1)


if __name__ == "__main__":
    main()
