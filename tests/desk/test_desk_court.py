"""The court of a desk: people set aside at the start, submissions sent to the page, the board that it shows."""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed: no tests of the desk")
pytest.importorskip("securesystemslib", reason="the extra `sign` is not installed: no tests of the desk")
from chromium import Chromium
from desks import RunningDesk, decides

from recveil.court.folder import open_court
from recveil.desk.project.choices import ChoiceError, Choices
from recveil.desk.project.court import LATE, set_people_aside
from recveil.desk.project.folder import Project, open_project
from recveil.releases import aside, hash_chain

SMALL = "sample:films?users=300,items=60"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDesk]:
    """A desk whose first release is published, with people set aside before it."""
    with RunningDesk(tmp_path_factory.mktemp("desk"), SMALL) as running:
        running.until_idle()
        assert running.state()["choices"]["judge"]["people"] == 0.0
        running.choose(judge={"people": 0.3})
        running.choose(
            candidates={"specs": ["mask:p=0.9"], "chosen": "mask:p=0.9"},
            recipient={"name": "team"},
        )
        early = running.client.post("/api/work", json={"kind": "court"}).json()
        assert early["field"] == "candidates.chosen", early
        assert running.state()["steps"]["judge"] == {"state": "closed", "why": "it must be published first", "says": ""}
        running.work("bundle")
        running.until_idle()
        decides(running.folder, until="2099-12-31")
        running.work("publish")
        running.until_idle()
        assert running.state()["steps"]["judge"]["state"] == "open"
        assert running.client.get("/api/judge").json()["detail"] == "the court is not open yet"
        running.work("court")
        running.until_idle()
        yield running


def sent(desk: RunningDesk, name: str, content: bytes) -> dict[str, Any]:
    """The job of a submission, when it is over."""
    answer = desk.client.post("/api/upload", params={"name": name, "as": "submission"}, content=content)
    assert answer.status_code == 201, answer.text
    work = desk.until_idle()["work"]
    return next(one for one in work if one["kind"] == "judge" and one["title"] == Path(answer.json()["path"]).name)


def table(frame: pl.DataFrame) -> bytes:
    made = io.BytesIO()
    frame.write_parquet(made)
    return made.getvalue()


def ranked(desk: RunningDesk, seed: int) -> bytes:
    items = open_court(desk.folder / "private" / "court").items()
    return table(pl.DataFrame({"item": items.gather(np.random.default_rng(seed).permutation(len(items)))}))


def test_those_set_aside_are_in_no_release_and_alone_are_judged_on(desk: RunningDesk) -> None:
    ledger = desk.folder / "ledger.jsonl"
    assert aside.share_aside(hash_chain.read(ledger)) == 0.3
    project = Project(desk.folder)
    rows = project.input(project.read()[0].data).all_rows()
    parted = aside.parted(ledger, rows, 0.3)
    released = [line for line in hash_chain.read(ledger) if line.get("mechanism", "").startswith("mask")]
    assert [line["people"] for line in released] == [[0.3, 1.0]]
    inside, outside = (set(map(str, part.users)) for part in (parted.train, parted.test))
    held = set(map(str, pl.read_csv(next((desk.folder / "private").glob("*-map.csv")))["original"]))
    assert held and held <= inside and not held & outside
    court = open_court(desk.folder / "private" / "court")
    assert 0 < len(court.people()) <= parted.test.n_users
    assert (desk.folder / "private" / "court").stat().st_mode & 0o077 == 0


def test_after_the_first_release_nobody_else_is_set_aside(desk: RunningDesk) -> None:
    for share in (0.0, 0.1, 0.5):
        answer = desk.client.patch("/api/project", json={"choices": {"judge": {"people": share}}})
        assert (answer.status_code, answer.json()["field"], answer.json()["detail"]) == (422, "judge.people", LATE)
    assert "people = 0.3\n" in (desk.folder / "desk.toml").read_text(encoding="utf-8")
    desk.choose(judge={"people": 0.3})  # as it is


def test_by_hand_it_is_refused_too_before_a_line_is_written(desk: RunningDesk) -> None:
    project = Project(desk.folder)
    before = (desk.folder / "ledger.jsonl").read_bytes()
    with pytest.raises(ChoiceError, match="before the first release"):
        set_people_aside(project, Choices().changed({"judge": {"people": 0.5}}))
    with pytest.raises(ChoiceError, match="names none"):
        set_people_aside(project, Choices().changed({"judge": {"people": 0.5}, "release": {"ledger": ""}}))
    assert (desk.folder / "ledger.jsonl").read_bytes() == before


