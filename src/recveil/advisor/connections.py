"""Sockets with bounds: how long a header may be, how long a request may take, how many connections there may be.

uvicorn's httptools protocol reads a header of any length, waits for ever, and takes as many sockets as the system has.
Here a connection that has not moved on to its next step (a whole request, a whole answer) in PATIENCE seconds is cut;
while she waits for us, and has taken all there is, nothing is cut.
Where a network has all that it may have, a new connection takes the place of its oldest one that waits for nothing from
us (nothing sent, half a request, between requests): slow sockets push out each other, not whoever really asks.
"""

from __future__ import annotations

import resource
from asyncio import Transport
from ipaddress import ip_address, ip_network
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from recveil.advisor.limits import network

HEADER = 32 * 1024  # bytes of request line and headers
REQUEST = 9 * 1024 * 1024  # bytes of a whole request; bodies have their own, smaller limits
PATIENCE = 20.0  # seconds
CONNECTIONS, EACH = 2000, 100  # in all, and from one network
SPARE = 100  # files that are not connections
TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
TOO_MANY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def room() -> int:
    """How many connections the system allows, after asking it for all it gives."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS + SPARE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return CONNECTIONS if soft == resource.RLIM_INFINITY else max(1, min(CONNECTIONS, soft - SPARE))


def bounded(trusted: str = "", total: int = CONNECTIONS, patience: float = PATIENCE) -> type[HttpToolsProtocol]:
    """The protocol for one server. Proxies in `trusted` (networks) speak for many people, so they are not counted."""
    proxies = [ip_network(part.strip(), strict=False) for part in trusted.split(",") if part.strip()]
    of: dict[str, dict[Any, None]] = {}  # the connections of each network, oldest first

    class Bounded(HttpToolsProtocol):
        since = 0.0  # when the connection last moved on
        received = 0  # bytes of the request that is on its way
        in_head = True
        refused = False
        whom: str | None = None
        slow: Any = None
        asked = 0  # whole requests that have no whole answer yet

        def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            address = self.client[0] if self.client else ""
            if not _within(address, proxies):
                self.whom = network(address)
                of.setdefault(self.whom, {})[self] = None
            mine = of.get(self.whom or "", {})
            full = len(self.connections) > total
            if (full or len(mine) > EACH) and not self._displace(
                max(of.values(), key=len, default=mine) if full else mine
            ):
                self._refuse(TOO_MANY)
                return
            self._moved()
            self.slow = self.loop.call_later(patience, self._look)

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            if self.slow is not None:
                self.slow.cancel()
            if self.whom is not None:
                of[self.whom].pop(self, None)
                if not of[self.whom]:
                    del of[self.whom]
                self.whom = None

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            self.received += len(data)
            super().data_received(data)
            if (self.in_head and self.received > HEADER) or self.received > REQUEST:
                self._refuse(TOO_LONG)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._moved()

        def on_headers_complete(self) -> None:
            if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > HEADER:
                self._refuse(TOO_LONG)
                return
            self.in_head = False
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            if not self.refused:
                super().on_body(body)

        def on_message_complete(self) -> None:
            if self.refused:
                return
            super().on_message_complete()
            self.in_head, self.received = True, 0
            self.asked += 1
            self._moved()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self.asked -= 1
            self._moved()

        def _displace(self, crowd: dict[Any, None]) -> bool:
            """Whether an older connection of a network, that waits for nothing from us, was cut."""
            for one in crowd:
                if one is not self and not one.asked and not one.transport.is_closing():
                    one.transport.abort()
                    return True
            return False

        def _moved(self) -> None:
            self.since = self.loop.time()

        def _look(self) -> None:
            if self.asked and not self.transport.get_write_buffer_size():  # nothing waits for her to take it
                self._moved()
            late = self.since + patience - self.loop.time()
            if late <= 0:
                self.transport.abort()
            else:
                self.slow = self.loop.call_later(late, self._look)

        def _refuse(self, answer: bytes) -> None:
            self.refused = True
            if not self.transport.is_closing():
                self.transport.write(answer)
                self.transport.close()

    return Bounded


def _within(address: str, networks: list[Any]) -> bool:
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return any(found in one for one in networks)
