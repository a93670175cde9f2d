"""Shuffle-NNN on goodbooks-10k against a plain scipy.sparse implementation: similarities, critical items, shuffle.

Target: at least 5 times as fast in the same run, and never a dense table of item pairs. Both get the ratings as coded
columns and both must find the same critical items. `python benchmarks/shuffle_nnn.py [FOLDER]`, with the folder of the
data sets; without it, a generated world of the same size. Memory is the peak above what a process holds that has the
data and the compiled kernels, each implementation in a process of its own.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from recveil.data import Interactions, from_ids
from recveil.mechanisms.shuffle_nnn import ShuffleNNN
from recveil.randomness import seeded
from recveil.releases import local

THETA, K = 0.15, 40
ROUNDS = 5


def load(folder: str | None) -> Interactions:
    """One rating a pair: the last."""
    if folder:
        frame = pl.read_parquet(Path(folder) / "goodbooks-10k" / "ratings.parquet")
        frame = frame.unique(["user", "item"], keep="last", maintain_order=True)
    else:
        rng = np.random.default_rng(0)
        item = np.minimum(rng.lognormal(6.5, 1.4, 1_000_000).astype(np.int64), 9_999)
        frame = pl.DataFrame({"user": rng.integers(0, 53_424, 1_000_000), "item": item}).unique(maintain_order=True)
        frame = frame.with_columns(rating=pl.Series(rng.integers(1, 6, len(frame))))
    return from_ids(frame["user"], frame["item"], frame["rating"].to_numpy())


def ours(data: Interactions) -> NDArray[np.bool_]:
    mechanism = ShuffleNNN(theta=THETA, k=K)
    grouped = data.grouped("item")
    plan = mechanism.plan(local.total(grouped, mechanism.count, "item", quiet), seeded(0))
    local.rewrite(grouped, lambda chunk: mechanism.mask(chunk, plan, seeded(1)), "item", quiet)
    return data.items.is_in(plan.implode()).to_numpy()


def plain(data: Interactions) -> NDArray[np.bool_]:
    """As one would write it with scipy: all similarities in one sparse product, then a loop over the items."""
    assert data.rating is not None
    matrix = sparse.csc_array((data.rating, (data.user, data.item)), shape=(data.n_users, data.n_items))
    sizes = np.diff(matrix.indptr)
    ratings = matrix.data.copy()
    matrix.data -= np.repeat(matrix.sum(axis=0) / np.maximum(sizes, 1), sizes)
    length = np.sqrt(matrix.multiply(matrix).sum(axis=0))
    matrix.data /= np.repeat(np.where(length > 1e-9, length, np.inf), sizes)
    similar = (matrix.T @ matrix).tocsr()
    similar.data[similar.data < THETA] = 0
    similar.setdiag(0)
    similar.eliminate_zeros()
    similar.sort_indices()
    critical = np.zeros(data.n_items, dtype=bool)
    for i in range(data.n_items):
        row = slice(similar.indptr[i], similar.indptr[i + 1])
        nearest = np.argsort(-similar.data[row], kind="stable")[:K]
        critical[similar.indices[row][nearest]] = True
    rng = np.random.default_rng(0)
    for i in np.flatnonzero(~critical):
        rng.shuffle(ratings[matrix.indptr[i] : matrix.indptr[i + 1]])
    return critical


def quiet(rows: int) -> None:
    pass


def seconds(run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def memory(implementation: str, folder: str | None, answer: multiprocessing.Queue[int]) -> None:
    data = load(folder)
    run = {"ours": ours, "plain": plain}[implementation]
    run(data.take_users(np.arange(2000)))  # compiles
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = status("VmRSS")
    run(data)
    answer.put(status("VmHWM") - before)


def status(field: str) -> int:
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(field))
    return int(line.split()[1]) * 1024


def main() -> None:
    folder = sys.argv[1] if len(sys.argv) > 1 else None
    data = load(folder)
    print(f"{len(data):,} ratings, {data.n_users:,} users, {data.n_items:,} items; theta {THETA}, k {K}")
    mine, theirs = ours(data), plain(data)
    print(f"critical items: {mine.sum():,} and {theirs.sum():,}; {np.sum(mine != theirs)} differ")
    pairs = [(seconds(lambda: ours(data)), seconds(lambda: plain(data))) for _ in range(ROUNDS)]
    fast, slow = (median(column) for column in zip(*pairs, strict=True))
    ratio = median(b / a for a, b in pairs)
    print(f"ours {fast:.3f} s, scipy.sparse {slow:.3f} s: {ratio:.1f} times as fast (median of {ROUNDS}; target 5)")
    context = multiprocessing.get_context("spawn")
    for name in ("ours", "plain"):
        answer: multiprocessing.Queue[int] = context.Queue()
        process = context.Process(target=memory, args=(name, folder, answer))
        process.start()
        print(f"peak memory of {name}: {answer.get() / 1e6:.0f} MB above the data")
        process.join()
    print(f"a dense table of item pairs would take {8 * data.n_items**2 / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
