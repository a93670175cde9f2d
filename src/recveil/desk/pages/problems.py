"""What goes wrong, as RFC 9457 problems: the line that the command line would print, and the field it concerns."""

from __future__ import annotations

from html import escape
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Scope

from recveil.desk.pages.uploads import NoSpaceError, TooLargeError
from recveil.desk.project.choices import ChoiceError
from recveil.desk.project.folder import StaleError
from recveil.desk.project.views import NotThereError
from recveil.errors import RecveilError, not_installed

FULL = "No space left on device"
NOT_HERE, FAILED = "This page is not here", "That did not work"
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>recveil desk</title>
<link rel="stylesheet" href="/shared/app.css"><link rel="stylesheet" href="/static/desk.css"></head>
<body><main class="locked"><h1>{title}</h1><p class="lead">{line}</p><p><a href="/">Back to the desk</a></p></main>
</body></html>"""


def page(status: int, title: str, line: str = "") -> HTMLResponse:
    """The same for a person, who asked for a page, a frame or a file."""
    return HTMLResponse(PAGE.format(title=escape(title), line=escape(line)), status)


def for_person(scope: Scope) -> bool:
    """Whether a browser asks on its own, to show it; our modules ask for documents."""
    return scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", "")


def problem(status: int, detail: str, field: str | None = None, **more: Any) -> JSONResponse:
    title = HTTPStatus(status).phrase
    document = {"type": "about:blank", "title": title, "status": status, "detail": detail, "field": field, **more}
    return JSONResponse(document, status, media_type="application/problem+json")


def status_of(error: RecveilError) -> int:
    if isinstance(error, NotThereError):
        return 404
    if isinstance(error, StaleError):
        return 409
    if isinstance(error, TooLargeError):
        return 413
    return 507 if isinstance(error, NoSpaceError) or FULL in str(error) else 422


def install(app: FastAPI) -> None:
    """Handlers for everything that can be raised."""

    async def refused(request: Request, error: Exception) -> Response:
        line = " ".join(str(error).split())
        if for_person(request.scope):
            return page(status_of(error), FAILED, line)  # type: ignore[arg-type]
        field = error.field if isinstance(error, ChoiceError) else None
        more = {"state": request.app.state.desk_state.state()} if isinstance(error, StaleError) else {}
        return problem(status_of(error), line, field, **more)  # type: ignore[arg-type]

    async def missing(_: Request, error: Exception) -> JSONResponse:
        return problem(422, not_installed(error))  # type: ignore[arg-type]

    async def http(request: Request, error: Exception) -> Response:
        if for_person(request.scope):
            return page(error.status_code, NOT_HERE)  # type: ignore[attr-defined]
        return problem(error.status_code, str(error.detail))  # type: ignore[attr-defined]

    async def invalid(request: Request, error: Exception) -> Response:
        first = error.errors()[0]  # type: ignore[attr-defined]
        where = ".".join(str(part) for part in first["loc"] if part != "body")
        if for_person(request.scope):
            return page(422, FAILED, f"{where}: {first['msg']}")
        return problem(422, f"{where}: {first['msg']}", where or None)

    async def unwritable(_: Request, error: Exception) -> JSONResponse:
        line = error.strerror or str(error)  # type: ignore[attr-defined]
        return problem(507 if FULL in line else 422, f"it cannot be written: {line}")

    async def unexpected(request: Request, _: Exception) -> Response:
        line = "an error of the desk, not of the request; its trace is where recveil desk was started"
        return page(500, FAILED, line) if for_person(request.scope) else problem(500, line)

    app.add_exception_handler(RecveilError, refused)
    app.add_exception_handler(ModuleNotFoundError, missing)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(OSError, unwritable)
    app.add_exception_handler(Exception, unexpected)
