"""The first page of a desk: its projects, to open, make, rename and delete; and the tour, in a project of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel

from recveil.desk.pages.api import same_project, state_of
from recveil.desk.project import shelf
from recveil.desk.project.choices import ChoiceError
from recveil.desk.project.folder import open_project

router = APIRouter(prefix="/api", dependencies=[Depends(same_project)])


class Named(BaseModel):
    name: str
    to: str = ""


@router.get("/projects")
async def projects(request: Request) -> Any:
    """What lies beside the project that is open."""
    found = state_of(request)
    here = found.home.folder
    listed = await asyncio.to_thread(shelf.projects, here.parent)
    return {"folder": str(here.parent), "open": here.name, "tour": found.touring, "projects": listed}


async def _then(request: Request, act: Callable[[], Any]) -> Any:
    """What was done, then the list and the state as they are now."""
    done = await asyncio.to_thread(act)
    await state_of(request).refresh()
    return await projects(request) | {"kept": done if isinstance(done, str) else ""}


@router.post("/projects/new")
async def new(request: Request, given: Named) -> Any:
    found = state_of(request)

    def make() -> None:
        found.check_idle()
        found.open(shelf.new_project(found.home.folder.parent, given.name))

    return await _then(request, make)


@router.post("/projects/open")
async def open_(request: Request, given: Named) -> Any:
    found = state_of(request)
    return await _then(request, lambda: found.open(open_project(shelf.place_of(found.home.folder.parent, given.name))))


@router.post("/projects/rename")
async def rename(request: Request, given: Named) -> Any:
    found = state_of(request)

    def act() -> None:
        here = found.home.folder
        if given.name != here.name:
            shelf.rename(here.parent, given.name, given.to)
            return
        found.end_tour()
        found.rename(given.to)

    return await _then(request, act)


@router.post("/projects/delete")
async def delete(request: Request, given: Named) -> Any:
    """`to`: the name once more, typed by who deletes it."""
    here = state_of(request).home.folder

    def act() -> str:
        if given.to.strip() != given.name:
            raise ChoiceError("project.sure", f"type the name {given.name} to delete it")
        if given.name == here.name:
            raise ChoiceError(shelf.FIELD, f"{given.name} is open here: open another project first")
        return shelf.delete(here.parent, given.name)

    return await _then(request, act)


@router.post("/tour")
async def tour(request: Request) -> Any:
    found = state_of(request)
    await asyncio.to_thread(found.tour)
    return await found.refresh()


@router.post("/tour/end")
async def end_tour(request: Request) -> Any:
    found = state_of(request)
    await asyncio.to_thread(found.end_tour)
    return await found.refresh()
