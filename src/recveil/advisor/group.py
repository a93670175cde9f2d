"""Group commit: writes that arrive while a transaction is on its way to the disk share the next one.

Waiting for the disk is what a durable click costs; with many people at once they wait together. No write is answered
before the transaction that carries it is committed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from recveil.advisor.applying import Answer
from recveil.advisor.problems import Problem
from recveil.advisor.writes import Write

Result = TypeVar("Result")

BATCH = 256  # writes in a transaction
LINGER = 0.004  # seconds between batches where several people click: fewer, larger batches hold a larger load
QUEUE = 4096  # waiting writes; beyond that it is kinder to refuse


class GroupCommit:
    """One writer at a time; everyone awaits the transaction that has their write in it."""

    def __init__(self, apply: Callable[[Sequence[Write]], list[Answer]]) -> None:
        self._apply = apply
        self._thread = ThreadPoolExecutor(1, "writer")  # its own: waiting readers must not hold it up
        self._waiting: deque[tuple[Write, asyncio.Future[dict[str, Any]]]] = deque()
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, write: Write) -> dict[str, Any]:
        """The answer to a write that is on the disk; a Problem is raised."""
        if len(self._waiting) >= QUEUE:
            raise Problem(503, "too many people click at this moment", {"Retry-After": "1"})
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting.append((write, future))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await future

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    async def alone(self, work: Callable[[], Result]) -> Result:
        """Other work that writes, between two batches: on SQLite nobody then waits for a lock."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
                try:
                    answers: Sequence[Answer | Exception] = await loop.run_in_executor(
                        self._thread, self._apply, [write for write, _ in batch]
                    )
                except Exception as error:  # nothing of the batch was written, and everyone in it hears so
                    answers = [error] * len(batch)
                for (_, future), answer in zip(batch, answers, strict=True):
                    if future.done():  # she went away; her write stands
                        continue
                    if isinstance(answer, Exception):
                        future.set_exception(answer)
                    else:
                        future.set_result(answer)
                if len(batch) > 1:
                    await asyncio.sleep(LINGER)
        finally:
            self._running = None
