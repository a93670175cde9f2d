"""What a notebook tells the owner of the data while a desk function works: its warnings, and nothing else."""

from __future__ import annotations

import warnings
from contextlib import suppress

from recveil.releases.progress import WARNING, Progress


class DataWarning(UserWarning):
    """About the data, for their owner alone: how many rows are none."""


class OwnersScreen(Progress):
    """Warnings of the desk as Python's. None stops a release, whatever filter is set: that would tell of the data."""

    def note(self, line: str) -> None:
        if line.startswith(WARNING):
            with suppress(DataWarning):
                warnings.warn(line.removeprefix(WARNING), DataWarning, stacklevel=2)


SCREEN = OwnersScreen()
