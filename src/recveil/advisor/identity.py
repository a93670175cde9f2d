"""Who is asking: random tokens, known to the server by their hash, sent as a cookie or as a bearer.

A platform brings its key and the id of one of its people (`platforms`): what it asks then is asked by her.

A browser sends cookies by itself, also when another site makes it ask; so a request with a cookie that changes
something must carry a header that other sites cannot add, and come from a page of this site.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer

from recveil.advisor.limits import network_of
from recveil.advisor.platforms import PERSON, Platform
from recveil.advisor.problems import Problem, nobody
from recveil.advisor.store import YEAR

COOKIE = "recveil"
SECURE = f"__Host-{COOKIE}"  # its name over https: browsers then hold it to this host, all of it
BROWSER = "x-recveil-request"
SPEAKS_FOR = "x-recveil-person"  # the id by which a platform calls one of its people
SAFE = ("GET", "HEAD")

_bearer = HTTPBearer(auto_error=False, description="The token that POST /people returned.")
_cookie = APIKeyCookie(name=COOKIE, auto_error=False, description=f"The same token; {SECURE} over https.")
_admin = HTTPBearer(auto_error=False, scheme_name="Admin", description="The admin token of this server.")
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
AdminBearer = Annotated[HTTPAuthorizationCredentials | None, Depends(_admin)]


@dataclass(frozen=True)
class Caller:
    """Someone who holds a token; whether it is a person's is for the database to say."""

    token: bytes
    secret: str = field(repr=False)  # the token itself
    browser: bool  # it came as a cookie
    platform: bool = False  # somebody else speaks for her


def new_token() -> str:
    """256 random bits."""
    return secrets.token_urlsafe(32)


def digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogateescape")).digest()


async def caller(request: Request, bearer: Bearer, _: Annotated[str | None, Depends(_cookie)]) -> Caller:
    """The holder of the token in this request, within the rate limit."""
    cookie = cookie_of(request)
    if SPEAKS_FOR in request.headers:
        person = request.headers[SPEAKS_FOR]
        if not PERSON.fullmatch(person):
            raise Problem(422, "X-Recveil-Person: 1 to 200 printable characters of ASCII, without spaces")
        secret = (await platform(request, bearer)).secret(person)
        found = Caller(digest(secret), secret, browser=False, platform=True)
    elif bearer is not None:
        found = Caller(digest(bearer.credentials), bearer.credentials, browser=False)
    elif cookie:
        if request.method not in SAFE:
            same_site(request)
        found = Caller(digest(cookie), cookie, browser=True)
    else:
        raise nobody()
    request.app.state.advisor.requests.spend(found.token)
    return found


async def platform(request: Request, bearer: Bearer) -> Platform:
    """The platform whose key is in this request."""
    advisor = request.app.state.advisor
    return await advisor.platforms.of(bearer.credentials if bearer else "", network_of(request.scope))  # type: ignore[no-any-return]


async def caller_of(request: Request) -> Caller:
    """The same, where the framework does not look for the token."""
    return await caller(request, await _bearer(request), None)


def cookie_of(request: Request) -> str | None:
    """The token of a browser; over https only the name that no other host can set counts."""
    return request.cookies.get(SECURE if request.scope["scheme"] == "https" else COOKIE)


def same_site(request: Request) -> None:
    """Refuse what another site made a browser ask."""
    if request.headers.get(BROWSER) != "1":
        raise Problem(403, "a request with a cookie needs the header X-Recveil-Request: 1")
    own_origin(request)


def own_origin(request: Request) -> None:
    """Refuse what a page of another site asks; browsers name their page whenever something may change."""
    origin = request.headers.get("origin")
    if origin is not None and origin != f"{request.scope['scheme']}://{request.headers.get('host', '')}":
        raise Problem(403, "this request comes from another site")


def not_admin() -> Problem:
    return Problem(401, "this needs the admin token of the server", {"WWW-Authenticate": "Bearer"})


async def admin(bearer: AdminBearer) -> None:
    """The admin token of this server. The guard has compared it already, before it let the body be read."""
    if bearer is None:
        raise not_admin()


def set_cookie(request: Request, response: Response, token: str) -> None:
    response.set_cookie(_name(request), token, max_age=YEAR, **_attributes(request))


def clear_cookie(request: Request, response: Response) -> None:
    response.delete_cookie(_name(request), **_attributes(request))


def _name(request: Request) -> str:
    return SECURE if request.scope["scheme"] == "https" else COOKIE


def _attributes(request: Request) -> dict[str, Any]:
    return {"path": "/", "httponly": True, "samesite": "strict", "secure": request.scope["scheme"] == "https"}


Known = Annotated[Caller, Depends(caller)]
Speaking = Annotated[Platform, Depends(platform)]
IsAdmin = Depends(admin)
