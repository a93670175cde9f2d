"""What everyone may read: the catalogue, the public profiles, the server's health; and the admin's catalogue."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import Field, field_validator
from sqlalchemy import Engine, func, select

from recveil.advisor.documents import JsonDocument
from recveil.advisor.elements import element
from recveil.advisor.identity import IsAdmin
from recveil.advisor.loading import KEY, TITLE, valid_key, valid_text
from recveil.advisor.people_api import Body, advisor_of
from recveil.advisor.people_api import Item as ItemId
from recveil.advisor.problems import AWAY_ERRORS, Problem, documented
from recveil.advisor.schema import models, years
from recveil.advisor.store import now, reading
from recveil.advisor.writes import Stock, Withdraw

router = APIRouter(prefix="/api/v1", tags=["public"])


class Health(Body):
    status: Literal["ok"] = "ok"


class ElementScript(Body):
    src: str
    version: str
    integrity: str


class Profile(Body):
    likes: int
    dislikes: int


class Item(Body):
    id: str
    title: str
    profile: Profile | None


class Items(Body):
    total: int
    people: int
    min_people: int
    items: list[Item]


class TotalSpent(Body):
    """What counters and models together may give away of one person's clicking one item, in any 365 days."""

    epsilon: float
    delta: float


class Spent(Body):
    """What the counters may give away of one person's clicking one item, with all changes of her mind, in all looks."""

    epsilon: float
    delta: float
    looks: int
    changes: int


class PublicProfiles(Body):
    people: int
    min_people: int
    counters: Literal["private", "exact"]
    deviation: float  # of the noise in each counter; 0 where they are exact
    people_deviation: float
    budget: Spent | None
    total: TotalSpent | None
    overspent: str | None  # until which day counters were shown that gave more away than `budget` says
    shards: int  # with how many bits of an item's hash its profile is asked for; 0 where all profiles are here
    most: int | None  # likes and dislikes of the item with the most, where only some profiles are here
    no_click: float | None  # and what a person without a click gives away by all items, in natural units
    profiles: dict[str, Annotated[list[int], Field(min_length=2, max_length=2)] | None]  # likes, dislikes
    version: str


class ShardProfiles(Body):
    profiles: dict[str, Annotated[list[int], Field(min_length=2, max_length=2)]]
    version: str


class Titles(Body):
    items: list[Annotated[list[str], Field(min_length=2, max_length=2)]]  # id, title
    version: str


class ModelSpent(Body):
    """What all models of a year may give away of one person, with everything she clicked."""

    epsilon: float
    delta: float
    refreshes: int
    people: int  # that the public count must say before a model is made


class ModelStatus(Body):
    recommend: Literal["model", "neighbours"]
    budget: ModelSpent
    made: str | None
    items: list[str]
    popular: list[float]
    starts: list[int]
    alike: list[int]
    weight: list[float]
    version: str


class NewItem(Body):
    id: Annotated[str, Field(max_length=KEY)]
    title: Annotated[str, Field(min_length=1, max_length=TITLE)]

    @field_validator("id")
    @classmethod
    def _key(cls, value: str) -> str:
        if not valid_key(value):
            raise ValueError("an id has printable characters only")
        return value

    @field_validator("title")
    @classmethod
    def _title(cls, value: str) -> str:
        if not valid_text(value):
            raise ValueError("not a text")
        return value


class NewItems(Body):
    items: Annotated[list[NewItem], Field(max_length=100_000)]


class Stocked(Body):
    added: int
    renamed: int
    withdrawn: int  # ids that were withdrawn before: they stay so


@router.get("/health", response_model=Health)
async def health() -> Any:
    """The server answers."""
    return Health()


@router.get("/ready", response_model=Health, responses=documented(503))
async def ready(request: Request) -> Any:
    """The server answers and its database too."""

    def look() -> None:
        with reading(advisor_of(request).engine) as db:
            db.exec_driver_sql("SELECT 1")

    try:
        await asyncio.wait_for(asyncio.to_thread(look), 3)
    except (*AWAY_ERRORS, TimeoutError):
        raise Problem(503, "the database is away", {"Retry-After": "2"}) from None
    return Health()


@router.get("/element", response_model=ElementScript, responses=documented(429))
async def element_script() -> Any:
    """<click-advisor> as one file: where it is on this server, and the hash that a page's script tag can ask for."""
    made = element()
    return {"src": made.path, "version": made.version, "integrity": made.integrity}


