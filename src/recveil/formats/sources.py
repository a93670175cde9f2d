"""A file to read: its kind by its ending, its content unpacked, its faults as one line."""

from __future__ import annotations

import csv
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
from recveil.formats.archives import INSIDE, content_of, is_server, member_of, parted, shown
from recveil.formats.parts import KINDS, PACKED, Location, ending_of, lake_of, name_of, parts_of

TYPED = ("parquet", "arrow", "npz", "mtx", "duckdb", "delta", "iceberg")  # tables whose columns declare their types
UNTYPED = ("xlsx", "sqlite", "postgres")  # and those whose cells are read as text, each by itself
TABLES = (*TYPED, *UNTYPED)  # all others are text
PLACES = ("sqlite", "duckdb", "postgres", "delta", "iceberg")  # that a reader of theirs opens, by name
FORMATS = (*dict.fromkeys([*KINDS, *PLACES]), "lists")  # what a schema may say; of the last no ending tells
HEADLESS = ("data", "itemsets", "jsonl", "json", "lists")  # a file of nobody has nothing in it
_BRACES = re.compile(rb'"(?:[^"\\]|\\.)*+"|[{}]', re.DOTALL)  # of JSON, and texts, in which they are letters
MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


@dataclass(frozen=True)
class DataFile:
    """`name` is the path as the caller wrote it; `content` is set where the file had to be unpacked.

    `parts`: of what lies in several files, which one content then holds; `headed`: each begins with the same header,
    which stands there once.
    """

    name: str
    path: Path
    kind: str
    content: bytes | None = None
    parts: tuple[DataFile, ...] = ()
    headed: bool = False
    address: str = ""  # the name as it was given, where lines show another

    def open(self) -> BinaryIO:
        return self.path.open("rb") if self.content is None else BytesIO(self.content)

    def read(self) -> bytes:
        with self.open() as file:
            return file.read()

    def begin(self, many: int) -> bytes:
        """The first bytes of it."""
        if self.content is not None:
            return self.content[:many]
        with self.open() as file:
            return file.read(many)

    def first_line(self) -> bytes:
        if self.content is not None:
            return self.content[: self.content.find(b"\n") + 1 or None]
        with self.open() as file:
            return file.readline()

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.content is None else len(self.content)

    def lines(self, lenient: bool = False) -> Iterator[str]:
        """Its text, line by line; `lenient`: U+FFFD stands for what is no UTF-8."""
        with self.open() as file:
            for n, line in enumerate(file, 1):
                try:
                    yield line.decode("utf-8", "replace" if lenient else "strict")
                except UnicodeDecodeError:
                    raise RecveilError(f"{self.at(n)}: not UTF-8 text") from None

    def at(self, line: int) -> str:
        """Where a line stands, in the words of its owner."""
        for n, part in enumerate(self.parts):
            more = int(self.headed and n > 0)
            with part.open() as file:
                here = sum(1 for _ in file) - more
            if line <= here:
                return f"{part.name}, line {line + more}"
            line -= here
        return f"{self.name}, line {line}"


def find(path: Location, empty: bool = False, form: Any = None) -> DataFile:
    """What lies at `path`, unpacked if it is .gz or .zst, of the kind that its ending tells; `empty` if it may be so.

    `form`: what is declared of its format, encoding and line ends. A byte order mark is no part of what it says.
    """
    parts = parts_of(path)
    if len(parts) == 1:
        return _found(parts[0], empty, form)
    files = _alike(parts, form) if isinstance(path, str | os.PathLike) else ()
    files = files or tuple(_found(part, empty, form, several=True) for part in parts)
    if len(kinds := sorted({file.kind for file in files})) > 1:
        raise RecveilError(f"{name_of(path)}: parts of different formats, {' and '.join(kinds)}")
    if files[0].kind in TABLES:
        return DataFile(name_of(path), files[0].path, files[0].kind, parts=files)
    return _joined(name_of(path), tuple(file for file in files if file.size) or files[:1], form)


def _alike(parts: tuple[str, ...], form: Any) -> tuple[DataFile, ...]:
    """Plain texts of one kind in a folder, of maybe a thousand, by one look at each; none where one asks for more."""
    ending = f".{parts[0].rpartition('.')[2]}"
    kind, declared = KINDS.get(ending[1:], ""), (form.format, form.encoding, form.line_ends) if form else ("", "", "")
    wanted = KINDS.get(declared[0], declared[0]) or kind
    if kind in ("", "json", *TABLES) or wanted != kind or any(declared[1:]):
        return ()
    files, place = [], Path(parts[0])
    for part in parts:
        if not part.endswith(ending) or INSIDE in part:
            return ()
        try:
            with open(part, "rb", buffering=0) as file:  # noqa: PTH123
                content = file.read()
        except OSError:
            return ()
        if content.startswith((BOM_UTF8, *MAGIC)):
            return ()
        files.append(DataFile(part, place, kind, content, address=part))
    return tuple(files)


def _joined(name: str, files: tuple[DataFile, ...], form: Any) -> DataFile:
    """Parts of text as one text, a header once; what `lines` and `at` say of it speaks of the parts."""
    heads = [file.first_line() for file in files]
    kind = files[0].kind
    headed = kind not in HEADLESS and (form.header if form else kind != "dat" or len(set(heads)) == 1)
    texts: list[bytes | memoryview] = []
    for n, (file, head) in enumerate(zip(files, heads, strict=True)):
        if headed and head.strip() != heads[0].strip():
            other = f"{file.name} has other columns than {files[0].name}"
            raise RecveilError(f"{other}; parts of a log have the same: name a file, or a pattern such as 'part-*.csv'")
        text = file.read() if file.content is None else file.content
        texts.append(memoryview(text)[len(head) if headed and n else 0 :])
        if text and not text.endswith(b"\n"):
            texts.append(b"\n")
    return DataFile(name, files[0].path, kind, b"".join(texts), files, headed)


