"""How a desk ends: killed, or by Ctrl-C while a page is open; and how the next one goes on."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed: no tests of the desk")
pytest.importorskip("securesystemslib", reason="the extra `sign` is not installed: no tests of the desk")
from desks import RunningDesk, states

SMALL = "sample:films?users=200,items=60"


@contextmanager
def half_sent(desk: RunningDesk) -> Iterator[None]:
    """A file on its way to the desk, of which the rest does not come."""
    asked = desk.client.build_request("POST", "/api/upload?name=half.csv", headers={"Content-Length": "1000000"})
    head = "".join(f"{name}: {value}\r\n" for name, value in asked.headers.items())
    with socket.create_connection((asked.url.host, asked.url.port or 0)) as half:
        half.sendall(f"POST /api/upload?name=half.csv HTTP/1.1\r\n{head}\r\nuser,item\n".encode())
        end = time.monotonic() + 30
        while not list((desk.folder / "uploads").glob(".*.part")):
            assert time.monotonic() < end, "the upload has not begun"
            time.sleep(0.05)
        yield


def test_a_killed_server_loses_nothing_the_next_goes_on_and_ctrl_c_ends_it_with_one_line(tmp_path: Path) -> None:
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
    with (tmp_path / "said").open("w+", encoding="utf-8") as said, RunningDesk(folder, says_to=said) as again:
        found = again.until(lambda s: states(s) == ["done"] * 3)
        assert (folder / "results" / f"{done}.json").stat().st_mtime_ns == before
        assert found["choices"]["candidates"]["specs"] == specs
        shown = again.get("/api/candidates")
        assert {entry["spec"].partition(":")[0] for entry in shown["entries"]} == {s.partition(":")[0] for s in specs}
        with again.client.stream("GET", "/api/events") as stream, half_sent(again):  # as an open page does
            lines = stream.iter_lines()
            assert next(lines) == "event: state"
            again.process.send_signal(signal.SIGINT)
            assert again.process.wait(60) == 0
            list(lines)  # it was ended, not broken off: that would raise
        assert list((folder / "uploads").iterdir()) == []
        said.seek(0)
        assert said.read() == f"everything is in {folder}; recveil desk --project {folder} goes on\n"
