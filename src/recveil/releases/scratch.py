"""Scratch: rows on a disk, in parts of whole people, for as long as one run lasts.

Raw rows of people lie there: the folder is its owner's alone, which person lies in which part hangs on a key that is
forgotten, and all of it goes when the run ends. What a killed run left is swept by the next.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import randbits, token_hex
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from recveil.errors import RecveilError
from recveil.ids import keys
from recveil.releases.places import os_errors

PREFIX, LOCK = "recveil-scratch-", "lock"
Where = Callable[[pl.DataFrame], NDArray[np.int64]]  # the part of each row


@contextmanager
def scratch_folder(place: str | Path) -> Iterator[Path]:
    """A new folder in `place`, gone in the end; those that nobody holds any more go first."""
    with os_errors(place):
        Path(place).mkdir(parents=True, exist_ok=True)
        sweep(place)
        folder = Path(place) / f"{PREFIX}{token_hex(8)}"
        folder.mkdir(mode=0o700)
        with (folder / LOCK).open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)


def sweep(place: str | Path) -> None:
    """Delete the scratch of runs that are no more: nobody holds its lock."""
    for left in Path(place).glob(f"{PREFIX}*"):
        with suppress(OSError), (left / LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)


def check_room(place: str | Path, needed: int) -> None:
    """Raise where a disk has less room than is needed, before any work."""
    there = Path(place).absolute()
    while not there.exists():
        there = there.parent
    if (free := shutil.disk_usage(there).free) < needed:
        raise RecveilError(
            f"{place} has {free / 1e9:.1f} GB of room, and about {needed / 1e9:.1f} GB are needed; name another "
            "folder with --scratch"
        )


def by_person(parts: int) -> Where:
    """Everybody in one part, by a hash with a key that is made now."""
    odd, shift = np.uint64(randbits(64) | 1), np.uint64(randbits(64))

    def where(frame: pl.DataFrame) -> NDArray[np.int64]:
        mixed = (keys(frame["user"]) ^ shift) * odd
        mixed ^= mixed >> np.uint64(29)
        return (((mixed * odd) >> np.uint64(32)) % np.uint64(parts)).astype(np.int64)

    return where


@dataclass
class Store:
    """Frames in parts. Columns whose type differs between frames are settled in reading: text, or floats."""

    folder: Path
    name: str
    parts: int
    kinds: dict[str, Any] = field(default_factory=dict)
    runs: int = 0

    @contextmanager
    def filling(self, where: Where) -> Iterator[Callable[[pl.DataFrame], None]]:
        """A function that puts the rows of a frame into their parts, after those that are there."""
        with ExitStack() as run, os_errors(self.folder):
            current: list[Any] = [None, []]

            def put(frame: pl.DataFrame) -> None:
                table = frame.to_arrow()
                if current[0] != table.schema:
                    run.close()
                    current[:] = table.schema, [run.enter_context(w) for w in self._open(table.schema)]
                    for column, kind in frame.schema.items():
                        self.kinds[column] = wider(self.kinds.get(column, kind), kind)
                part = where(frame).astype(np.uint16)  # which is sorted by counting
                order = np.argsort(part, kind="stable")
                ends = np.searchsorted(part[order], np.arange(self.parts + 1))
                table = table.take(pa.array(order))
                for number in np.flatnonzero(np.diff(ends)):
                    current[1][number].write_table(table[ends[number] : ends[number + 1]])

            yield put

    def _open(self, schema: pa.Schema) -> list[Any]:
        self.runs += 1
        how = pa.ipc.IpcWriteOptions(compression="lz4")
        files = [self._file(part, self.runs - 1) for part in range(self.parts)]
        return [pa.ipc.new_stream(_private(file), schema, options=how) for file in files]

    def _file(self, part: int, run: int) -> Path:
        return self.folder / f"{self.name}-{part:05}-{run}.arrow"

    def clear(self) -> None:
        """Nothing of it is left."""
        for file in self.folder.glob(f"{self.name}-*.arrow"):
            file.unlink()

    def part(self, number: int) -> pl.DataFrame:
        """All rows of a part, in the order in which they came."""
        found = []
        for run in range(self.runs):
            with pa.OSFile(str(self._file(number, run))) as file:
                frame = pl.DataFrame(pa.ipc.open_stream(file).read_all())
            found.append(frame.cast({column: self.kinds[column] for column in frame.columns}))
        return pl.concat(found)


def _private(file: Path) -> Any:
    os.close(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600))
    return pa.OSFile(str(file), "wb")


def wider(one: Any, other: Any) -> Any:
    """The type that holds both: ids of different types are text, and numbers floats."""
    if one == other:
        return one
    if pl.Null in (one, other):
        return other if one == pl.Null else one
    return pl.Float64 if one.is_numeric() and other.is_numeric() and pl.UInt64 not in (one, other) else pl.String
