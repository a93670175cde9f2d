"""The release desk in a real browser: from a file to a signed bundle that verifies, for everybody, asking nobody."""

from __future__ import annotations

import functools
import http.server
import json
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import CONTRAST

pytest.importorskip("fastapi", reason="the extra serve is not installed: no desk")

from chromium import Chromium, Keyboard
from desk_walk import PAGES, PATIENCE, WAYS, check_published, go, name_columns, odd_file, walk
from desks import RunningDesk, states

from recveil.web.messages import FILES
from recveil.web.messages.said import said

SMALL = "sample:films?users=200,items=60"
AXE = Path(sys.prefix) / "axe" / "axe.min.js"


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


# By way: the width, colours and language in which every screen is looked at after it.
LOOKS = {
    "films": [(1280, "light", "en"), (390, "dark", "en"), (320, "light", "de")],
    "odd": [(320, "dark", "de")],
    "sessions": [(1280, "dark", "en"), (320, "light", "en")],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WAYS)
def test_from_a_file_to_a_signed_bundle(browser: Any, tmp_path: Path, name: str) -> None:
    way = WAYS[name]
    with RunningDesk(tmp_path / "desk") as desk:
        owner = Chromium(browser, desk, locale=way.language)
        go(owner, way, tmp_path, desk)
        assert owner.page.locator("html").get_attribute("lang") == way.language
        bundle = check_published(desk)
        assert "Kunden" not in (bundle / "claims.jsonl").read_text(encoding="utf-8") and not list(bundle.rglob("*.csv"))
        assert owner.number("#tour:not([hidden])") == (name == "films")
        owner.close()
        for width, scheme, language in LOOKS[name]:
            check_pages(browser, desk, width, scheme, language)


@pytest.mark.slow
def test_the_same_way_by_keyboard_alone_at_400_percent(browser: Any, tmp_path: Path) -> None:
    """A window of 1280 pixels that is enlarged four times has 320."""
    file = odd_file(tmp_path)
    with RunningDesk(tmp_path / "desk") as desk:
        owner = Keyboard(browser, desk, locale="de", viewport={"width": 320, "height": 256})
        owner.open("start")
        owner.fill("#path", str(file))
        owner.page.keyboard.press("Enter")
        name_columns(owner)
        owner.wait("#found .big", PATIENCE)
        said = owner.text("#found .big")
        assert "Sterne.csv" in said and "<b>" in said and "150 Menschen" in said
        walk(owner, WAYS["odd"].wishes, tmp_path / "desk")
        check_published(desk)
        owner.close()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDesk]:
    with RunningDesk(tmp_path_factory.mktemp("desk"), SMALL) as running:
        running.until_idle()
        yield running


def test_a_closed_tab_loses_nothing_and_what_was_cancelled_runs_when_asked(browser: Any, desk: RunningDesk) -> None:
    specs = ["pseudonymise", "random-ratings"]
    desk.choose(candidates={"specs": specs, "measures": ["linkage"]})
    tab = Chromium(browser, desk)
    tab.open("candidates")
    tab.click("#run")
    tab.wait(".candidates .job.running")
    tab.close()
    desk.until(lambda s: states(s) == ["done", "done"])
    tab = Chromium(browser, desk)
    tab.open("candidates")
    tab.wait(".candidates .job.done:nth-child(2)")
    assert tab.number(".candidates .job.done") == 2
    desk.choose(candidates={"measures": []})  # all of them: that takes a while
    tab.wait("#run:not(:disabled)")
    tab.click("#run")
    tab.wait(".candidates .job.running")
    tab.click("#stop")
    tab.wait(".candidates .job.cancelled:nth-child(2)")
    assert set(states(desk.state())) == {"cancelled"}
    tab.click("#run")
    tab.wait(".candidates .job.running")
    tab.click("#stop")
    tab.wait(".candidates .job.cancelled:nth-child(2)")
    tab.close()


HIDDEN_NAMES = """async () => {
  const { frontier } = await import("/static/frontier.js");
  const at = (value) => ({ value, low: value, high: value });
  const points = [[1, 1], [0.966, 0.98], [0.93, 1], [0.06, 0.85], [0.08, 0.85], [0.5, 0.4]].map(([found, kept], k) => (
    { id: `${k}`, key: "ABCDEF"[k], name: "a name that is long", colour: `s${k}`, found: at(found), kept: at(kept) }));
  const limits = { found: 0.09, kept: 0.7 };
  document.body.append(frontier(points, { limits, chosen: null, choose: () => {}, known: 8 }));
  await new Promise((done) => setTimeout(done, 300));
  const boxes = (css) => [...document.querySelectorAll(css)].map((one) => one.getBoundingClientRect());
  const dots = boxes(".mark .point");
  return [boxes(".mark .label").length, boxes(".mark .label").filter((name) => dots.some((dot) =>
    dot.left < name.right && name.left < dot.right && dot.top + 2 < name.bottom && name.top + 2 < dot.bottom)).length];
}"""


