"""The application: routes, pages, static files, the guard around them, and the work in the background."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from fastapi.telemetry import TelemetryConfig
from fastapi.templating import Jinja2Templates

from recveil import __version__
from recveil.advisor import people_api, platform_api, problems, public_api
from recveil.advisor.elements import element
from recveil.advisor.guard import HEADERS, AdvisorGuard
from recveil.advisor.offline import OfflinePages
from recveil.advisor.service import Advisor
from recveil.web import messages

HERE = Path(__file__).parent
NO_TELEMETRY = TelemetryConfig(tracing=False, metrics=False, logs=False, operation_spans=False, auto_configure=False)


def create_app(advisor: Advisor) -> FastAPI:
    """The web application of an advisor."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        work = [asyncio.create_task(task) for task in advisor.work()]
        yield
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)

    app = FastAPI(
        title="recveil click advisor",
        version=__version__,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # the usual pages load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        telemetry=NO_TELEMETRY,  # requests name items: no trace of them leaves this process
        responses=problems.documented(500),
    )
    app.state.advisor = advisor
    app.add_middleware(AdvisorGuard, advisor=advisor)
    rooms = (people_api.router, public_api.router, platform_api.router)
    problems.install(app, [route for router in rooms for route in router.routes])
    problems.describe(app)
    app.add_exception_handler(Exception, _unexpected)
    for router in rooms:
        app.include_router(router)
    app.mount("/static/messages", StaticFiles(directory=messages.FILES), name="messages")
    app.mount("/static", StaticFiles(directory=HERE / "static", check_dir=False), name="static")
    _pages(app)
    return app


async def _unexpected(_: Request, __: Exception) -> JSONResponse:
    return problems.answer(500, "an error of the server, not of the request", HEADERS)


def _pages(app: FastAPI) -> None:
    templates, saved_pages = Jinja2Templates(directory=HERE / "templates"), OfflinePages()

    def page(request: Request, name: str) -> HTMLResponse:
        """In the language that the browser asks for."""
        language = messages.chosen(request.headers.get("accept-language"))
        words = {"language": language, "say": messages.speaker("advisor", language), "element": element()}
        headers = {"Content-Language": language, "Vary": "Accept-Language"}
        return templates.TemplateResponse(request, name, words, headers=headers)

    @app.get("/", include_in_schema=False)
    async def index(request: Request) -> HTMLResponse:
        return page(request, "index.html")

    @app.get("/embed", include_in_schema=False)
    async def embed(request: Request) -> HTMLResponse:
        return page(request, "embed.html")

    @app.get("/history", include_in_schema=False)
    async def history(request: Request) -> HTMLResponse:
        return page(request, "history.html")

    @app.get("/history/offline", include_in_schema=False)
    async def offline(request: Request) -> Response:
        language = messages.chosen(request.headers.get("accept-language"))
        saved = await asyncio.to_thread(saved_pages.of, await request.app.state.advisor.shown(), language)
        named = {"Content-Disposition": 'attachment; filename="recveil-history.html"', "Vary": "Accept-Language"}
        return Response(saved, media_type="text/html", headers=named)
