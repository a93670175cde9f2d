"""The claims of a paper as one page: what was published, what was measured, and what follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recveil.report.page import render


def html(document: Mapping[str, Any]) -> str:
    """The page of a document as `recveil reproduce --json` gives it."""
    return render("claims.html", {"short": _short}, **document)


def _short(value: Any) -> str:
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
