"""What several test files share: where the real data are, how to run the command line, an advisor and its databases."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from browser import browser  # noqa: F401  (a fixture)
from hypothesis import HealthCheck, settings
from spark_session import connect_server, spark, spark_session  # noqa: F401  (fixtures)
from visits import advisor, visit  # noqa: F401  (fixtures)

# Machines are shared and kernels compile at their first call: time limits per example would fail by chance.
settings.register_profile("recveil", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("recveil")

PROJECT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data sets; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("RECVEIL_DATA", PROJECT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the real data sets are not here; RECVEIL_DATA names their folder")
    return folder


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def recveil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Run `recveil ARGUMENTS` in an empty folder, in this process; with json_answer the parsed answer is returned."""
    from recveil.cli import main

    monkeypatch.chdir(tmp_path)

    def run(*arguments: object, json_answer: bool = False, code: int = 0) -> Any:
        monkeypatch.setattr(sys, "argv", ["recveil", *map(str, arguments), *(["--json"] if json_answer else [])])
        capfd.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        done = Done(int(stopped.value.code or 0), *capfd.readouterr())
        assert done.returncode == code, f"exit code {done.returncode}: {done.stdout}{done.stderr}"
        return json.loads(done.stdout) if json_answer else done

    return run


# --- the advisor, on SQLite and on a real PostgreSQL server -----------------------------------------------------


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Any]:
    """A running PostgreSQL server, or a skip that says what is missing."""
    from postgres import MissingError, cluster

    try:
        with cluster() as made:
            yield made
    except MissingError as missing:
        pytest.skip(str(missing))


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database: of both kinds, one after the other."""
    if request.param == "sqlite":
        return str(tmp_path / "advisor.sqlite")
    url: str = request.getfixturevalue("postgresql").database()
    return url


@pytest.fixture
def service(database: str) -> Iterator[Any]:
    """An advisor with a few items, which publishes when it is told to; every count is shown."""
    from serving import opened

    with opened(database) as made:
        yield made


@pytest.fixture
def server(service: Any) -> Iterator[Any]:
    """A client of the advisor's server."""
    from serving import client_of

    with client_of(service) as client:
        yield client
