"""The built site in a browser with no network: it searches, every internal link leads somewhere, all can read it.

make test-docs builds it into build/docs/html first; RECVEIL_SITE names another folder.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

import pytest

pytestmark = pytest.mark.extras

PROJECT = Path(__file__).parents[2]
SITE = Path(os.environ.get("RECVEIL_SITE", PROJECT / "build" / "docs" / "html"))
AXE = Path(os.environ.get("RECVEIL_AXE", PROJECT / ".venv" / "axe")) / "axe.min.js"
KINDS = {
    "front": "index.html",
    "tutorial": "tutorials/officer.html",
    "options": "reference/options.html",
    "python": "reference/python.html",
    "claims": "claims/clicks.html",
    "atlas": "atlas/index.html",
    "notebook": "examples/own_attack.html",
    "search": "search.html?q=epsilon",
}
VIEWS = {"desktop": (1280, 900), "phone": (390, 844)}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    if not (SITE / "index.html").is_file():
        pytest.skip("the site is not built: make docs")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@contextmanager
def opened(browser: Any, address: str, view: str = "desktop", dark: bool = False) -> Iterator[tuple[Any, list[str]]]:
    """A page, and what it asked of anybody but the site."""
    width, height = VIEWS[view]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light")
    asked: list[str] = []

    def look(route: Any) -> None:
        if route.request.url.startswith((address, "data:")):
            route.continue_()
        else:
            asked.append(route.request.url)
            route.abort()

    context.route("**/*", look)
    yield context.new_page(), asked
    context.close()


def test_nothing_is_fetched_from_elsewhere_and_search_finds(browser: Any, address: str) -> None:
    with opened(browser, address) as (page, asked):
        page.goto(address)
        page.fill("input[name=q]", "linkage")
        page.press("input[name=q]", "Enter")
        page.wait_for_selector("#search-results li a", timeout=20_000)
        found = page.eval_on_selector_all("#search-results li a", "links => links.map(a => a.href)")
        assert any("attacks" in link for link in found)
        page.goto(found[0])
        assert "linkage" in page.inner_text("main, article").lower()
        assert asked == []


def test_every_internal_link_is_followed(browser: Any, address: str) -> None:
    with opened(browser, address) as (page, asked):
        waiting, places = [f"{address}index.html"], {}
        wanted: dict[str, set[str]] = {}
        while waiting:
            url = waiting.pop()
            answer = page.goto(url, wait_until="domcontentloaded")
            assert answer is not None and answer.status == 200, url
            if "text/html" not in (answer.headers.get("content-type") or ""):
                places[url] = set()
                continue
            places[url] = set(page.eval_on_selector_all("[id]", "found => found.map(e => e.id)"))
            for link in page.eval_on_selector_all("a[href]", "links => links.map(a => a.href)"):
                target, at = urldefrag(link)
                if not target.startswith(address):
                    continue
                target += "index.html" if target.endswith("/") else ""
                wanted.setdefault(target, set()).add(at)
                if target not in places and target not in waiting and target.endswith(".html"):
                    waiting.append(target)
        assert len(places) > 40
        lost = {f"{url}#{at}" for url, at_all in wanted.items() if url in places for at in at_all - places[url] - {""}}
        assert lost == set() and asked == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_all_can_read_it(browser: Any, address: str, kind: str, dark: bool) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: no checks of accessibility (tests/install_axe.sh)")
    with opened(browser, address, "phone" if dark else "desktop", dark) as (page, asked):
        page.goto(address + KINDS[kind])
        if kind == "search":
            page.wait_for_selector("#search-results li a", timeout=20_000)
        page.add_script_tag(path=str(AXE))
        found = page.evaluate(
            "async () => (await axe.run()).violations.map(v => [v.id, v.nodes.length, v.nodes[0].html])"
        )
        assert found == []
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, "the page scrolls sideways"
        assert asked == []
