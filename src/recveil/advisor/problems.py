"""Errors as RFC 9457 problems: whatever goes wrong is one JSON document with a sentence in it."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import sqlalchemy as sa
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.types import Scope


class Problem(Exception):  # noqa: N818
    """A request that cannot be served, and why."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers


def nobody() -> Problem:
    """The token in a request is nobody's."""
    return Problem(401, "this token is unknown or has expired", {"WWW-Authenticate": "Bearer"})


class ProblemDocument(BaseModel):
    type: str = "about:blank"
    title: str
    status: int
    detail: str


AWAY_ERRORS = (
    sa.exc.OperationalError,
    sa.exc.InterfaceError,
    sa.exc.InternalError,  # a server that only reads at the moment
    sa.exc.IntegrityError,  # others on the same database were quicker, time and again
    sa.exc.TimeoutError,
)
AWAY = "the database is away; nothing is lost: send the same request with the same key again"


def answer(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    document = ProblemDocument(title=HTTPStatus(status).phrase, status=status, detail=detail)
    return JSONResponse(document.model_dump(), status, headers, media_type="application/problem+json")


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What the OpenAPI document says about problems of an operation."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}


def describe(app: FastAPI) -> None:
    """Let the OpenAPI document hold the schema that its problems refer to."""
    made = app.openapi

    def document() -> dict[str, Any]:
        found = made()
        found["components"]["schemas"][ProblemDocument.__name__] = ProblemDocument.model_json_schema()
        return found

    app.openapi = document  # type: ignore[method-assign]


def allowed(routes: Sequence[BaseRoute], scope: Scope) -> str:
    """All methods of the routes that have this path."""
    found = {"HEAD"}
    for route in routes:
        fits, _ = route.matches(scope)
        if fits is not Match.NONE:
            found |= getattr(route, "methods", None) or {"GET"}
    return ", ".join(sorted(found if "GET" in found else found - {"HEAD"}))


def install(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Handlers for everything that can be raised."""

    async def problem(_: Request, error: Exception) -> JSONResponse:
        return answer(error.status, error.detail, error.headers)  # type: ignore[attr-defined]

    async def http(request: Request, error: Exception) -> JSONResponse:
        status: int = error.status_code  # type: ignore[attr-defined]
        headers = dict(error.headers or {})  # type: ignore[attr-defined]
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            headers = {name: value for name, value in headers.items() if name.lower() != "allow"}
            headers["Allow"] = allowed([*app.router.routes, *routes], request.scope)
        return answer(status, str(error.detail), headers)  # type: ignore[attr-defined]

    async def invalid(_: Request, error: Exception) -> JSONResponse:
        first = error.errors()[0]  # type: ignore[attr-defined]
        where = ".".join(str(part) for part in first["loc"])
        return answer(422, f"{where}: {first['msg']}")

    async def away(_: Request, __: Exception) -> JSONResponse:
        return answer(503, AWAY, {"Retry-After": "2"})

    app.add_exception_handler(Problem, problem)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)
    for kind in AWAY_ERRORS:
        app.add_exception_handler(kind, away)
