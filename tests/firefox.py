"""Debian's Firefox for tests, driven over WebDriver BiDi, which it speaks itself: no other program is between."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from desks import RunningDesk

ADDRESS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")


class Firefox:
    """A Driver for the walk through the desk; it notes what the page complains about and whom it asks."""

    def __init__(self, channel: Any, base: str, language: str) -> None:
        self.channel, self.base, self.sent = channel, base, 0
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.send("session.new", capabilities={})
        self.tab = self.send("browsingContext.getTree")["contexts"][0]["context"]
        self.send("session.subscribe", events=["network.beforeRequestSent", "log.entryAdded"])
        self.language = language

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """What a command answers; what is told on the way is noted."""
        self.sent += 1
        self.channel.send(json.dumps({"id": self.sent, "method": method, "params": params}))
        while True:
            told = json.loads(self.channel.recv())
            if told.get("method") == "network.beforeRequestSent":
                self.asked.append(told["params"]["request"]["url"])
            elif told.get("method") == "log.entryAdded" and told["params"]["level"] in ("error", "warn"):
                self.complaints.append(str(told["params"]["text"]))
            elif told.get("id") == self.sent:
                assert told["type"] == "success", told
                return dict(told["result"])

    def run(self, expression: str) -> Any:
        """The value of an expression in the page, a string, a number or a truth."""
        answer = self.send("script.evaluate", expression=expression, target={"context": self.tab}, awaitPromise=True)
        assert answer["type"] == "success", answer
        return answer["result"].get("value")

    def enter(self, desk: RunningDesk) -> None:
        """Take the cookie that the desk gave its owner."""
        for held in desk.client.cookies.jar:
            cookie = {"name": held.name, "value": {"type": "string", "value": held.value}, "domain": "127.0.0.1"}
            self.send("storage.setCookie", cookie={**cookie, "path": "/", "httpOnly": True, "sameSite": "strict"})

    def open(self, page: str) -> None:
        address = f"{self.base}/{page}?lang={self.language}"
        self.send("browsingContext.navigate", context=self.tab, url=address, wait="complete")
        self.wait("body[data-ready]")

    def wait(self, css: str, seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while not self.number(css):
            assert time.monotonic() < end, f"{css} does not come; the page says: {self.text('main')[:2000]}"
            time.sleep(0.1)

    def number(self, css: str) -> int:
        return int(self.run(f"document.querySelectorAll({json.dumps(css)}).length"))

    def text(self, css: str) -> str:
        return str(self.run(f"document.querySelector({json.dumps(css)}).innerText"))

    def click(self, css: str) -> None:
        self.wait("body[data-ready]")
        self.wait(css)
        self.run(f"document.querySelector({json.dumps(css)}).scrollIntoView({{block: 'center'}})")
        there = {"type": "element", "element": self.node(css)}
        press = [{"type": "pointerMove", "x": 0, "y": 0, "origin": there}, {"type": "pointerDown", "button": 0}]
        actions = [{"type": "pointer", "id": "mouse", "actions": [*press, {"type": "pointerUp", "button": 0}]}]
        self.send("input.performActions", context=self.tab, actions=actions)
        time.sleep(0.2)  # a link has begun to load

    def node(self, css: str) -> Any:
        """A reference to an element."""
        found = self.send("browsingContext.locateNodes", context=self.tab, locator={"type": "css", "value": css})
        return {"sharedId": found["nodes"][0]["sharedId"]}

    def fill(self, css: str, text: str) -> None:
        self.wait(css)
        self.run(f"document.querySelector({json.dumps(css)}).value = {json.dumps(text)}")

    def select(self, css: str, value: str) -> None:
        self.fill(css, value)

    def give(self, css: str, file: Path) -> None:
        self.wait(css)
        self.send("input.setFiles", context=self.tab, element=self.node(css), files=[str(file)])


@contextmanager
def firefox(desk: RunningDesk, profile: Path, language: str) -> Iterator[Firefox]:
    """Firefox in front of a desk, with a profile of its own."""
    websocket = pytest.importorskip("websocket", reason="websocket-client is not installed: no tests with Firefox")
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        pytest.skip("firefox is not installed: no tests with it (apt-get install firefox-esr)")
    profile.mkdir()
    command = [program, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    started = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env={**os.environ, "HOME": str(profile)}
    )
    assert started.stderr is not None
    try:
        address = next(found[1] for line in started.stderr if (found := ADDRESS.search(line)))
        channel = websocket.create_connection(f"{address}/session", suppress_origin=True, timeout=120)
        with closing(channel):
            person = Firefox(channel, desk.base, language)
            person.enter(desk)
            yield person
            person.send("browser.close")
    finally:
        started.kill()
        started.wait(20)
        started.stderr.close()
