"""A real `recveil advisor serve` for the browser tests: a small world whose zones are known, as its own process."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

PEOPLE = 200  # so that those who join in the tests change no zone
STRANGE = 'A/B & "100%" <b>?#'
COUNTS = {  # likes and dislikes
    "Crowd": (150, 10),  # like: safe; dislike: dangerous
    "Niche": (8, 0),  # like: trade-off; dislike: deleterious
    "Even": (5, 6),  # like: deleterious without loss of recommendations
    "Rare": (2, 1),  # of fewer than five people
    STRANGE: (7, 1),
    **{f"Film {k:02d}": (10, 3) for k in range(1, 21)},
}


def write_log(path: Path) -> Path:
    """The counts as ratings of people, each item's beginning with another person."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["user", "item", "rating"])
        for k, (item, (likes, dislikes)) in enumerate(COUNTS.items()):
            for who in range(likes + dislikes):
                rows.writerow([f"p{(who + 7 * k) % PEOPLE}", item, 5 if who < likes else 1])
    return path


@dataclass
class Server:
    """A server process; it can be stopped, and started again on the same port and database."""

    folder: Path
    options: tuple[str, ...] = ()
    port: int = 0
    process: Any = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> Server:
        database = self.folder / "db.sqlite"
        first = [] if database.exists() else [str(write_log(self.folder / "log.csv")), "--like", "3"]
        arguments = [*first, "--database", str(database), "--port", str(self.port)]
        with (self.folder / "stderr.txt").open("w") as complaints:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "recveil",
                    "advisor",
                    "serve",
                    *arguments,
                    "--counters",
                    "exact",
                    "--recommend",
                    "neighbours",
                    *self.options,
                    "--json",
                ],
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
            )
        told = json.loads(self.process.stdout.readline() or "{}")
        assert told, (self.folder / "stderr.txt").read_text(encoding="utf-8")
        self.port = int(told["url"].rstrip("/").rsplit(":", 1)[1])
        while True:  # the address is told a moment before it answers
            try:
                urlopen(f"{self.url}/api/v1/health", timeout=20).close()
                return self
            except URLError:
                assert self.process.poll() is None, (self.folder / "stderr.txt").read_text(encoding="utf-8")
                time.sleep(0.05)

    def click(self, item: str, sign: str) -> None:
        """Someone new clicks, without a browser."""
        joined = self._ask("POST", "/people")
        keys = {"Authorization": f"Bearer {joined['token']}", "Idempotency-Key": "1"}
        self._ask("PUT", f"/people/me/clicks/{item}", {"sign": sign}, keys)

    def _ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        told = None if body is None else json.dumps(body).encode()
        kind = {"Content-Type": "application/json", **(headers or {})}
        with urlopen(Request(f"{self.url}/api/v1{path}", told, kind, method=method), timeout=20) as answer:
            return json.load(answer)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        self.process.stdout.close()
