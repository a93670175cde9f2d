"""The click advisor's pages: the same formulas as in Python, readable, usable by keyboard, embedded elsewhere."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from advisor_server import COUNTS, Server
from browser import CONTRAST
from visits import Visit

from recveil.clicks.effects import effect
from recveil.clicks.game import STRATEGIES, step
from recveil.clicks.profiles import Clicks, commonality, disclosure, profiles
from recveil.data import from_ids

pytest.importorskip("fastapi", reason="the extra serve is not installed: no browser tests of it")
VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "clicks.json").read_text(encoding="utf-8"))["vectors"]


# --- formulas ---------------------------------------------------------------------------------------------------------


def test_the_browser_computes_what_python_computes(visit: Visit) -> None:
    found = visit.page.evaluate(
        """async vectors => {
          const { effect } = await import("/static/advice.js");
          return vectors.map(v => effect(v.likes, v.dislikes, v.users, v.sign));
        }""",
        VECTORS,
    )
    assert len(found) == len(VECTORS) > 100
    for vector, told in zip(VECTORS, found, strict=True):
        assert (told["signs"], told["zone"]) == (vector["signs"], vector["zone"])
        for name in ("commonality", "disclosure", "reverse"):
            assert told[name] == pytest.approx(vector[name], rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("base", ["e", "2", "10"])
def test_her_timeline_ends_where_python_says(visit: Visit, base: str) -> None:
    signs = np.random.default_rng(7).choice([-1, 0, 0, 1, 1], size=(30, 12))
    signs[:, 0] = 1  # everyone likes it: nobody is left
    who, what = np.nonzero(signs)
    log = Clicks(from_ids(pl.Series(who), pl.Series(what)), signs[who, what].astype(np.int8))
    of = profiles(log)
    table = {str(k): counts for k, counts in enumerate(zip(of.likes.tolist(), of.dislikes.tolist(), strict=True))}
    hers = [[{"item": str(i), "sign": int(row[i])} for i in np.flatnonzero(row)] for row in signs]
    told = visit.page.evaluate(
        """async ([people, table, n, base]) => {
          const { timeline } = await import("/static/advice.js");
          return people.map(clicks => timeline(clicks, new Map(Object.entries(table)), n, base));
        }""",
        [hers, table, log.users, base],
    )
    assert [len(steps) - 1 for steps in told] == [len(clicks) for clicks in hers]
    assert [steps[-1]["commonality"] for steps in told] == pytest.approx(commonality(log), rel=1e-12, abs=1e-12)
    assert [steps[-1]["disclosure"] for steps in told] == pytest.approx(disclosure(log, base), rel=1e-12)


def test_strategies_are_the_same_and_nonsense_is_refused(visit: Visit) -> None:
    assert visit.page.evaluate('async () => (await import("/static/advice.js")).STRATEGIES') == STRATEGIES
    refused = visit.page.evaluate("""async () => {
      const { effect } = await import("/static/advice.js");
      const wrong = [[1, 1, 2, 1], [-1, 0, 9, 1], [0.5, 0, 9, 1], [0, 0, 9, 0], [0, 0, 9, 1, "3"], ["1", 0, 9, 1]];
      const refuses = state => { try { effect(...state); } catch (e) { return e instanceof RangeError; } };
      return wrong.filter(refuses).length;
    }""")
    assert refused == 6


def zone(likes: int, dislikes: int, people: int) -> str:
    """Of a like."""
    return effect(likes, dislikes, people, 1).zone


def test_everybodys_clicks_are_those_of_the_game(visit: Visit) -> None:
    """The page plays the game of recveil.clicks on the public counts: the same items stand in the end."""
    rng, people = np.random.default_rng(3), 60
    items = [(int(a), int(b)) for a, b in rng.integers(0, 30, (40, 2)) if a + b]
    told = visit.page.evaluate(
        """async ([items, people]) => {
          const { alone, everybody, played, turned } = await import("/static/game.js");
          const names = ["basic", "careful", "smart"];
          return [names.map(name => items.map(([a, b]) => played(a, b, people, name))), alone(items, people),
                  names.map(name => everybody(items, people, name)), turned(items, people, 9)];
        }""",
        [items, people],
    )

    def stands(likes: int, dislikes: int, name: str) -> tuple[int, int]:
        state, given, count = (0, 0), 0, likes + dislikes
        for k in range(1, count + 1):
            sign = 1 if (2 * k * likes + count) // (2 * count) > given else -1
            given += sign > 0
            state = step(*state, people, sign, STRATEGIES[name])
        return state

    for found, name in zip(told[0], ("basic", "careful", "smart"), strict=True):
        assert [tuple(state) for state in found] == [stands(*item, name) for item in items]
    assert told[0][0] == [list(item) for item in items]
    assert told[1] == {"states": 2 * len(items), "better": 0}  # smart clicking is an equilibrium
    moved = sum(a for a, b in items if a and zone(a - 1, b, people) != zone(a - 1, b + 9, people + 9))
    assert told[3] == pytest.approx(moved / sum(a for a, _ in items)) and 0 < told[3] < 1
    assert told[2][0]["clicks"] == pytest.approx(sum(map(sum, items)) / people)


def test_all_preclicks_in_one_picture(visit: Visit) -> None:
    page = visit.page
    page.locator("#all summary").click()
    shown = sum(a + b >= 5 for a, b in COUNTS.values())
    page.locator("#all circle.all").first.wait_for()
    assert page.locator("#all circle.all").count() == 2 * shown
    assert "1 Safe" in page.locator("#all figcaption").first.inner_text()
    assert "Smart clicking is an equilibrium" in page.locator("#all-shown").inner_text()
    assert page.locator("#all-shown tbody tr").count() == 3


def test_a_choice_for_a_zone_goes_before_the_strategy(visit: Visit) -> None:
    page = visit.page
    page.get_by_text("Choose for each zone").click()
    page.locator("#choices select[name=trade_off]").select_option("cancel")
    page.locator("#choices select[name=safe]").select_option("confirm")
    assert "Your choice for this zone: cancel." in visit.preclick("Niche", "like").inner_text()
    page.keyboard.press("Escape")
    page.locator("#auto").check()
    row = page.locator("#results li").filter(has=page.get_by_role("heading", name="Niche", exact=True)).first
    visit.open()
    assert page.locator("#choices select[name=trade_off]").input_value() == "cancel"  # this browser remembers
    page.locator("#query").fill("Niche")
    row.get_by_role("button", name="Like Niche", exact=True).click()
    row.get_by_text("Not clicked").wait_for()
    page.get_by_text("Choose for each zone").click()
    page.locator("#choices select[name=trade_off]").select_option("ask")
    row.get_by_role("button", name="Like Niche", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()


def test_how_often_advice_errs_is_said(visit: Visit) -> None:
    found = visit.page.evaluate("""async () => {
      const { errs } = await import("/static/advice.js");
      const blur = { deviation: 7, crowd: 25 };
      return [errs(60, 20, 1000, blur), errs(25, 20, 1000, blur), errs(60, 20, 1000, { deviation: 0, crowd: 0 })];
    }""")

    def tail(x: float) -> float:
        return 0.5 * math.erfc(x / math.sqrt(2))

    far = math.hypot(25, math.sqrt(5) * 7)
    for (a, b), told in zip(((60, 20), (25, 20)), found[:2], strict=True):
        assert told == pytest.approx(tail((a + 1 - b) / (math.sqrt(2) * 7)) + tail((999 - 2 * a - b) / far), abs=1e-6)
    assert found[2] == 0


def test_words(visit: Visit) -> None:
    assert visit.page.evaluate("""async () => {
      const { amount, company } = await import("/static/words.js");
      return [company(11, 430, -1), company(0, 1, 1), company(1, 0, -1), amount(-1.04, 2), amount(0.01, "e")];
    }""") == [
        "You would be one of 12 people who dislike this; 430 like it.",
        "You would be the first to like this; 1 person dislikes it.",
        "You would be one of 2 people who dislike this; nobody likes it.",
        "1.0 bit",
        "less than 0.1 nat",
    ]


def test_a_zone_in_doubt_is_said_to_be_near_the_border(visit: Visit) -> None:
    rng = np.random.default_rng(4)
    states = [[int(x) for x in rng.integers(0, 120, 2)] for _ in range(300)]
    people, deviation, crowd = 200, 7.0, 25.0
    told = visit.page.evaluate(
        """async ([states, people, blur]) => {
          const { inDoubt } = await import("/static/advice.js");
          return states.map(([a, b]) => inDoubt(a, b, people, blur));
        }""",
        [states, people, {"deviation": deviation, "crowd": crowd}],
    )

    def doubt(a: int, b: int) -> bool:
        c, d, r = a + 1 - b, people - 2 * a - b - 1, people - a - 2 * b - 1
        far = 1.64 * np.sqrt(crowd**2 + 5 * deviation**2)
        return bool(abs(c) < 1.64 * np.sqrt(2) * deviation or abs(d) < far or (c <= 0 and d >= 0 and abs(r) < far))

    assert told == [doubt(a, b) for a, b in states]
    assert 20 < sum(told) < 280


def test_the_page_says_what_its_counts_give_away(browser: Any, tmp_path: Path, visit: Visit) -> None:
    assert "can read from them what you clicked" in visit.page.locator("#promise").inner_text()
    private = Server(tmp_path, ("--counters", "private", "--epsilon", "1")).start()
    person = Visit(browser, private).open()
    said = person.page.locator("#promise").inner_text()
    assert "more than 2.7 times as likely (epsilon 1, delta 0.000001" in said
    advice = person.preclick(
        "Film 01", "like"
    ).inner_text()  # whether it shows at all is chance: few people, much noise
    assert "Unknown zone" in advice or "You would be one of about" in advice
    person.close()
    private.stop()


def test_the_page_lists_what_the_server_would(visit: Visit) -> None:
    from recveil.advisor.item_model import ItemModel

    rng, n = np.random.default_rng(3), 30
    starts = list(range(0, 4 * n + 1, 4))
    alike = [int(x) for _ in range(n) for x in rng.permutation(n)[:4]]
    model = {"items": [f"i{k}" for k in range(n)], "popular": [], "starts": starts, "alike": alike}
    model["weight"] = [float(x) for x in np.round(rng.random(4 * n), 3)]
    hers = [{f"i{k}": int(rng.choice([1, -1])) for k in rng.permutation(n)[:6]} for _ in range(20)]
    told = visit.page.evaluate(
        """async ([model, hers]) => {
          const { mostLiked, similar } = await import("/static/recommend.js");
          model.place = new Map(model.items.map((item, n) => [item, n]));
          const profiles = new Map([["a", [1, 2]], ["b", null], ["c", [9, 0]], ["d", [5, 1]]]);
          const liked = mostLiked(profiles, new Set(["d"]), 2);
          return [liked, hers.map(clicks => similar(model, Object.entries(clicks).map(([item, sign]) =>
            ({ item, sign: sign > 0 ? "like" : "dislike" })), 5))];
        }""",
        [model, hers],
    )
    assert told == [["c", "a"], [ItemModel("", **model).best(own, 5) for own in hers]]


def test_one_palette() -> None:
    """The advisor has the colours of the report page."""
    known = set(re.findall(r"#[0-9a-f]{6}\b", files("recveil.report").joinpath("style.css").read_text("utf-8")))
    static = files("recveil.advisor").joinpath("static")
    for name in ("app.css", "click-advisor-style.js"):
        assert set(re.findall(r"#[0-9a-f]{6}\b", static.joinpath(name).read_text("utf-8"))) <= known


# --- what one sees and hears ------------------------------------------------------------------------------------------


def nothing(person: Visit) -> None:
    pass


def advice(person: Visit) -> None:
    person.preclick("Crowd", "dislike")


def unknown(person: Visit) -> None:
    person.preclick("Rare", "like")


def clicked(person: Visit) -> None:
    for title in ("Film 12", "Film 13", "Film 14"):
        person.confirm(title, "like")
    person.page.locator("input[value=smart]").check()
    person.says("Your strategy is smart.")
    person.page.get_by_text("After each click").click()


def erasing(person: Visit) -> None:
    person.confirm("Film 15", "like")
    person.page.locator("#erase").click()


def embedded(person: Visit) -> None:
    person.open("/embed")
    person.page.locator("#shelf click-advisor").first.locator("button.dislike").click()


STATES: list[Callable[[Visit], None]] = [nothing, advice, unknown, clicked, erasing, embedded]


@pytest.fixture(params=[("light", 1280), ("dark", 390)], ids=lambda p: f"{p[0]}-{p[1]}")
def looking(request: pytest.FixtureRequest, browser: Any, advisor: Server) -> Iterator[Visit]:
    scheme, width = request.param
    options = {"color_scheme": scheme, "reduced_motion": "reduce"}
    person = Visit(browser, advisor, **options)
    person.page.set_viewport_size({"width": width, "height": 850})
    yield person.open()
    person.close()


@pytest.mark.parametrize("state", STATES)
def test_text_has_contrast_controls_have_names_and_nothing_sticks_out(
    looking: Visit, state: Callable[[Visit], None]
) -> None:
    state(looking)
    page = looking.page
    other = "dark" if page.evaluate("matchMedia('(prefers-color-scheme: light)').matches") else "light"
    assert page.evaluate(CONTRAST) == []
    page.emulate_media(color_scheme=other, reduced_motion="reduce")
    assert page.evaluate(CONTRAST) == []

    tree = looking.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    named = {
        "button",
        "link",
        "searchbox",
        "radio",
        "checkbox",
        "dialog",
        "image",
        "figure",
        "heading",
        "group",
        "form",
    }
    seen = [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in tree if not n["ignored"]]
    assert [role for role, name in seen if role in named - {"group", "form", "figure"} and not name.strip()] == []
    assert len([role for role, _ in seen if role == "button"]) >= 2

    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    wide = "e => e.scrollWidth > e.clientWidth + 1"
    assert [d for d in page.locator("dialog[open]").all() if d.evaluate(wide)] == []
    small = [b.bounding_box() for b in page.get_by_role("button").all() if b.is_visible()]
    assert [box for box in small if min(box["width"], box["height"]) < 24] == []  # WCAG 2.2, target size


def test_the_page_has_one_order_of_headings_and_no_id_twice(visit: Visit) -> None:
    levels = visit.page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => Number(h.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = visit.page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_nothing_moves_for_those_who_ask_for_rest(looking: Visit) -> None:
    dialog = looking.preclick("Crowd", "like")
    assert dialog.evaluate("e => getComputedStyle(e).animationName") == "none"
    assert dialog.locator(".mark").evaluate("e => getComputedStyle(e).transitionDuration") == "0s"


def test_the_mark_falls_into_its_region(visit: Visit) -> None:
    """The point of the picture lies where the exact zone is drawn, for every zone and both trade-offs."""
    wrong = visit.page.evaluate("""async () => {
      const { effect } = await import("/static/advice.js");
      const { zonePicture } = await import("/static/picture.js");
      const { drawing, show } = zonePicture();
      document.body.append(drawing);
      const found = [], zones = new Set();
      const n = 1000;
      for (let a = 0; a < n; a += 37) for (let b = 0; a + b < n; b += 41) {
        const { zone } = effect(a, b, n, 1);
        show({ a, b, n, sign: 1, zone });
        const [x, y] = drawing.querySelector(".mark").style.transform.match(/-?[\\d.]+/g).map(Number);
        const here = drawing.querySelector(".here");
        zones.add(zone);
        const near = [[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]]; // borders are drawn to a tenth of a pixel
        if (!near.some(([i, j]) => here.isPointInFill(new DOMPoint(x + i, y + j)))) found.push([a, b, zone, x, y]);
      }
      drawing.remove();
      return [found, zones.size];
    }""")
    assert wrong == [[], 4]


# --- by keyboard ------------------------------------------------------------------------------------------------------

FOCUS = """() => {
  let e = document.activeElement;
  while (e.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
  return (e.id ? '#' + e.id + ' ' : '') + e.textContent.replace(/\\s+/g, ' ').trim().slice(0, 40);
}"""


def test_everything_by_keyboard(visit: Visit) -> None:
    page = visit.page

    def press(*keys: str) -> str:
        for key in keys:
            page.keyboard.press(key)
        return str(page.evaluate(FOCUS))

    assert press("Tab") == "Skip to the recommendations"
    assert press("Enter").startswith("#for-you")
    assert press("Tab") == "Like Crowd"
    assert press("Tab") == "Dislike Crowd"
    assert press("Enter") == "#question Dislike Crowd?"
    assert press("Tab") == "Confirm dislike"
    assert press("Tab", "Space") == "Change to dislike"  # changed: the same button leads back
    assert press("Shift+Tab") == "Confirm like"
    for _ in range(7):
        press("Tab")
        assert page.evaluate("['CLICK-ADVISOR', 'BODY'].includes(document.activeElement.tagName)")  # nothing behind it
    assert press("Escape") == "Dislike Crowd"
    visit.says("Cancelled. Nothing was sent.")
    assert press("Shift+Tab", "Enter") == "#question Like Crowd?"
    press("Tab", "Enter")
    visit.says("Saved: you like Crowd.")
    assert page.evaluate(FOCUS) == "You like it"
    press("Enter")  # once more is no undo
    visit.says("Saved: you like Crowd.")
    assert press("Tab") == "Undo Crowd"
    press("Enter")
    visit.says("Undone: Crowd")
    assert page.evaluate(FOCUS) == "Like Crowd"

    page.locator("#query").focus()
    page.keyboard.type("niche")
    page.locator("#results h3", has_text="Niche").wait_for()
    page.locator("#results li").nth(1).wait_for(state="detached")
    assert press("Tab") == "Like Niche"
    press("Enter", "Tab", "Enter")
    visit.says("Saved: you like Niche.")
    page.locator("input[value='']").focus()
    press("ArrowDown", "ArrowDown")
    visit.says("Your strategy is careful.")
    page.locator("#erase").focus()
    assert press("Enter") == "Keep it"
    press("Tab", "Enter")
    visit.says("All that was yours is erased.")
    assert page.evaluate(FOCUS).startswith("#you")


# --- on a platform ----------------------------------------------------------------------------------------------------


def test_a_platform_hears_only_of_what_is_confirmed(visit: Visit) -> None:
    visit.open("/embed")
    heard = visit.page.locator("#heard li")
    crowd = visit.page.locator("click-advisor[item=Crowd]")
    crowd.locator("button.dislike").click()
    crowd.get_by_role("button", name="Change to like").click()
    assert heard.all_inner_texts() == ["Nothing yet."]
    crowd.get_by_role("button", name="Cancel").click()
    crowd.locator("button.dislike").click()
    crowd.get_by_role("button", name="Change to like").click()
    crowd.get_by_role("button", name="Confirm like").click()
    crowd.get_by_role("button", name="Undo").click()
    assert heard.all_inner_texts() == [
        'advised-cancel {"item":"Crowd"}',
        'advised-click {"item":"Crowd","sign":"like"}',
        'advised-undo {"item":"Crowd"}',
    ]


def test_another_origin_embeds_it(browser: Any, advisor: Server, tmp_path: Path) -> None:
    policy = f"default-src 'none'; script-src {advisor.url}; connect-src {advisor.url}; img-src data:"
    (tmp_path / "index.html").write_text(
        f"""<!doctype html><meta http-equiv="Content-Security-Policy" content="{policy}">
        <link rel="icon" href="data:,"><script type="module" src="{advisor.url}/static/click-advisor.js"></script>
        <click-advisor item="Niche" item-title="Niche" strategy="smart" base="e"></click-advisor>""",
        encoding="utf-8",
    )

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path)) as platform:
        threading.Thread(target=platform.serve_forever, daemon=True).start()
        person = Visit(browser, advisor)
        person.page.goto(f"http://127.0.0.1:{platform.server_port}/")
        at = person.page.locator("click-advisor")
        person.page.wait_for_load_state("networkidle")
        at.locator("button.dislike").click()
        told = at.get_by_role("dialog").inner_text()
        assert "You would be the first to dislike this; 8 like it." in told
        assert re.search(r"Costs \d\.\d nats", told)
        assert at.locator(".advised").inner_text() == "Cancel"
        person.requests.clear()
        person.close()
        platform.shutdown()
