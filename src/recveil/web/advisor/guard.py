"""Around every request: a limit on the body, security headers, and a log without tokens, item ids or addresses."""

from __future__ import annotations

import logging
from time import perf_counter

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recveil.web.advisor.problems import answer

log = logging.getLogger("recveil.web.advisor")

BODY = 16 * 1024
CATALOGUE_BODY = 8 * 1024 * 1024
CATALOGUE = "/api/v1/items"
PUBLIC = ("/static/", "/api/v1/items", "/api/v1/profiles")  # anyone may read these, from any page

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), browsing-topics=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Guard:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin = perf_counter()
        limit = CATALOGUE_BODY if scope["path"] == CATALOGUE else BODY
        public = scope["method"] in ("GET", "HEAD") and scope["path"].startswith(PUBLIC)
        too_large = f"a body may have {limit:,} bytes at most"
        status = 0

        async def secured(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers["Cross-Origin-Resource-Policy"] = "cross-origin" if public else "same-origin"
                if public:
                    headers["Access-Control-Allow-Origin"] = "*"
                headers.setdefault("Cache-Control", "no-cache" if public else "no-store")
            await send(message)

        read = 0

        async def limited() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > limit:
                raise HTTPException(413, too_large)
            return message

        declared = Headers(scope=scope).get("content-length", "0")
        try:
            if declared.isdigit() and int(declared) > limit:
                await answer(413, too_large, {"Connection": "close"})(scope, receive, secured)
            else:
                await self.app(scope, limited, secured)
        except Exception:
            status = 500
            raise
        finally:
            route = getattr(scope.get("route"), "path", "(no route)")
            log.info("%s %s %d %.1f ms", scope["method"], route, status, 1000 * (perf_counter() - begin))
