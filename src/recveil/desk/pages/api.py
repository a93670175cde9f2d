"""The routes of the desk: choices, work and results as JSON. Each calls one function of recveil.desk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, StreamingResponse
from pydantic import BaseModel

from recveil.desk.pages.desk_state import DeskState
from recveil.desk.pages.uploads import keep
from recveil.desk.project import court, frontier, views
from recveil.desk.project.deciding import sign_decision
from recveil.desk.project.folder import check_version
from recveil.desk.project.plan import settled, standing_bundle, with_submission

router = APIRouter(prefix="/api")
# A page that another of ours frames: it brings its own style and no script at all.
PAGE = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
}


class Changes(BaseModel):
    version: str | None = None
    choices: dict[str, Any]


class Start(BaseModel):
    source: str
    columns: dict[str, str] = {}
    version: str | None = None


class Work(BaseModel):
    kind: str
    again: bool = False


class Cancel(BaseModel):
    id: str


class Decision(BaseModel):
    name: str
    role: str
    decision: str
    reason: str = ""
    conditions: list[str] = []
    until: str = ""
    passphrase: str | None = None
    sheet: str = ""  # the digest of the one that was shown
    version: str | None = None


def state_of(request: Request) -> DeskState:
    found: DeskState = request.app.state.desk_state
    return found


@router.get("/state")
async def state(request: Request) -> Any:
    return await asyncio.to_thread(state_of(request).state)


@router.get("/events")
async def events(request: Request) -> StreamingResponse:
    return StreamingResponse(state_of(request).events(), media_type="text/event-stream")


@router.patch("/project")
async def change(request: Request, changes: Changes) -> Any:
    desk_state = state_of(request)

    def write() -> None:
        given = settled(desk_state.desk, desk_state.project.read()[0], changes.choices)
        desk_state.project.change(given, changes.version)

    await asyncio.to_thread(write)
    return await desk_state.refresh()


@router.post("/start")
async def start(request: Request, given: Start) -> Any:
    """The data of the project: a sample, a path, or what was sent; it is looked at at once."""
    desk_state = state_of(request)

    def begin() -> None:
        stored = desk_state.project.stored(given.source)
        desk_state.project.change({"data": {"source": stored, "columns": given.columns}}, given.version)
        desk_state.start("overview")

    await asyncio.to_thread(begin)
    return await desk_state.refresh()


@router.post("/upload", status_code=201)
async def upload(request: Request, name: str, as_: Annotated[str, Query(alias="as")] = "data") -> Any:
    desk_state = state_of(request)
    length = request.headers.get("content-length", "")
    path, size = await keep(desk_state.project, name, int(length) if length.isdigit() else None, request.stream())

    def use() -> None:
        if as_ == "candidate":
            choices, _ = desk_state.project.read()
            desk_state.project.change({"candidates": {"files": [*choices.candidates.files, path]}})
        elif as_ == "submission":
            choices, _ = desk_state.project.read()
            desk_state.project.change({"judge": {"submissions": with_submission(desk_state.desk, choices, path)}})
            desk_state.start("judge")
        elif as_ == "data":
            desk_state.project.change({"data": {"source": path, "columns": {}}})
            desk_state.start("overview")

    await asyncio.to_thread(use)
    await desk_state.refresh()
    return {"path": path, "bytes": size}


@router.post("/work", status_code=202)
async def work(request: Request, given: Work) -> Any:
    desk_state = state_of(request)
    await asyncio.to_thread(desk_state.start, given.kind, given.again)
    return await desk_state.refresh()


@router.post("/cancel")
async def cancel(request: Request, given: Cancel) -> Any:
    desk_state = state_of(request)
    await asyncio.to_thread(desk_state.workers.cancel, given.id)
    return await desk_state.refresh()


@router.post("/decide")
async def decide(request: Request, given: Decision) -> Any:
    """Sign the officer's decision into the bundle's claims."""
    desk_state = state_of(request)

    def sign() -> None:
        said = given.model_dump(exclude={"passphrase", "sheet", "version"})
        choices, version = desk_state.project.read()
        check_version(given.version, version)
        choices = choices.changed({"officer": said})
        name = standing_bundle(desk_state.desk, choices)
        sign_decision(desk_state.project, choices, name, lambda: given.passphrase, given.sheet)
        desk_state.project.change({"officer": said})  # what was not signed is not said either

    await asyncio.to_thread(sign)
    return await desk_state.refresh()


@router.get("/exposure")
async def exposure(request: Request, names: bool = False) -> Any:
    return await asyncio.to_thread(views.exposure, state_of(request).project, names)


@router.get("/recipients")
async def recipients() -> Any:
    return await asyncio.to_thread(views.recipients)


@router.get("/odds")
async def odds(epsilon: Annotated[float, Query(gt=0, le=100)]) -> Any:
    return views.odds(epsilon)


def _shown(path: str, view: Callable[[Any], Any], page: bool = False) -> None:
    """A route that shows what is known of the project."""

    async def show(request: Request) -> Any:
        found = await asyncio.to_thread(view, state_of(request).project)
        return HTMLResponse(found, headers=PAGE) if page else found

    router.get(path, name=path)(show)


for _path, _view in (
    ("/overview", views.overview),
    ("/solve", views.solved),
    ("/candidates", frontier.candidates),
    ("/bundle", views.bundle),
    ("/red-team", views.red_team),
    ("/sheet", views.sheet),
    ("/published", views.published),
    ("/judge", court.court_board),
    ("/watch", views.watch),
):
    _shown(_path, _view)
for _path, _view in (
    ("/candidates/report", frontier.report_page),
    ("/sheet/page", views.sheet_page),
    ("/judge/page", court.court_page),
):
    _shown(_path, _view, page=True)
