"""The pool of workers: starts them for the jobs of a project, watches their memory, and notices when one has died.

All that must outlast this process stands in the files of jobs.py. A server that is killed leaves its workers at work;
the next one finds them by their locks, and begins again what nobody is at. What a dead worker had measured is in the
project's cache, so it is not measured twice.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import RLock

from recveil.desk.project.folder import Project
from recveil.desk.project.jobs import ONCE, RUNNING, WAITING, Job, JobStore
from recveil.errors import RecveilError

LONG = ("candidate", "solve", "exposure")  # these wait for each other; what a person waits for does not
ATTEMPTS = 2  # of a job whose worker died
SHARE = 0.8  # of the memory that is free, for one worker
FLOOR = 1 << 30
GROWN = 2 << 30  # bytes beyond which a worker is not kept for another job


@dataclass
class WorkerPool:
    """Workers of one project. `memory`: bytes that one worker may take; `abreast`: long jobs at a time."""

    project: Project
    memory: int = field(default_factory=lambda: free_memory())
    abreast: int = field(default_factory=lambda: max(1, min(4, (os.cpu_count() or 2) // 2)))

    def __post_init__(self) -> None:
        self.desk = JobStore(self.project)
        self._at: dict[str, subprocess.Popen[bytes]] = {}
        self._idle: list[subprocess.Popen[bytes]] = []
        self._one_at_a_time = RLock()  # the server's loop and its requests both look after it
        self.trouble = ""  # what keeps them from working, such as a full disk
        for one in self.desk.jobs():  # an earlier desk's: whatever ended it was not the fault of the job
            if one.begun and one.kind not in ONCE and self.desk.state(one.id) == WAITING:
                self.desk.save(replace(one, begun=0))

    @property
    def busy(self) -> bool:
        return bool(self._at)

    def prepare(self) -> None:
        """Have a worker ready, so that the next job does not wait for libraries."""
        with self._one_at_a_time:
            self._idle = [worker for worker in self._idle if worker.poll() is None]
            if not self._idle:
                self._idle.append(_start(self.project.folder))

    def tick(self) -> None:
        """Look after everything once: the dead, the greedy, and those who wait. Called a few times a second."""
        with self._one_at_a_time:
            try:
                self._look()
                self.trouble = ""
            except (RecveilError, OSError) as why:
                self.trouble = str(why)

    def _look(self) -> None:
        self._reap()
        waiting, long = [], 0
        for one in self.desk.jobs():
            state = self._state(one)
            if state == RUNNING:
                long += one.kind in LONG
                self._weigh(one)
            elif state == WAITING:
                waiting.append(one)
        for one in waiting:
            if one.kind in LONG and long >= self.abreast:
                continue
            if self._begin(one):
                long += one.kind in LONG

    def cancel(self, mark: str) -> None:
        """Call a job off; what it had measured stays in the cache."""
        with self._one_at_a_time:
            if self.desk.state(mark) in (WAITING, RUNNING):
                self.desk.cancel(mark)
                self._stop(mark)

    def close(self) -> None:
        """Stop the workers of this pool; their jobs wait for the next desk."""
        with self._one_at_a_time:
            for mark in list(self._at):
                self._stop(mark)
            while self._idle:
                _end(self._idle.pop())

    def _state(self, one: Job) -> str | None:
        return RUNNING if one.id in self._at else self.desk.state(one.id)

    def _begin(self, one: Job) -> bool:
        """A worker for the job; a job whose workers died too often has failed, and one that spends is not repeated."""
        if one.begun and one.kind in ONCE:
            self.desk.fail(
                one.id, "it was stopped while it ran; what the ledger says counts as spent: start it again if you want"
            )
            return False
        if one.begun >= ATTEMPTS:
            self.desk.fail(one.id, f"its process died {one.begun} times; perhaps this machine has too little memory")
            return False
        self.desk.save(replace(one, begun=one.begun + 1))
        self.prepare()
        worker = self._idle.pop()
        self._at[one.id] = worker
        if worker.stdin is not None:
            with suppress(BrokenPipeError):  # it died just now, which is noticed next time
                worker.stdin.write(f"{one.id}\n".encode())
                worker.stdin.flush()
        return True

    def _reap(self) -> None:
        """Those who died, and those who are done: one of these waits for the next job, unless it has grown."""
        for mark, worker in list(self._at.items()):
            over = _said(worker)
            if over or worker.poll() is not None:
                del self._at[mark]
                if over and not self._idle and resident(worker.pid) < GROWN:
                    self._idle.append(worker)
                else:
                    _end(worker)

    def _weigh(self, one: Job) -> None:
        """A job that takes more memory than one may has failed; the desk and its other jobs have not."""
        mark = one.id
        pid = self._at[mark].pid if mark in self._at else self.desk.pid(mark)
        if pid and resident(pid) > self.memory:
            line = f"it took more than {self.memory / 1e9:.1f} GB of memory and was stopped; give it more with --memory"
            self.desk.fail(mark, line, "data.source" if one.kind == "overview" else None)
            self._stop(mark)

    def _stop(self, mark: str) -> None:
        worker = self._at.pop(mark, None)
        if worker is not None:
            _end(worker)
        elif pid := self.desk.pid(mark):  # of a desk that was killed; the lock says that it is still the same
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def free_memory() -> int:
    """Bytes that one worker may take on this machine."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for place in ("/proc/meminfo", "/sys/fs/cgroup/memory.max"):
        with suppress(OSError, ValueError, StopIteration):
            text = Path(place).read_text(encoding="utf-8")
            line = next(line for line in text.splitlines() if line.startswith("MemAvailable") or line.isdigit())
            found.append(int(line) if line.isdigit() else int(line.split()[1]) * 1024)
    return max(FLOOR, int(SHARE * min(found)))


def resident(pid: int) -> int:
    """Bytes of memory that a process holds; 0 where it is gone."""
    try:
        if Path("/proc/self/statm").exists():
            return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return int(shown.stdout.strip() or 0) * 1024
    except (OSError, ValueError, IndexError):
        return 0


def _start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "recveil.desk.project.worker", str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)


def _said(worker: subprocess.Popen[bytes]) -> bool:
    """Whether a worker has said that its job is over."""
    if worker.stdout is None or not select.select([worker.stdout], [], [], 0)[0]:
        return False
    return bool(os.read(worker.stdout.fileno(), 64))


def _end(worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    worker.wait()
    for pipe in (worker.stdin, worker.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
