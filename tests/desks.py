"""A desk for tests: `recveil desk` as a process of its own, and a client that holds its cookie."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import httpx2 as httpx

from recveil.desk.project.officer import OfficersCase
from recveil.releases.keys import new_key

PATIENCE = 240.0  # seconds: machines are shared


class RunningDesk:
    """The command, started on a folder; `client` asks as the page does, with cookie and Origin.

    says_to: the file to which its standard error goes.
    """

    def __init__(self, folder: Path, *arguments: str, says_to: IO[str] | None = None) -> None:
        self.folder = folder
        command = [sys.executable, "-m", "recveil", "desk", *arguments, "--project", str(folder)]
        self.process = subprocess.Popen(
            [*command, "--no-browser", "--json"],
            stdout=subprocess.PIPE,
            stderr=says_to,
            text=True,
        )
        assert self.process.stdout is not None
        self.address: str = json.loads(self.process.stdout.readline())["url"]
        self.base = self.address.partition("/?")[0]
        self.client = httpx.Client(base_url=self.base, timeout=60, headers={"Origin": self.base})
        self.first = self.client.get(self.address.removeprefix(self.base), follow_redirects=False)

    def state(self) -> dict[str, Any]:
        return dict(self.get("/api/state"))

    def get(self, path: str) -> Any:
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def choose(self, **choices: Any) -> dict[str, Any]:
        answer = self.client.patch("/api/project", json={"choices": choices})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def work(self, kind: str) -> dict[str, Any]:
        answer = self.client.post("/api/work", json={"kind": kind})
        assert answer.status_code == 202, answer.text
        return dict(answer.json())

    def until(self, true: Callable[[dict[str, Any]], Any], what: str = "") -> dict[str, Any]:
        """The state as soon as something is true of it."""
        end = time.monotonic() + PATIENCE
        while not true(found := self.state()):
            assert time.monotonic() < end, (what, found["work"])
            time.sleep(0.1)
        return found

    def until_idle(self) -> dict[str, Any]:
        return self.until(lambda s: all(w["state"] not in ("queued", "running") for w in s["work"]), "idle")

    def kill(self) -> None:
        """As a crash does it: nothing is said, nothing is put away."""
        self.process.send_signal(signal.SIGKILL)
        self._gone()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self._gone()

    def _gone(self) -> None:
        self.client.close()
        self.process.wait(PATIENCE)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def __enter__(self) -> RunningDesk:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def states(found: dict[str, Any], kind: str = "candidate") -> list[str]:
    return [w["state"] for w in found["work"] if w["kind"] == kind]


def officers_key(folder: Path) -> Path:
    """A key of her own, which does not lie in the owner's folder."""
    key = folder.parent / f"{folder.name}-hers" / "officer.key"
    if not key.exists():
        new_key(key)
    return key


JANE = {"name": "Jane Roe", "role": "data protection officer", "reason": "a contract binds them"}


def decides(folder: Path, decision: str = "approved", **more: Any) -> dict[str, Any]:
    """What the officer's door does with a decision on the sheet that she reads there; the case afterwards."""
    case = OfficersCase(folder, str(officers_key(folder)))
    case.sign({**JANE, "decision": decision, "sheet": case.state()["digest"], **more}, lambda: None)
    return case.state()
