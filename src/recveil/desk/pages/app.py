"""The application of a desk: routes, pages, static files and the guard around them, and the workers behind it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from socket import socket
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from fastapi.telemetry import TelemetryConfig
from fastapi.templating import Jinja2Templates

from recveil import __version__
from recveil.desk.pages import api, home, problems
from recveil.desk.pages.desk_state import DeskState, package_folder
from recveil.desk.pages.guard import DeskGuard, Keys
from recveil.desk.pages.languages import language_of
from recveil.desk.project.shelf import projects
from recveil.desk.project.standing import STEPS
from recveil.web.messages import FILES, LANGUAGES, speaker

NO_TELEMETRY = TelemetryConfig(tracing=False, metrics=False, logs=False, operation_spans=False, auto_configure=False)


class DeskServer(uvicorn.Server):
    """Ends what it tells its open pages before it waits for them, and is silent about what it breaks off."""

    def __init__(self, desk_state: Any, app: FastAPI) -> None:
        self.desk_state = desk_state
        super().__init__(
            uvicorn.Config(
                app, log_level="warning", access_log=False, ws="none", server_header=False, timeout_graceful_shutdown=2
            )
        )

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        await self.desk_state.close()
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


def create_app(desk_state: DeskState, keys: Keys) -> FastAPI:
    """The web application of a desk."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        work = asyncio.create_task(desk_state.run())
        yield
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)

    app = FastAPI(
        title="recveil desk", version=__version__, docs_url=None, redoc_url=None, openapi_url=None,
        lifespan=lifespan, telemetry=NO_TELEMETRY,
    )  # fmt: skip
    app.state.desk_state = desk_state
    app.add_middleware(DeskGuard, keys=keys)
    problems.install(app)
    app.include_router(api.router)
    app.include_router(home.router)
    mount_static(app)
    _pages(app, desk_state, keys)
    return app


def mount_static(app: FastAPI) -> None:
    """Style, scripts and words: what anybody may see."""
    for language in LANGUAGES[1:]:
        app.add_route(f"/static/said.{language}.json", _said, include_in_schema=False)
    app.mount("/static/messages", StaticFiles(directory=FILES), name="messages")
    app.mount("/static", StaticFiles(directory=package_folder("static"), check_dir=False), name="static")
    shared = package_folder("static").parents[2] / "advisor" / "static"
    app.mount("/shared", StaticFiles(directory=shared, check_dir=False), name="shared")


async def _said(request: Request) -> FileResponse:
    """What is kept in English, in another language: own.js takes it sentence by sentence."""
    return FileResponse(FILES.parent / request.url.path.rpartition("/")[2])


def _pages(app: FastAPI, desk_state: DeskState, keys: Keys) -> None:
    templates = Jinja2Templates(directory=package_folder("templates"))

    def shown(request: Request, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        language = language_of(request)
        given = {
            "version": __version__,
            "language": language,
            "pages": STEPS,
            "say": speaker("desk", language),
            **values,
        }
        return templates.TemplateResponse(request, name, given, status_code=status)

    @app.get("/", include_in_schema=False)
    async def first(request: Request, token: str = "") -> Response:
        if token and keys.exchange(token):
            answer: Response = RedirectResponse("/", 303)
            answer.set_cookie(keys.cookie, keys.secret, httponly=True, samesite="strict", path="/")
            return answer
        if not keys.knows(request.headers):
            return shown(request, "locked.html", 403, used=bool(token))
        state = await asyncio.to_thread(desk_state.state)
        blank = state["choices"] and not state["choices"]["data"]["source"]
        others = blank and len(await asyncio.to_thread(projects, desk_state.home.folder.parent)) > 1
        return RedirectResponse("/home" if others else f"/{furthest(state)}", 303)

    async def page(request: Request) -> Response:
        slug = request.url.path.strip("/")
        state = await asyncio.to_thread(desk_state.state)
        own = package_folder("templates") / f"{slug}.html"
        name = own.name if own.exists() else "page.html"
        commands = state["commands"].get(slug, [])
        return remembered(request, shown(request, name, page=slug, state=state, commands=commands))

    @app.get("/home", include_in_schema=False)
    async def home_page(request: Request) -> Response:
        state = await asyncio.to_thread(desk_state.state)
        return remembered(request, shown(request, "home.html", state=state, shelf=desk_state.home.folder.parent))

    for slug in STEPS:
        app.get(f"/{slug}", include_in_schema=False, name=slug)(page)


def remembered(request: Request, answer: Response) -> Response:
    """The language that was asked for, from now on."""
    wanted = request.query_params.get("lang")
    if wanted in LANGUAGES:
        answer.set_cookie("desk_lang", wanted, httponly=True, samesite="strict", path="/")
    return answer


def furthest(state: dict[str, Any]) -> str:
    """The page to go on with: the first that is not done, of those that are open."""
    for slug, step in state["steps"].items():
        if step["state"] in ("open", "working", "failed"):
            return str(slug)
    return STEPS[0]
