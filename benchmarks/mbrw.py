"""MBRW: streams a second against plain numpy; the Theta filter against scipy; a million streams.

Ratios of one run. Per-core figures are CPU time of one thread; those on two cores and the whole release are wall time.
Data: the authors' Yahoo sample in the folder RECVEIL_DATA (or ../shared/data), training part, m ~ N(3,2), l ~ N(9,2).
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import polars as pl
from places import needed
from scipy import sparse

from recveil.data import Interactions, from_ids
from recveil.kernels.distinct import distinct
from recveil.kernels.record_search import index, reaches
from recveil.kernels.walks import Laws
from recveil.mechanisms.mbrw.laws import law
from recveil.mechanisms.mbrw.walks import Seeds, memory_streams
from recveil.mechanisms.spec import parse
from recveil.randomness import seeded
from recveil.releases.bundle import save
from recveil.releases.release import release
from recveil.splits import horizontal
from recveil.views.transitions import transitions
from recveil.views.walkable import walkable

LAWS = Laws(np.empty(0), law("normal(3,2)", "m").cumulated(), law("normal(9,2)", "l").cumulated(), False)


def main() -> None:
    frame = pl.read_parquet(needed("yahoo-music-mbrw") / "yahoo-music-mbrw" / "ratings.parquet")
    data = from_ids(frame["user"], frame["item"], time=frame["order"].to_numpy())
    train = horizontal(data, 0.9, np.random.default_rng(0)).train.compact().ordered()
    generation(train)
    theta_filter(train)
    million(train)
    scaling()


def best(work: Callable[[], Any], clock: Callable[[], float] = time.process_time, times: int = 5) -> float:
    """The shortest of a few runs, after one that compiles."""
    work()
    found = []
    for _ in range(times):
        begin = clock()
        work()
        found.append(clock() - begin)
    return min(found)


def numpy_streams(train: Interactions, k: int, sliding: bool) -> int:
    """The plain reference: dense CVS, one numpy expression a step, the same fallback to less memory."""
    moves = transitions(train)
    DS, CVS = moves.ds, moves.cvs.toarray().astype(np.float64)
    weights = DS.data.astype(np.float64)
    starts, rng, clicks = train.starts("user"), np.random.default_rng(0), 0
    begin = time.process_time()
    for _ in range(k):
        u = rng.integers(train.n_users)
        e = rng.integers(starts[u], starts[u + 1])
        m = max(1, round(rng.normal(3, 2)))
        walk = train.item[max(starts[u], e - m) : e + 1].tolist()
        profile = walk[:-1]
        for _ in range(max(1, round(rng.normal(9, 2)))):
            row = slice(DS.indptr[walk[-1]], DS.indptr[walk[-1] + 1])
            candidates = DS.indices[row]
            memory = walk[max(0, len(walk) - 1 - m) : -1] if sliding else profile
            weight = weights[row]
            for first in range(len(memory) + 1):
                weight = weights[row].copy()
                for c in memory[first:]:
                    weight *= CVS[c, candidates]
                if weight.any():
                    break
            if not len(candidates):
                break
            cumulated = np.cumsum(weight)
            walk.append(int(candidates[np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right")]))
        clicks += len(walk)
    numpy_streams.seconds = time.process_time() - begin  # type: ignore[attr-defined]
    return clicks


def generation(train: Interactions, k: int = 100_000) -> None:
    over = walkable(transitions(train))
    seeds = Seeds(train.starts("user"), train.item)
    who = np.random.default_rng(0).integers(0, train.n_users, k)
    cores = numba.get_num_threads()
    print(f"generation, {k:,} streams")
    for sliding, goal, aim in ((True, 30, 60), (False, 60, 150)):

        def walk(sliding: bool = sliding) -> Any:
            return memory_streams(over, seeds, who, np.arange(k), LAWS, seeded(1), sliding=sliding)

        numpy_streams(train, 1500, sliding)
        plain = 1500 / numpy_streams.seconds  # type: ignore[attr-defined]
        numba.set_num_threads(1)
        one, one_wall = k / best(walk), k / best(walk, time.perf_counter)
        numba.set_num_threads(cores)
        all_wall = k / best(walk, time.perf_counter)
        print(
            f"  {'sliding' if sliding else 'static':8} numpy {plain / 1e3:.1f}k, recveil {one / 1e3:,.0f}k "
            "streams/s/core: "
            f"{one / plain:.0f}x (goal {goal}x, aim {aim}x); "
            f"{cores} cores {all_wall / 1e3:,.0f}k/s wall: {all_wall / one_wall:.2f}x (goal 1.7x)"
        )


def theta_filter(train: Interactions, k: int = 20_000, theta: float = 0.7) -> None:
    made = release(train, parse(f"mbrw:k={k},window=static,hops=normal(5,2)"), seed=1).data.over_items(train.items)
    queries = made.matrix(binary=True)
    real = train.matrix(binary=True)
    at = index(real.indptr.astype(np.int64), real.indices.astype(np.int32), train.n_items)
    starts, items = made.starts("user"), made.item
    size = np.sqrt(np.diff(queries.indptr))[:, None], np.sqrt(np.diff(real.indptr))[None, :]

    def by_scipy() -> Any:
        near = np.zeros(queries.shape[0], dtype=bool)
        for begin in range(0, queries.shape[0], 1000):
            part = slice(begin, begin + 1000)
            overlap = (queries[part] @ real.T).tocsr()
            overlap.data /= np.repeat(size[0][part].ravel(), np.diff(overlap.indptr)) * size[1].ravel()[overlap.indices]
            near[part] = sparse.csr_array(overlap).max(axis=1).toarray().ravel() >= theta - 1e-12
        return near

    def ours() -> Any:
        return reaches(at, *distinct(starts, items), theta)

    assert np.array_equal(by_scipy(), ours()), "the filter and scipy disagree"
    cores = numba.get_num_threads()
    numba.set_num_threads(1)
    plain, one = k / best(by_scipy, times=1), k / best(ours)
    numba.set_num_threads(cores)
    both = k / best(ours, time.perf_counter)
    print(
        f"Theta filter at {theta}, {k:,} streams x {train.n_users:,} people, the same decisions: "
        f"scipy {plain / 1e3:.1f}k, recveil {one / 1e3:,.0f}k streams/s/core: {one / plain:.0f}x (goal 40x); "
        f"{cores} cores {both / 1e3:,.0f}k/s wall"
    )


def million(train: Interactions) -> None:
    with tempfile.TemporaryDirectory() as folder:
        begin, worked = time.perf_counter(), time.process_time()
        made = release(train, parse("mbrw:k=1000000,theta=0.7"), seed=1)
        drawn = time.perf_counter() - begin
        save(made, Path(folder) / "out")
        total, worked = time.perf_counter() - begin, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"K = 1,000,000 at Theta 0.7: {made.data.n_users:,} streams kept, {len(made.data):,} clicks; generated and "
        f"filtered in {drawn:.1f} s, written after {total:.1f} s (goal 30 s), "
        f"{worked:.1f} s of CPU; peak memory {peak:.1f} GB (goal 4 GB)"
    )


def scaling(n: int = 100_000, k: int = 20_000) -> None:
    """100,000 people x 100,000 items: popularity after Zipf within 200 genres, 17 clicks each."""
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(n), 17)
    genre = np.repeat(rng.integers(0, 200, n), 17)
    item = genre * 500 + np.minimum(rng.zipf(1.3, len(user)), 500) - 1
    anywhere = rng.random(len(user)) < 0.2
    item[anywhere] = rng.integers(0, n, anywhere.sum())
    data = from_ids(pl.Series(user), pl.Series(item), time=np.arange(len(user)))
    begin = time.perf_counter()
    moves = transitions(data)
    over = walkable(moves)
    built = time.perf_counter() - begin
    held = sum(a.nbytes for a in over.graph)
    seeds, who = Seeds(data.starts("user"), data.item), rng.integers(0, data.n_users, k)
    numba.set_num_threads(1)
    for sliding in (True, False):

        def walk(sliding: bool = sliding) -> Any:
            return memory_streams(over, seeds, who, np.arange(k), LAWS, seeded(1), sliding=sliding)

        seconds, made = best(walk, times=2), walk()
        print(
            f"{data.n_users:,} people x {data.n_items:,} items, CVS {moves.cvs.nnz:,} non-zeros, "
            f"built in {built:.1f} s, graph {held / 2**20:,.0f} MB ({held / moves.cvs.nnz:.0f} bytes a non-zero): "
            f"{'sliding' if sliding else 'static'} {k / seconds / 1e3:,.0f}k streams/s/core, "
            f"{made.starts[-1] / seconds / 1e6:.2f}M clicks/s/core"
        )


if __name__ == "__main__":
    main()
