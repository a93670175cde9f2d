"""Rate limits in memory, for the callers seen most recently. An address stands for its network.

What a caller did is paid for at a steady rate; one number, the time at which all of it will have been paid, is all that
is kept. `sharing` adds what the caller did elsewhere.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Hashable, Mapping
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from math import ceil
from typing import Any

from recveil.advisor.problems import Problem

REMEMBERED = 10_000
PREFIX = 64  # bits of an IPv6 address that name whoever pays for it; the rest is theirs to choose


@lru_cache(maxsize=REMEMBERED)
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


def network_of(scope: Mapping[str, Any]) -> str:
    """Whoever sent a request."""
    return network(scope["client"][0]) if scope.get("client") else ""


class RateLimit:
    """Each caller may do `burst` things at once and `rate` a second in the long run."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate, self.burst = rate, burst
        self._paid: OrderedDict[Hashable, float] = OrderedDict()  # when all that a caller did will have been paid for
        self._unshared: Counter[Hashable] = Counter()  # what other workers do not know of yet

    def left(self, caller: Hashable) -> float:
        """How many things this caller may do at once now."""
        return self.burst - self.rate * max(0.0, self._paid.get(caller, 0.0) - time.monotonic())

    def spend(self, caller: Hashable, times: int = 1) -> None:
        """One thing more, that counts for as many; a Problem where it is too many."""
        self.check(caller, times)
        self._unshared[caller] += times
        self.remember(caller, max(self._paid.get(caller, 0.0), time.monotonic()) + times / self.rate)

    def check(self, caller: Hashable, times: int = 1) -> None:
        """A Problem where one thing more would be too many; nothing is spent."""
        left = self.left(caller)
        if left < times:
            raise self.refusal(left - times + 1)

    def remember(self, caller: Hashable, paid: float) -> None:
        self._paid[caller] = paid
        self._paid.move_to_end(caller)
        if len(self._paid) > REMEMBERED:
            gone, _ = self._paid.popitem(last=False)
            self._unshared.pop(gone, None)

    def unshared(self) -> dict[Hashable, int]:
        """What was done since this was last asked."""
        told, self._unshared = self._unshared, Counter()
        return dict(told)

    def refusal(self, left: float) -> Problem:
        wait = ceil((1 - left) / self.rate)
        return Problem(429, f"too many requests; try again in {wait} s", {"Retry-After": str(wait)})
