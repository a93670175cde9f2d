"""The officer's door: one page with the sheet, her decision and what was signed; nothing else can be changed here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from fastapi.templating import Jinja2Templates
from pydantic import BaseModel

from recveil import __version__
from recveil.desk.pages import problems
from recveil.desk.pages.api import PAGE
from recveil.desk.pages.app import NO_TELEMETRY, mount_static
from recveil.desk.pages.desk_state import package_folder
from recveil.desk.pages.guard import DeskGuard, Keys
from recveil.desk.pages.languages import language_of
from recveil.desk.project.officer import OfficersCase
from recveil.web.messages import speaker


class OfficersWord(BaseModel):
    name: str
    role: str
    decision: str = ""
    reason: str = ""
    opinion: str = ""
    conditions: list[str] = []
    until: str = ""
    passphrase: str | None = None
    sheet: str = ""
    signed: int | None = None


class OfficerState:
    """What the server of an officer's door looks after: nothing but itself."""

    def __init__(self, case: OfficersCase) -> None:
        self.case = case

    def state(self) -> dict[str, Any]:
        return self.case.state()

    async def close(self) -> None:
        return None


def officer_app(state: OfficerState, keys: Keys) -> FastAPI:
    """The web application of an officer's door."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield

    app = FastAPI(
        title="recveil officer", version=__version__, docs_url=None, redoc_url=None, openapi_url=None,
        lifespan=lifespan, telemetry=NO_TELEMETRY,
    )  # fmt: skip
    app.state.desk_state = state
    app.add_middleware(DeskGuard, keys=keys)
    problems.install(app)
    mount_static(app)
    _pages(app, state.case, keys)
    _api(app, state.case)
    return app


def _pages(app: FastAPI, case: OfficersCase, keys: Keys) -> None:
    templates = Jinja2Templates(directory=package_folder("templates"))

    def shown(request: Request, name: str, status: int = 200) -> HTMLResponse:
        language = language_of(request)
        given = {"version": __version__, "language": language, "say": speaker("desk", language), "folder": case.folder}
        return templates.TemplateResponse(request, name, given, status_code=status)

    @app.get("/", include_in_schema=False)
    async def first(request: Request, token: str = "") -> Response:
        if token and keys.exchange(token):
            answer: Response = RedirectResponse("/case", 303)
            answer.set_cookie(keys.cookie, keys.secret, httponly=True, samesite="strict", path="/")
            return answer
        return RedirectResponse("/case", 303) if keys.knows(request.headers) else shown(request, "locked.html", 403)

    @app.get("/case", include_in_schema=False)
    async def page(request: Request) -> Response:
        return shown(request, "officer.html")


def _api(app: FastAPI, case: OfficersCase) -> None:
    @app.get("/api/case")
    async def state() -> Any:
        return await asyncio.to_thread(case.state)

    @app.get("/api/sheet/page")
    async def sheet(request: Request) -> HTMLResponse:
        return HTMLResponse(await asyncio.to_thread(case.sheet_page, language_of(request)), headers=PAGE)

    @app.post("/api/decide")
    async def decide(given: OfficersWord) -> Any:
        await asyncio.to_thread(case.sign, given.model_dump(exclude={"passphrase"}), lambda: given.passphrase)
        return await asyncio.to_thread(case.state)

    @app.post("/api/withdraw")
    async def withdraw(given: OfficersWord) -> Any:
        await asyncio.to_thread(case.withdraw, given.model_dump(exclude={"passphrase"}), lambda: given.passphrase)
        return await asyncio.to_thread(case.state)

    @app.get("/api/answer")
    async def answer() -> FileResponse:
        return FileResponse(await asyncio.to_thread(case.answer), filename="answer.zip")
