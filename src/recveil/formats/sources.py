"""A file to read: its kind by its ending, its content unpacked, its faults as one line."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import polars as pl
import pyarrow as pa

from recveil.errors import RecveilError, unknown

KINDS = {
    "csv": "csv",
    "tsv": "tsv",
    "parquet": "parquet",
    "pq": "parquet",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "inter": "inter",
    "itemsets": "itemsets",
    "dat": "dat",
    "data": "data",
}
HEADLESS = ("data", "itemsets", "jsonl")  # a file of nobody has nothing in it
PACKED = {"gz": "gzip", "zst": "zstd"}
MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True)
class DataFile:
    """`name` is the path as the caller wrote it; `content` is set where the file had to be unpacked."""

    name: str
    path: Path
    kind: str
    content: bytes | None = None

    def open(self) -> BinaryIO:
        return self.path.open("rb") if self.content is None else BytesIO(self.content)

    def read(self) -> bytes:
        with self.open() as file:
            return file.read()

    def lines(self, lenient: bool = False) -> Iterator[str]:
        """Its text, line by line, without the byte order mark; `lenient`: U+FFFD stands for what is no UTF-8."""
        with self.open() as file:
            for n, line in enumerate(file, 1):
                try:
                    yield line.decode("utf-8-sig" if n == 1 else "utf-8", "replace" if lenient else "strict")
                except UnicodeDecodeError:
                    raise RecveilError(f"{self.name}, line {n}: not UTF-8 text") from None


def find(path: str | os.PathLike[str], empty: bool = False) -> DataFile:
    """The file at `path`, of a kind that its ending tells, unpacked if it is .gz or .zst; `empty` if it may be so."""
    name = os.fspath(path)
    with one_line(name):
        place = Path(name)
        mode = place.stat()
        if stat.S_ISDIR(mode.st_mode):
            raise RecveilError(f"{name}: a directory, not a file")
        if not stat.S_ISREG(mode.st_mode):
            raise RecveilError(f"{name}: not a regular file")
        *_, ending = place.name.lower().split(".")
        packing = PACKED.get(ending)
        if packing:
            *_, ending = place.name.lower().split(".")[:-1] or [""]
        if ending not in KINDS or "." not in place.name:
            raise RecveilError(f"{name}: {unknown('format', ending, KINDS)}")
        may_be_empty = empty and KINDS[ending] in HEADLESS
        if mode.st_size == 0 and not may_be_empty:
            raise RecveilError(f"{name}: the file is empty")
        source = DataFile(name, place.absolute(), KINDS[ending])
        with source.open() as file:
            head = file.read(4)
        looks = {} if may_be_empty else MAGIC  # there the first line is somebody's, and may look like anything
        packing = packing or next((how for magic, how in looks.items() if head.startswith(magic)), None)
        if packing:
            source = DataFile(name, source.path, source.kind, _unpacked(source, packing, may_be_empty))
        return source


LIBRARIES = (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException)


@contextmanager
def one_line(name: str, deed: str = "read") -> Iterator[None]:
    """Whatever the system, polars or arrow say about this file, as one RecveilError line."""
    try:
        yield
    except RecveilError:
        raise
    except (OSError, ValueError, OverflowError, MemoryError, RecursionError, *LIBRARIES) as fault:
        number = getattr(fault, "errno", None) or int((re.findall(r"\(os error (\d+)\)", str(fault)) or [0])[0])
        why = os.strerror(number) if number else f"cannot be {deed}: {first_line(fault)}"
        raise RecveilError(f"{name}: {why}") from None


def first_line(fault: BaseException) -> str:
    """What a library says, cut to a line that a terminal can show."""
    lines = str(fault).strip().splitlines() or [type(fault).__name__]
    return "".join(letter if letter.isprintable() else "?" for letter in lines[0][:200])


def _unpacked(source: DataFile, packing: str, may_be_empty: bool) -> bytes:
    try:
        with source.open() as file, pa.input_stream(file, compression=packing) as stream:
            content: bytes = stream.read()
    except OSError as fault:
        how = "truncated" if "Truncated" in str(fault) else "damaged, or not"
        raise RecveilError(f"{source.name}: {how} {packing} data") from None
    if not content and not may_be_empty:
        raise RecveilError(f"{source.name}: the file is empty")
    return content
