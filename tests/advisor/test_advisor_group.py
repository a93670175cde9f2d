"""Group commit: who waits together, who hears of a failure, and who is turned away."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest
from serving import alone

from recveil.advisor import group
from recveil.advisor.applying import Answer
from recveil.advisor.group import GroupCommit
from recveil.advisor.problems import Problem
from recveil.advisor.writes import Undo, Write

WRITES = [Undo(b"token", str(n)) for n in range(9)]


class Disk:
    """A transaction takes until `gate` is open; batches are written down."""

    def __init__(self) -> None:
        self.gate, self.batches = threading.Event(), list[list[Write]]()

    def __call__(self, writes: Sequence[Write]) -> list[Answer]:
        assert self.gate.wait(20)
        self.batches.append(list(writes))
        return [{"batch": len(self.batches)} for _ in writes]


async def begun(commit: GroupCommit, writes: Sequence[Write]) -> list[asyncio.Task[dict[str, object]]]:
    tasks = [asyncio.create_task(commit(write)) for write in writes]
    await asyncio.sleep(0.05)
    return tasks


def test_who_comes_while_a_batch_is_written_shares_the_next_in_order() -> None:
    async def run() -> None:
        disk = Disk()
        commit = GroupCommit(disk)
        first = await begun(commit, WRITES[:1])
        rest = await begun(commit, WRITES[1:])
        assert not any(task.done() for task in first + rest)  # nobody is answered before the commit
        disk.gate.set()
        assert [answer["batch"] for answer in await asyncio.gather(*first, *rest)] == [1] + [2] * 8
        assert disk.batches == [WRITES[:1], WRITES[1:]]

    alone(run())


def test_a_problem_is_one_persons_and_a_failure_everyones() -> None:
    async def run() -> None:
        def answers(writes: Sequence[Write]) -> list[Answer]:
            return [Problem(404, "no such click") if n else {} for n, _ in enumerate(writes)]

        def fails(writes: Sequence[Write]) -> list[Answer]:
            raise OSError(len(writes))

        commit = GroupCommit(answers)
        assert await commit(WRITES[0]) == {}
        found = await asyncio.gather(*map(commit, WRITES[:2]), return_exceptions=True)
        assert found[0] == {} and isinstance(found[1], Problem)
        found = await asyncio.gather(*map(GroupCommit(fails), WRITES[:3]), return_exceptions=True)
        assert all(isinstance(error, OSError) for error in found)

    alone(run())


def test_a_write_stands_when_its_person_went_away() -> None:
    async def run() -> None:
        disk = Disk()
        commit = GroupCommit(disk)
        first, second = await begun(commit, WRITES[:1]), await begun(commit, WRITES[1:3])
        second[0].cancel()
        disk.gate.set()
        assert (await first[0])["batch"] == 1
        assert (await second[1])["batch"] == 2
        assert disk.batches[1] == WRITES[1:3]

    alone(run())


def test_too_many_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "QUEUE", 3)

    async def run() -> None:
        disk = Disk()
        commit = GroupCommit(disk)
        tasks = await begun(commit, WRITES[:1])
        tasks += await begun(commit, WRITES[1:])
        disk.gate.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        refused = [answer for answer in found if isinstance(answer, Problem)]
        assert len(refused) == 5 and {problem.status for problem in refused} == {503}

    alone(run())
