"""Rate limits: token buckets in memory, for the callers seen most recently. An address stands for its network."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from ipaddress import IPv6Address, ip_address
from math import ceil
from time import monotonic

from recveil.web.advisor.problems import Problem

REMEMBERED = 10_000
PREFIX = 64  # bits of an IPv6 address that name whoever pays for it; the rest is theirs to choose


def network(address: str) -> str:
    """Who an address belongs to: itself for IPv4, the /64 around it for IPv6."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return f"{IPv6Address(int(found) >> (128 - PREFIX) << (128 - PREFIX))}/{PREFIX}"


class RateLimit:
    """Each caller may do `burst` things at once and `rate` a second in the long run."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate, self.burst = rate, burst
        self._callers: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # what is left, and when that was

    def left(self, caller: Hashable) -> float:
        """How many things this caller may do at once now."""
        left, since = self._callers.get(caller, (float(self.burst), 0.0))
        return min(self.burst, left + (monotonic() - since) * self.rate)

    def spend(self, caller: Hashable) -> None:
        """One thing more; a Problem where it is too many."""
        left = self.left(caller)
        allowed = left >= 1
        self._callers[caller] = (left - allowed, monotonic())
        self._callers.move_to_end(caller)
        if len(self._callers) > REMEMBERED:
            self._callers.popitem(last=False)
        if not allowed:
            raise self.refusal(left)

    def check(self, caller: Hashable) -> None:
        """A Problem where one thing more would be too many; nothing is spent."""
        left = self.left(caller)
        if left < 1:
            raise self.refusal(left)

    def refusal(self, left: float) -> Problem:
        wait = ceil((1 - left) / self.rate)
        return Problem(429, f"too many requests; try again in {wait} s", {"Retry-After": str(wait)})
