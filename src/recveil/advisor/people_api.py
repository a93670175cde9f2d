"""What a person can do: join, click, undo, look, take everything with her, and be forgotten."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict

from recveil.advisor import store
from recveil.advisor.identity import (
    BROWSER,
    SPEAKS_FOR,
    Caller,
    Known,
    caller_of,
    clear_cookie,
    cookie_of,
    digest,
    new_token,
    own_origin,
    same_site,
    set_cookie,
)
from recveil.advisor.limits import network_of
from recveil.advisor.problems import Problem, documented, nobody
from recveil.advisor.service import Advisor
from recveil.advisor.writes import Choose, Click, Erase, Join, Undo, Visit, Write, mark

router = APIRouter(prefix="/api/v1/people", tags=["people"])
mine = documented(401, 403, 404, 422, 429, 503)

Sign = Literal["like", "dislike"]
Strategy = Literal["basic", "careful", "smart"]
ITEM, KEY = r"[^\x00-\x1f\x7f]", r"[!-~]"  # the characters of each
Item = Annotated[str, Path(max_length=200, pattern=f"^{ITEM}+$", description="The id of an item.")]
Key = Annotated[
    str,
    Header(
        min_length=1,
        max_length=64,
        pattern=f"^{KEY}+$",
        description="Random, new for each click: the same request with the same key counts once.",
    ),
]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Joined(Body):
    token: str | None  # none where a platform speaks for her
    created: str


class Me(Body):
    clicks: int
    strategy: Strategy | None


class StrategyChoice(Body):
    strategy: Strategy | None


class ClickBody(Body):
    sign: Sign


class Clicked(Body):
    item: str
    sign: Sign
    at: str


class ListedClick(Clicked):
    counted: bool


class ClickList(Body):
    clicks: list[ListedClick]


class Suggestions(Body):
    items: list[str]
    basis: Literal["model", "neighbourhood", "popular"]


def advisor_of(request: Request) -> Advisor:
    advisor: Advisor = request.app.state.advisor
    return advisor


async def read(request: Request, caller: Caller, what: Any) -> Any:
    """`what(db, person)` for the holder of the token, in a thread."""

    advisor = advisor_of(request)
    if caller.token not in advisor.known and not caller.platform:
        advisor.strangers.check(network_of(request.scope))

    def run() -> Any:
        with store.reading(advisor_of(request).engine) as db:
            person = store.person(db, caller.token)
            return None if person is None else (person, what(db, person))

    found = await asyncio.to_thread(run)
    if found is None:
        raise unknown(request, caller)
    advisor.met(caller.token)
    return found


def unknown(request: Request, caller: Caller) -> Problem:
    """A token that is nobody's counts as a guess; a platform hears that it has not told of this person yet."""
    if caller.platform:
        return Problem(404, "there is no such person; POST /people makes an account for her")
    advisor_of(request).strange(caller.token, network_of(request.scope))
    return nobody()


async def write(request: Request, caller: Caller, wish: Write) -> dict[str, Any]:
    """The answer to a write of the holder of the token."""
    advisor = advisor_of(request)
    if caller.token not in advisor.known and not caller.platform:
        advisor.strangers.check(network_of(request.scope))
    try:
        made = await advisor.write(wish)
    except Problem as problem:
        if problem.status == 401:
            raise unknown(request, caller) from None
        raise
    if not isinstance(wish, Erase):
        advisor.met(caller.token)
    return made


@router.post(
    "",
    status_code=201,
    response_model=Joined,
    responses={200: {"model": Joined, "description": "She has one already"}, **documented(401, 403, 422, 429, 503)},
)
async def join(request: Request, response: Response) -> Any:
    """A new account: a token that is shown once. Browsers, which send X-Recveil-Request: 1, get it as a cookie too.

    A browser that brings the cookie of an account gets that one again, so that it never has two. A platform brings its
    key and X-Recveil-Person: she has an account then, and was here; the answer has no token.
    """
    if SPEAKS_FOR in request.headers:
        known = await caller_of(request)
        told = await advisor_of(request).write(Join(known.token, known=True))
        response.status_code = 201 if told.pop("new") else 200
        return {"token": None, **told}
    own_origin(request)
    browser, cookie = BROWSER in request.headers, cookie_of(request)
    if browser:
        same_site(request)
    if browser and cookie:
        try:
            person, _ = await read(request, Caller(digest(cookie), cookie, browser=True), store.click_count)
        except Problem:
            pass  # of an account that is gone
        else:
            set_cookie(request, response, cookie)
            response.status_code = 200
            return {"token": cookie, "created": store.iso(person.created)}
    advisor = advisor_of(request)
    await advisor.admit(network_of(request.scope))
    token = new_token()
    made = await advisor.write(Join(digest(token)))
    if browser:
        set_cookie(request, response, token)
    return {"token": token, "created": made["created"]}


