"""A place on disk for measurements that were made before: the same data, mechanism, split and program give the same."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.formats.files import write_text


@dataclass(frozen=True)
class Cache:
    """JSON documents by key. It holds measurements alone, never a row or an id; None as folder remembers nothing."""

    folder: Path | None

    def get(self, *key: object) -> Any:
        """The document, or None."""
        if self.folder is None:
            return None
        try:
            return json.loads(self._path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):  # not there, or half written by a process that died: made again
            return None

    def put(self, document: Any, *key: object) -> None:
        """Keep a document. A cache that cannot be written is no reason to stop."""
        if self.folder is None:
            return
        with suppress(OSError, RecveilError):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_text(self._path(key), json.dumps(document))

    def _path(self, key: Sequence[object]) -> Path:
        assert self.folder is not None
        return self.folder / (digest(json.dumps([program(), *key], default=str).encode()) + ".json")


def user_cache() -> Cache:
    """Where the desktop's standard says that caches live: $XDG_CACHE_HOME, else ~/.cache."""
    home = os.environ.get("XDG_CACHE_HOME")
    return Cache((Path(home) if home else Path.home() / ".cache") / "recveil")


def fingerprint(data: Interactions) -> str:
    """A digest of all rows with their ids, in their order, and of all else that Interactions say: every field."""
    hashed = blake2b(digest_size=16)
    for field in fields(data):
        for part in _bytes_of(getattr(data, field.name)):
            hashed.update(b"%s %d " % (field.name.encode(), len(part)))  # no two fields run into each other
            hashed.update(part)
    return hashed.hexdigest()


def _bytes_of(value: Any) -> Iterator[bytes]:
    """A field by its type and its content."""
    if isinstance(value, pl.Series):
        texts = value.cast(pl.String)
        yield str(value.dtype).encode()
        yield texts.str.len_bytes().fill_null(2**32 - 1).to_numpy().tobytes()
        yield "".join(texts.drop_nulls()).encode()
    elif isinstance(value, np.ndarray):
        yield value.dtype.str.encode()
        yield value.tobytes()
    else:
        yield repr(sorted(value) if isinstance(value, frozenset) else value).encode()


def digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


@cache
def program() -> str:
    """The version, and a digest of our own source, so that a changed program never finds what an older one left."""
    from recveil import __version__

    package = Path(__file__).parent.parent
    sources = sorted(package.rglob("*.py"))
    return f"{__version__} {digest(b''.join(path.read_bytes() for path in sources))}"
