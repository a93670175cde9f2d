"""A series: a folder of the owner's. series.json has what is settled, `state` who counted (private), `bundles/` the
windows that left, `statistics/` their noisy tables. That a window left stands in the ledger, and nowhere else.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from recveil.data import Kind
from recveil.errors import RecveilError
from recveil.formats.files import written
from recveil.mechanism import PublicInfo, Synthesis
from recveil.releases import hash_chain, ledger
from recveil.releases.bundle import BUNDLES, MANIFEST, SERIES
from recveil.releases.catalogue import Catalogue, read_catalogue
from recveil.series.periods import Period, Window
from recveil.series.promise import as_synthesis
from recveil.series.state import settle

STATISTICS, STAGED, LOCK = "statistics", ".staged", ".lock"
LATE = ("drop", "open")


@dataclass(frozen=True)
class SeriesFacts:
    """What was settled when a series was made. Paths are as seen from its folder."""

    name: str  # by chance
    spec: str
    ledger: str
    unit: str = "user"
    items: str | None = None
    late: str = "drop"
    carry: bool = True
    publish_titles: bool = False
    seed: int | None = None


@dataclass(frozen=True)
class Series:
    """An open series."""

    path: Path
    facts: SeriesFacts
    periods: tuple[Period, ...]

    @property
    def period(self) -> Period:
        return self.periods[-1]

    @property
    def mechanism(self) -> Synthesis:
        return as_synthesis(self.facts.spec)

    @property
    def takes_first(self) -> bool:
        """Whether a unit counts in the first windows in which it comes: a session comes in one, and drawing another one
        for it would lose it. Both rules look at its own record alone.
        """
        return self.facts.unit == "session"

    @property
    def carries(self) -> bool:
        """Whether windows are combined with earlier ones: where the items are public, and every window has the same."""
        return self.facts.carry and self.facts.items is not None and self.mechanism.carries

    @property
    def ledger(self) -> Path:
        return (self.path / self.facts.ledger).resolve()

    @cached_property
    def catalogue(self) -> Catalogue:
        """The public items; that they are public was declared when the series was made."""
        if self.facts.items is None:
            return Catalogue()
        found = read_catalogue((self.path / self.facts.items).resolve(), self.facts.publish_titles)
        listed, fewest = len(found.items if found.items is not None else ()), self.mechanism.fewest_items
        if listed < fewest:
            raise RecveilError(
                f"{self.facts.items}: {listed} items, and {self.mechanism.name} needs {fewest} or more: is it the file "
                "of items?"
            )
        return replace(found, is_public=True)

    # --- windows ----------------------------------------------------------------------------------------------

    def left(self) -> dict[int, dict[str, Any]]:
        """The windows that left the house, by number: what the ledger says of each."""
        lines = [e for e in hash_chain.read(self.ledger) if e.get("window", {}).get("series") == self.facts.name]
        return {int(e["window"]["number"]): e["window"] | {"date": e["date"]} for e in lines}

    def here(self) -> list[int]:
        """The windows of this period whose bundles are here; 0 beside them."""
        names = [p.name[:5] for p in (self.path / BUNDLES).iterdir() if (p / MANIFEST).exists()]
        return [0, *(int(name) for name in names if name.isdigit() and int(name) >= self.period.first)]

    def is_opened_by(self, line: dict[str, Any]) -> bool:
        """Whether this line of a ledger has the promise of the period."""
        return (line.get("series"), line.get("period")) == (self.facts.name, self.period.number)

    def due(self, now: datetime) -> list[Window]:
        """The windows that have ended and have not left, in their order; none before one that left."""
        last = max(self.left(), default=0)
        return [window for window in self.period.closed(now) if window.number > last]

    def bundle(self, window: Window) -> Path:
        return self.path / BUNDLES / window.name

    def statistics(self, number: int) -> Path:
        return self.path / STATISTICS / f"{number:05d}.npz"

    @property
    def staged(self) -> Path:
        return self.path / STAGED

    def enter(self, line: dict[str, Any]) -> None:
        """Enter in the ledger that a window leaves now, once."""
        with hash_chain.locked(self.ledger) as chain:
            mine = [e["window"] for e in chain.entries if e.get("window", {}).get("series") == self.facts.name]
            if any(w["number"] >= line["number"] for w in mine):
                raise RecveilError(f"window {line['number']} has left already; nothing is released twice")
            chain.add({"date": ledger.now(), "window": line})

    def recover(self) -> None:
        """What a stopped process left: a window that the ledger names goes out, anything else was seen by nobody."""
        for part in self.path.glob(".*.part"):
            with suppress(OSError):
                shutil.rmtree(part) if part.is_dir() else part.unlink()
        for folder in (BUNDLES, STATISTICS):  # moved away as a whole, perhaps to where recipients find it
            (self.path / folder).mkdir(exist_ok=True)
        if not self.staged.exists():
            return
        manifest = self.staged / MANIFEST
        number = int(json.loads(manifest.read_text())["series"]["window"]) if manifest.exists() else 0
        if number in self.left():
            self.put_out(self.period.at(number))
        else:
            shutil.rmtree(self.staged)

    def put_out(self, window: Window) -> None:
        """The staged bundle takes its place."""
        self.staged.rename(self.bundle(window))
        settle(self.path / BUNDLES)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """For this process alone; another one is told so, and does nothing."""
        handle = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise RecveilError(
                    f"{self.path}: another process is at work on this series; nothing was done"
                ) from None
            yield
        finally:
            os.close(handle)

    def save(self) -> None:
        document = {"facts": asdict(self.facts), "periods": [_record(p) for p in self.periods]}
        with written(self.path / SERIES, private=True) as file:
            file.write((json.dumps(document, indent=1) + "\n").encode())

    @cached_property
    def public(self) -> PublicInfo:
        """What may be known before any data are: enough for the promise."""
        given, none = self.catalogue, pl.Series([], dtype=pl.String)
        items = none if given.items is None else given.items
        facts = given.facts(items) if given.items is not None and self.mechanism.reads_features else None
        kind: Kind = "sessions" if self.facts.unit == "session" else "clicks"
        return PublicInfo(
            kind, self.facts.unit, items, given.tags, given.items is not None, given.lists(), features=facts
        )


def open_series(path: str | Path) -> Series:
    """A series from its folder."""
    path = Path(path)
    try:
        found = json.loads((path / SERIES).read_text())
        found["facts"].pop("time_in", None)  # of a version before: times are told by their size
        return Series(path, SeriesFacts(**found["facts"]), tuple(map(_period, found["periods"])))
    except (OSError, ValueError, KeyError, TypeError) as why:
        if isinstance(why, RecveilError):
            raise
        raise RecveilError(f"{path} is not a series; recveil series new makes one") from None


def _record(period: Period) -> dict[str, Any]:
    return asdict(period) | {"begin": period.begin.isoformat()}


def _period(record: dict[str, Any]) -> Period:
    return Period(**record | {"begin": date.fromisoformat(record["begin"])})
