"""People who visit the click advisor with a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from advisor_server import Server


class Visit:
    """One person's browser: its page, what it complains about, what it sends."""

    def __init__(self, browser: Any, server: Server, **options: Any) -> None:
        self.server = server
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[Any] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("websocket", lambda opened: self.complaints.append(opened.url))
        self.context.on("request", lambda asked: self.requests.append(asked))

    def open(self, path: str = "/") -> Visit:
        self.page.goto(self.server.url + path)
        self.page.locator("click-advisor button").first.wait_for()
        self.page.wait_for_function("document.querySelector('#found')?.textContent !== ''")
        return self

    def item(self, title: str) -> Any:
        """The element of an item, found by search."""
        self.page.locator("#query").fill(title)
        found = self.page.locator("#results li").filter(has=self.page.get_by_role("heading", name=title, exact=True))
        found.wait_for()
        return found.locator("click-advisor")

    def preclick(self, title: str, verb: str) -> Any:
        """The advice on a pre-click: a dialog."""
        at = self.item(title)
        at.locator(f"button.{verb}").click()
        dialog = at.get_by_role("dialog")
        dialog.wait_for()
        return dialog

    def confirm(self, title: str, verb: str) -> None:
        self.preclick(title, verb).get_by_role("button", name=f"Confirm {verb}").click()
        self.says(f"Saved: you {verb} {title}.")

    def says(self, text: str) -> None:
        self.page.locator("#status").filter(has_text=text).wait_for()

    def numbers(self) -> list[str]:
        return [number.strip() for number in self.page.locator("#numbers b").all_inner_texts()]

    def clicks(self) -> list[str]:
        return [" ".join(row.split()) for row in self.page.locator("#clicks .what").all_text_contents()]

    def sent(self) -> list[tuple[str, str]]:
        """Method and path of what was sent since the last time, and forget it."""
        told = [(asked.method, asked.url.removeprefix(self.server.url)) for asked in self.requests]
        self.requests.clear()
        return told

    def close(self) -> None:
        self.context.close()
        assert self.complaints == []  # errors, warnings, violations of the Content-Security-Policy
        assert all(asked.url.startswith(self.server.url) for asked in self.requests)


@pytest.fixture(scope="session")
def advisor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server that most tests share."""
    started = Server(tmp_path_factory.mktemp("advisor"), ("--publish-every", "0.2")).start()
    yield started
    started.stop()


@pytest.fixture
def visit(browser: Any, advisor: Server) -> Iterator[Visit]:
    """Someone who has just opened the page."""
    person = Visit(browser, advisor).open()
    yield person
    person.close()