@router.get("/items", response_model=Items, responses=documented(422, 429))
async def items(
    request: Request,
    query: Annotated[str, Query(max_length=200)] = "",
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Any:
    """The catalogue by title. A profile is null where fewer than min_people clicked."""
    table = await advisor_of(request).shown()
    total, found = await asyncio.to_thread(table.search, query, offset, limit)
    return {"total": total, "people": table.people, "min_people": table.min_people, "items": found}


@router.get(
    "/profiles", response_model=PublicProfiles, responses={304: {"description": "Not changed"}, **documented(429)}
)
async def profiles(
    request: Request,
    if_none_match: Annotated[str | None, Header()] = None,
    accept_encoding: Annotated[str | None, Header()] = None,
    whole: bool = False,
) -> Response:
    """The whole public table in one request, so that nobody has to ask about one item. Of more than 4,096 items the
    thousand with the most clicks, and `shards`; all of them with `whole`."""
    table = await advisor_of(request).shown()
    made = await asyncio.to_thread(getattr, table, "whole") if whole else table.table
    return _sent(made, if_none_match, accept_encoding)


@router.get(
    "/profiles/{shard}",
    response_model=ShardProfiles,
    responses={304: {"description": "Not changed"}, **documented(404, 422, 429)},
)
async def shard(
    request: Request,
    shard: Annotated[str, Path(pattern="^[01]{1,32}$", description="The first bits of an item id's CRC-32.")],
    if_none_match: Annotated[str | None, Header()] = None,
    accept_encoding: Annotated[str | None, Header()] = None,
) -> Response:
    """The profiles of some hundred items that a hash has thrown together: which one is meant is not told."""
    found = await asyncio.to_thread((await advisor_of(request).shown()).shard, shard)
    if found is None:
        raise Problem(404, "there is no such shard; /profiles says how many bits name one")
    return _sent(found, if_none_match, accept_encoding)


@router.get("/catalogue", response_model=Titles, responses={304: {"description": "Not changed"}, **documented(429)})
async def catalogue(
    request: Request,
    if_none_match: Annotated[str | None, Header()] = None,
    accept_encoding: Annotated[str | None, Header()] = None,
) -> Response:
    """All ids and titles in one request, by title."""
    table = await advisor_of(request).shown()
    return _sent(await asyncio.to_thread(getattr, table.catalogue, "document"), if_none_match, accept_encoding)


@router.get("/model", response_model=ModelStatus, responses={304: {"description": "Not changed"}, **documented(429)})
async def model(
    request: Request,
    if_none_match: Annotated[str | None, Header()] = None,
    accept_encoding: Annotated[str | None, Header()] = None,
) -> Response:
    """The model of items: lists are computed from it where her clicks are."""
    return _sent(advisor_of(request).model_sheet, if_none_match, accept_encoding)


def _sent(sheet: JsonDocument, if_none_match: str | None, accept_encoding: str | None) -> Response:
    headers = {"ETag": f'W/"{sheet.version}"', "Vary": "Accept-Encoding"}
    known = [tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")]
    if "*" in known or f'"{sheet.version}"' in known:
        return Response(status_code=304, headers=headers)
    packed = _takes_gzip(accept_encoding or "")
    if packed:
        headers["Content-Encoding"] = "gzip"
    return Response(sheet.packed if packed else sheet.body, media_type="application/json", headers=headers)


def _takes_gzip(accepted: str) -> bool:
    weights = {}
    for part in accepted.lower().split(","):
        name, _, rest = part.partition(";")
        given = rest.strip().removeprefix("q=")
        try:
            weights[name.strip()] = float(given) if given else 1.0
        except ValueError:
            weights[name.strip()] = 0.0
    return weights.get("gzip", weights.get("*", 0.0)) > 0


@router.get("/metrics", response_class=PlainTextResponse, responses=documented(401, 429), dependencies=[IsAdmin])
async def metrics(request: Request) -> Response:
    """What the server did, for Prometheus. Admin only: how often people click is nobody else's business."""
    advisor = advisor_of(request)
    gauges: dict[str, float] = {"waiting_writes": advisor.commit.waiting, "people_shown": advisor.snapshot.people}
    return PlainTextResponse(advisor.metrics.text(gauges | await asyncio.to_thread(_ages, advisor.engine)))


def _ages(engine: Engine) -> dict[str, float]:
    """How many looks this year has had, and the ages of the last look and model; what never was is left out."""
    with reading(engine) as db:
        year = db.execute(select(years.c.done, years.c.looked).order_by(years.c.id.desc()).limit(1)).first()
        made = db.execute(select(func.max(models.c.at))).scalar_one()
    found: dict[str, float] = {} if year is None else {"looks_of_this_year": year.done}
    found |= {"look_age_seconds": now() - year.looked} if year is not None and year.looked else {}
    return found | ({"model_age_seconds": now() - made} if made is not None else {})


@router.put(
    "/items", response_model=Stocked, responses=documented(400, 401, 413, 422, 429, 503), dependencies=[IsAdmin]
)
async def stock(request: Request, body: NewItems) -> Any:
    """Add items, or give known ones a new title; withdrawn ones stay withdrawn. Admin only."""
    return await advisor_of(request).write(Stock(tuple((item.id, item.title) for item in body.items)))


@router.delete(
    "/items/{item:path}", status_code=204, responses=documented(401, 404, 422, 429, 503), dependencies=[IsAdmin]
)
async def withdraw(request: Request, item: ItemId) -> None:
    """Withdraw an item for ever: nobody sees or clicks it again, and its id is never used for another. Admin only."""
    await advisor_of(request).write(Withdraw(item))
