"""Progress shown to a person: notes on standard error, and a bar where standard error is a terminal."""

from __future__ import annotations

import sys
from typing import Any

from recveil.desk.progress import Progress


class Terminal(Progress):
    """One bar, for the work that was heard of last."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}

    def note(self, line: str) -> None:
        print(line, file=sys.stderr)

    def step(self, what: str, done: int, of: int) -> None:
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.start()
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(what, total=of)
        self._bar.update(self._tasks[what], completed=done, total=of)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
