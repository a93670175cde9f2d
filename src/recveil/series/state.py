"""The private state of a series: of each person, under a keyed hash, in how many windows of the period she counted.

It is on the disk before any noise of a window is drawn, so it may count a window that nobody ever saw, and never lacks
one that somebody did. Twelve bytes a person; it goes with its period.
"""

from __future__ import annotations

import json
import os
import secrets
import zipfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from recveil.errors import RecveilError
from recveil.formats.files import written
from recveil.randomness import Source, seeded
from recveil.series.participation import counts, names
from recveil.series.periods import Period, Window

STATE = "state"
LOST = (
    "without it nobody knows who counted in which windows, so nothing more is released in this period: what is spent "
    "stays spent, and recveil series next opens the next period once this one is over"
)


@dataclass(frozen=True)
class State:
    """`person`: names in order; `taken`: windows; `latest`: the last of them; `erased`: who left, by another hash."""

    key: bytes = field(repr=False)
    period: int
    seeded: bool = False
    through: int = 0  # the last window that was written down
    left: int = 0  # the last window that was seen to leave
    clock: float = 0.0  # when that was
    schema: tuple[tuple[str, str], ...] = ()
    person: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64), repr=False)
    taken: NDArray[np.uint16] = field(default_factory=lambda: np.empty(0, np.uint16), repr=False)
    latest: NDArray[np.uint16] = field(default_factory=lambda: np.empty(0, np.uint16), repr=False)
    erased: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64), repr=False)

    @property
    def chance(self) -> Source:
        return Source(self.key, self.seeded)

    def part(
        self, users: pl.Series, window: Window, period: Period, first: bool = False
    ) -> tuple[NDArray[np.bool_], State]:
        """Who of these counts in a window, and the state that says so. The same window twice is once.

        `first`: in the first windows in which she comes, and not in those that a hash has drawn for her.
        """
        place = window.number - period.first
        inside = np.ones(len(users), dtype=bool)
        if not first:
            inside = counts(users, place, period.windows, period.participations, self.chance.derive("participation"))
        name = names(users, self.chance.derive("names"))
        if len(self.erased):
            inside &= ~np.isin(names(users, self.chance.derive("erased")), self.erased)
        order = np.argsort(name)  # sought in their order, which the memory of a processor likes
        at = np.empty(len(name), dtype=np.int64)
        at[order] = np.minimum(np.searchsorted(self.person, name[order]), max(len(self.person) - 1, 0))
        known = self.person[at] == name if len(self.person) else np.zeros(len(name), dtype=bool)
        full = known.copy()  # the hash alone keeps her below; a state that counted too much keeps her out
        full[known] = (self.taken[at[known]] >= period.participations) & (self.latest[at[known]] != place + 1)
        inside &= ~full
        return inside, self._with(name, at, known, inside, place)

    def _with(
        self, name: NDArray[np.uint64], at: NDArray[Any], known: NDArray[np.bool_], inside: NDArray[Any], place: int
    ) -> State:
        again = at[inside & known]
        taken, latest = self.taken.copy(), self.latest.copy()
        taken[again] += self.latest[again] != place + 1
        latest[again] = place + 1
        fresh = np.unique(name[inside & ~known])
        where = np.searchsorted(self.person, fresh)
        return replace(
            self,
            person=np.insert(self.person, where, fresh),
            taken=np.insert(taken, where, np.uint16(1)),
            latest=np.insert(latest, where, np.uint16(place + 1)),
        )

    def without(self, users: pl.Series) -> State:
        """The state after these people left: nothing is known of them but that they count in no further window."""
        gone = np.isin(self.person, names(users, self.chance.derive("names")))
        erased = np.union1d(self.erased, names(users, self.chance.derive("erased")))
        kept = {column: getattr(self, column)[~gone] for column in ("person", "taken", "latest")}
        return replace(self, erased=erased, **kept)

    def save(self, folder: Path) -> None:
        """On the disk when it returns, for its owner alone."""
        facts = {name: getattr(self, name) for name in ("period", "seeded", "through", "left", "clock", "schema")}
        header = np.frombuffer(json.dumps(facts | {"key": self.key.hex()}).encode(), np.uint8)
        with written(folder / STATE, private=True) as file:
            np.savez(file, header=header, person=self.person, taken=self.taken, latest=self.latest, erased=self.erased)
        settle(folder)


def new_state(period: int, seed: int | None) -> State:
    """Nobody has counted yet; a key that nobody knows, or that of an experiment."""
    if seed is None:
        return State(secrets.token_bytes(32), period)
    return State(seeded(seed).derive("series", period).key().astype("<u8").tobytes(), period, seeded=True)


def load_state(folder: Path, period: int) -> State:
    """The state of this period."""
    path = folder / STATE
    try:
        with np.load(path, allow_pickle=False) as file:
            facts = json.loads(file["header"].tobytes())
            columns = {name: file[name] for name in ("person", "taken", "latest", "erased")}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        what = "cannot be read" if path.exists() else "is lost"
        raise RecveilError(f"{path} {what}: {LOST}") from None
    schema = tuple((str(name), str(kind)) for name, kind in facts.pop("schema"))
    found = State(bytes.fromhex(facts.pop("key")), schema=schema, **facts, **columns)
    if found.period != period:
        raise RecveilError(f"{path} is of period {found.period}, and the series is in period {period}: {LOST}")
    return found


def settle(folder: Path) -> None:
    """What was renamed in a folder outlasts a crash."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
