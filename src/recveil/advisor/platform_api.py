"""What a platform can do, server to server: speak for people of its own, send batches, ask for many at once.

For one person it uses what people use (`people_api`), with its key as bearer and her id in X-Recveil-Person.
"""

from __future__ import annotations

import asyncio
import json
from functools import partial
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import Field

from recveil.advisor import platforms, store
from recveil.advisor.batches import portions, progress
from recveil.advisor.identity import IsAdmin, Speaking, digest
from recveil.advisor.people_api import Body, Key, ListedClick, advisor_of
from recveil.advisor.problems import Problem, documented

router = APIRouter(prefix="/api/v1", tags=["platforms"])

Name = Annotated[str, Path(pattern=f"^{platforms.NAME}$", description="What the platform is called here.")]
PersonId = Annotated[str, Field(pattern=f"^{platforms.PERSON.pattern}$")]


class PlatformKey(Body):
    key: str


class RefusedLine(Body):
    line: int  # 1, 2, ...
    detail: str


class BatchOutcome(Body):
    """What became of all lines. `again`: this batch was carried out before, and nothing was done now."""

    lines: int
    changed: int
    same: int
    refused: int
    problems: list[RefusedLine]
    again: bool


class AskedPeople(Body):
    people: Annotated[list[PersonId], Field(max_length=1000)]


class PlatformClicks(Body):
    people: dict[str, list[ListedClick] | None]  # null: there is no such person


@router.put(
    "/platforms/{name}", response_model=PlatformKey, responses=documented(401, 422, 429, 503), dependencies=[IsAdmin]
)
async def give_key(request: Request, name: Name) -> Any:
    """A key for a platform, shown once; an older one is good for nothing within a second. Admin only."""
    return {"key": await asyncio.to_thread(platforms.give_key, advisor_of(request).engine, name)}


@router.delete(
    "/platforms/{name}", status_code=204, responses=documented(401, 404, 422, 429, 503), dependencies=[IsAdmin]
)
async def revoke(request: Request, name: Name) -> None:
    """Revoke a platform's key. Its people stay, for a new key or until a year after their last visit. Admin only."""
    if not await asyncio.to_thread(platforms.revoke, advisor_of(request).engine, name):
        raise Problem(404, "there is no key to revoke")


@router.post(
    "/platform/batches",
    response_model=BatchOutcome,
    responses=documented(401, 413, 422, 429, 503),
    openapi_extra={"requestBody": {"required": True, "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def batch(request: Request, speaking: Speaking, idempotency_key: Key) -> Any:
    """How things stand, line by line. The same batch with the same key again goes on where it stopped.

    A line is {"person", "item", "sign": "like", "dislike" or null}, or {"person"}: she was here, which makes an account
    where she has none; or {"person", "erase": true}.
    """
    advisor, body = advisor_of(request), await request.body()
    before = await asyncio.to_thread(_progress, advisor.engine, speaking.id, sha256(idempotency_key.encode()).digest())
    if before is not None and before["request"] != sha256(body).digest():
        raise Problem(422, "this Idempotency-Key was used for another batch")
    begun = before["done"] if before is not None else 0
    work = await asyncio.to_thread(list, portions(speaking.id, speaking.salt, idempotency_key, body, begun))
    told = before["told"] if before is not None else {}
    for portion in work:
        told = await advisor.write(portion)
    problems = [{"line": line, "detail": why} for line, why in told["problems"]]
    lines = told["changed"] + told["same"] + told["refused"]
    numbers = {name: told[name] for name in ("changed", "same", "refused")}
    return {**numbers, "lines": lines, "problems": problems, "again": before is not None and not work}


def _progress(engine: Any, platform: int, key: bytes) -> Any:
    with store.reading(engine) as db:
        found = progress(db, platform, key)
        return None if found is None else {**found, "told": json.loads(found["outcome"])}


@router.post("/platform/clicks", response_model=PlatformClicks, responses=documented(400, 401, 413, 422, 429, 503))
async def clicks(request: Request, speaking: Speaking, body: AskedPeople) -> Any:
    """The clicks of many people, in the order of clicking."""
    advisor = advisor_of(request)
    of = partial(store.clicks_of, private=advisor.private)

    def look() -> dict[str, Any]:
        with store.reading(advisor.engine) as db:
            known = {name: store.person(db, digest(speaking.secret(name))) for name in body.people}
            return {name: None if who is None else of(db, who) for name, who in known.items()}

    return {"people": await asyncio.to_thread(look)}