def test_without_the_choice_nobody_is_set_aside_and_the_page_says_so(tmp_path: Path) -> None:
    project = open_project(tmp_path)
    set_people_aside(project, project.read()[0])
    assert list(tmp_path.glob("ledger*")) == [] and "[judge]\npeople = 0.0\n" in project.text()
    with pytest.raises(ChoiceError, match="a share") as refused:
        project.change({"judge": {"people": 1.0}})
    assert refused.value.field == "judge.people"


def test_a_submission_is_answered_once_and_the_board_is_the_command_s(
    desk: RunningDesk, recveil: Callable[..., Any], tmp_path: Path
) -> None:
    left = desk.get("/api/judge")["left"]
    model = ranked(desk, 1)
    assert sent(desk, "team <a>.parquet", model)["state"] == "done"
    shown = desk.get("/api/judge")
    assert shown["left"] == left - 1
    rows = shown["tables"][0]["rows"]
    assert [row["name"] for row in rows] == ["team_a_"]
    again = sent(desk, "again.parquet", model)
    assert again["state"] == "done" and desk.get("/api/judge")["left"] == left - 1  # the same file: the same answer
    made = recveil("judge", "board", desk.folder / "private" / "court", "-o", tmp_path / "b.html", json_answer=True)
    written = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))
    moving = {"date"}
    assert {k: v for k, v in written.items() if k not in moving} == {
        k: v for k, v in desk.get("/api/judge").items() if k not in moving
    }
    assert made["files"] == [str(tmp_path / "b.html"), str(tmp_path / "b.json")]
    page = desk.client.get("/api/judge/page")
    assert "frame-ancestors 'self'" in page.headers["content-security-policy"] and "<script" not in page.text
    assert rows[0]["name"] in page.text and rows[0]["sha256"][:8] in page.text


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("evil.pkl", b"\x80\x04\x95\x0c\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94.", "pickle"),
        ("rows.parquet", table(pl.DataFrame({"user": [1], "item": [2]})), "a submission has"),
        ("empty.parquet", b"", ""),
    ],
)
def test_what_is_refused_is_one_line_and_spends_nothing(
    desk: RunningDesk, name: str, content: bytes, says: str
) -> None:
    before = (desk.folder / "ledger.jsonl").read_bytes()
    refused = sent(desk, name, content)
    assert refused["state"] == "failed" and says in refused["line"].lower() and "\n" not in refused["line"]
    assert (desk.folder / "ledger.jsonl").read_bytes() == before


def test_a_refused_file_is_dropped_when_the_next_one_comes(desk: RunningDesk) -> None:
    assert sent(desk, "bad.parquet", b"PAR1 no")["state"] == "failed"
    assert sent(desk, "good.parquet", ranked(desk, 2))["state"] == "done"
    files = desk.state()["choices"]["judge"]["submissions"]
    assert "uploads/good.parquet" in files and "uploads/bad.parquet" not in files


def test_the_commands_of_the_page_are_taken_as_they_stand(
    desk: RunningDesk, recveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    new, *scores, board = desk.state()["commands"]["judge"]
    assert scores and board.startswith("recveil judge board private/court -o board.html")
    monkeypatch.chdir(desk.folder)
    for line in (scores[0], board):
        recveil(*shlex.split(line)[1:])
    assert (desk.folder / "board.claims.jsonl").exists()
    made = recveil(*shlex.split(new.replace("private/court", "another"))[1:], json_answer=True)
    assert made["settled"]["share"] == 0.3 and made["settled"]["epsilon"] == 1.0


def test_an_owner_sends_a_model_and_sees_the_board(browser: Any, desk: RunningDesk, tmp_path: Path) -> None:
    file = tmp_path / "by hand.parquet"
    file.write_bytes(ranked(desk, 3))
    owner = Chromium(browser, desk, viewport={"width": 390, "height": 800})
    owner.open("judge")
    owner.wait("iframe.sheet")
    owner.give("#field-judge-submissions", file)
    board = owner.page.frame_locator("iframe.sheet")
    board.get_by_text("by_hand").first.wait_for(timeout=60_000)
    assert owner.page.evaluate("document.documentElement.scrollWidth") <= 390
    owner.open("start")
    assert owner.page.locator("#field-judge-people").input_value() == "0.3"
    owner.select("#field-judge-people", "0")
    owner.wait("#problem")
    assert LATE in owner.text("#problem") and owner.page.locator("#field-judge-people").input_value() == "0.3"
    owner.close()
