"""Everybody's list of recommended items, made where the histories are and written by the executors.

What lands on the driver: how many lists there are, how many of them are short, and their size in bytes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

import polars as pl

from recveil.data import Interactions
from recveil.engines.spark import Batches, Table, arrow, chunks, gathered, shared
from recveil.errors import RecveilError
from recveil.recommenders.mask import Lists, lines

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = 500_000


def vacant(directory: str | Path) -> None:
    """Raise where something is in the way of a new directory."""
    if "://" in str(directory):
        raise RecveilError(f"{directory}: lists go to a path that the driver and all executors see, not to a URI")
    if Path(directory).exists():
        raise RecveilError(f"{directory} exists already; choose another place")


def write_lists(
    data: Table, recommend: Callable[[Interactions], Lists], top: int, directory: str | Path
) -> tuple[int, int]:
    """The lines of all users as files of a new directory; how many lists, and how many of fewer than `top` items.

    The directory must be one that the driver and all executors see. It is there whole, or not at all.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as fn

    vacant(directory)
    layout, step = shared(data.frame, data.layout), shared(data.frame, recommend)

    def listed(batches: Batches) -> Batches:
        for chunk in chunks(batches, layout.value, "user", ROWS):
            lists = step.value(chunk)
            yield from arrow(pl.DataFrame({"value": list(lines(lists)), "items": [len(row) for row in lists.values()]}))

    made = gathered(data.frame, "user").mapInArrow(listed, "value string, items long")
    seen = Observation()
    size = fn.sum(fn.octet_length("value") + 1)
    counts = {"lists": fn.count("*"), "short": fn.count_if(fn.col("items") < top), "bytes": size}
    observed = made.observe(seen, *(count.alias(name) for name, count in counts.items()))
    with _whole(Path(directory)) as part:
        found = _write(observed.select("value"), part)
        told = seen.get
        if found != told["bytes"]:
            raise RecveilError(f"{directory} is not in a place that the driver and all executors see")
    return told["lists"], told["short"]


def _write(text: DataFrame, folder: Path) -> int:
    """Lines as files part-00000.txt and so on, without Spark's own leavings; their size in bytes."""
    raw = folder / "spark"
    text.write.text(f"file://{raw.absolute()}")
    files = sorted(file for file in raw.glob("part-*.txt") if file.stat().st_size)
    for number, file in enumerate(files):
        file.rename(folder / f"part-{number:05d}.txt")
    shutil.rmtree(raw)
    return sum(file.stat().st_size for file in folder.iterdir())


@contextmanager
def _whole(directory: Path) -> Iterator[Path]:
    """A directory to fill that gets its name only once it is complete."""
    part = directory.with_name(f".{directory.name}.{token_hex(4)}.part")
    try:
        part.mkdir(parents=True)
        yield part
        part.rename(directory)
    except OSError as error:
        raise RecveilError(f"{directory} cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