HIDDEN_POINTS = """async () => {
  const { frontier } = await import("/static/frontier.js");
  const at = (value) => ({ value, low: value, high: value });
  const points = [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [0.51, 0.5], [0, 1], [0, 1]].map(([found, kept], k) => (
    { id: `${k}`, key: "ABCDEF"[k], name: "n", colour: `s${k}`, found: at(found), kept: at(kept) }));
  const limits = { found: 0.09, kept: 0.7 };
  document.body.append(frontier(points, { limits, chosen: null, choose: () => {}, known: 8 }));
  await new Promise((done) => setTimeout(done, 300));
  const dots = [...document.querySelectorAll(".mark .point")].slice(-6).map((one) => one.getBoundingClientRect());
  const middle = (box) => [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  return Math.min(...dots.flatMap((a, k) => dots.slice(0, k).map((b) =>
    Math.hypot(middle(a)[0] - middle(b)[0], middle(a)[1] - middle(b)[1]))));
}"""


@pytest.mark.parametrize("width", [1280, 390])
def test_no_point_of_the_picture_hides_another(browser: Any, desk: RunningDesk, width: int) -> None:
    looking = Chromium(browser, desk, viewport={"width": width, "height": 900}, bypass_csp=True)
    looking.open("start")
    assert looking.page.evaluate(HIDDEN_POINTS) >= 22  # their width
    looking.close()


def test_no_point_of_the_picture_hides_a_name(browser: Any, desk: RunningDesk) -> None:
    looking = Chromium(browser, desk, viewport={"width": 1280, "height": 900}, bypass_csp=True)
    looking.open("start")
    assert looking.page.evaluate(HIDDEN_NAMES) == [6, 0]
    looking.close()


def test_a_page_says_what_is_kept_in_english_as_the_sheet_says_it(browser: Any, desk: RunningDesk) -> None:
    kept = json.loads((FILES.parent / "said.de.json").read_text(encoding="utf-8"))
    texts = [re.sub(r"\{\w+\}", "1.5", english) for english in kept] + ["Nobody knows this sentence."]
    reader = Chromium(browser, desk, locale="de", bypass_csp=True)
    reader.open("start?lang=de")
    shown = reader.page.evaluate(
        """async texts => {
          const { own } = await import("/static/own.js");
          return texts.map((text) => own("p", text)).map((one) => [one.textContent, one.lang]);
        }""",
        texts,
    )
    reader.close()
    assert shown == [[said(text, "de") or text, "" if said(text, "de") else "en"] for text in texts]


def test_what_is_wrong_stands_at_its_field(browser: Any, desk: RunningDesk, tmp_path: Path) -> None:
    (tmp_path / "<i>cat.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    desk.choose(candidates={"specs": []})  # else other data are asked about first
    owner = Chromium(browser, desk)
    owner.open("start")
    for path, line in (("/nowhere/<b>x.csv", "<b>x.csv: there is no such file"), (str(tmp_path), "is a folder")):
        owner.fill("#path", path)
        owner.click("form.path button")
        owner.page.locator("form.path #problem").filter(has_text=line).wait_for()
        assert owner.number("#path[aria-invalid][aria-describedby='problem']:focus") == 1
    try:
        owner.give("#file", tmp_path / "<i>cat.png")
        owner.page.locator(".job.failed .line").filter(has_text="a picture, which holds no table").wait_for()
        assert owner.number("main i, main p b b") == 0
        owner.close()
    finally:
        desk.choose(data={"source": SMALL})


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
    browser: Any, desk: RunningDesk, other_origin: tuple[Path, str]
) -> None:
    """It runs in the same browser as the desk, whose cookie goes with every request of the same site."""
    place, origin = other_origin
    owner = Chromium(browser, desk)
    owner.open("start")
    (place / "index.html").write_text(EVIL.replace("BASE", desk.base), encoding="utf-8")
    evil = owner.context.new_page()
    evil.goto(origin)
    evil.locator("body[data-tried]").wait_for(state="attached")
    tried = json.loads(evil.locator("body").get_attribute("data-tried"))
    assert set(tried.values()) == {"refused"}, tried
    assert not any(job["kind"].startswith("exposure") for job in desk.state()["work"])
    owner.context.close()
