"""An attack's result as a Measurement that says in words when it is nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recveil.intervals import Estimate
from recveil.measurement import Measurement


def measured(
    name: str,
    estimate: Estimate,
    n: int,
    *,
    chance: float,
    control: float | None = None,
    control_n: int | None = None,
    params: Mapping[str, Any],
    note: str = "",
) -> Measurement:
    value, low, high = estimate
    words = [note] if note else []
    if low <= chance:
        words.append("no better than chance")
    words_ = "; ".join(words)
    return Measurement(name, value, low, high, n, control, chance, params, note=words_, control_n=control_n)
