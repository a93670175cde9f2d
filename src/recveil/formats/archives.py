"""What a name holds besides a plain file: one table in a zip or tar, a table of a database, standard input.

`log.zip#ratings.csv` names what is meant inside of it; nothing but names of members is looked at to find it.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from functools import cache
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from recveil.errors import RecveilError

STDIN = "-"
INSIDE = "#"
SERVERS = ("postgresql://", "postgres://")
TAPES = (".tar", ".tgz", ".tar.gz", ".tbz2", ".tar.bz2", ".txz", ".tar.xz")


def is_server(name: str) -> bool:
    """Whether it is the address of a database server."""
    return name.startswith(SERVERS)


def parted(name: str) -> tuple[str, str]:
    """The file or server, and what is meant inside of it; nothing where the whole name is that of a file."""
    if INSIDE not in name or (not is_server(name) and Path(name).exists()):
        return name, ""
    outer, _, inner = name.partition(INSIDE)
    return (outer, inner) if is_server(name) or Path(outer).exists() else (name, "")


def shown(name: str) -> str:
    """The name as lines may show it: without the password of a server."""
    if not is_server(name):
        return name
    parts = urlsplit(name)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" + (f"#{parts.fragment}" if parts.fragment else "")


@cache
def standard_input() -> bytes:
    """All of it, which is read once for as many looks as there are."""
    return sys.stdin.buffer.read()


def packed_as(name: str) -> str:
    """zip or tar, by the name alone."""
    outer = parted(name)[0].casefold()
    return "zip" if outer.endswith(".zip") else "tar" if outer.endswith(TAPES) else ""


def member_of(name: str) -> str:
    """The name by which the format is told: of a zip or tar, that of the table in it."""
    return _member(name) if packed_as(name) else parted(name)[0]


def content_of(name: str) -> bytes | None:
    """What stands in the one table of an archive, or on standard input; None of a plain file."""
    if name == STDIN:
        return standard_input()
    kind = packed_as(name)
    if not kind:
        return None
    member, outer = _member(name), parted(name)[0]
    try:
        if kind == "zip":
            with zipfile.ZipFile(outer) as archive:
                return archive.read(member)
        with tarfile.open(outer) as tape:
            found = tape.extractfile(member)
            return found.read() if found else b""
    except (zipfile.BadZipFile, tarfile.TarError, RuntimeError, NotImplementedError, EOFError) as fault:
        raise RecveilError(f"{name}: {member} cannot be unpacked: {fault}") from None


def _member(name: str) -> str:
    outer, inner = parted(name)
    try:
        names = _members(name)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError):
        raise RecveilError(f"{outer}: no sound {packed_as(name)} file") from None
    tables = [one for one in names if not _aside(PurePosixPath(one))]
    if inner:
        if inner not in names:
            raise RecveilError(f"{outer} has no {inner}; it has {', '.join(tables[:8])}")
        return inner
    if len(tables) != 1:
        many = f"{outer} holds {', '.join(tables[:6]) or 'nothing'}{', ...' if len(tables) > 6 else ''}"
        example = next((one for one in tables if "rating" in one or "click" in one), next(iter(tables), "TABLE"))
        raise RecveilError(f"{many}; say which, as in '{outer}#{example}'")
    return tables[0]


def _members(name: str) -> list[str]:
    if packed_as(name) == "zip":
        with zipfile.ZipFile(parted(name)[0]) as archive:
            return [one.filename for one in archive.infolist() if not one.is_dir()]
    with tarfile.open(parted(name)[0]) as tape:
        return [one.name for one in tape.getmembers() if one.isfile()]


def _aside(path: PurePosixPath) -> bool:
    """What is packed beside a table: what begins with a dot or an underscore, and texts about it."""
    hidden = any(part.startswith((".", "_")) for part in path.parts)
    return hidden or path.stem.casefold() in ("readme", "license", "licence", "changelog")
