"""Jobs: pieces of work of a project, each a few files, so that server, worker and command line see the same.

work/ID.json      what is to be done, with the choices as they were when it was asked for
work/ID.lock      held by the process that does it; its number stands in it
work/ID.progress  how far it is
work/ID.failed    why it failed;  work/ID.cancelled: it was called off;  work/ID.then: it is to be attacked afterwards
results/ID.json   what came of it: the job is done

The ID ends in a hash of everything that the result depends on. So the same job is the same file, going back to an
earlier choice finds what was made then, and a result never belongs to choices that it was not made for.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from time import process_time, sleep, time
from typing import Any

from recveil.desk.project.choices import Choices
from recveil.desk.project.folder import Project
from recveil.errors import RecveilError
from recveil.evaluation.cache import digest
from recveil.formats.files import written
from recveil.releases.progress import Progress

WAITING, RUNNING, DONE, FAILED, CANCELLED = "queued", "running", "done", "failed", "cancelled"
ONCE = ("bundle", "court")  # what is entered into the ledger: never begun a second time without being asked
EVERY = 0.2  # seconds between two writes of progress


@dataclass(frozen=True)
class Job:
    """A piece of work: its kind, what it is about, and the choices it was asked for with."""

    id: str
    kind: str
    title: str
    choices: dict[str, Any]
    about: str = ""
    asked: float = field(default_factory=time)
    begun: int = 0  # how often a process began it

    def made_choices(self) -> Choices:
        return Choices().changed(self.choices)


def job(kind: str, title: str, choices: Choices, depends: list[Any], about: str = "") -> Job:
    """A job whose mark follows from what its result depends on."""
    mark = digest(json.dumps([kind, about, *depends], sort_keys=True, default=str).encode())[:12]
    return Job(f"{kind}-{mark}", kind, title, choices.record(), about)


@dataclass(frozen=True)
class JobStore:
    """The work of a project, as its files say."""

    project: Project

    def file(self, mark: str, ending: str) -> Path:
        return self.project.room("work") / f"{mark}.{ending}"

    def result_file(self, mark: str) -> Path:
        return self.project.room("results") / f"{mark}.json"

    def jobs(self) -> list[Job]:
        """All that were asked for, the first first."""
        found = (self.job(path.stem) for path in self.project.room("work").glob("*.json"))
        return sorted((one for one in found if one), key=lambda one: (one.asked, one.id))

    def job(self, mark: str) -> Job | None:
        known = _document(self.file(mark, "json"))
        try:
            return Job(**known) if known else None
        except TypeError:  # of another version
            return None

    def save(self, one: Job) -> None:
        _put(self.file(one.id, "json"), asdict(one))

    def ask(self, one: Job) -> None:
        """Have it done, unless it is done or under way."""
        if self.state(one.id) not in (DONE, RUNNING):
            self.save(one)
            for ending in ("failed", "cancelled", "progress"):
                self.file(one.id, ending).unlink(missing_ok=True)

    def state(self, mark: str) -> str | None:
        """How it stands; None where nobody asked for it."""
        if self.result_file(mark).exists():
            return DONE
        if self.pid(mark) is not None:
            return RUNNING
        for ending, state in (("cancelled", CANCELLED), ("failed", FAILED), ("json", WAITING)):
            if self.file(mark, ending).exists():
                return state
        return None

    def result(self, mark: str) -> Any:
        return _document(self.result_file(mark))

    def keep(self, mark: str, document: Any) -> None:
        """What came of it, readable by the owner alone."""
        _put(self.result_file(mark), document)

    def fail(self, mark: str, line: str, field: str | None = None) -> None:
        """Why it failed; on a disk that is full even that may be lost, and then it is begun again."""
        with suppress(RecveilError):
            _put(self.file(mark, "failed"), {"line": " ".join(line.split()), "field": field})

    def forget(self, mark: str) -> None:
        """What came of it, so that it can be done again."""
        self.result_file(mark).unlink(missing_ok=True)

    def follow(self, mark: str) -> None:
        """Have the release of this job attacked as soon as it is made, whoever looks on then."""
        self.file(mark, "then").touch(mode=0o600)

    def followed(self) -> list[Job]:
        """The jobs that were done, and that something was to follow; each is told once."""
        over = []
        for path in self.project.room("work").glob("*.then"):
            state = self.state(path.stem)
            if state not in (WAITING, RUNNING):
                path.unlink(missing_ok=True)
                over += [one for one in (self.job(path.stem),) if one and state == DONE]
        return over

    def cancel(self, mark: str) -> None:
        self.file(mark, "cancelled").touch(mode=0o600)

    def why(self, mark: str) -> tuple[str | None, str]:
        """The field that a failure concerns, if it concerns one, and its line."""
        try:
            found = json.loads(self.file(mark, "failed").read_text(encoding="utf-8"))
            return found["field"], found["line"]
        except (OSError, ValueError, KeyError):
            return None, "it failed"

    def pid(self, mark: str) -> int | None:
        """The process that does it at the moment, 0 if it is not a worker's; the lock is the truth, not the number."""
        path = self.file(mark, "lock")
        try:
            handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return int(os.pread(handle, 32, 0).decode().strip() or 0)
        finally:
            os.close(handle)
        return None

    @contextmanager
    def taken(self, mark: str, killable: bool = False) -> Iterator[bool]:
        """Whether the job is this process's now, while the block lasts; a desk may end one that is killable."""
        handle = os.open(self.file(mark, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not _locked(handle):
                yield False
                return
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid() if killable else 0).encode(), 0)
            yield True
        finally:
            os.close(handle)

    def record(self, one: Job) -> dict[str, Any]:
        """How a job stands, for whoever watches."""
        state = self.state(one.id)
        seen = _document(self.file(one.id, "progress")) or {}
        done, of = seen.get("done", 0), seen.get("of", 0)
        seconds = (time() if state == RUNNING else seen.get("now", 0.0)) - seen.get("begin", time())
        seconds = max(seconds, 0.0) if seen else 0.0
        left = seconds * (of - done) / done if state == RUNNING and 0 < done <= of else None
        return {
            "id": one.id, "kind": one.kind, "title": one.title, "state": state, "what": seen.get("what", ""),
            "done": done, "of": of, "seconds": round(seconds, 1), "cpu": round(seen.get("cpu", 0.0), 1),
            "left": None if left is None else round(left, 1),
            "line": self.why(one.id)[1] if state == FAILED else "",
            "field": self.why(one.id)[0] if state == FAILED else None, "notes": seen.get("notes", []),
        }  # fmt: skip


