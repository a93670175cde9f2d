"""Around every request: whose name is asked for, a limit on the body, security headers, and a log that names nobody."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hmac import compare_digest
from ipaddress import ip_address
from time import perf_counter
from typing import Any

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recveil.advisor.identity import digest, not_admin
from recveil.advisor.limits import network_of
from recveil.advisor.logs import REQUEST
from recveil.advisor.problems import Problem, answer
from recveil.web.headers import HEADERS as HEADERS

log = logging.getLogger("recveil.advisor")

BODY = 16 * 1024
CATALOGUE_BODY = 8 * 1024 * 1024
CATALOGUE = "/api/v1/items"
METRICS = "/api/v1/metrics"
PLATFORMS = "/api/v1/platforms/"
BATCHES = "/api/v1/platform/"
PUBLIC = (
    "/static/",
    "/api/v1/items",
    "/api/v1/profiles",
    "/api/v1/catalogue",
    "/api/v1/model",
    "/api/v1/element",
)  # anyone may read these, from any page
SEARCH = 10  # reads that a search counts for: it looks through all titles
LIMITED = (*PUBLIC[1:], "/history/offline")


Pairs = tuple[tuple[bytes, bytes], ...]


def _pairs(headers: dict[str, str]) -> Pairs:
    return tuple((name.lower().encode(), value.encode()) for name, value in headers.items())


OURS = {  # by whether anyone may read the answer, from any page; in the bytes that are sent, as every answer has them
    False: _pairs({**HEADERS, "Cross-Origin-Resource-Policy": "same-origin"}),
    True: _pairs({**HEADERS, "Cross-Origin-Resource-Policy": "cross-origin", "Access-Control-Allow-Origin": "*"}),
}
UNLESS_SAID = {False: (b"cache-control", b"no-store"), True: (b"cache-control", b"no-cache")}
NAMES = {public: frozenset(name for name, _ in pairs) for public, pairs in OURS.items()}


def _with_ours(headers: Iterable[tuple[bytes, bytes]], public: bool) -> list[tuple[bytes, bytes]]:
    """The headers of an answer with ours, which win."""
    kept = [pair for pair in headers if pair[0] not in NAMES[public]]
    said = any(name == b"cache-control" for name, _ in kept)
    return [*kept, *OURS[public], *(() if said else (UNLESS_SAID[public],))]


class AdvisorGuard:
    """ASGI middleware of one advisor."""

    def __init__(self, app: ASGIApp, advisor: Any) -> None:
        self.app, self.advisor = app, advisor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin = perf_counter()
        reads = scope["method"] in ("GET", "HEAD")
        public = reads and scope["path"].startswith(PUBLIC)
        inner: Scope = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        status = 0

        async def secured(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": _with_ours(message["headers"], public)}
            elif scope["method"] == "HEAD":
                message = {**message, "body": b""}
            await send(message)

        try:
            limit = await self.admitted(scope)
        except Problem as problem:
            refusal = answer(problem.status, problem.detail, {**(problem.headers or {}), "Connection": "close"})
            await refusal(inner, receive, secured)
        else:
            try:
                await self.app(inner, _limited(receive, limit), secured)
            except Exception:
                status = 500
                raise
        finally:
            took, route = perf_counter() - begin, _route(inner)
            self.advisor.metrics.count(scope["method"], route, status, took)
            log.info(REQUEST, scope["method"], route, status, 1000 * took)

    async def admitted(self, scope: Scope) -> int:
        """How large a body may be; a Problem where not even that is of interest."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self.known(hosts[0]):
            raise Problem(421, "this server is not asked for under this name; --site NAME tells it another")
        limit = BODY
        if scope["path"].startswith(LIMITED) and scope["method"] in ("GET", "HEAD"):
            self.advisor.reads.spend(network_of(scope), SEARCH if b"query=" in scope["query_string"] else 1)
        changes = scope["path"] == CATALOGUE and scope["method"] == "PUT"
        withdraws = scope["path"].startswith(f"{CATALOGUE}/") and scope["method"] == "DELETE"
        if changes or withdraws or scope["path"] == METRICS or scope["path"].startswith(PLATFORMS):
            check_admin(self.advisor, headers.get("authorization", ""), network_of(scope))
            limit = CATALOGUE_BODY if changes else BODY
        if scope["path"].startswith(BATCHES):
            await self.advisor.platforms.of(_bearer(headers), network_of(scope))
            limit = CATALOGUE_BODY
        declared = headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > limit:
            raise Problem(413, f"a body may have {limit:,} bytes at most")
        return limit

    def known(self, host: str) -> bool:
        """Addresses and localhost cannot be made to point elsewhere; other names must be ours."""
        name = host.lower()
        if name.startswith("["):
            name = name[1:].partition("]")[0]
        elif name.count(":") == 1:
            name = name.partition(":")[0]
        if name == "localhost" or name in self.advisor.settings.sites:
            return True
        return _is_address(name)


@lru_cache(maxsize=1000)
def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def check_admin(advisor: Any, authorization: str, whose: str) -> None:
    """The admin token, before a body is read; guesses are counted."""
    advisor.strangers.check(whose)
    expected, token = advisor.settings.admin, _bearer({"authorization": authorization})
    if not token or expected is None or not compare_digest(digest(token), expected):
        advisor.strangers.spend(whose)
        raise not_admin()


def _bearer(headers: Mapping[str, str]) -> str:
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _limited(receive: Receive, limit: int) -> Receive:
    read = 0

    async def limited() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > limit:
            raise HTTPException(413, f"a body may have {limit:,} bytes at most")
        return message

    return limited


def _route(scope: Scope) -> str:
    """The route without what stands in it."""
    if scope["path"].startswith("/static/"):
        return "/static/{file}"
    return str(getattr(scope.get("route"), "path", "(no route)"))
