"""Scoring of submissions on 20,000 people over 50,000 items: processor time and memory, of weights and of vectors.

Weights: 100 for each item; vectors: 64 numbers; histories of 50. From the file to the lists and their values, kernels
compiled beforehand. `python benchmarks/judge.py [people] [items]`
"""

from __future__ import annotations

import resource
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import polars as pl

from recveil.court.people import Histories
from recveil.court.submissions import read_submission
from recveil.court.values import values


def main(people: int = 20_000, items: int = 50_000) -> None:
    rng = np.random.default_rng(0)
    catalogue = pl.Series(np.arange(items))
    judged = histories(rng, people, items)
    few = histories(rng, 10, items)
    near, depth = 100, 64
    weights = pl.DataFrame({
        "item": np.repeat(np.arange(items), near),
        "other": (np.repeat(np.arange(items), near) + np.tile(rng.permutation(items - 1)[:near] + 1, items)) % items,
        "weight": rng.random(items * near, dtype=np.float32),
    })  # fmt: skip
    vectors = rng.standard_normal((items, depth)).astype(np.float32)
    tables = {"weights": weights, "vectors": pl.DataFrame({"item": catalogue, "vector": pl.Series(vectors)})}
    with tempfile.TemporaryDirectory() as folder:
        for name, table in tables.items():
            file = Path(folder) / f"{name}.parquet"
            table.cast({"vector": pl.List(pl.Float32)} if name == "vectors" else {}).write_parquet(file)
            values(read_submission(file, catalogue, 1.0).lists(few, 20), few, "ndcg@10")
            wall, cpu = perf_counter(), process_time()
            found = read_submission(file, catalogue, 1.0)
            read = process_time() - cpu
            values(found.lists(judged, 20), judged, "ndcg@10")
            wall, cpu = perf_counter() - wall, process_time() - cpu
            said = f"{cpu:.1f} s of processor time, {read:.1f} of it to read and check"
            print(f"{name}: {said}; {wall:.1f} s by the clock")
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB of memory in all")


def histories(rng: np.random.Generator, people: int, items: int, length: int = 50) -> Histories:
    starts = np.arange(people + 1, dtype=np.int64) * length
    history = (rng.integers(0, items, (people, 1)) + rng.permutation(items)[:length]) % items
    wanted = np.sort((history[:, :5] + 1) % items, axis=1)
    return Histories(starts, history.ravel().astype(np.int32), starts // 10, wanted.ravel().astype(np.int32))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
