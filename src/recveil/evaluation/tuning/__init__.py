"""Tuning: the parameters that suit these data. A mechanism says by which of the TUNERS it is tuned.

Tuning looks at the true data as often as it likes. What it finds depends on them, and no guarantee covers that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recveil.errors import RecveilError

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


Tuner = Callable[["Interactions", str, str | None, int | None, Progress], Tuned]


def _mask(data: Interactions, spec: str, keep: str | None, seed: int | None, progress: Progress) -> Tuned:
    from recveil.evaluation.tuning.mask import tune_mask

    if ":" in spec:
        raise RecveilError("mask has no parameter but the one that is tuned; write --with mask")
    return tune_mask(data, keep, seed, progress)


def _bound(data: Interactions, spec: str, keep: str | None, seed: int | None, progress: Progress) -> Tuned:
    from recveil.evaluation.tuning.bounds import tune_bound

    return tune_bound(data, spec, keep, seed, progress)


# By what a mechanism's class says (tuned_by). Each takes the data, the spec as given, a bound to keep (as --keep gives
# it), a seed, and whom to tell of progress.
TUNERS: dict[str, Tuner] = {"ratio": _mask, "rungs": _bound}
