"""Where no candidate is good enough the desk says which wish could give way; where one is, it says nothing."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed: no tests of the desk")
from chromium import Chromium
from desks import RunningDesk

from recveil.desk.project.advice import advice
from recveil.desk.project.choices import Choices, Data, Use
from recveil.governance.recipients import built_in
from recveil.measurement import Measurement
from recveil.mechanisms.spec import parse
from recveil.report.table import Entry, Report

SIZE = {"kind": "ratings", "users": 900, "items": 300, "rows": 20_000}
RATED, BARE = "dp-ratings:epsilon=1,delta=1e-06,scale=1..5", "pseudonymise"


def report(*trials: tuple[str, float, float]) -> Report:
    """Of each candidate: who is found, and what is kept."""
    entries, numbers = [], []
    for spec, found, kept in trials:
        promise: Any = SimpleNamespace(epsilon=getattr(parse(spec), "epsilon", None))
        entries.append(Entry(spec, promise, "", 20_000, 900))
        params = {"known": 4, "attacker": "intersection", "ratings": False}
        for attacker in ("intersection", "strongest"):
            low, high = max(found - 0.01, 0), found + 0.01
            some: dict[str, Any] = params | {"attacker": attacker}
            numbers.append(Measurement("linkage", found, low, high, 900, params=some, mechanism=spec))
        numbers.append(Measurement("lift", kept, kept - 0.02, kept + 0.02, 900, mechanism=spec))
    return Report(SIZE, tuple(entries), tuple(numbers))


def kinds(found: list[dict[str, Any]]) -> list[str]:
    return [one["kind"] for one in found]


def test_each_wish_that_could_give_way_is_named_with_what_it_would_take() -> None:
    choices = Choices(data=Data("sample:films"), use=Use("recommend", keep=0.7))
    found = advice(report((RATED, 0.02, 0.43), (BARE, 0.15, 0.97)), choices, built_in()["public"])
    assert kinds(found) == ["use", "recipient", "epsilon", "items", "people"]
    use, recipient, epsilon, items, people = found
    assert use["changes"] == {"use": {"keep": 0.4}}
    assert recipient["changes"] == {"recipient": {"name": "contractor"}}
    assert epsilon["spec"] == "dp-ratings:epsilon=2,delta=1e-06,scale=1..5" and epsilon["run"]
    assert items["changes"] == {"data": {"items": "sample:films"}, "release": {"catalogue_is_public": True}}
    assert people["changes"] == {}


def test_nothing_is_said_where_one_is_good_enough() -> None:
    choices = Choices(data=Data("sample:films"), use=Use("recommend", keep=0.4))
    assert advice(report((RATED, 0.02, 0.43), (BARE, 0.9, 0.97)), choices, built_in()["public"]) == []
    assert advice(report(), choices, built_in()["public"]) == []


def test_what_the_figures_do_not_bear_is_not_advised() -> None:
    weakest = RATED.replace("epsilon=1", "epsilon=4")
    choices = Choices(data=Data("films.csv", items="items.csv"), use=Use("recommend", keep=0.7))
    found = advice(report((weakest, 0.02, 0.01), (BARE, 0.99, 0.97)), choices, built_in()["public"])
    assert kinds(found) == [
        "people"
    ]  # nothing is kept, nobody else may have it, epsilon is at its limit, items are used
    failed = advice(report((BARE, 0.99, 0.97)), choices, built_in()["public"], [RATED])  # it would keep too few items
    assert kinds(failed) == ["epsilon", "people"] and failed[0]["spec"].startswith("dp-ratings:epsilon=2")
    own = advice(report((BARE, 0.99, 0.5)), Choices(data=Data("films.csv"), use=Use("recommend")), built_in()["team"])
    assert kinds(own) == ["items"] and own[0]["asks"] == "data.items" and own[0]["changes"] == {}


GIVEN = """async () => {
  const { advice } = await import("/static/advice.js");
  const line = (kind, more) => ({ kind, changes: {}, run: false, asks: "", ...more });
  document.getElementById("screen").replaceChildren(advice([
    line("use", { share: 0.4, changes: { use: { keep: 0.4 } } }), line("recipient", { recipient: "team" }),
    line("items", { asks: "data.items" }), line("people", { people: 5000 })]));
}"""


def test_a_button_lets_a_wish_give_way(browser: Any, tmp_path: Path) -> None:
    with RunningDesk(tmp_path / "desk", "sample:films?users=60,items=50") as desk:
        desk.until_idle()
        owner = Chromium(browser, desk, bypass_csp=True)
        owner.open("use")
        owner.page.evaluate(GIVEN)
        owner.fill("#public-items", "/nowhere/items.csv")
        owner.click(".advice form button")
        owner.page.locator("#problem").filter(has_text="there is no such file").wait_for()
        assert "5,000" in owner.text(".advice")
        owner.click("[data-key='advice-use']")
        desk.until(lambda state: state["choices"]["use"]["keep"] == 0.4)
        owner.wait("body[data-ready]")
        owner.close()
