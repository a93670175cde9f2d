"""Tuning: the parameters that suit these data. A mechanism says how it is tuned.

Tuning looks at the true data as often as it likes. What it finds depends on them, and no guarantee covers that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recveil.data import Interactions

Progress = Callable[[int, int], None]  # steps done, of how many


@dataclass(frozen=True)
class Tuned:
    """What was found: the spec to use, the reasons in words, all that was tried as data, and a chart of it."""

    spec: str
    lines: tuple[str, ...]
    found: dict[str, Any]
    chart: Callable[[], Any] | None = None


# Takes the data, the spec as given, a bound to keep (as --keep gives it), a seed, and whom to tell of progress.
Tuner = Callable[["Interactions", str, str | None, int | None, Progress], Tuned]
