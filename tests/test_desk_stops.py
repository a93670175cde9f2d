"""What a desk survives: Ctrl-C, a kill, a tab that is closed, work that is called off."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed: no tests of the desk")
pytest.importorskip("securesystemslib", reason="the extra `sign` is not installed: no tests of the desk")
from chromium import Chromium
from desks import RunningDesk, states

SMALL = "sample:films?users=200,items=60"


def test_ctrl_c_ends_with_one_line_although_a_page_listens(tmp_path: Path) -> None:
    with (tmp_path / "said").open("w+", encoding="utf-8") as said:
        desk = RunningDesk(tmp_path / "desk", says_to=said)
        try:
            with desk.client.stream("GET", "/api/events") as stream:
                assert next(stream.iter_lines()) == "event: state"
                desk.process.send_signal(signal.SIGINT)
                assert desk.process.wait(30) == 0
        finally:
            desk.close()
        said.seek(0)
        assert said.read() == f"everything is in {desk.folder}; recveil desk --project {desk.folder} goes on\n"


def test_a_killed_server_loses_nothing_and_the_next_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    specs = ["pseudonymise", "random-ratings", "microaggregation:k=3"]
    desk = RunningDesk(folder, SMALL)
    try:
        desk.until_idle()
        desk.choose(candidates={"specs": specs, "measures": ["linkage", "reconstruction"]})
        desk.work("candidates")
        desk.until(lambda s: "running" in states(s) and "done" in states(s))
        (done,) = [w["id"] for w in desk.state()["work"] if w["kind"] == "candidate" and w["state"] == "done"][:1]
        before = (folder / "results" / f"{done}.json").stat().st_mtime_ns
    finally:
        desk.kill()
    with RunningDesk(folder) as again:
        found = again.until(lambda s: states(s) == ["done"] * 3)
        assert (folder / "results" / f"{done}.json").stat().st_mtime_ns == before
        assert found["choices"]["candidates"]["specs"] == specs
        shown = again.get("/api/candidates")
        assert {entry["spec"].partition(":")[0] for entry in shown["entries"]} == {s.partition(":")[0] for s in specs}


def test_a_closed_tab_loses_nothing_and_what_was_cancelled_runs_when_asked(browser: Any, tmp_path: Path) -> None:
    specs = ["pseudonymise", "random-ratings"]
    with RunningDesk(tmp_path / "desk", SMALL) as desk:
        desk.until_idle()
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
        desk.until(lambda s: "running" in states(s))
        tab.close()
