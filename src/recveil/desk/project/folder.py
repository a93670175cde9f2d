"""Project: the owner's folder. desk.toml with the choices, uploads, results, bundles, keys and the ledger beside it.

The version of a project is the hash of desk.toml: a change that was made from another version, be it in a second tab or
by hand, is refused, and nobody's choices are lost unseen.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from recveil.desk.project.choices import ChoiceError, Choices, Data
from recveil.desk.project.toml import from_toml, to_toml
from recveil.errors import RecveilError
from recveil.formats.files import written
from recveil.releases.bundle import MANIFEST
from recveil.releases.inputs import SAMPLE, Input

FILE, LOCK, ADDRESS = "desk.toml", ".desk.lock", ".desk.address"
UNDECLARED = re.compile(
    r"\.(jsonl|ndjson|dat)(\.gz|\.zst)?$", re.IGNORECASE
)  # rows may be all that tells their columns


class StaleError(RecveilError):
    """A change that was made from a version of the project that is not there any more."""


@dataclass(frozen=True)
class Project:
    """A folder and what lies in it."""

    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / FILE

    def text(self) -> str:
        try:
            return self.file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise ChoiceError(None, f"{self.file}: there is no such file; recveil desk makes one") from None
        except (OSError, UnicodeDecodeError) as why:
            raise ChoiceError(None, f"{self.file} cannot be read: {_reason(why)}") from None

    def read(self) -> tuple[Choices, str]:
        """The choices and their version."""
        text = self.text()
        return from_toml(text, FILE), _version(text)

    def change(self, changes: Mapping[str, Any], version: str | None = None) -> Choices:
        """Other values for some choices; refused where `version` is given and is not that of the file."""
        with self.held():
            text = self.text()
            check_version(version, _version(text))
            made = from_toml(text, FILE).changed(changes)
            if (after := to_toml(made)) != text:
                self._write(after)
            return made

    def put(self, choices: Choices) -> None:
        """These choices, whatever was there."""
        with self.held():
            self._write(to_toml(choices))

    def _write(self, text: str) -> None:
        with written(self.file, private=True) as file:
            file.write(text.encode())

    @contextmanager
    def held(self) -> Iterator[None]:
        """While choices are read, changed and written nobody else does."""
        with _opened(self.folder / LOCK) as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def room(self, name: str) -> Path:
        """A folder in it that only its owner looks into; a project that was renamed meanwhile is not made anew."""
        path = self.folder / name
        try:
            path.mkdir(mode=0o700, exist_ok=True)
        except OSError as why:
            raise RecveilError(f"{path} cannot be made: {why.strerror or why}") from None
        return path

    def path(self, name: str) -> Path:
        """A path of desk.toml: relative ones start in the folder."""
        return self.folder / name

    def input(self, data: Data) -> Input:
        """The data of the project as a request takes them. What is no row is left out, and counted on the owner's
        screen: no refusal by what stands in the data keeps a proved release, or what is measured on it, from being.
        """
        if not data.source:
            raise ChoiceError("data.source", "no data yet: choose a sample or a file")
        source = data.source if data.source.startswith(SAMPLE) else str(self.path(data.source))
        types: Any = dict(data.types) or None
        schema = str(self.path(data.schema)) if data.schema else None
        lenient: Any = "drop" if schema or data.columns or not UNDECLARED.search(source) else "refuse"
        return Input(source, dict(data.columns) or None, data.duplicates, data.fold_tags, types, lenient, schema)

    def items(self, choices: Choices) -> str | None:
        """The public file of items, where the project has one."""
        name = choices.data.items
        return None if not name else name if name.startswith(SAMPLE) else str(self.path(name))

    def stored(self, source: str, base: Path | None = None) -> str:
        """How desk.toml names a source: a sample, a path inside the folder, or an absolute one."""
        if source.startswith(SAMPLE):
            return source
        if not source.strip():
            raise ChoiceError("data.source", "name a file by its path, or a sample such as sample:films")
        try:
            given = Path(source).expanduser()
            places = (self.folder / given, (base or Path.cwd()) / given)
            path = next((one.resolve() for one in places if one.exists()), None)
        except (OSError, RuntimeError) as why:  # a folder that is closed to us, a home that nobody has
            raise ChoiceError("data.source", f"{source} cannot be read: {_reason(why)}") from None
        if path is None:
            raise ChoiceError("data.source", f"{source}: there is no such file")
        check_readable(source, path)
        inside = self.folder.resolve()
        return str(path.relative_to(inside)) if path.is_relative_to(inside) else str(path)

    def identity(self, source: str) -> list[Any]:
        """What tells that a source is still the one that it was: of a file its name, size and date. A file that lies
        in the folder is named from there: a project that is renamed keeps its results.
        """
        if source.startswith(SAMPLE):
            return [source]
        path = self.path(source)
        try:
            found = path.stat()
        except OSError as why:
            raise ChoiceError("data.source", f"{path} cannot be read: {_reason(why)}") from None
        if path.is_dir():
            return [source, *sorted(str(p.relative_to(path)) for p in path.rglob("*"))]
        return [source, found.st_size, found.st_mtime_ns]


def check_readable(source: str, path: Path) -> None:
    """Raise where a source is no file that can be read; a bundle is a folder that can."""
    folder = path.is_dir()
    if not os.access(path, os.R_OK | (os.X_OK if folder else 0)):
        raise ChoiceError("data.source", f"{source} cannot be read: no permission; choose another file")
    if not path.is_file() and not (folder and (path / MANIFEST).exists()):
        raise ChoiceError("data.source", f"{source} is {'a folder, not' if folder else 'not'} a file; name a file")


def _reason(why: Exception) -> str:
    return getattr(why, "strerror", None) or str(why)


def check_version(given: str | None, present: str) -> None:
    """Raise where somebody decides on what is not there any more."""
    if given not in (None, present):
        raise StaleError("the project was changed elsewhere meanwhile; look at it as it is now and choose again")


def open_project(folder: str | Path) -> Project:
    """A project in a folder, which is made where there is none yet; the folder of a desk.toml if that is named."""
    path = Path(folder)
    path = path.parent if path.name == FILE else path
    project = Project(path.absolute())
    try:
        project.folder.mkdir(parents=True, exist_ok=True)
    except OSError as why:
        raise RecveilError(f"{path} cannot be made: {why.strerror or why}") from None
    if not os.access(project.folder, os.R_OK | os.W_OK | os.X_OK):
        raise RecveilError(f"{path}: no permission to read and write in this folder; choose another with --project")
    if not project.file.exists():
        project.put(Choices())
    project.read()
    return project


def address_of(project: Project) -> tuple[int, str]:
    """The port and the secret under which the desk of this folder was open last; 0 and a new one at first."""
    try:
        port, secret = (project.folder / ADDRESS).read_text(encoding="utf-8").split()
        return int(port), secret
    except (OSError, ValueError):
        return 0, token_urlsafe(32)


def keep_address(project: Project, port: int, secret: str) -> None:
    """So that a tab that is open finds the desk again after a restart."""
    with written(project.folder / ADDRESS, private=True) as file:
        file.write(f"{port} {secret}\n".encode())


@contextmanager
def sole_desk(project: Project) -> Iterator[None]:
    """For as long as a desk is open on a project no other can be."""
    with _opened(project.folder / ".desk.open") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RecveilError(
                f"{project.folder}: a desk is open on this folder already; close it, or choose another with --project"
            ) from None
        yield


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as why:
        raise RecveilError(f"{path} cannot be written: {why.strerror or why}") from None
    try:
        yield handle
    finally:
        os.close(handle)


def _version(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]
