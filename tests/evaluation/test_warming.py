"""A second process that compiles beside the first: it says nothing, stumbles over nothing, and ends with it."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from recveil.evaluation import warming


def test_what_is_refused_is_passed_over_in_silence(capfd: pytest.CaptureFixture[str]) -> None:
    warming.main("films?users=40,items=60", "mask", "dp-ratings:epsilon=4,delta=1e-6,scale=1..5", "pseudonymise")
    assert capfd.readouterr() == ("", "")


def test_the_process_ends_with_what_it_stands_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[subprocess.Popen[Any]] = []
    real = subprocess.Popen

    def started(*args: Any, **how: Any) -> subprocess.Popen[Any]:
        made.append(real(*args, **how))
        return made[-1]

    monkeypatch.setattr("recveil.evaluation.warming.subprocess.Popen", started)
    with pytest.raises(KeyboardInterrupt), warming.compiled_beside("films?users=3000", ["pseudonymise"]):
        raise KeyboardInterrupt
    assert [process.poll() is not None for process in made] == [True]
