"""The click advisor in a real browser, against a real server: what people do, and what leaves their device."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from advisor_server import COUNTS, STRANGE, Server
from visits import Visit

pytest.importorskip("fastapi", reason="the extra serve is not installed: no browser tests of it")


# --- the whole way ----------------------------------------------------------------------------------------------------


def test_a_person_looks_clicks_returns_and_leaves(visit: Visit) -> None:
    page = visit.page
    assert page.locator("#recommended h3").first.inner_text() == "Crowd"  # what most people like
    people, counts = page.evaluate("""async () => {
      const { publicTable } = await import("/static/profiles.js");
      const table = publicTable(new URL("/api/v1", location.href).href);
      return [table.people, [...table.profiles.values()]];
    }""")
    start = sum(math.log2(people / (people - sum(seen))) for seen in counts if seen)
    assert visit.numbers() == ["0", "0.00", f"{start:.1f}"]  # not clicking tells something too
    assert page.locator("#erase").is_hidden()

    advice = visit.preclick("Crowd", "like")
    told = advice.inner_text()
    assert "Safe" in told and "Better recommendations, and you hide better in the crowd." in told
    likes, dislikes = COUNTS["Crowd"]
    silent = people - likes - dislikes
    assert "You would be one of 151 people who like this; 10 dislike it." in told
    gain, cost = math.log2((likes + 1) / silent), math.log2(silent / (dislikes + 1))
    assert f"Gains {gain:.1f} bits: the crowd you hide in grows from {silent} people to 151." in told
    assert "Helped: with you, 94% of those who clicked feel the same." in told
    assert f"To dislike it instead would cost {cost:.1f} bits of privacy" in told
    advice.get_by_role("button", name="Confirm like").click()
    visit.says("Saved: you like Crowd.")
    visit.confirm(STRANGE, "dislike")
    assert visit.clicks() == [f"You dislike {STRANGE}Deleterious", "You like CrowdSafe"]
    assert visit.numbers()[0] == "2"
    assert "151 like it, 10 dislike it" in page.locator("#recommended").inner_text()

    visit.open()
    assert visit.clicks() == [f"You dislike {STRANGE}Deleterious", "You like CrowdSafe"]
    assert visit.numbers()[0] == "2"
    assert page.locator("svg.disclosure").get_attribute("aria-label").startswith("Disclosure over your 2 clicks: from ")
    assert page.locator("#steps tr").count() == 3

    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    kept = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert [(click["item"], click["sign"]) for click in kept["clicks"]] == [("Crowd", "like"), (STRANGE, "dislike")]

    page.locator("#clicks button").first.click()
    visit.says(f"Undone: {STRANGE}")
    assert visit.clicks() == ["You like CrowdSafe"]

    page.get_by_role("button", name="Erase all that is mine").click()
    page.get_by_role("button", name="Keep it").click()
    assert visit.clicks() == ["You like CrowdSafe"]
    page.get_by_role("button", name="Erase all that is mine").click()
    page.get_by_role("dialog").get_by_role("button", name="Erase all").click()
    visit.says("All that was yours is erased.")
    assert visit.clicks() == [] and visit.numbers()[0] == "0"
    assert visit.context.cookies() == [] and page.evaluate("localStorage.length") == 0
    visit.open()
    assert visit.clicks() == []


def test_until_she_confirms_nothing_leaves_the_device(visit: Visit) -> None:
    visit.page.wait_for_load_state("networkidle")
    assert visit.sent().count(("GET", "/api/v1/profiles")) == 1  # all items at once, for all elements of the page
    for title in ("Crowd", "Niche", "Rare"):
        for verb, other in (("like", "dislike"), ("dislike", "like")):
            visit.preclick(title, verb).get_by_role("button", name="Cancel").click()
            visit.preclick(title, verb)
            visit.page.keyboard.press("Escape")
            advice = visit.preclick(title, verb)
            advice.get_by_role("button", name=f"Change to {other}").click()
            advice.get_by_role("button", name=f"Change to {verb}").click()
            advice.get_by_role("button", name="Cancel").click()
            visit.says("Cancelled. Nothing was sent.")
    visit.page.wait_for_timeout(500)
    assert not set(visit.sent()) - {("GET", "/api/v1/profiles")}  # those of all items, anew after a minute
    assert visit.context.cookies() == [] and visit.page.evaluate("localStorage.length") == 0
    stored = visit.page.evaluate("async () => [sessionStorage.length, (await indexedDB.databases()).length]")
    assert stored == [0, 0]

    with visit.page.expect_console_message(lambda said: "405" in said.text):  # nobody takes a POST there
        for trick in ("navigator.sendBeacon('/?1')", "void (new Image().src = '/?2')", "void fetch('/?3')"):
            visit.page.evaluate(trick)  # the watch is awake
    visit.page.wait_for_load_state("networkidle")
    assert visit.sent() == [("POST", "/?1"), ("GET", "/?2"), ("GET", "/?3")]
    visit.complaints[:] = [said for said in visit.complaints if "405" not in said]
    visit.confirm("Film 11", "like")
    visit.page.wait_for_load_state("networkidle")
    recommended = ("GET", "/api/v1/people/me/recommendations?limit=6")
    assert visit.sent() == [("POST", "/api/v1/people"), ("PUT", "/api/v1/people/me/clicks/Film%2011"), recommended]


def test_a_changed_click_looks_like_any_other(visit: Visit) -> None:
    """What is sent must not tell that she meant the opposite."""

    def shape(asked: Any) -> Any:
        return asked.method, sorted(asked.headers), json.loads(asked.post_data)

    visit.confirm("Film 01", "like")
    visit.requests.clear()
    visit.confirm("Film 02", "like")
    advice = visit.preclick("Film 03", "dislike")
    advice.get_by_role("button", name="Change to like").click()
    assert "You meant to dislike it. If that is your taste, this click teaches another one." in advice.inner_text()
    advice.get_by_role("button", name="Confirm like").click()
    visit.says("Saved: you like Film 03.")
    plain, changed = (shape(asked) for asked in visit.requests if asked.method == "PUT")
    assert plain == changed == ("PUT", plain[1], {"sign": "like"})


def test_too_few_people_are_not_shown(visit: Visit) -> None:
    advice = visit.preclick("Rare", "like")
    told = advice.inner_text()
    assert "Unknown zone" in told and "fewer than 5 people clicked on this: too few to say" in told
    assert "You would be one of" not in told
    assert advice.get_by_role("img").get_attribute("aria-label").endswith("is not known.")
    assert "fewer than 5 people clicked" in visit.page.locator("#results").inner_text()


# --- strategies -------------------------------------------------------------------------------------------------------


def test_a_strategy_advises_and_can_be_followed_without_asking(visit: Visit) -> None:
    page = visit.page

    def advised(title: str, verb: str) -> tuple[str, bool]:
        found = visit.preclick(title, verb).locator(".advised")
        said = (found.inner_text(), found.evaluate("e => e.getRootNode().activeElement === e"))
        page.keyboard.press("Escape")
        return said

    assert visit.preclick("Crowd", "dislike").locator(".advised").count() == 0
    page.keyboard.press("Escape")
    for name, dangerous, deleterious in (
        ("Basic", "Confirm dislike", "Confirm dislike"),
        ("Careful", "Cancel", "Cancel"),
        ("Smart", "Change to like", "Cancel"),
    ):
        page.locator(f"input[value={name.lower()}]").check()
        visit.says(f"Your strategy is {name.lower()}.")
        assert advised("Crowd", "dislike") == (dangerous, True)
        assert advised("Niche", "dislike") == (deleterious, True)
        assert advised("Niche", "like") == ("Confirm like", True)
    visit.open()
    assert page.get_by_role("radio", name="Smart").is_checked()

    page.get_by_label("Follow it without asking").check()
    page.wait_for_load_state("networkidle")
    visit.sent()
    at = visit.item("Niche")
    at.locator("button.dislike").click()
    assert "Not clicked: to dislike it is deleterious." in at.locator(".note").inner_text()
    at.get_by_role("button", name="Show me").click()
    page.keyboard.press("Escape")
    visit.preclick("Crowd", "dislike").get_by_role("button", name="Cancel").click()  # a change is always shown first
    assert visit.sent() == []
    visit.item("Niche").locator("button.like").click()
    visit.says("Saved: you like Niche.")
    assert visit.clicks() == ["You like NicheTrade-off"]


@pytest.mark.parametrize("times", [6, pytest.param(50, marks=pytest.mark.slow)])
def test_a_pre_click_made_while_results_arrive_keeps_its_dialog(visit: Visit, times: int) -> None:
    """She types and presses at once: rows come, go and move a moment later, between press and release, or under the
    open dialog."""
    page, kept, late = visit.page, [], 0
    asked = "() => [...document.querySelectorAll('#results click-advisor')].some(e => e.asks)"
    heading = page.locator("#results").get_by_role("heading", name="Film 05", exact=True)
    for turn in range(times):
        page.locator("#query").fill("")
        page.locator("#results > li").nth(11).wait_for()
        button = heading.locator("xpath=../..").locator("click-advisor button.like")
        button.scroll_into_view_if_needed()
        box = button.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.locator("#query").evaluate(
            "(e, words) => { e.value = words; e.dispatchEvent(new Event('input')); }", "crowd"
        )
        page.wait_for_timeout(37 * turn % 80)
        page.mouse.down()
        late += page.locator("#results > li").count() == 1  # the machine is busy: she pressed on what was there by then
        page.wait_for_timeout(53 * turn % 200)
        page.mouse.up()
        page.wait_for_timeout(200)  # by now the results are there, and wait
        kept.append(page.evaluate(asked) and page.locator("#results > li").count() == 12)
        page.keyboard.press("Escape")
        page.locator("#results > li").nth(1).wait_for(state="detached")
    assert kept.count(True) == times - late > times / 2


# --- several people, and a server that goes away ----------------------------------------------------------------------


def test_two_people_at_once(browser: Any, advisor: Server) -> None:
    first, second = (Visit(browser, advisor).open() for _ in range(2))
    one, other = (person.preclick("Film 05", verb) for person, verb in ((first, "like"), (second, "dislike")))
    one.get_by_role("button", name="Confirm like").click()
    other.get_by_role("button", name="Confirm dislike").click()
    first.says("Saved: you like Film 05.")
    second.says("Saved: you dislike Film 05.")
    first.confirm("Film 06", "like")
    for person in (first, second):
        person.open()
    assert first.clicks() == ["You like Film 06Trade-off", "You like Film 05Trade-off"]
    assert second.clicks() == ["You dislike Film 05Deleterious"]
    first.close()
    second.close()


def test_public_counts_follow_without_a_reload(browser: Any, advisor: Server) -> None:
    watching = Visit(browser, advisor)
    watching.page.clock.install()
    watching.open()
    shown = watching.item("Film 09").locator("xpath=..").locator(".counts")
    assert shown.inner_text() == "10 like it, 3 dislike it"
    for _ in range(5):  # five people: fewer would not be shown
        advisor.click("Film%2009", "dislike")
    watching.page.wait_for_timeout(500)
    watching.page.clock.fast_forward(61_000)
    shown.filter(has_text="10 like it, 8 dislike it").wait_for()
    assert "one of 9 people who dislike this; 10 like it" in watching.preclick("Film 09", "dislike").inner_text()
    watching.close()


def test_a_server_that_stops_and_returns(visit: Visit) -> None:
    visit.confirm("Film 07", "like")
    visit.server.stop()
    advice = visit.preclick("Film 08", "like")  # advice needs no server
    assert "You would be one of 11 people who like this; 3 dislike it." in advice.inner_text()
    advice.get_by_role("button", name="Confirm like").click()
    visit.says("The server cannot be reached.")
    assert visit.clicks() == ["You like Film 07Trade-off"]
    visit.server.start()
    visit.page.get_by_role("button", name="Try again").click()
    visit.says("Saved: you like Film 08.")
    visit.open()
    assert visit.clicks() == ["You like Film 08Trade-off", "You like Film 07Trade-off"]
    visit.complaints[:] = [said for said in visit.complaints if "ERR_CONNECTION_REFUSED" not in said]


def test_an_answer_that_is_lost_makes_no_second_click(visit: Visit) -> None:
    """The click is saved, its answer never arrives, she tries again: the same key, one click."""
    keys = []

    def lose(route: Any) -> None:
        keys.append(route.request.headers["idempotency-key"])
        if len(keys) == 1:
            route.fetch()
            return route.abort()
        return route.continue_()

    visit.page.route("**/me/clicks/*", lose)
    visit.preclick("Film 10", "like").get_by_role("button", name="Confirm like").click()
    visit.says("The server cannot be reached.")
    visit.page.get_by_role("button", name="Try again").click()
    visit.says("Saved: you like Film 10.")
    assert len(keys) == 2 and keys[0] == keys[1]
    visit.open()
    assert visit.clicks() == ["You like Film 10Trade-off"]
    visit.complaints[:] = [said for said in visit.complaints if "ERR_FAILED" not in said]


def test_two_quick_first_clicks_make_one_account(browser: Any, advisor: Server) -> None:
    """The answer to the first takes its time, and she goes on clicking; in two pages of one browser, too."""
    person = Visit(browser, advisor).open()
    other = person.context.new_page()
    other.goto(advisor.url)
    other.locator("click-advisor button").first.wait_for()

    def late(route: Any) -> None:
        answer = route.fetch()
        person.page.wait_for_timeout(1500)
        route.fulfill(response=answer)

    person.context.route("**/api/v1/people", late)
    for title in ("Film 18", "Film 19"):
        person.preclick(title, "like").get_by_role("button", name="Confirm like").click()
    at = other.locator("#recommended click-advisor").first
    at.locator("button.like").click()
    at.get_by_role("button", name="Confirm like").click()
    person.says("Saved: you like Film 19.")
    other.locator("#status").filter(has_text="Saved").wait_for()
    person.open()
    assert len(person.clicks()) == 3
    assert [asked.method for asked in person.requests if asked.url.endswith("/api/v1/people")] == ["POST"]
    person.page.evaluate("localStorage.clear()")  # and the cookie is kept
    person.open()
    person.confirm("Film 20", "like")
    person.open()
    assert len(person.clicks()) == 4
    person.close()


def test_an_account_that_is_gone(visit: Visit) -> None:
    visit.confirm("Film 16", "like")
    visit.context.clear_cookies()
    visit.preclick("Film 17", "like").get_by_role("button", name="Confirm like").click()
    visit.page.locator("#clicks li").wait_for(state="detached")
    assert visit.page.locator("#status button").count() == 0  # trying again would not help
    visit.confirm("Film 17", "like")
    assert visit.clicks() == ["You like Film 17Trade-off"]
    visit.complaints[:] = [said for said in visit.complaints if "401" not in said]
