"""The one atomic write: a file is there whole, or it is as it was before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from recveil.errors import RecveilError


@contextmanager
def written(path: str | Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """A file to fill that takes its place once it is complete; `private`: readable by its owner alone."""
    path = Path(path)
    part = path.with_name(f".{path.name}.{token_hex(4)}.part")
    try:
        if path.exists() and not path.is_file():
            raise RecveilError(f"{path} exists and is not a regular file; choose another place")
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise RecveilError(f"{path} cannot be written: {error.strerror or error}") from None


def write_text(path: str | Path, text: str) -> None:
    """A text into a file, whole or not at all."""
    with written(path) as file:
        file.write(text.encode())


def check_writable(path: str | Path, endings: tuple[str, ...] = ()) -> None:
    """Raise before any work where a file could not be written there in the end, or not in a form that we know."""
    path = Path(path)
    if endings and path.suffix not in endings:
        raise RecveilError(f"{path}: the file must end in {' or '.join(endings)}")
    if endings and path.is_dir():
        raise RecveilError(f"{path} is a folder; name a file")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise RecveilError(f"{path}: there is no folder {path.parent}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise RecveilError(f"{path} cannot be written: no permission in {path.parent}")
