"""The release desk in a real browser: from a file to a signed bundle that verifies, for everybody, asking nobody."""

from __future__ import annotations

import functools
import http.server
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import CONTRAST

pytest.importorskip("fastapi", reason="the extra serve is not installed: no desk")

from desk_walk import ODD, PAGES, PATIENCE, Wishes, held_back, odd_file, session_file, walk
from desks import RunningDesk

from recveil.desk.verification import verify_bundle

AXE = Path(sys.prefix) / "axe" / "axe.min.js"


class Chromium:
    """A Driver by Playwright; it notes what the page complains about and whom it asks."""

    def __init__(self, browser: Any, desk: RunningDesk, **options: Any) -> None:
        self.base = desk.base
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        held = ({"name": c.name, "value": c.value, "url": desk.base} for c in desk.client.cookies.jar)
        self.context.add_cookies(list(held))
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * 60)
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.context.on("request", lambda request: self.asked.append(request.url))

    def open(self, page: str) -> None:
        self.page.goto(f"{self.base}/{page}")
        self.wait("body[data-ready]")

    def click(self, css: str) -> None:
        self.wait("body[data-ready]")
        self.page.locator(css).first.click()

    def fill(self, css: str, text: str) -> None:
        self.page.locator(css).fill(text)

    def select(self, css: str, value: str) -> None:
        self.page.locator(css).select_option(value)

    def give(self, css: str, file: Path) -> None:
        self.page.locator(css).set_input_files(file)

    def wait(self, css: str, seconds: float = 30.0) -> None:
        self.page.locator(css).first.wait_for(state="attached", timeout=1000 * seconds)

    def text(self, css: str) -> str:
        return str(self.page.locator(css).first.inner_text())

    def number(self, css: str) -> int:
        return int(self.page.locator(css).count())

    def close(self) -> None:
        self.context.close()
        refused = [line for line in self.complaints if "422" not in line]  # Chromium tells of each answer of a refusal
        assert refused == []
        assert [url for url in self.asked if not url.startswith(self.base)] == []


def published(desk: RunningDesk) -> Path:
    """The published bundle of a desk, verified as its receiver would, with signatures of owner and officer."""
    found = desk.get("/api/published")
    bundle = desk.folder / found["place"] / "bundle"
    verified = verify_bundle(bundle)
    assert not verified.problems
    assert [claim["kind"] for claim in verified.claims.record()] == ["released", "approved"]
    assert held_back(desk.state()) == []
    return bundle


def check_pages(browser: Any, desk: RunningDesk, width: int, scheme: str, language: str) -> None:
    """Every screen: nothing is cut, contrasts suffice, axe-core finds nothing."""
    looking = Chromium(
        browser, desk, viewport={"width": width, "height": 900}, color_scheme=scheme, locale=language, bypass_csp=True
    )
    for page in PAGES:
        looking.open(f"{page}?lang={language}")
        looking.wait("#command code, #command[hidden]")
        looking.page.wait_for_timeout(300)  # pictures are drawn to their width
        looking.page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        looking.page.evaluate("scrollTo(0, 0)")
        assert looking.page.evaluate("document.documentElement.lang") == language
        assert looking.page.evaluate("document.documentElement.scrollWidth") <= width, page
        assert looking.page.evaluate(CONTRAST) == [], page
        if AXE.exists():
            looking.page.evaluate(AXE.read_text(encoding="utf-8"))
            run = "axe.run({iframes: false}).then(found => found.violations.map(v => [v.id, v.nodes[0].html]))"
            assert looking.page.evaluate(run) == [], page
    looking.close()


def upload(to: Chromium, file: Path) -> None:
    to.open("start")
    to.give("#file", file)


@pytest.mark.slow
def test_from_an_odd_file_to_a_signed_bundle(browser: Any, tmp_path: Path) -> None:
    """In German, with columns that no tool knows and a name that holds markup."""
    with RunningDesk(tmp_path / "desk") as desk:
        owner = Chromium(browser, desk, locale="de-DE")
        upload(owner, odd_file(tmp_path))
        owner.wait("#found .problem", PATIENCE)  # which column is what cannot be told
        for row, role in enumerate(("user", "item", "rating"), 1):
            assert owner.text(f"#found tbody tr:nth-child({row}) th") == ODD[row - 1]
            owner.select(f"#found tbody tr:nth-child({row}) select", role)
        owner.click("#found form button")
        owner.wait("#found .big", PATIENCE)
        said = owner.text("#found .big")
        assert "Sterne.csv" in said and "<" not in said and "150 Menschen" in said
        walk(owner, Wishes("mask"))
        assert owner.page.locator("html").get_attribute("lang") == "de"
        bundle = published(desk)
        claims = (bundle / "claims.jsonl").read_text(encoding="utf-8")
        assert "Kunden" not in claims and not list(bundle.rglob("*.csv"))
        owner.close()
        check_pages(browser, desk, 320, "dark", "de")


