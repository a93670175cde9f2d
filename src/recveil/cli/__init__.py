"""The command line: one file per command, each calling one public function. Nothing heavy is imported at start."""

from __future__ import annotations

from recveil.cli.app import app, main

__all__ = ["app", "main"]