class WrittenProgress(Progress):
    """Progress that is written beside the job, at most every EVERY seconds."""

    def __init__(self, path: Path) -> None:
        self._path, self._written, self._cpu = path, 0.0, process_time()
        self._seen: dict[str, Any] = {"begin": time(), "what": "", "done": 0, "of": 0, "notes": []}
        self._put()

    def note(self, line: str) -> None:
        self._seen["notes"].append(line)
        self._put()

    def step(self, what: str, done: int, of: int) -> None:
        self._seen |= {"what": what, "done": done, "of": of}
        if time() - self._written >= EVERY or done == of:
            self._put()

    def close(self) -> None:
        self._put()

    def _put(self) -> None:
        self._written = time()
        part = self._path.with_suffix(f".{os.getpid()}.part")
        with suppress(OSError):  # a full disk stops no work: only nobody sees how far it is
            seen = self._seen | {"now": self._written, "cpu": process_time() - self._cpu}
            part.write_text(json.dumps(seen), encoding="utf-8")
            part.replace(self._path)


def _locked(handle: int) -> bool:
    """Whether a lock is ours; those who only look hold it for a moment, so it is tried for a while."""
    for _ in range(20):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            sleep(0.01)
        else:
            return True
    return False


def _document(path: Path) -> Any:
    """What a file of ours holds; None where it is not there. It is read again only when it has changed."""
    try:
        found = path.stat()
        return _read(path, found.st_mtime_ns, found.st_ino)
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=256)
def _read(path: Path, changed: int, number: int) -> Any:  # noqa: ARG001
    return json.loads(path.read_text(encoding="utf-8"))


def _put(path: Path, document: Any) -> None:
    with written(path, private=True) as file:
        file.write(json.dumps(document, ensure_ascii=False, allow_nan=False, default=str).encode())