@router.get("/me", response_model=Me, responses=mine)
async def me(request: Request, response: Response, caller: Known) -> Any:
    """How many clicks, and which strategy. A visit makes the token good for another year."""
    person, clicks = await read(request, caller, store.click_count)
    if person.seen < store.now() - store.DAY:
        await advisor_of(request).write(Visit(caller.token))
        if caller.browser:
            set_cookie(request, response, caller.secret)
    return {"clicks": clicks, "strategy": person.strategy}


@router.put("/me/strategy", response_model=StrategyChoice, responses={**mine, **documented(400, 413)})
async def choose(request: Request, caller: Known, body: StrategyChoice) -> Any:
    """Set or clear the default strategy."""
    await write(request, caller, Choose(caller.token, body.strategy))
    return body


@router.get("/me/clicks", response_model=ClickList, responses=mine)
async def clicks(request: Request, caller: Known) -> Any:
    """Her clicks in the order of clicking; `counted` says whether the item's public profile knows of it yet."""
    _, found = await read(request, caller, partial(store.clicks_of, private=advisor_of(request).private))
    return {"clicks": found}


async def click(request: Request, caller: Known, item: Item, body: ClickBody, idempotency_key: Key) -> Response:
    """Click an item. It is acknowledged once it is on the disk."""
    return await clicked(request, caller, item, body.sign, idempotency_key)


async def clicked(request: Request, whose: Caller, item: str, sign: Sign, key: str) -> Response:
    """The answer to a click that is on the disk."""
    advisor_of(request).clicks.spend(whose.token)
    wish = Click(whose.token, item, 1 if sign == "like" else -1, key, mark(whose.secret, item))
    made = await write(request, whose, wish)
    again = made.pop("again")
    return JSONResponse(made, 200 if again else 201)


class ClickRoute(APIRoute):
    """Clicks are what a busy server does all day. Those in the words of our own pages go straight to work; any other
    is taken apart by the framework, which says what is wrong with it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        usual = super().get_route_handler()

        async def handle(request: Request) -> Response:
            item, keys = request.path_params["item"], request.headers.getlist("idempotency-key")
            plain = request.headers.getlist("content-type") == ["application/json"] and len(keys) == 1
            sign = PLAIN_BODIES.get(await request.body()) if plain else None
            if sign is None or not PLAIN_ITEM.fullmatch(item) or not PLAIN_KEY.fullmatch(keys[0]):
                return await usual(request)
            return await clicked(request, await caller_of(request), item, sign, keys[0])

        return handle


PLAIN_BODIES: dict[bytes, Sign] = {b'{"sign":"like"}': "like", b'{"sign":"dislike"}': "dislike"}
PLAIN_ITEM, PLAIN_KEY = re.compile(ITEM + "{1,200}"), re.compile(KEY + "{1,64}")

router.add_api_route(
    "/me/clicks/{item:path}",
    click,
    methods=["PUT"],
    status_code=201,
    response_model=Clicked,
    responses={200: {"model": Clicked, "description": "The same key again"}, **mine, **documented(400, 404, 409, 413)},
    route_class_override=ClickRoute,
)


@router.delete("/me/clicks/{item:path}", status_code=204, responses={**mine, **documented(404)})
async def undo(request: Request, caller: Known, item: Item) -> None:
    """Take a click back."""
    await write(request, caller, Undo(caller.token, item, mark(caller.secret, item)))


@router.get("/me/recommendations", response_model=Suggestions, responses=mine)
async def recommendations(request: Request, caller: Known, limit: Annotated[int, Query(ge=1, le=100)] = 20) -> Any:
    """What is like what she likes, or what most people like; in closed groups, what people close to her like."""
    advisor = advisor_of(request)
    _, found = await read(request, caller, partial(store.clicks_of, private=advisor.private))
    own = {row["item"]: 1 if row["sign"] == "like" else -1 for row in found}
    await advisor.shown()
    items, basis = await asyncio.to_thread(advisor.recommend, own, limit)
    return {"items": items, "basis": basis}


@router.get("/me/export", responses=mine)
async def export(request: Request, caller: Known) -> JSONResponse:
    """Everything that is stored about her, as a file."""
    _, found = await read(request, caller, partial(store.export, private=advisor_of(request).private))
    return JSONResponse(found, headers={"Content-Disposition": 'attachment; filename="recveil.json"'})


@router.delete("/me", status_code=204, responses=mine)
async def erase(request: Request, response: Response, caller: Known) -> None:
    """Erase the account and all that is hers, from the counters too."""
    await write(request, caller, Erase(caller.token))
    clear_cookie(request, response)
