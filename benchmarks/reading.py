"""Reading and coding a csv of a million ratings, beside polars' own read_csv of the same file.

Prints one line per kind of ids: the medians of both and of their ratio, over rounds that take turns.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import polars as pl

from recveil.formats import read

LIMITS = {"integer": 2.0, "string": 3.0}


def million(rows: int) -> pl.DataFrame:
    """Ratings on distinct pairs, as real ones mostly are: users side by side, popular items often."""
    rng = np.random.default_rng(20)
    users, items = rows // 20, rows // 100
    popular = (items * rng.random(rows + rows // 4) ** 3).astype(np.int64)
    pairs = np.unique(rng.integers(0, users, len(popular)) * items + popular)
    pairs = np.sort(rng.choice(pairs, rows, replace=False))
    return pl.DataFrame(
        {
            "user": pairs // items + 1,
            "item": rng.permutation(items)[pairs % items] + 1,
            "rating": rng.integers(1, 11, rows) / 2,
            "timestamp": rng.integers(950_000_000, 1_600_000_000, rows),
        }
    )


def seconds(read_once: object, path: Path) -> float:
    start = perf_counter()
    read_once(path)  # type: ignore[operator]
    return perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    frame = million(options.rows)
    named = frame.with_columns(user=pl.format("user-{}", "user"), item=pl.format("B{}X", pl.col("item") * 7919))
    with TemporaryDirectory() as folder:
        for kind, table in (("integer", frame), ("string", named)):
            path = Path(folder) / f"{kind}.csv"
            table.write_csv(path)
            assert len(read(path)) == len(pl.read_csv(path)) == options.rows
            rounds = [(seconds(pl.read_csv, path), seconds(read, path)) for _ in range(options.rounds)]
            theirs, ours = (median(column) for column in zip(*rounds, strict=True))
            ratio = median(our / their for their, our in rounds)
            verdict = "within" if ratio <= LIMITS[kind] else "ABOVE"
            print(
                f"{kind} ids, {options.rows:,} rows: polars {theirs * 1e3:.0f} ms, recveil {ours * 1e3:.0f} ms, "
                f"ratio {ratio:.2f} ({verdict} {LIMITS[kind]:.1f})"
            )


if __name__ == "__main__":
    main()
