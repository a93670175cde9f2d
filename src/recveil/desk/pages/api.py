"""The routes of the desk: choices, work and results as JSON. Each calls one function of recveil.desk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, StreamingResponse
from pydantic import BaseModel

from recveil.desk.pages.desk_state import DeskState
from recveil.desk.pages.languages import language_of
from recveil.desk.pages.uploads import keep
from recveil.desk.project import court, frontier, views
from recveil.desk.project.beside import rows_side_by_side
from recveil.desk.project.deciding import pack_dossier, take_answer, withdraw_bundle
from recveil.desk.project.folder import StaleError, check_version
from recveil.desk.project.plan import settled, standing_bundle, with_submission
from recveil.desk.project.reading import looked_at, reading


def same_project(request: Request) -> None:
    """A page says which project it shows: what it asks for is never done to another that was opened meanwhile."""
    shown = request.headers.get("recveil-project")
    if shown not in (None, "", state_of(request).mark):
        raise StaleError("another project was opened on this desk meanwhile; this page shows it now")


router = APIRouter(prefix="/api", dependencies=[Depends(same_project)])
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
    how: dict[str, str] | None = None
    version: str | None = None


class Work(BaseModel):
    kind: str
    again: bool = False


class Cancel(BaseModel):
    id: str


class Withdrawal(BaseModel):
    name: str
    role: str
    reason: str
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
        data = reading(desk_state.project, stored, given.columns, given.how)
        desk_state.project.change({"data": data}, given.version)
        desk_state.start("overview")

    await asyncio.to_thread(begin)
    return await desk_state.refresh()


@router.post("/look")
async def look(request: Request, given: Start) -> Any:
    """The first rows of a file as they are read so; nothing is kept."""
    project = state_of(request).project
    return await asyncio.to_thread(looked_at, project, given.source, given.columns, given.how)


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
        elif as_ == "answer":
            choices, _ = desk_state.project.read()
            sent = desk_state.project.path(path)
            try:
                take_answer(desk_state.project, standing_bundle(desk_state.desk, choices), sent)
            finally:
                sent.unlink(missing_ok=True)
        elif as_ == "data":
            desk_state.project.change({"data": reading(desk_state.project, path, {}, None)})
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


@router.get("/dossier")
async def dossier(request: Request) -> FileResponse:
    """What the officer needs, as one file."""
    desk_state = state_of(request)

    def pack() -> Path:
        choices, _ = desk_state.project.read()
        return pack_dossier(desk_state.project, choices, standing_bundle(desk_state.desk, choices))

    return FileResponse(await asyncio.to_thread(pack), filename="dossier.zip")


@router.post("/withdraw")
async def withdraw(request: Request, given: Withdrawal) -> Any:
    """The owner takes the release back, signed."""
    desk_state = state_of(request)

    def sign() -> None:
        choices, version = desk_state.project.read()
        check_version(given.version, version)
        name = standing_bundle(desk_state.desk, choices)
        withdraw_bundle(desk_state.project, choices, name, (given.name, given.role), given.reason)

    await asyncio.to_thread(sign)
    return await desk_state.refresh()


@router.get("/published/file")
async def published_file(request: Request, path: str) -> FileResponse:
    """One file of what goes out, and of nothing else."""
    found = await asyncio.to_thread(views.published_file, state_of(request).project, path)
    return FileResponse(found, filename=found.name)


@router.get("/published/rows")
async def published_rows(request: Request) -> Any:
    return await asyncio.to_thread(rows_side_by_side, state_of(request).project)


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
    ("/published", views.published),
    ("/judge", court.court_board),
    ("/watch", views.watch),
):
    _shown(_path, _view)
for _path, _view in (
    ("/candidates/report", frontier.report_page),
    ("/judge/page", court.court_page),
):
    _shown(_path, _view, page=True)


@router.get("/red-team")
async def red_team(request: Request) -> Any:
    return await asyncio.to_thread(views.red_team, state_of(request).project, language_of(request))


@router.get("/sheet")
async def sheet(request: Request) -> Any:
    return await asyncio.to_thread(views.sheet, state_of(request).project, language_of(request))


@router.get("/sheet/page")
async def sheet_page(request: Request) -> HTMLResponse:
    found = await asyncio.to_thread(views.sheet_page, state_of(request).project, language_of(request))
    return HTMLResponse(found, headers=PAGE)
