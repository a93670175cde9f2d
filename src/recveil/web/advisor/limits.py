"""Rate limits: token buckets in memory, for the callers seen most recently."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from math import ceil
from time import monotonic

from recveil.web.advisor.problems import Problem

REMEMBERED = 10_000


class RateLimit:
    """Each caller may do `burst` things at once and `rate` a second in the long run."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate, self.burst = rate, burst
        self._callers: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # what is left, and when that was

    def spend(self, caller: Hashable) -> None:
        """One thing more; a Problem where it is too many."""
        moment = monotonic()
        left, since = self._callers.pop(caller, (float(self.burst), moment))
        left = min(self.burst, left + (moment - since) * self.rate)
        allowed = left >= 1
        self._callers[caller] = (left - allowed, moment)
        if len(self._callers) > REMEMBERED:
            self._callers.popitem(last=False)
        if not allowed:
            wait = ceil((1 - left) / self.rate)
            raise Problem(429, f"too many requests; try again in {wait} s", {"Retry-After": str(wait)})
