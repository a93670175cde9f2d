"""A file to read: its kind by its ending, its content unpacked, its faults as one line."""

from __future__ import annotations

import json
import os
import re
import stat
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from shlex import quote
from typing import Any, BinaryIO

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
    "json": "json",
    "inter": "inter",
    "itemsets": "itemsets",
    "dat": "dat",
    "data": "data",
}
FORMATS = (*KINDS, "lists")  # what a schema may say; of the last no ending tells
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
        """Its text, line by line; `lenient`: U+FFFD stands for what is no UTF-8."""
        with self.open() as file:
            for n, line in enumerate(file, 1):
                try:
                    yield line.decode("utf-8", "replace" if lenient else "strict")
                except UnicodeDecodeError:
                    raise RecveilError(f"{self.name}, line {n}: not UTF-8 text") from None


def find(path: str | os.PathLike[str], empty: bool = False, form: Any = None) -> DataFile:
    """The file at `path`, unpacked if it is .gz or .zst, of the kind that its ending tells; `empty` if it may be so.

    `form`: what is declared of its format, encoding and line ends. A byte order mark is no part of what it says.
    """
    source = opened(path, form.format if form else "", empty)
    with one_line(source.name):
        if form is not None and (form.encoding or form.line_ends):
            source = replace(source, content=_in_utf8(source, form))
        return _array(_unmarked(source)) if source.kind == "json" else _unmarked(source)


def _in_utf8(source: DataFile, form: Any) -> bytes:
    """Text in the encoding and with the line ends that everything else reads."""
    try:
        text = source.read().decode(form.encoding or "utf-8", "replace")
    except LookupError:
        raise RecveilError(f"{source.name}: unknown encoding {form.encoding!r}, such as cp1252 or utf-16") from None
    return (text.replace("\r\n", "\n").replace("\r", "\n") if form.line_ends == "cr" else text).encode()


def _array(source: DataFile) -> DataFile:
    """One array of objects as JSON lines; what is lines already stays."""
    content = source.read()
    if not content.lstrip().startswith(b"["):
        return replace(source, content=content)
    try:
        found = json.loads(content)
    except ValueError as fault:
        raise RecveilError(f"{source.name}: not sound JSON: {first_line(fault)}") from None
    return replace(source, content=b"\n".join(json.dumps(one, ensure_ascii=False).encode() for one in found))


def opened(path: str | os.PathLike[str], kind: str = "", empty: bool = False) -> DataFile:
    """The file at `path` as it is, unpacked; of the given kind, or that which its ending tells."""
    name = os.fspath(path)
    with one_line(name):
        place = Path(name)
        mode = place.stat()
        if stat.S_ISDIR(mode.st_mode):
            raise RecveilError(f"{name}: a directory, not a file")
        if not stat.S_ISREG(mode.st_mode):
            raise RecveilError(f"{name}: not a regular file")
        ending = ending_of(name)
        packing = PACKED.get(place.name.lower().rpartition(".")[2])
        if not kind and ending not in KINDS:
            hint = f"recveil inspect {quote(name)} --schema log.toml goes by what stands in it"
            raise RecveilError(f"{name}: {unknown('format', ending.strip(), KINDS)}; {hint}")
        kind = KINDS.get(kind or ending, kind)
        may_be_empty = empty and kind in HEADLESS
        if mode.st_size == 0 and not may_be_empty:
            raise RecveilError(f"{name}: the file is empty")
        source = DataFile(name, place.absolute(), kind)
        with source.open() as file:
            head = file.read(4)
        looks = {} if may_be_empty else MAGIC  # there the first line is somebody's, and may look like anything
        packing = packing or next((how for magic, how in looks.items() if head.startswith(magic)), None)
        if packing:
            source = DataFile(name, source.path, kind, _unpacked(source, packing, may_be_empty))
        return source


def ending_of(name: str) -> str:
    """What a name ends in, without the packing; a name without any dot ends in itself, which is no format."""
    parts = Path(name).name.lower().split(".")
    parts = parts[:-1] if parts[-1] in PACKED else parts
    return parts[-1] if len(parts) > 1 else f" {parts[0]}" if parts else ""


def _unmarked(source: DataFile) -> DataFile:
    """Without the byte order mark: readers would take it for a part of the first field, or for no quote before it."""
    with source.open() as file:
        marked = source.kind != "parquet" and file.read(len(BOM_UTF8)) == BOM_UTF8
    return replace(source, content=source.read().removeprefix(BOM_UTF8)) if marked else source


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
