"""JSON documents that many ask for: made once, and packed once."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

AT_ONCE = 2000  # entries that become text without a pause, in which nobody else runs


@dataclass(frozen=True)
class JsonDocument:
    """A JSON document, ready to be sent."""

    version: str
    body: bytes
    packed: bytes  # the same, gzipped


def sheet(document: dict[str, Any], name: str = "", many: dict[str, Any] | list[Any] | None = None) -> JsonDocument:
    """A document with its version, and by this name in it what may be large: put into text part by part."""
    parts = [_text(document)[1:-1]]
    if many is not None:
        pairs = isinstance(many, dict)
        rows = list(many.items()) if isinstance(many, dict) else many
        some = (rows[first : first + AT_ONCE] for first in range(0, len(rows), AT_ONCE))
        entries = ",".join(_text(dict(part) if pairs else part)[1:-1] for part in some)
        parts.append(f'"{name}":{"{" if pairs else "["}{entries}{"}" if pairs else "]"}')
    text = ",".join(part for part in parts if part).encode()
    version = sha256(text).hexdigest()[:16]
    body = b"{%b%b}" % (text + b"," if text else b"", f'"version":"{version}"'.encode())
    return JsonDocument(version, body, gzip.compress(body, 6, mtime=0))


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
