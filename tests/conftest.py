"""What several test files share: where the real data are, and how to run the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data sets; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("RECVEIL_DATA", PROJECT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the real data sets are not here; RECVEIL_DATA names their folder")
    return folder


@pytest.fixture
def recveil(tmp_path: Path) -> Callable[..., Any]:
    """Run `recveil ARGUMENTS` in an empty folder; with json=True the parsed answer is returned."""

    def run(*arguments: object, json_answer: bool = False, code: int = 0) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "recveil", *map(str, arguments), *(["--json"] if json_answer else [])],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, f"exit code {done.returncode}: {done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        return json.loads(done.stdout) if json_answer else done

    return run
