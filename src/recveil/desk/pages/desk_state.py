"""What stands behind the pages: one project, its workers, and the state that every open page is told of."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from threading import RLock
from time import monotonic
from typing import Any

from recveil.desk.project.choices import ChoiceError
from recveil.desk.project.folder import Project, open_project, sole_desk
from recveil.desk.project.jobs import RUNNING, WAITING, JobStore
from recveil.desk.project.plan import bundle_job, jobs_of, made_bundle
from recveil.desk.project.shelf import rename
from recveil.desk.project.standing import state
from recveil.desk.project.worker_pool import WorkerPool
from recveil.errors import RecveilError

EVERY = 0.25  # seconds between two looks
HEARTBEAT = 15.0
REPEATED = ("red-team",)  # what draws afresh each time, and spends nothing
WATCHED = ("", "work", "results", "bundles", "published")


class DeskState:
    """What the routes share. One project is open at a time; of a tour, the one that was open before waits.

    opened: told of each project that is opened to stay.
    """

    def __init__(self, project: Project, memory: int, opened: Callable[[Project], None] = lambda _: None) -> None:
        self._door, self._opened = ExitStack(), opened
        self._door.enter_context(sole_desk(project))
        self.project, self.workers = project, WorkerPool(project, memory)
        self.desk = JobStore(project)
        self._waiting: Project | None = None  # for the end of the tour
        self._one_at_a_time = RLock()
        opened(project)
        self._shown = ""
        self._seen: Any = None
        self._changed = asyncio.Condition()
        self._number = 0
        self.closing = False

    async def run(self) -> None:
        """Look after the workers, and tell the pages what changed, until the server ends."""
        while not self.closing:
            with suppress(OSError, RecveilError):  # a full disk: what is there stays, and it is tried again
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

    @property
    def touring(self) -> bool:
        return self._waiting is not None

    @property
    def home(self) -> Project:
        """The project that is open, or waits for the end of the tour."""
        return self._waiting or self.project

    @property
    def mark(self) -> str:
        """Tells a page whether the project that it shows is still the one that is open."""
        return sha256(str(self.project.folder).encode()).hexdigest()[:12]

    def check_idle(self) -> None:
        """Raise where work is under way that would be broken off."""
        if not self.touring and self._under_way():
            raise RecveilError("work is under way in this project: let it end, or stop it, before another is opened")

    def open(self, project: Project) -> None:
        """Another project in place of this one; a tour ends with that."""
        with self._one_at_a_time:
            self.check_idle()
            self.end_tour()
            if project == self.project:
                return
            with ExitStack() as door:
                door.enter_context(sole_desk(project))
                self._take(project)
                self._door.close()
                self._door = door.pop_all()
            self._opened(project)

    def rename(self, to: str) -> None:
        """Another name for the project that is open."""
        with self._one_at_a_time:
            self.check_idle()
            before = self.project.folder
            self._door.close()
            try:
                before = rename(before.parent, before.name, to)
            finally:
                self._door.enter_context(sole_desk(Project(before)))
            self._take(Project(before))

    def tour(self) -> None:
        """A project of its own for the guided tour, which is gone when the tour ends; its data are a sample."""
        with self._one_at_a_time:
            self.check_idle()
            self.end_tour()
            self._waiting = self.project
            project = open_project(Path(mkdtemp(prefix="recveil-tour-")) / "tour")
            project.change({"data": {"source": "sample:films"}})
            self._take(project)
        self.start("overview")

    def end_tour(self) -> None:
        """Back to the project that was open before."""
        with self._one_at_a_time:
            if self._waiting is None:
                return
            gone = self.project.folder.parent
            self._take(self._waiting)
            self._waiting = None
            shutil.rmtree(gone, ignore_errors=True)

    def _take(self, project: Project) -> None:
        workers = WorkerPool(project, self.workers.memory)
        self.workers.close()
        self.project, self.workers, self.desk = project, workers, JobStore(project)

    def state(self) -> dict[str, Any]:
        """Where the project stands; a desk.toml that cannot be read is a line, not the end."""
        found = self._state()
        found["project"] |= {"mark": self.mark, "tour": self.touring}
        return found

    def _state(self) -> dict[str, Any]:
        try:
            return state(self.project) | {"trouble": self.workers.trouble}
        except RecveilError as why:
            field = why.field if isinstance(why, ChoiceError) else None
            name = self.project.folder.name
            return {"project": {"folder": str(self.project.folder), "name": name, "version": ""},
                    "problem": {"detail": str(why), "field": field}, "choices": None, "steps": {}, "work": [],
                    "results": {}, "commands": {}, "seeded": False, "changed": False, "trouble": ""}  # fmt: skip

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
        await asyncio.to_thread(self.end_tour)
        await asyncio.to_thread(self.workers.close)
        self._door.close()

    def _tick(self) -> None:
        with self._one_at_a_time:
            if not self.closing:
                self._look_after()

    def _look_after(self) -> None:
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
        return self.mark, found, self.workers.trouble, int(monotonic()) if self._under_way() else None

    def _under_way(self) -> bool:
        return any(self.desk.state(one.id) in (RUNNING, WAITING) for one in self.desk.jobs())


def package_folder(name: str) -> Path:
    return Path(__file__).parent / name
