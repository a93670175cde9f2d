"""Carrying over: what earlier windows published is public, and the next window's tables are combined with it."""

from __future__ import annotations

from typing import Any

from recveil.dp.combining import told_next
from recveil.errors import RecveilError
from recveil.releases.published import load_statistics
from recveil.series.folder import Series


def earlier_of(series: Series, number: int) -> dict[str, Any] | None:
    """What the last window that left tells this one: nothing before the first; None where nothing is carried over."""
    if not series.carries:
        return None
    before = [n for n in sorted(series.left()) if n < number and series.statistics(n).exists()]
    if not before:
        return {}
    try:
        return told_next(load_statistics(series.statistics(before[-1])).rounds)
    except RecveilError as why:
        raise RecveilError(f"{why}; put a copy back, or move it away: older tables are carried over then") from None