@pytest.mark.slow
def test_from_the_sample_to_a_signed_bundle(browser: Any, tmp_path: Path) -> None:
    """By the guided tour, by keyboard where it matters, and looked at in every way."""
    with RunningDesk(tmp_path / "desk") as desk:
        owner = Chromium(browser, desk, locale="en-GB")
        owner.open("start")
        owner.click("#take-tour")
        owner.wait("#tour:not([hidden]) .named", PATIENCE)
        owner.wait("#found .big", PATIENCE)
        walk(owner, Wishes("dp-ratings:epsilon=4,delta=1e-6,scale=1..5"))
        assert owner.number("#tour:not([hidden])") == 1
        owner.open("candidates")
        owner.wait(".mark")
        owner.page.locator(".mark").focus()
        owner.page.keyboard.press("Enter")
        owner.wait(".card-of h3:focus")
        published(desk)
        owner.close()
        for width, scheme, language in ((1280, "light", "en"), (390, "dark", "en"), (320, "light", "de")):
            check_pages(browser, desk, width, scheme, language)


@pytest.mark.slow
def test_from_sessions_with_users_to_a_signed_bundle(browser: Any, tmp_path: Path) -> None:
    with RunningDesk(tmp_path / "desk") as desk:
        owner = Chromium(browser, desk)
        upload(owner, session_file(tmp_path))
        owner.wait("#found .big", PATIENCE)
        walk(owner, Wishes("mbrw", to="contractor"))
        published(desk)
        owner.close()


EVIL = """<!doctype html><title>another page</title><body><script type="module">
const base = "BASE", tried = {};
const attempt = async (name, act) => { tried[name] = await act().then((said) => said ?? "done", () => "refused"); };
await attempt("read", async () => (await fetch(base + "/api/state", {credentials: "include"})).text());
await attempt("drive", async () => {
  const body = JSON.stringify({kind: "exposure"}), headers = {"Content-Type": "application/json"};
  return (await fetch(base + "/api/work", {method: "POST", credentials: "include", headers, body})).text();
});
await attempt("drive simply", async () => {
  const body = '{"kind": "exposure"}', headers = {"Content-Type": "text/plain"};
  await fetch(base + "/api/work", {method: "POST", mode: "no-cors", credentials: "include", headers, body});
});
await attempt("listen", () => new Promise((done, fail) => {
  const events = new EventSource(base + "/api/events", {withCredentials: true});
  events.addEventListener("state", (told) => done(told.data));
  events.addEventListener("error", () => { events.close(); fail(); });
}));
await attempt("script", () => new Promise((done, fail) => {
  const script = document.createElement("script");
  Object.assign(script, {src: base + "/api/state", onload: () => done("ran"), onerror: fail});
  document.body.append(script);
}));
const frame = document.createElement("iframe");
await new Promise((done) => { frame.onload = done; frame.src = base + "/start"; document.body.append(frame); });
try { tried.frame = frame.contentDocument?.body?.innerText ?? "refused"; } catch { tried.frame = "refused"; }
document.body.dataset.tried = JSON.stringify(tried);
</script>"""


@pytest.fixture
def other_origin(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A server on another port of this machine: the same site, another origin."""
    place = tmp_path / "other"
    place.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=place)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield place, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_a_page_of_another_origin_reads_and_drives_nothing(
    browser: Any, tmp_path: Path, other_origin: tuple[Path, str]
) -> None:
    """It runs in the same browser as the desk, whose cookie goes with every request of the same site."""
    place, origin = other_origin
    with RunningDesk(tmp_path / "desk", "sample:films?users=50,items=20") as desk:
        owner = Chromium(browser, desk)
        owner.open("start")
        (place / "index.html").write_text(EVIL.replace("BASE", desk.base), encoding="utf-8")
        evil = owner.context.new_page()
        evil.goto(origin)
        evil.locator("body[data-tried]").wait_for(state="attached")
        tried = json.loads(evil.locator("body").get_attribute("data-tried"))
        assert set(tried.values()) == {"refused"}, tried
        assert {job["kind"] for job in desk.state()["work"]} <= {"overview"}
        owner.context.close()
