"""What stands behind the pages: one project, its workers, and the state that every open page is told of."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

from recveil.desk.project.choices import ChoiceError
from recveil.desk.project.folder import Project
from recveil.desk.project.jobs import RUNNING, WAITING, JobStore
from recveil.desk.project.plan import bundle_job, jobs_of, made_bundle
from recveil.desk.project.standing import state
from recveil.desk.project.worker_pool import WorkerPool
from recveil.errors import RecveilError

EVERY = 0.25  # seconds between two looks
HEARTBEAT = 15.0
REPEATED = ("red-team",)  # what draws afresh each time, and spends nothing
WATCHED = ("", "work", "results", "bundles", "published")


class DeskState:
    """What the routes share."""

    def __init__(self, project: Project, workers: WorkerPool) -> None:
        self.project, self.workers = project, workers
        self.desk = JobStore(project)
        self._shown = ""
        self._seen: Any = None
        self._changed = asyncio.Condition()
        self._number = 0
        self.closing = False

    async def run(self) -> None:
        """Look after the workers, and tell the pages what changed, until the server ends."""
        while not self.closing:
            with suppress(OSError):  # a full disk: what is there stays, and it is tried again
                await self.look()
            await asyncio.sleep(EVERY)

    async def look(self) -> None:
        await asyncio.to_thread(self._tick)
        seen = await asyncio.to_thread(self._signature)
        if seen != self._seen:
            await self.refresh()
            self._seen = seen

    async def refresh(self) -> dict[str, Any]:
        """The state now; whoever waits for it is told."""
        found = await asyncio.to_thread(self.state)
        text = json.dumps(found, ensure_ascii=False)
        if text != self._shown:
            async with self._changed:
                self._shown, self._number = text, self._number + 1
                self._changed.notify_all()
        return found

    def state(self) -> dict[str, Any]:
        """Where the project stands; a desk.toml that cannot be read is a line, not the end."""
        try:
            return state(self.project) | {"trouble": self.workers.trouble}
        except RecveilError as why:
            field = why.field if isinstance(why, ChoiceError) else None
            name = self.project.folder.name
            return {"project": {"folder": str(self.project.folder), "name": name, "version": ""},
                    "problem": {"detail": str(why), "field": field}, "choices": None, "steps": {}, "work": [],
                    "results": {}, "commands": {}, "seeded": False, "trouble": ""}  # fmt: skip

    def start(self, kind: str, again: bool = False) -> None:
        """Have done what the present choices ask for and is not done; attacks also a second time, `again`."""
        choices, _ = self.project.read()
        if kind == "red-team" and made_bundle(self.desk, choices) is None:
            first = bundle_job(self.desk, choices)
            self.desk.follow(first.id)
            self.desk.ask(first)
            self.workers.tick()
            return
        for one in jobs_of(self.desk, choices, kind):
            if again and kind in REPEATED:
                self.desk.forget(one.id)
            self.desk.ask(one)
        self.workers.tick()

    async def events(self) -> AsyncIterator[str]:
        """Server-sent events: the state now, and whenever it changed."""
        await self.refresh()
        told = -1
        while not self.closing:
            if told != self._number:
                told = self._number
                yield f"event: state\ndata: {self._shown}\n\n"
            try:
                await asyncio.wait_for(self._other_than(told), HEARTBEAT)
            except TimeoutError:
                yield ": still here\n\n"

    async def _other_than(self, told: int) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self.closing or told != self._number)

    async def close(self) -> None:
        self.closing = True
        async with self._changed:
            self._changed.notify_all()
        await asyncio.to_thread(self.workers.close)

    def _tick(self) -> None:
        self.workers.tick()
        for one in self.desk.followed():  # a release is attacked although nobody looks on any more
            for attack in jobs_of(self.desk, one.made_choices(), "red-team"):
                self.desk.ask(attack)
        if not self.workers.busy:  # while somebody works, a second set of libraries would only be in the way
            with suppress(OSError):
                self.workers.prepare()

    def _signature(self) -> Any:
        """What changes when something did: the names and dates of files; while work is under way, the time."""
        found = []
        for room in WATCHED:
            with suppress(OSError), os.scandir(self.project.folder / room) as entries:
                found += sorted(
                    (e.name, e.stat().st_mtime_ns) for e in entries if not e.name.endswith((".part", ".lock"))
                )
        under_way = any(self.desk.state(one.id) in (RUNNING, WAITING) for one in self.desk.jobs())
        return found, self.workers.trouble, int(monotonic()) if under_way else None


def package_folder(name: str) -> Path:
    return Path(__file__).parent / name
