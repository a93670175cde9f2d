"""Memory of a release, and how fast the command line starts.

- release --with pseudonymise on 1,000,000 rows: peak resident memory at most 6x the coded columns above the imports.
- recveil --help: at most 0.5 s more than python -c pass.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl

ROWS = 1_000_000

IMPORTS = """
import numba, polars, pyarrow.parquet, scipy.sparse
import recveil.cli, recveil.actions.publish, recveil.mechanisms, recveil.splits
"""


# A process starts with the peak of the one that started it, so a small one must do it.
LAUNCHER = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
sys.exit("it failed") if status else print(usage.ru_maxrss)
"""


def peak(arguments: list[str]) -> int:
    """Peak resident memory of a process, in bytes."""
    launched = [sys.executable, "-c", LAUNCHER, *arguments]
    clean = {name: value for name, value in os.environ.items() if "MALLOC" not in name}  # polars here set its own
    return int(subprocess.run(launched, check=True, capture_output=True, text=True, env=clean).stdout) * 1024


def seconds(arguments: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(arguments, check=True, capture_output=True)
    return time.perf_counter() - begin


def main() -> None:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "ratings.csv"
        pl.DataFrame(
            {
                "user": rng.integers(1, 50_000, ROWS),
                "item": rng.integers(1, 20_000, ROWS),
                "rating": rng.integers(1, 6, ROWS),
                "timestamp": rng.integers(10**9, 2 * 10**9, ROWS),
            }
        ).write_csv(source)
        coded = ROWS * (4 + 4 + 8 + 8)
        released = [sys.executable, "-m", "recveil", "release", str(source), "--with", "pseudonymise"]
        grown = peak([*released, "-o", str(Path(folder) / "out")]) - peak([sys.executable, "-c", IMPORTS])
        print(f"release of {ROWS:,} rows: {grown / 1e6:.0f} MB above imports, {grown / coded:.1f}x the coded columns")
    bare = median(seconds([sys.executable, "-c", "pass"]) for _ in range(7))
    helped = median(seconds([sys.executable, "-m", "recveil", "--help"]) for _ in range(7))
    print(f"recveil --help: {helped:.2f} s, {helped - bare:.2f} s more than python -c pass")


if __name__ == "__main__":
    main()
