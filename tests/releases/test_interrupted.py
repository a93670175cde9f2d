"""Ctrl-C: whatever command runs, it ends with one line and exit code 130."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

FILMS = "sample:films?users=2000,items=500"


def begun(process: subprocess.Popen[str]) -> bool:
    """Whether the command itself runs: what it computes with is loaded by it, not by the program's start."""
    return "numba" in Path(f"/proc/{process.pid}/maps").read_text() or process.poll() is not None


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks into /proc")
@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", FILMS, "--with", "pseudonymise", "--with", "mbrw", "--no-cache"),
        ("measure", FILMS, "out"),
        ("tune", "sample:sessions?users=3000", "--with", "dp-streams:delta=1e-6", "--keep", "lift>=0.7"),
        pytest.param(("reproduce", "shuffle-nnn", "--data", "DATA"), marks=pytest.mark.data),
    ],
    ids=lambda arguments: arguments[0],
)
def test_ctrl_c_always_says_its_line(
    tmp_path: Path, arguments: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    from recveil.mechanisms.spec import parse
    from recveil.releases.release import release
    from recveil.samples import sample

    if "out" in arguments:
        release(sample(FILMS.removeprefix("sample:")), parse("pseudonymise"), seed=1).save(tmp_path / "out")
    if "DATA" in arguments:
        arguments = (*arguments[:-1], str(request.getfixturevalue("real_data")))
    process = subprocess.Popen(
        [sys.executable, "-m", "recveil", *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a suite in the background ignores it
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "NUMBA_NUM_THREADS": "1"},
    )
    limit = time.monotonic() + 100
    while not begun(process) and time.monotonic() < limit:
        time.sleep(0.05)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=100)
    assert told.splitlines()[-1] == "recveil: stopped; nothing half written is left behind", told
    assert process.returncode == 130 and "Traceback" not in told
