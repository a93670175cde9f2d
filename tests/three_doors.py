"""Three ways to the same decision: the pages of the desk, the command line, Python. Each answers in the same words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from fastapi.testclient import TestClient

import recveil
from recveil.desk.pages.app import create_app
from recveil.desk.pages.desk_state import DeskState
from recveil.desk.pages.guard import Keys
from recveil.desk.pages.officer import OfficerState, officer_app
from recveil.desk.project.officer import OfficersCase
from recveil.errors import RecveilError

JANE = ("Jane Roe", "DPO")
PORT = 8000


class Door(Protocol):
    """What an officer does; a refusal comes back as its line, and as "" what was signed."""

    def sheet(self, to: str, **wish: float) -> dict[str, Any]: ...
    def sign(self, kind: str, sheet: Mapping[str, Any], reason: str = "", *, key: Path | None = None) -> str: ...
    def withdraw(self, reason: str) -> str: ...
    def stands(self, to: str) -> str: ...
    def shown(self) -> str: ...


@dataclass
class House:
    """The folder of an owner's desk with a release that was made, and keys that lie elsewhere."""

    folder: Path
    bundle: Path
    key: Path
    trust: Path
    asked: dict[str, Any] = field(default_factory=dict)  # of the sheet that was read last

    @property
    def aside(self) -> Path:
        return self.bundle.with_name(f"{self.bundle.name}.owner")


@dataclass
class Pages:
    """The owner chooses on her pages, the officer signs at her door."""

    house: House
    owner: TestClient
    keys: Keys

    def sheet(self, to: str, **wish: float) -> dict[str, Any]:
        wished = {"what": "recommend", "keep": wish["lift"]} if wish else {"what": ""}
        asked = self.owner.patch("/api/project", json={"choices": {"recipient": {"name": to}, "use": wished}})
        assert asked.status_code == 200, asked.text
        found: dict[str, Any] = self.owner.get("/api/sheet").json()
        return found | {"digest": self._door(None).get("/api/case").json()["digest"], "page": self.shown()}

    def sign(self, kind: str, sheet: Mapping[str, Any], reason: str = "", *, key: Path | None = None) -> str:
        said = {"name": JANE[0], "role": JANE[1], "decision": kind, "reason": reason, "sheet": sheet["digest"]}
        return _line(self._door(key).post("/api/decide", json=said))

    def withdraw(self, reason: str) -> str:
        return _line(self._door(None).post("/api/withdraw", json={"name": JANE[0], "role": JANE[1], "reason": reason}))

    def stands(self, to: str) -> str:
        self.owner.patch("/api/project", json={"choices": {"recipient": {"name": to}}})
        return str(self.owner.get("/api/state").json()["steps"]["decide"]["kind"]) or "undecided"

    def shown(self) -> str:
        return self._door(None).get("/api/sheet/page").text

    def _door(self, key: Path | None) -> TestClient:
        case = OfficersCase(self.house.folder, str(key or self.house.key), str(self.house.trust))
        return client(officer_app(OfficerState(case), self.keys), self.keys)


@dataclass
class CommandLine:
    house: House
    run: Callable[..., Any]

    def sheet(self, to: str, **wish: float) -> dict[str, Any]:
        self.house.asked = {"to": to, "context": _words(self.house, wish)}
        found: dict[str, Any] = self.run("decide", self.house.bundle, *self._asked(), json_answer=True)["sheet"]
        return found | {"page": self.shown()}

    def sign(self, kind: str, sheet: Mapping[str, Any], reason: str = "", *, key: Path | None = None) -> str:
        says = {"approved": "--approve", "refused": "--refuse"}[kind]
        who = ("--as", ", ".join(JANE), "--key", key or self.house.key, "--trust", self.house.trust)
        why = ("--reason", reason) if reason else ()
        return self._tried("decide", self.house.bundle, *self._asked(), *who, says, *why)

    def withdraw(self, reason: str) -> str:
        who = ("--as", ", ".join(JANE), "--key", self.house.key)
        return self._tried("withdraw", self.house.bundle, *who, "--reason", reason)

    def stands(self, to: str) -> str:
        asked = ("verify", self.house.bundle, "--trust", self.house.trust, "--for", to)
        found = self._answer(*asked)
        return _outcome(found)

    def shown(self) -> str:
        return (self.house.aside / "decision.html").read_text()

    def _asked(self) -> tuple[object, ...]:
        return ("--recipient", self.house.asked["to"], "--context", self.house.asked["context"])

    def _tried(self, *arguments: object) -> str:
        try:
            self.run(*arguments)
        except AssertionError:
            return str(self.run(*arguments, code=1).stderr)  # what was refused changed nothing: it is refused again
        return ""

    def _answer(self, *arguments: object) -> dict[str, Any]:
        try:
            return dict(self.run(*arguments, json_answer=True))
        except AssertionError:
            return dict(self.run(*arguments, json_answer=True, code=3))


@dataclass
class InPython:
    house: House

    def sheet(self, to: str, **wish: float) -> dict[str, Any]:
        self.house.asked = {"recipient": to, "wish": wish}
        found: dict[str, Any] = recveil.decide(self.house.bundle, **self.house.asked)["sheet"]
        return found | {"page": self.shown()}

    def sign(self, kind: str, sheet: Mapping[str, Any], reason: str = "", *, key: Path | None = None) -> str:
        who = {"by": JANE, "key": key or self.house.key, "trust": self.house.trust, "reason": reason}
        return _said(recveil.decide, self.house.bundle, **self.house.asked, **who, approve=kind == "approved")

    def withdraw(self, reason: str) -> str:
        return _said(recveil.withdraw, self.house.bundle, by=JANE, key=self.house.key, reason=reason)

    def stands(self, to: str) -> str:
        return _outcome(recveil.standing(self.house.bundle, self.house.trust, to))

    def shown(self) -> str:
        return (self.house.aside / "decision.html").read_text()


@contextmanager
def door(kind: str, house: House, run: Callable[..., Any]) -> Iterator[Door]:
    """One of the three."""
    if kind != "pages":
        yield CommandLine(house, run) if kind == "command line" else InPython(house)
        return
    from recveil.desk.project.folder import open_project

    state, keys = DeskState(open_project(house.folder), 1 << 30), Keys(PORT)
    try:
        yield Pages(house, client(create_app(state, keys), keys), keys)
    finally:
        with ThreadPoolExecutor(1) as beside:  # a browser of another test may have left its loop in this thread
            beside.submit(lambda: asyncio.run(state.close())).result()


def client(app: Any, keys: Keys) -> TestClient:
    """A browser that was let in."""
    base = f"http://127.0.0.1:{PORT}"
    return TestClient(app, base_url=base, cookies={keys.cookie: keys.secret}, headers={"Origin": base})


def _line(answer: Any) -> str:
    return "" if answer.status_code == 200 else str(answer.json()["detail"])


def _said(do: Callable[..., Any], *arguments: Any, **more: Any) -> str:
    try:
        do(*arguments, **more)
    except RecveilError as why:
        return str(why)
    return ""


def _outcome(found: Mapping[str, Any]) -> str:
    """How it stands for whom was asked about: an approval for others is none."""
    outcome = str(found["decision"]["outcome"])
    return "undecided" if outcome == "approved" and not found["verified"] else outcome


def _words(house: House, wish: Mapping[str, float]) -> Path:
    file = house.key.with_name("context.toml")
    file.write_text("".join(["[wish]\n", *(f"{name} = {json.dumps(share)}\n" for name, share in wish.items())]))
    return file
