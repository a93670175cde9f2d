"""Where a bundle is put: a folder of this machine, or any other place with the same few verbs (engines/lake.py).

Whatever fails, a place says so as an OSError.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any, Protocol, Self, TypeVar

from recveil.errors import RecveilError


class Place(Protocol):
    """A directory or a file, there or not."""

    @property
    def uri(self) -> str:
        """Its name in the words of Spark."""

    def __truediv__(self, name: str) -> Self:
        """What is called so inside it."""

    def beside(self, ending: str) -> Self:
        """A hidden place next to it."""

    def exists(self) -> bool: ...

    def make(self) -> None:
        """A new directory there, and those above it."""

    def read(self) -> str: ...

    def write(self, text: str) -> None: ...

    def move(self, to: Self) -> None: ...

    def delete(self) -> None:
        """All of it."""

    def close_to_others(self) -> None:
        """From now on a directory that only its owner may look into, where there are owners."""

    def settle(self) -> None:
        """What was written there outlasts a crash."""

    def names(self) -> list[str]:
        """All files in it, sorted."""

    def entries(self) -> list[dict[str, Any]]:
        """Of all files in it the name, the SHA-256 and the number of bytes."""

    def fetch(self, folder: Path) -> None:
        """Copy all files in it into a directory of this machine."""

    def here(self) -> AbstractContextManager[Path]:
        """A directory of this machine; the files that are put there are in the place afterwards."""


P = TypeVar("P", bound=Place)


@dataclass(frozen=True)
class Folder:
    """A place on this machine."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def uri(self) -> str:
        return f"file://{self.path.absolute()}"

    def __truediv__(self, name: str) -> Folder:
        return Folder(self.path / name)

    def beside(self, ending: str) -> Folder:
        return Folder(self.path.with_name(f".{self.path.name}.{ending}"))

    def exists(self) -> bool:
        return self.path.exists()

    def make(self) -> None:
        self.path.mkdir(parents=True)

    def read(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def write(self, text: str) -> None:
        self.path.write_text(text, encoding="utf-8")

    def move(self, to: Folder) -> None:
        self.path.rename(to.path)

    def delete(self) -> None:
        shutil.rmtree(self.path) if self.path.is_dir() else self.path.unlink()

    def close_to_others(self) -> None:
        self.path.chmod(0o700)

    def settle(self) -> None:
        for name in self.names():
            with (self.path / name).open("rb") as handle:
                os.fsync(handle.fileno())

    def names(self) -> list[str]:
        return sorted(p.relative_to(self.path).as_posix() for p in self.path.rglob("*") if p.is_file())

    def entries(self) -> list[dict[str, Any]]:
        files = [(name, self.path / name) for name in self.names()]
        return [{"name": name, "sha256": _digest(file), "bytes": file.stat().st_size} for name, file in files]

    def fetch(self, folder: Path) -> None:
        for name in self.names():  # one by one: copytree would go on after a failure, and tell all of them at once
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self.path / name, folder / name)

    @contextmanager
    def here(self) -> Iterator[Path]:
        yield self.path


@contextmanager
def whole(place: P) -> Iterator[P]:
    """A directory to fill that takes its place only once it is complete; what was there is replaced then."""
    with os_errors(place):
        part = place.beside(f"{token_hex(4)}.part")
        try:
            part.make()
            yield part
            part.settle()
            if place.exists():
                old = place.beside(f"{token_hex(4)}.old")
                place.move(old)
                try:
                    part.move(place)
                except OSError:
                    old.move(place)
                    raise
                old.delete()
            else:
                part.move(place)
        finally:
            with suppress(OSError):
                part.delete()


def replace_text(place: Place, text: str) -> None:
    """A text file that is there whole or as it was before, on a disk or in a lake, where no move replaces."""
    mark = token_hex(4)
    part = place.beside(f"{mark}.part")
    try:
        part.write(text)
        if isinstance(part, Folder) and isinstance(place, Folder):
            with part.path.open("rb") as handle:
                os.fsync(handle.fileno())
            part.path.replace(place.path)
            return
        old = place.beside(f"{mark}.old")
        if there := place.exists():
            place.move(old)
        try:
            part.move(place)
        except OSError:
            if there:
                old.move(place)
            raise
        if there:
            old.delete()
    finally:
        with suppress(OSError):
            part.delete()


def check_vacant(place: Place) -> None:
    """Raise where something is there already."""
    if place.exists():
        raise RecveilError(f"{place} exists already; choose another place")


@contextmanager
def alone(file: Place) -> Iterator[None]:
    """Nobody else who asks for it changes the file meanwhile; in a lake nothing can be locked."""
    if not isinstance(file, Folder):
        yield
        return
    handle = os.open(file.path.parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def os_errors(target: object) -> Iterator[None]:
    """What goes wrong in writing, as one line."""
    try:
        yield
    except OSError as error:
        raise RecveilError(f"{target} cannot be written: {error.strerror or error}") from None


def _digest(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
