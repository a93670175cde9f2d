"""Uploads: a file streamed to the disk under a plain name, there whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from secrets import token_hex

from recveil.desk.project.choices import ChoiceError
from recveil.desk.project.folder import Project

MOST = 5 * 1000**3
SPARE = 64 * 1024**2  # bytes that stay free on the disk


class TooLargeError(ChoiceError):
    """A file beyond what is taken."""


class NoSpaceError(ChoiceError):
    """The disk has no room for it."""


def plain_name(name: str) -> str:
    """A name of letters, digits, dots and the like, and no path."""
    last = re.split(r"[/\\]", name)[-1]
    plain = re.sub(r"[^\w.+-]+", "_", last, flags=re.UNICODE).strip("._")
    if not plain:
        raise ChoiceError("data.source", f"a file needs a name, and {name!r} is none")
    return plain[-120:]


async def keep(project: Project, name: str, size: int | None, chunks: AsyncIterator[bytes]) -> tuple[str, int]:
    """Write the chunks into uploads/NAME; the path for desk.toml, and how many bytes there were."""
    room = project.room("uploads")
    target = _free(room, plain_name(name))
    _check(room, size or 0)
    part = room / f".{token_hex(4)}.part"
    written = 0
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            async for chunk in chunks:
                written += len(chunk)
                if written > MOST:
                    raise TooLargeError("data.source", _large())
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as why:
        raise NoSpaceError("data.source", f"{target.name} cannot be kept: {why.strerror or why}") from None
    finally:
        part.unlink(missing_ok=True)
    return f"uploads/{target.name}", written


def _check(room: Path, size: int) -> None:
    if size > MOST:
        raise TooLargeError("data.source", _large())
    free = shutil.disk_usage(room).free
    if size + SPARE > free:
        raise NoSpaceError(
            "data.source", f"there is no space for it: {size:,} bytes, and {free:,} are free; use it by path"
        )


def _large() -> str:
    return f"a file to be sent may have {MOST / 1e9:.0f} GB at most; give its path instead, and it is read where it is"


def _free(room: Path, name: str) -> Path:
    """A name that is not taken yet: nothing is written over."""
    stem, dot, ending = name.partition(".")
    tries = [name, *(f"{stem}-{n}{dot}{ending}" for n in range(2, 1000))]
    return next(
        (room / one for one in tries if not (room / one).exists()), room / f"{stem}-{token_hex(4)}{dot}{ending}"
    )
