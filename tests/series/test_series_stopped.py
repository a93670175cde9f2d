"""A series that is stopped at any file operation goes on: no window twice, and nothing left that the ledger lacks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from shops import log, released, shop

from recveil.errors import RecveilError
from recveil.releases import hash_chain
from recveil.series.folder import open_series
from recveil.series.state import load_state
from recveil.series.verifying import verify_series

EVENTS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod", "shutil.rmtree"}


class StoppedError(BaseException):
    """The process is gone."""


class Stopper:
    """Lets so many file operations below a folder happen, and none after them, as kill -9 does."""

    def __init__(self) -> None:
        self.folder, self.left, self.seen, self.real = "", -1, 0, False
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: Any) -> None:
        if not self.folder or threading.current_thread() is not threading.main_thread():
            return
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if not (writes or event in EVENTS) or self.folder not in str(arguments[0]):
            return
        self.step()

    def step(self) -> None:
        self.seen += 1
        if self.left < 0:
            return
        if self.left == 0:
            if self.real:
                os.kill(os.getpid(), signal.SIGKILL)
            raise StoppedError
        self.left -= 1

    def run(self, folder: Path, left: int, call: Any) -> int:
        """How many operations there were; or StoppedError."""
        self.folder, self.left, self.seen = str(folder), left, 0
        honest = os.fsync

        def fsync(handle: int) -> None:
            if self.folder:
                self.step()
            honest(handle)

        os.fsync = fsync
        try:
            call()
            return self.seen
        finally:
            self.folder, os.fsync = "", honest


STOPPER = Stopper()


def check(folder: Path, rows: Any) -> None:
    """After any stop: the next run goes on, every window is there once, and the state lacks nobody."""
    series = open_series(folder / "shop.series")
    before = series.left()
    for number in before:  # what the ledger names and is not there is staged
        assert series.bundle(series.period.at(number)).exists() or series.staged.exists()
    for place in (series.path / "bundles").iterdir():
        assert int(place.name[:5]) in before, "a window is out that the ledger does not name"
    released(series, rows, 2)
    assert sorted(series.left()) == [1, 2]
    assert sum("window" in e for e in hash_chain.read(series.ledger)) == 2
    assert hash_chain.check(series.ledger)[0] == []
    assert verify_series(series.path).problems == ()
    assert len(load_state(series.path, 1).person) == rows.n_users
    assert not series.staged.exists()


def test_a_release_may_be_stopped_at_every_file_operation(tmp_path: Path) -> None:
    rows = log(people=60)
    wishes: dict[str, Any] = {"seed": 1, "participations": 4}
    whole = tmp_path / "whole"
    series = shop(whole, **wishes)
    operations = STOPPER.run(whole, -1, lambda: released(series, rows, 2))
    assert operations > 30
    for left in range(operations):
        folder = tmp_path / str(left)
        stopped = shop(folder, **wishes)
        with pytest.raises(StoppedError):
            STOPPER.run(folder, left, lambda stopped=stopped: released(stopped, rows, 2))
        check(folder, rows)


@pytest.mark.slow
def test_a_release_may_be_killed(tmp_path: Path) -> None:
    """The same by a real kill -9, at some of the operations."""
    rows = log(people=60)
    for left in range(0, 60, 6):
        folder = tmp_path / str(left)
        shop(folder, seed=1, participations=4)
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path\n"
            "sys.path.insert(0, sys.argv[1] + '/series')\n"
            "from test_series_stopped import *\n"
            "STOPPER.real = True; folder = Path(sys.argv[2])\n"
            "STOPPER.run(folder, int(sys.argv[3]), "
            "lambda: released(open_series(folder / 'shop.series'), log(people=60), 2))"
        )
        tests = str(Path(__file__).parents[1])
        done = subprocess.run([sys.executable, "-c", code, tests, str(folder), str(left)], check=False)
        assert done.returncode in (0, -signal.SIGKILL)
        check(folder, rows)


def test_of_two_processes_one_wins_and_the_other_says_so(tmp_path: Path) -> None:
    series, rows = shop(tmp_path), log(people=60)
    with series.locked(), pytest.raises(RecveilError, match="another process is at work"):
        released(open_series(series.path), rows, 1)
    outcomes: list[Any] = []

    def one() -> None:
        try:
            outcomes.append([left.window.number for left in released(series, rows, 2)])
        except RecveilError as why:
            outcomes.append(str(why))

    both = [threading.Thread(target=one) for _ in range(2)]
    [t.start() for t in both]
    [t.join() for t in both]
    assert [1, 2] in outcomes
    assert all(o in ([], [1, 2]) or "another process" in o for o in outcomes)
    assert sorted(series.left()) == [1, 2] and verify_series(series.path).problems == ()
    assert released(series, rows, 2) == []
