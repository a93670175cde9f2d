"""The command line: one file per command, each calling one public function. Nothing heavy is imported at start.

Commands do without postponed annotations where they can: typer would evaluate them at every start, twice.
"""

from __future__ import annotations

from recveil.cli.app import app, main

__all__ = ["app", "main"]
