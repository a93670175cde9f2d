"""Progress shown to a person: notes on standard error, and a bar where standard error is a terminal."""

import sys
from time import monotonic
from typing import Any

from recveil.releases.progress import Progress

SILENCE = 20.0  # seconds between two lines of progress where there is no terminal


class Terminal(Progress):
    """A bar for each piece of work; with `lines`, where there is no terminal, a line now and then."""

    def __init__(self, lines: bool = False) -> None:
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}
        self._lines = lines
        self._start = self._said = monotonic()

    def note(self, line: str) -> None:
        print(line, file=sys.stderr)

    def step(self, what: str, done: int, of: int) -> None:
        if sys.stderr.isatty():
            self._draw(what, done, of)
        elif self._lines and 0 < done < of and monotonic() - self._said >= SILENCE:
            self._said = monotonic()
            minutes = (self._said - self._start) * (of - done) / done / 60
            left = f"about {minutes:.0f} minutes" if minutes >= 1.5 else "about a minute"
            self.note(f"{what}: {done / of:.0%} done, {left} left")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _draw(self, what: str, done: int, of: int) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.start()
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(what, total=of)
        self._bar.update(self._tasks[what], completed=done, total=of)
