"""Progress: what the caller of a desk function is told while it works. The desk itself prints nothing."""

from __future__ import annotations

from collections.abc import Callable

WARNING = "warning: "  # begins a note that is for the owner's own screen, and may tell of the data


class Progress:
    """Silent by default. A terminal, a notebook or a browser desk overrides what it wants to hear."""

    def note(self, line: str) -> None:
        """A line for the owner alone: what was left out, what was spent, what is taken to be public."""

    def step(self, what: str, done: int, of: int) -> None:
        """How far the work has come."""

    def counter(self, what: str, of: int) -> Callable[[int], None]:
        """A function to be told how many steps were just done; it adds them up."""
        self.step(what, 0, of)
        done = 0

        def tick(steps: int = 1) -> None:
            nonlocal done
            done += steps
            self.step(what, done, of)

        return tick


SILENT = Progress()
