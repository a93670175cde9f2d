"""The projects of a desk: made, opened, renamed and deleted from its first page; the tour leaves none behind."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed: no tests of the desk")
from chromium import Chromium
from desks import RunningDesk

SMALL = "sample:films?users=60,items=50"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDesk]:
    with RunningDesk(tmp_path_factory.mktemp("shelf") / "first", SMALL) as running:
        running.until_idle()
        yield running


def says(desk: RunningDesk, path: str, status: int = 200, **body: Any) -> dict[str, Any]:
    answer = desk.client.post(path, json=body)
    assert answer.status_code == status, answer.text
    return dict(answer.json())


def names(desk: RunningDesk) -> set[str]:
    return {one["name"] for one in desk.get("/api/projects")["projects"]}


def test_projects_are_made_opened_renamed_and_deleted(desk: RunningDesk) -> None:
    shelf = desk.folder.parent
    before = desk.state()["project"]
    made = says(desk, "/api/projects/new", name="Second shop")
    assert made["open"] == "Second shop" and (shelf / "Second shop" / "desk.toml").exists()
    assert desk.state()["choices"]["data"]["source"] == ""
    # The page of the first project is still open in a tab: what it asks for is done to no other project.
    stale = desk.client.patch(
        "/api/project",
        json={"choices": {"recipient": {"name": "public"}}, "version": desk.state()["project"]["version"]},
        headers={"Recveil-Project": before["mark"]},
    )
    assert stale.status_code == 409 and "another project was opened" in stale.json()["detail"]
    assert desk.state()["choices"]["recipient"]["name"] == ""
    # The address is kept for both, so that a tab of either comes back after a restart.
    assert (shelf / "Second shop" / ".desk.address").read_text() == (shelf / "first" / ".desk.address").read_text()
    assert says(desk, "/api/projects/rename", name="Second shop", to="Renamed")["open"] == "Renamed"
    assert names(desk) == {"first", "Renamed"} and not (shelf / "Second shop").exists()
    assert desk.choose(recipient={"purpose": "kept"})["project"]["name"] == "Renamed"
    assert says(desk, "/api/projects/open", name="first")["open"] == "first"
    assert desk.state()["choices"]["data"]["source"] == SMALL
    assert desk.state()["steps"]["start"]["state"] == "done"
    # What was spent is not forgotten with the project.
    (shelf / "Renamed" / "ledger.jsonl").write_text('{"spent": 1}\n')
    assert "type the name" in says(desk, "/api/projects/delete", 422, name="Renamed", to="renamed")["detail"]
    assert says(desk, "/api/projects/delete", name="Renamed", to="Renamed")["kept"] == "Renamed-ledger.jsonl"
    assert (shelf / "Renamed-ledger.jsonl").read_text() == '{"spent": 1}\n' and not (shelf / "Renamed").exists()
    assert names(desk) == {"first"} and [p.name for p in shelf.iterdir() if p.name.endswith("deleted")] == []


@pytest.mark.parametrize(
    ("path", "body", "line"),
    [
        ("new", {"name": "../outside"}, "a project has a name of letters"),
        ("new", {"name": ".hidden"}, "a project has a name of letters"),
        ("new", {"name": "first"}, "is there already"),
        ("open", {"name": "nobody"}, "there is no project nobody"),
        ("delete", {"name": "first", "to": "first"}, "open another project first"),
        ("delete", {"name": "../x", "to": "../x"}, "a project has a name of letters"),
        ("rename", {"name": "first", "to": "a/b"}, "a project has a name of letters"),
    ],
)
def test_what_cannot_be_is_one_line(desk: RunningDesk, path: str, body: dict[str, str], line: str) -> None:
    assert line in says(desk, f"/api/projects/{path}", 422, **body)["detail"]
    assert desk.state()["project"]["name"] == "first"


def test_a_project_that_another_desk_has_open_is_left_alone(desk: RunningDesk) -> None:
    with RunningDesk(desk.folder.parent / "elsewhere"):
        for path, more in (("open", ""), ("rename", "taken"), ("delete", "elsewhere")):
            line = says(desk, f"/api/projects/{path}", 422, name="elsewhere", to=more)["detail"]
            assert "a desk is open on this folder already" in line
    says(desk, "/api/projects/delete", name="elsewhere", to="elsewhere")


def test_the_tour_leaves_the_project_as_it_was_and_nothing_behind(desk: RunningDesk) -> None:
    before = desk.state()
    text = (desk.folder / "desk.toml").read_bytes()
    touring = says(desk, "/api/tour")
    folder = Path(touring["project"]["folder"])
    assert touring["project"]["tour"] and folder != desk.folder and folder.parent.stat().st_mode & 0o077 == 0
    assert touring["choices"]["data"]["source"] == "sample:films"
    desk.choose(recipient={"name": "public"})
    assert (desk.folder / "desk.toml").read_bytes() == text
    back = says(desk, "/api/tour/end")
    assert back["project"] == before["project"] and back["choices"] == before["choices"]
    assert not folder.exists()
    folder = Path(says(desk, "/api/tour")["project"]["folder"])
    assert says(desk, "/api/projects/open", name="first")["open"] == "first"
    assert not folder.exists() and not desk.state()["project"]["tour"]


def test_a_file_that_changed_on_the_disk_is_said(tmp_path: Path) -> None:
    file = tmp_path / "clicks.csv"
    rows = [f"p{u},i{(u * 7 + k) % 20}" for u in range(40) for k in range(5)]
    file.write_text("user,item\n" + "\n".join(rows) + "\n")
    with RunningDesk(tmp_path / "desk", str(file)) as desk:
        desk.until_idle()
        assert not desk.state()["changed"] and desk.state()["steps"]["people"]["state"] == "done"
        time.sleep(0.01)
        file.write_text("user,item\n" + "\n".join(rows[:150]) + "\n")
        assert desk.state()["changed"] and desk.state()["steps"]["people"]["state"] == "closed"
        desk.work("overview")
        assert not desk.until_idle()["changed"]
        assert desk.get("/api/overview")["rows"] == 150


def test_an_owner_finds_her_projects_on_the_first_page(browser: Any, desk: RunningDesk) -> None:
    owner = Chromium(browser, desk)
    owner.open("home")
    assert "first" in owner.text(".projects .here h2")
    owner.fill("#field-project-name", "A new one")
    owner.click("#new")
    owner.wait("body[data-page='start']")
    owner.open("home")
    owner.click("[data-open='first']")
    owner.wait("body[data-page='exposure']")  # where she was
    # Other data, once the project has come further: what that means is said first.
    desk.choose(recipient={"name": "team"})
    owner.open("start")
    owner.click("button.sample:nth-of-type(1)")
    owner.wait("dialog.sure[open]")
    owner.page.keyboard.press("Escape")
    assert desk.state()["choices"]["data"]["source"] == SMALL
    desk.until_idle()  # where work is under way no other project is opened
    owner.click("#take-tour")
    owner.wait("#tour:not([hidden])")
    owner.wait("#found .big", 120)
    assert desk.state()["project"]["tour"]
    owner.click("#end-tour")
    owner.wait("#tour[hidden]")
    assert json.loads(owner.page.locator("#state").text_content() or "")["project"]["name"] == "first"
    owner.page.set_viewport_size({"width": 320, "height": 800})
    owner.open("home?lang=de")
    assert owner.page.evaluate("document.documentElement.scrollWidth") <= 320
    owner.close()
