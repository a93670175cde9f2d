"""Around every request: the name it was asked under, who asks, from which page; and the headers of every answer.

The server listens on this machine alone, but any page that a browser shows can send requests here. So the Host must be
ours (a name that somebody else points at 127.0.0.1 is not), whatever changes something must come from our own pages
(Origin), and everything but style and scripts needs the cookie, which the one-time token in the first address was
exchanged for.
"""

from __future__ import annotations

from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from secrets import token_urlsafe

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recveil.desk.pages.problems import FAILED, for_person, page, problem
from recveil.web.headers import HEADERS

OPEN = ("/static/", "/shared/")  # what anybody may see: it is in the package
DESK_HEADERS = {
    **HEADERS,
    # The report and the sheet are pages of their own inside ours: they bring their style with them, and no script.
    "Content-Security-Policy": HEADERS["Content-Security-Policy"].replace(
        "frame-ancestors 'none'", "frame-src 'self'; frame-ancestors 'self'"
    ),
    "X-Frame-Options": "SAMEORIGIN",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Keys:
    """The token of the first address, good once, and the secret that a cookie holds after it."""

    def __init__(self, port: int, secret: str = "") -> None:
        self.port = port
        self.cookie = f"recveil_desk_{port}"
        self.hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self.token: str | None = token_urlsafe(32)
        self.secret = secret or token_urlsafe(32)  # of the folder: a tab that was open comes back after a restart

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def exchange(self, token: str) -> bool:
        """Whether this is the token; it is used up by that."""
        right = self.token is not None and compare_digest(token.encode(), self.token.encode())
        if right:
            self.token = None
        return right

    def knows(self, headers: Headers) -> bool:
        jar: SimpleCookie = SimpleCookie()
        try:
            jar.load(headers.get("cookie", ""))
        except CookieError:
            return False
        found = jar.get(self.cookie)
        return found is not None and compare_digest(found.value.encode(), self.secret.encode())


class DeskGuard:
    """ASGI middleware of a desk."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self.app, self.keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in DESK_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-cache" if scope["path"].startswith(OPEN) else "no-store")
            await send(message)

        refusal = self.refusal(scope)
        answer: ASGIApp = self.app if refusal is None else problem(*refusal)
        if refusal is not None and for_person(scope):
            status, line = refusal
            answer = RedirectResponse("/", 303) if status == 401 else page(status, FAILED, line)
        await answer(scope, receive, secured)

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Why a request is not answered; None where it is."""
        headers, path = Headers(scope=scope), scope["path"]
        host = headers.get("host", "")
        if host not in self.keys.hosts:
            return 421, "this desk is not asked for under this name; open the address that recveil desk printed"
        reads = scope["method"] in ("GET", "HEAD")
        origin = headers.get("origin")
        if (not reads or origin is not None) and origin != f"http://{host}":
            return 403, "this request came from another page than the desk's own"
        if path.startswith("/api/") and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "this request came from another page than the desk's own"
        if path.startswith(OPEN) or path == "/":
            return None
        if not self.keys.knows(headers):
            return 401, "open the address that recveil desk printed; if it was used already, start recveil desk again"
        return None