def _found(path: str, empty: bool, form: Any, several: bool = False) -> DataFile:
    source = opened(path, form.format if form else "", empty, several, headless=form is not None and not form.header)
    with one_line(source.name):
        if form is not None and (form.encoding or form.line_ends):
            source = replace(source, content=_in_utf8(source, form))
        return _array(_unmarked(source), lenient=empty) if source.kind == "json" else _unmarked(source)


def _in_utf8(source: DataFile, form: Any) -> bytes:
    """Text in the encoding and with the line ends that everything else reads."""
    try:
        text = source.read().decode(form.encoding or "utf-8", "replace")
    except LookupError:
        raise RecveilError(f"{source.name}: unknown encoding {form.encoding!r}, such as cp1252 or utf-16") from None
    return (text.replace("\r\n", "\n").replace("\r", "\n") if form.line_ends == "cr" else text).encode()


def _array(source: DataFile, lenient: bool) -> DataFile:
    """One array of objects as JSON lines; what is lines already stays. `lenient`: whatever stands in one of them."""
    content = source.read()
    if lenient:
        return replace(source, content=b"\n".join(objects_of(content)))
    if not content.lstrip().startswith(b"["):
        return replace(source, content=content)
    try:
        found = json.loads(content)
    except ValueError as fault:
        raise RecveilError(f"{source.name}: not sound JSON: {first_line(fault)}") from None
    return replace(source, content=b"\n".join(json.dumps(one, ensure_ascii=False).encode() for one in found))


def objects_of(content: bytes) -> Iterator[bytes]:
    """The outermost objects of JSON, each on one line: from brace to brace, whatever they hold."""
    depth, begin = 0, 0
    for found in _BRACES.finditer(content):
        if found[0] == b"{":
            begin = begin if depth else found.start()
            depth += 1
        elif found[0] == b"}" and depth:
            depth -= 1
            if not depth:
                yield content[begin : found.end()].replace(b"\n", b" ").replace(b"\r", b" ")


def kind_of(name: str) -> str:
    """The kind that a name tells, or the names in an archive or folder; nothing where only content can."""
    if is_server(name):
        return "postgres"
    return lake_of(name) or KINDS.get(ending_of(member_of(name)), "")


def opened(name: str, kind: str = "", empty: bool = False, several: bool = False, headless: bool = False) -> DataFile:
    """The file of this name as it is, unpacked; of the given kind, or that which its name tells.

    `several`: it is one of several parts, and nothing may stand in it. `headless`: it begins with somebody's row.
    """
    called = shown(name)
    with one_line(called):
        declared, told = KINDS.get(kind, kind), kind_of(name)
        if told in TABLES and declared and declared not in TABLES:  # its bytes are no header that a line could show
            raise RecveilError(f"{called}: the schema says format = {kind!r}, and this is {told}")
        kind = declared or told
        if not kind:
            hint = f"recveil inspect {quote(name)} --schema log.toml goes by what stands in it"
            raise RecveilError(f"{called}: {unknown('format', ending_of(member_of(name)).strip(), KINDS)}; {hint}")
        place = Path(parted(name)[0])
        if kind == "postgres":
            return DataFile(called, place, kind, address=name)
        content = content_of(name)
        if content is None:
            if not stat.S_ISREG(place.stat().st_mode) and kind not in ("delta", "iceberg"):
                raise RecveilError(f"{called}: not a regular file")
            if several and kind not in TABLES:  # its text will be joined to that of others: one look is enough
                content = place.read_bytes()
        may_be_empty = empty and (headless or kind in HEADLESS)
        size = place.stat().st_size if content is None else len(content)
        if size == 0 and not may_be_empty and not several:
            raise RecveilError(f"{called}: the file is empty")
        source = DataFile(called, place.absolute(), kind, content, address=name)
        return source if kind in PLACES else _plain(source, may_be_empty, several)


def _plain(source: DataFile, may_be_empty: bool, several: bool) -> DataFile:
    """Unpacked, by its ending or by how it begins; where anybody's line may be the first, by its ending alone."""
    packing = PACKED.get(member_of(source.address).lower().rpartition(".")[2])
    head = source.begin(4)
    looks = {} if may_be_empty else MAGIC  # there the first line is somebody's, and may look like anything
    packing = packing or next((how for magic, how in looks.items() if head.startswith(magic)), None)
    return replace(source, content=_unpacked(source, packing, may_be_empty or several)) if packing else source


def _unmarked(source: DataFile) -> DataFile:
    """Without the byte order mark: readers would take it for a part of the first field, or for no quote before it."""
    if source.kind in TABLES:
        return source
    marked = source.begin(len(BOM_UTF8)) == BOM_UTF8
    return replace(source, content=source.read().removeprefix(BOM_UTF8)) if marked else source


LIBRARIES = (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException)


@contextmanager
def one_line(name: str, deed: str = "read") -> Iterator[None]:
    """Whatever the system, polars or arrow say about this file, as one RecveilError line."""
    try:
        yield
    except RecveilError:
        raise
    except (OSError, ValueError, OverflowError, MemoryError, RecursionError, csv.Error, *LIBRARIES) as fault:
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
