"""What a command costs as the log grows: CPU seconds, peak memory, and the growth of both.

    python benchmarks/scale.py make ROWS FOLDER          a log in parquet parts: 25 rows a person, 100,000 items
    python benchmarks/scale.py run COMMAND ...           one command of recveil: CPU seconds, wall, peak memory

Rows come in the order of time, so the rows of a person lie all over the parts. Items follow Zipf's law.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

ITEMS = 100_000
ROWS_OF_ONE = 25
PART = 5_000_000


def make(rows: int, folder: Path) -> None:
    """Parts of a log; every part has a stream of chance of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    people = max(rows // ROWS_OF_ONE, 1)
    for number, begin in enumerate(range(0, rows, PART)):
        rng, n = np.random.default_rng([rows, number]), min(PART, rows - begin)
        item = np.exp(rng.random(n) * np.log(ITEMS + 1.0)).astype(np.int64) - 1
        frame = pl.DataFrame(
            {
                "user": rng.integers(people, size=n) + 1,
                "item": np.minimum(item, ITEMS - 1) + 1,
                "time": 1_600_000_000 + begin + np.arange(n),
            }
        )
        frame.write_parquet(folder / f"part-{number:05}.parquet", compression="zstd", row_group_size=1 << 20)


def run(command: list[str]) -> int:
    """One command in a process of its own, measured."""
    began = time.perf_counter()
    done = subprocess.run(command)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu, wall = used.ru_utime + used.ru_stime, time.perf_counter() - began
    print(f"{cpu:.1f} CPU s, {wall:.1f} s, {used.ru_maxrss / 1e6:.2f} GB: {' '.join(command[1:])}", file=sys.stderr)
    return done.returncode


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"]:
        make(int(float(sys.argv[2])), Path(sys.argv[3]))
    else:
        sys.exit(run([str(Path(sys.executable).with_name("recveil")), *sys.argv[2:]]))
