"""Drivers for the walk through the desk in Chromium: somebody with a mouse, and somebody with a keyboard alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from desks import RunningDesk


class Chromium:
    """A Driver by Playwright; it notes what the page complains about and whom it asks."""

    def __init__(self, browser: Any, desk: RunningDesk, **options: Any) -> None:
        self.base = desk.base
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        held = ({"name": c.name, "value": c.value, "url": desk.base} for c in desk.client.cookies.jar)
        self.context.add_cookies(list(held))
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * 60)
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.context.on("request", lambda request: self.asked.append(request.url))

    def open(self, page: str) -> None:
        self.page.goto(f"{self.base}/{page}")
        self.wait("body[data-ready]")

    def click(self, css: str) -> None:
        self.wait("body[data-ready]")
        self.page.locator(css).first.click()

    def fill(self, css: str, text: str) -> None:
        self.page.locator(css).fill(text)

    def select(self, css: str, value: str) -> None:
        self.page.locator(css).select_option(value)

    def give(self, css: str, file: Path) -> None:
        self.page.locator(css).set_input_files(file)

    def wait(self, css: str, seconds: float = 90.0) -> None:
        self.page.locator(css).first.wait_for(state="attached", timeout=1000 * seconds)

    def text(self, css: str) -> str:
        return str(self.page.locator(css).first.inner_text())

    def number(self, css: str) -> int:
        return int(self.page.locator(css).count())

    def close(self) -> None:
        self.context.close()
        refused = [line for line in self.complaints if "422" not in line]  # Chromium tells of each answer of a refusal
        assert refused == []
        assert [url for url in self.asked if not url.startswith(self.base)] == []


FOCUSABLE = "a[href], button, input, select, textarea, summary, iframe, [tabindex='0']"
REACHED = """([css, focusable]) => {
  const [wanted, at] = [document.querySelector(css)?.closest(focusable), document.activeElement];
  return wanted === at || (wanted?.type === "radio" && wanted.name === at.name);
}"""


class Keyboard(Chromium):
    """Who has no mouse: whatever is wanted is reached by Tab and arrows, and pressed."""

    def reach(self, css: str) -> Any:
        """Have the focus on what is wanted, or on the button or link that it is part of; a group of radios is one."""
        self.wait(css)
        self.wait("body[data-ready]")
        for _ in range(300):
            if self.page.evaluate(REACHED, [css, FOCUSABLE]):
                return self.page.locator("*:focus")
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{css} is not reached by Tab")

    def click(self, css: str) -> None:
        self.wait("body[data-ready]")
        if self.reach(css).evaluate("one => one.type") == "radio":
            for _ in range(20):
                if self.page.locator(f"{css}:focus").count():
                    break
                self.page.keyboard.press("ArrowDown")
            self.page.keyboard.press("Space")
        else:
            self.page.keyboard.press("Enter")

    def fill(self, css: str, text: str) -> None:
        wanted = self.reach(css)
        if wanted.evaluate("one => one.type") != "date":
            self.page.keyboard.press("Control+A")
            self.page.keyboard.type(text)
            return
        year, month, day = text.split("-")
        for parts in (month + day + year, day + month + year):  # in the order of the browser's own language
            for _ in range(2):
                self.page.keyboard.press("ArrowLeft")
            self.page.keyboard.type(parts)
            if wanted.input_value() == text:
                return
        raise AssertionError(f"{css} does not take {text}")

    def select(self, css: str, value: str) -> None:
        wanted = self.reach(css)
        for _ in range(20):
            if wanted.input_value() == value:
                return
            self.page.keyboard.press("ArrowDown")
        raise AssertionError(f"{css} has no {value}")
