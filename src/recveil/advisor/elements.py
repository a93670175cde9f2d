"""<click-advisor> as one file, made by `make element` and kept: its address, and the hash that a page can ask for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).parent / "element"


@dataclass(frozen=True)
class ElementFile:
    file: str
    version: str
    integrity: str
    bytes: int
    sources: tuple[str, ...]  # beside this module's folder `element`
    made_of: str  # a hash of them

    @property
    def path(self) -> str:
        """On the server."""
        return f"/static/{self.file}"

    def is_current(self) -> bool:
        """Whether nothing that it was made of has changed since."""
        return sha256(b"".join((HERE / source).read_bytes() for source in self.sources)).hexdigest() == self.made_of


@lru_cache(maxsize=1)
def element() -> ElementFile:
    found = json.loads((HERE / "element.json").read_text(encoding="utf-8"))
    return ElementFile(**{**found, "sources": tuple(found["sources"])})
