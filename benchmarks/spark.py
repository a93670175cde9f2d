"""Time and peak memory against size: the local engine and Spark on the cores of this machine, in one run.

    python benchmarks/spark.py [--sizes 1e6,1e7] [--steps mask,shuffle-nnn,mbrw,clicks] [--folder DIR]

The data are worlds of sample:films, written in parts by Spark itself. Every step is a process of its own; memory is the
largest sum of resident pages of it and all that it started, read five times a second. CPU seconds are those of all of
them, so neighbours on the machine count little. Growth is the ratio of CPU seconds over the ratio of rows between two
sizes: 1 is linear, less is better. Starting Spark is part of its time. A run that takes more than 60% of the machine's
memory is stopped: it does not fit.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS_A_USER = 37
MOST = 0.6 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
STEPS = {
    "mask": ("films?users={users},items=600", ["--with", "mask:p=0.99"]),
    "shuffle-nnn": ("films?users={users},items=10000", ["--with", "shuffle-nnn"]),
    "mbrw": ("films?users={users},items=600", ["--with", "mbrw"]),
    "clicks": ("films?users={users},items=600", []),
}


def main() -> None:
    parse = argparse.ArgumentParser()
    parse.add_argument("--sizes", default="1e6,1e7")
    parse.add_argument("--steps", default=",".join(STEPS))
    parse.add_argument("--engines", default="local,spark")
    parse.add_argument("--folder", type=Path)
    wish = parse.parse_args()
    folder = wish.folder or Path(tempfile.mkdtemp())
    sizes = [int(float(size)) for size in wish.sizes.split(",")]
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores at the start")
    print(f"{'step':<12} {'engine':<6} {'rows':>12} {'seconds':>8} {'CPU':>8} {'peak GB':>8} {'growth':>7}")
    try:
        for step in wish.steps.split(","):
            before: dict[str, tuple[int, float]] = {}
            for size in sizes:
                data, rows = world(STEPS[step][0].format(users=size // ROWS_A_USER), folder)
                for engine in wish.engines.split(","):
                    took, cpu, peak = run(step, engine, data, folder)
                    if peak > MOST:
                        print(f"{step:<12} {engine:<6} {rows:>12,} needs more than {MOST / 2**30:.1f} GB", flush=True)
                        continue
                    growth = ""
                    if engine in before:
                        growth = f"{cpu / before[engine][1] / (rows / before[engine][0]):.2f}"
                    before[engine] = rows, cpu
                    figures = f"{rows:>12,} {took:>8.1f} {cpu:>8.1f} {peak / 2**30:>8.2f} {growth:>7}"
                    print(f"{step:<12} {engine:<6} {figures}", flush=True)
    finally:
        if wish.folder is None:
            shutil.rmtree(folder)
    print(f"load average {os.getloadavg()[0]:.1f} in the end")


def world(name: str, folder: Path) -> tuple[Path, int]:
    """A folder of parquet files, each of them written by a task; how many rows they have."""
    import pyarrow.dataset

    data = folder / name.replace("?", "-").replace(",", "-")
    if not data.exists():
        from recveil.spark.reading import sample_frame
        from recveil.spark.session import session

        with session() as spark:
            sample_frame(spark, name).write.parquet(str(data))
    return data, pyarrow.dataset.dataset(data).count_rows()


def run(step: str, engine: str, data: Path, folder: Path) -> tuple[float, float, int]:
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    source = data
    if engine == "local":  # which reads one file
        source = data.with_suffix(".parquet")
        if not source.exists():
            import polars as pl

            pl.scan_parquet(data / "*.parquet").sink_parquet(source)
    command = [sys.executable, "-m", "recveil", "clicks" if step == "clicks" else "release", str(source)]
    command += [*STEPS[step][1], "--engine", engine, *(["-o", str(out)] if step != "clicks" else [])]
    begin, peak = time.perf_counter(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
        peak = max(peak, resident(process.pid))
        if peak > MOST:
            process.kill()
        time.sleep(0.2)
    _, status, used = ended
    if status and peak <= MOST:
        sys.exit(f"{' '.join(command)} failed")
    return time.perf_counter() - begin, used.ru_utime + used.ru_stime, peak


def resident(root: int) -> int:
    """Bytes in memory of a process and all below it."""
    parents, pages = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number = int(stat.parent.name)
        parents[number], pages[number] = int(fields[1]), int(fields[21])
    found, below = 0, {root}
    for number in sorted(pages):
        at = number
        while at not in below and at in parents:
            at = parents[at]
        if at in below:
            found += pages[number]
    return found * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
