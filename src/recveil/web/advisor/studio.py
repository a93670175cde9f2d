"""The state of a running server: the store and its writer, the public snapshot, the model, the limits."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Engine

from recveil.web.advisor.group import GroupCommit
from recveil.web.advisor.limits import RateLimit
from recveil.web.advisor.publication import Snapshot, publish, snapshot
from recveil.web.advisor.recommending import Model, fit
from recveil.web.advisor.store import DAY, checkpoint
from recveil.web.advisor.writes import Forget, Stock, Write, apply

log = logging.getLogger("recveil.web.advisor")

RESTS = 20  # a fit of t seconds is followed by at least this many times t without one


@dataclass(frozen=True)
class Settings:
    """What the operator chooses."""

    min_people: int = 5
    publish_every: float = 60.0  # seconds
    rate: float = 20.0  # requests a second for each person, in the long run
    accounts: int = 60  # an hour from each address
    admin: bytes | None = None  # the hash of the admin token; without it nobody is admin


@dataclass
class Studio:
    engine: Engine
    settings: Settings
    snapshot: Snapshot
    model: Model | None = None
    stale: bool = True  # clicks have arrived since the model was fitted
    requests: RateLimit = field(init=False)
    accounts: RateLimit = field(init=False)
    commit: GroupCommit = field(init=False)

    def __post_init__(self) -> None:
        self.requests = RateLimit(self.settings.rate, int(3 * self.settings.rate) + 1)
        self.accounts = RateLimit(self.settings.accounts / 3600, self.settings.accounts)
        self.commit = GroupCommit(partial(apply, self.engine))

    @property
    def admin(self) -> bytes | None:
        return self.settings.admin

    async def write(self, write: Write) -> dict[str, Any]:
        """The answer to a write, once it is on the disk."""
        made = await self.commit(write)
        self.stale = True
        if isinstance(write, Stock):
            await self.refresh()
        return made

    async def refresh(self) -> None:
        """Publish what may be published, and take the new public table."""
        await self.commit.alone(partial(publish, self.engine, self.settings.min_people))
        self.snapshot = await asyncio.to_thread(snapshot, self.engine, self.settings.min_people)

    async def relearn(self) -> float:
        """Fit the model where clicks have arrived since; how many seconds it took."""
        begin = monotonic()
        if self.stale:
            self.stale = False
            try:
                self.model = await asyncio.to_thread(fit, self.engine)
            except Exception:
                self.stale = True
                raise
        return monotonic() - begin

    async def keep_small(self) -> None:
        """Empty SQLite's log every second, so that no click has to wait for it."""
        while self.engine.dialect.name == "sqlite":
            await asyncio.sleep(1)
            with suppress(sa.exc.SQLAlchemyError, sqlite3.Error):
                await asyncio.to_thread(checkpoint, self.engine)

    async def keep_fresh(self) -> None:
        """Forget, learn and publish again and again; what goes wrong waits for the next turn."""
        rested = forget = 0.0  # moments at which it is time again
        while True:
            try:
                if monotonic() >= forget:
                    await self.commit(Forget())
                    forget = monotonic() + DAY
                if monotonic() >= rested:
                    rested = monotonic() + RESTS * await self.relearn()
                await asyncio.sleep(self.settings.publish_every)
                await self.refresh()
            except Exception as error:  # the database is away, as a rule
                log.warning("work in the background failed: %s", type(error).__name__)
                await asyncio.sleep(1)


def open_studio(engine: Engine, settings: Settings) -> Studio:
    """The state of a server that is about to start."""
    publish(engine, settings.min_people)
    return Studio(engine, settings, snapshot(engine, settings.min_people))
