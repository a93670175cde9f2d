"""The state of a running server: the store and its writer, the public snapshot, the model, the limits."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from time import monotonic
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy import Engine

from recveil.advisor.applying import again, apply
from recveil.advisor.aside import aside
from recveil.advisor.documents import JsonDocument, sheet
from recveil.advisor.group import GroupCommit
from recveil.advisor.item_model import ItemModel, ModelBudget, make_due, newest, newest_number
from recveil.advisor.limits import REMEMBERED, RateLimit
from recveil.advisor.metrics import Metrics
from recveil.advisor.noisy_counters import CounterBudget, look
from recveil.advisor.platforms import KnownPlatforms
from recveil.advisor.publication import Snapshot, blurred, publish, snapshot
from recveil.advisor.recommending import Neighbourhoods, filled, fit, recommend
from recveil.advisor.sharing import EVERY, Sharing
from recveil.advisor.store import DAY, apart, at_once, checkpoint, reading
from recveil.advisor.writes import Forget, Stock, Withdraw, Write

log = logging.getLogger("recveil.advisor")

COLUMNS = ("items", "popular", "starts", "alike", "weight")  # of a model that is sent
DAILY = 100  # seconds' worth of requests that a person may click in a day: each click leaves a key for 30 days
RESTS = 20  # a fit of t seconds is followed by at least this many times t without one
QUICK = 0.1  # seconds; a public table that takes no longer is made whenever somebody reads it
UPKEEP = 3600.0  # seconds between looks for what has had its time


@dataclass(frozen=True)
class Settings:
    """What the operator chooses."""

    min_people: int = 5
    counters: Literal["private", "exact"] = "private"
    budget: CounterBudget = field(default_factory=CounterBudget)
    recommend: Literal["model", "neighbours"] = "model"
    models: ModelBudget = field(default_factory=ModelBudget)
    publish_every: float = 60.0  # seconds
    rate: float = 20.0  # requests a second for each person, in the long run
    accounts: int = 60  # an hour from each network
    reads: float = 50.0  # requests a second for public things from each network, in the long run
    admin: bytes | None = None  # the hash of the admin token; without it nobody is admin
    sites: tuple[str, ...] = ()  # names under which the server may be asked, beside localhost and addresses


@dataclass
class Advisor:
    engine: Engine
    settings: Settings
    snapshot: Snapshot
    model: Neighbourhoods | None = None  # of people, for closed groups
    items: ItemModel | None = None
    items_number: int = 0  # of that model, in the database
    sharing: Sharing | None = None  # with other workers
    model_sheet: JsonDocument = field(init=False)
    learned: bool = False  # once at least
    when_learned: Callable[[], None] = lambda: None
    stale: bool = True  # clicks have arrived since the model was fitted
    outdated: bool = False  # items have come or gone since the public table was made
    rested: float = 0.0  # when it may be made again for that
    making: asyncio.Lock = field(default_factory=asyncio.Lock)
    requests: RateLimit = field(init=False)  # of those who hold a token
    clicks: RateLimit = field(init=False)  # of a person in a day
    accounts: RateLimit = field(init=False)  # made from a network
    reads: RateLimit = field(init=False)  # of public things, by a network
    strangers: RateLimit = field(init=False)  # tokens that were nobody's, by a network
    known: OrderedDict[bytes, None] = field(default_factory=OrderedDict)  # tokens that were good a moment ago
    platforms: KnownPlatforms = field(init=False)
    metrics: Metrics = field(default_factory=Metrics)
    commit: GroupCommit = field(init=False)
    started: float = field(default_factory=lambda: time.time() - monotonic())

    def __post_init__(self) -> None:
        self.requests = RateLimit(self.settings.rate, int(3 * self.settings.rate) + 1)
        daily = DAILY * self.settings.rate
        self.clicks = RateLimit(daily / DAY, int(daily) + 1)
        self.accounts = RateLimit(self.settings.accounts / 3600, self.settings.accounts)
        self.reads = RateLimit(self.settings.reads, int(6 * self.settings.reads) + 1)
        self.strangers = RateLimit(1.0, 60)
        self.platforms = KnownPlatforms(self.engine, self.strangers)
        self.take_model()
        self.commit = GroupCommit(partial(apply, self.engine, changes=self.settings.budget.changes))

    @property
    def private(self) -> bool:
        return self.settings.counters == "private"

    def met(self, token: bytes) -> None:
        """This token is somebody's: she is no stranger, wherever she asks from."""
        self.known[token] = None
        self.known.move_to_end(token)
        if len(self.known) > REMEMBERED:
            self.known.popitem(last=False)

    def strange(self, token: bytes, whose: str) -> None:
        """This token is nobody's (any more); a network has so many guesses."""
        self.known.pop(token, None)
        self.strangers.spend(whose)

    async def admit(self, whose: str) -> None:
        """A new account for this network; a Problem where it has had too many."""
        if self.sharing is None:
            self.accounts.spend(whose)
        else:
            await asyncio.to_thread(self.sharing.take, "accounts", self.accounts, whose)

    async def write(self, write: Write) -> dict[str, Any]:
        """The answer to a write, once it is on the disk."""
        made = await self.commit(write)
        self.stale = True
        self.outdated |= isinstance(write, Stock | Withdraw)
        return made

    async def shown(self) -> Snapshot:
        """The public table, with what has become of the catalogue here: made for whoever reads it next, not for each of
        many items; a large one not more often than RESTS times as long as it takes."""
        if self.outdated and monotonic() >= self.rested:
            async with self.making:
                if self.outdated:
                    await self.make()
        return self.snapshot

    async def make(self) -> None:
        begin, self.outdated = monotonic(), False
        self.snapshot = await asyncio.to_thread(public_table, self.engine, self.settings, self.snapshot)
        took = monotonic() - begin
        self.rested = monotonic() + (RESTS * took if took > QUICK else 0.0)

    async def refresh(self) -> None:
        """Publish what may be published, and take the new public table. A look is made beside the writer."""
        if self.private:
            between = partial(self.between, asyncio.get_running_loop())
            await aside(look, apart(self.engine), self.settings.budget, between)
        else:
            await self.commit.alone(partial(publish_due, self.engine, self.settings))
        await self.make()

    def between(self, loop: asyncio.AbstractEventLoop, act: Callable[[sa.Connection], Any]) -> Any:
        """For a thread beside the server: carry it out in a transaction between two batches of clicks."""
        work = partial(again, partial(at_once(self.engine), act))
        return asyncio.run_coroutine_threadsafe(self.commit.alone(work), loop).result()

    def recommend(self, own: dict[str, int], limit: int) -> tuple[list[str], str]:
        """Items for someone with these clicks, and on which basis."""
        profiles = self.snapshot.profiles
        if self.settings.recommend == "neighbours":
            return recommend(self.model, own, profiles, limit, self.settings.min_people)
        best = [key for key in self.items.best(own, limit) if key in self.snapshot.titles] if self.items else []
        return filled(best, own, profiles, limit), "model" if best else "popular"

    def take_model(self) -> None:
        """The newest item model, ready to be sent."""
        with reading(self.engine) as db:
            self.items, self.items_number = newest(db), newest_number(db)
        known = asdict(self.items) if self.items else {"made": None, **{name: [] for name in COLUMNS}}
        budget = asdict(self.settings.models)
        self.model_sheet = sheet({"recommend": self.settings.recommend, "budget": budget, **known})

    def behind(self) -> bool:
        """Whether there is a newer item model than ours: another worker may have made it."""
        with reading(self.engine) as db:
            return newest_number(db) != self.items_number

    async def relearn(self) -> float:
        """Make or fit a model where it is time; how many seconds it took."""
        begin = monotonic()
        if self.settings.recommend == "model":
            if self.snapshot.people >= self.settings.models.people:  # the public count: nothing else is looked at
                await aside(make_due, apart(self.engine), self.settings.models)
            if await asyncio.to_thread(self.behind):
                await asyncio.to_thread(self.take_model)
        elif self.stale:
            self.stale = False
            try:
                self.model = await aside(fit, apart(self.engine))
            except Exception:
                self.stale = True
                raise
        return monotonic() - begin

    async def forget(self) -> None:
        """Erase what has had its time, a little at a time; nothing at all where the clock has jumped."""
        if abs(time.time() - monotonic() - self.started) > DAY:
            log.warning("the clock has jumped by more than a day since the start: nothing is forgotten")
            return
        while (await self.commit(Forget()))["people"]:
            pass
        if self.sharing is not None:
            await asyncio.to_thread(self.sharing.forget)

    # --- work in the background ------------------------------------------------------------------------------------

    def work(self) -> list[Coroutine[Any, Any, None]]:
        """What runs beside the server. Each has a loop of its own: one that fails keeps no other waiting."""
        return [
            self.keep_small(),
            self.keep_learned(),
            self.keep_fresh(),
            self.keep_forgetting(),
            self.keep_shared(),
        ]

    async def keep_small(self) -> None:
        """Empty SQLite's log every second, so that no click has to wait for it."""
        while self.engine.dialect.name == "sqlite":
            await asyncio.sleep(1)
            with suppress(sa.exc.SQLAlchemyError, sqlite3.Error):
                await asyncio.to_thread(checkpoint, self.engine)

    async def keep_shared(self) -> None:
        """Tell other workers what callers did here."""
        limits = {"requests": self.requests, "clicks": self.clicks, "reads": self.reads, "strangers": self.strangers}
        while self.sharing is not None:
            await asyncio.sleep(EVERY)
            await self.guarded("sharing limits", partial(asyncio.to_thread, self.sharing.exchange, limits))

    async def keep_fresh(self) -> None:
        while True:
            await asyncio.sleep(self.settings.publish_every)
            await self.guarded("publishing", self.refresh)

    async def keep_learned(self) -> None:
        while True:
            took = await self.guarded("learning", self.relearn)
            if took is not None and not self.learned:
                self.learned = True
                self.when_learned()
            await asyncio.sleep(max(self.settings.publish_every, RESTS * (took or 0.0)))

    async def keep_forgetting(self) -> None:
        while True:
            await self.guarded("forgetting", self.forget)
            await asyncio.sleep(UPKEEP)

    async def guarded(self, name: str, act: Callable[[], Awaitable[Any]]) -> Any:
        """Do it; what goes wrong is said and counted, and waits for the next turn."""
        try:
            return await act()
        except Exception as error:  # the database is away, as a rule
            log.warning("%s failed: %s", name, type(error).__name__)
            self.metrics.fail(name)
            return None


def open_advisor(engine: Engine, settings: Settings, salt: bytes = b"", worker: int = 0) -> Advisor:
    """The state of a server that is about to start; a salt makes it one of several workers."""
    publish_due(engine, settings)
    sharing = Sharing(engine, salt) if salt else None
    return Advisor(engine, settings, public_table(engine, settings), sharing=sharing, metrics=Metrics(worker))


def publish_due(engine: Engine, settings: Settings) -> None:
    if settings.counters == "private":
        again(partial(look, engine, settings.budget))
    else:
        again(partial(publish, engine, settings.min_people))


def public_table(engine: Engine, settings: Settings, known: Snapshot | None = None) -> Snapshot:
    """What everybody may read now, and is put into text here, where nobody waits."""
    if settings.counters == "private":
        models = settings.models if settings.recommend == "model" else None
        made = blurred(engine, settings.min_people, models, known)
    else:
        made = snapshot(engine, settings.min_people, known)
    _ = made.table
    return made
