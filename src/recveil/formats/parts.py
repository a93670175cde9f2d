"""Where a log lies: a file, several, a folder of parts, or a pattern; as the list of its parts, by their names.

Which parts there are is told by names alone. What lies in a folder beside the data is passed over: what begins with a
dot or an underscore, and endings of other formats than that of the parts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from glob import glob
from os import PathLike, fspath
from pathlib import Path
from shlex import quote

from recveil.errors import RecveilError
from recveil.formats.archives import STDIN, is_server, parted

Location = str | PathLike[str] | Sequence[str | PathLike[str]]
PACKED = {"gz": "gzip", "zst": "zstd"}
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
    "arrow": "arrow",
    "feather": "arrow",
    "ipc": "arrow",
    "xlsx": "xlsx",
    "npz": "npz",
    "mtx": "mtx",
    "sqlite": "sqlite",
    "sqlite3": "sqlite",
    "db": "sqlite",
    "duckdb": "duckdb",
}
LAKES = {"_delta_log": "delta", "metadata": "iceberg"}  # tables that are folders, by what lies in them
MANIFEST = "manifest.json"  # of a bundle


def parts_of(source: Location) -> tuple[str, ...]:
    """The files that hold the rows, in the order in which they are read."""
    if isinstance(source, str | PathLike):
        return _parts(fspath(source))
    found = [part for one in source for part in _parts(fspath(one))]
    if twice := next((part for n, part in enumerate(found) if part in found[:n]), None):
        raise RecveilError(f"{twice} is given twice")
    if not found:
        raise RecveilError("no file is given")
    return tuple(found)


def is_sample(source: Location) -> bool:
    """Whether it is generated, and lies nowhere."""
    return isinstance(source, str) and source.startswith("sample:")


def name_of(source: Location) -> str:
    """What lines for the owner call it."""
    if isinstance(source, str | PathLike):
        return fspath(source)
    return fspath(source[0]) + (f" and {len(source) - 1} more" if len(source) > 1 else "")


def quoted(source: Location) -> str:
    """It as arguments of a command line."""
    return quote(fspath(source)) if isinstance(source, str | PathLike) else " ".join(quote(fspath(p)) for p in source)


def ending_of(name: str) -> str:
    """What a name ends in, without the packing; a name without any dot ends in itself, which is no format."""
    parts = name.rstrip("/").rpartition("/")[2].lower().split(".")
    parts = parts[:-1] if parts[-1] in PACKED else parts
    return parts[-1] if len(parts) > 1 else f" {parts[0]}" if parts else ""


def lake_of(name: str) -> str:
    """delta or iceberg, where a folder is such a table."""
    if not Path(name).is_dir():
        return ""
    found = [kind for inner, kind in LAKES.items() if Path(name, inner).is_dir()]
    return next((kind for kind in found if kind == "delta" or any(Path(name, "metadata").glob("*.json"))), "")


def _parts(name: str) -> tuple[str, ...]:
    place = Path(name)
    if name == STDIN or is_server(name) or parted(name)[1] or lake_of(name):
        return (name,)
    if place.is_dir():
        return _folder(name, place)
    if any(sign in name for sign in "*?[") and not place.exists():
        found = sorted(part for part in glob(name, recursive=True) if Path(part).is_file())  # noqa: PTH207
        if not found:
            raise RecveilError(f"{name}: no file has such a name")
        return tuple(found)
    return (name,)


def _folder(name: str, folder: Path) -> tuple[str, ...]:
    if (folder / MANIFEST).is_file():
        raise RecveilError(f"{name} is the folder of a bundle; name its file of data (recveil.load opens a bundle)")
    try:
        found = sorted((file.removeprefix("./") for file in _files_in(str(folder))), key=lambda file: file.split("/"))
    except OSError as fault:
        raise RecveilError(f"{fault.filename}: {fault.strerror}") from None
    kinds = {file: KINDS.get(ending_of(file)) for file in found}
    known = sorted({kind for kind in kinds.values() if kind})
    if len(known) > 1:
        wanted = f"{name.rstrip('/')}/*.{known[0]}"
        raise RecveilError(f"{name}: a folder with {' and '.join(known)}; name a pattern, such as {quote(wanted)}")
    parts = [file for file in found if kinds[file] or not known]
    if not parts:
        raise RecveilError(f"{name}: a folder without any data in it")
    return tuple(parts)


def _files_in(folder: str) -> Iterator[str]:
    """The files below a folder, without those and the folders that begin with a dot or an underscore."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith((".", "_")):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _files_in(entry.path)
            elif entry.is_file():
                yield entry.path
