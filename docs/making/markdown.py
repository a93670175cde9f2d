"""Pieces of Markdown that several pages are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>|$~^"})


def cell(text: str) -> str:
    """Text as it stands, on one line, with nothing that Markdown would read as its own."""
    return " ".join(text.split()).translate(SPECIAL)


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Cells are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(c) for c in line) + " |" for line in lines)
