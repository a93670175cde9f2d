"""Tuning: the parameters that suit these data. A mechanism that can be tuned has a file here and a line in TUNERS.

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


Tuner = Callable[["Interactions", str | None, int | None, Progress], Tuned]


def _mask(data: Interactions, keep: str | None, seed: int | None, progress: Progress) -> Tuned:
    from recveil.tuning.mask import tune_mask

    return tune_mask(data, keep, seed, progress)


# Each takes the data, a bound to keep (as --keep gives it), a seed, and whom to tell of progress.
TUNERS: dict[str, Tuner] = {
    "mask": _mask,
}
