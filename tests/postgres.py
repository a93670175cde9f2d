"""A real PostgreSQL server for tests: Debian's package, a temporary cluster on a free port of loopback."""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SETTINGS = "-c max_connections=60 -c shared_buffers=32MB"


class MissingError(Exception):
    """There is no PostgreSQL here, and why."""


@dataclass(frozen=True)
class Cluster:
    """A server of our own in a temporary folder. PostgreSQL refuses to run as root: then it is Debian's user."""

    programs: Path
    folder: Path
    port: int
    durable: bool  # tests need not wait for the disk: no machine of theirs loses its power

    def run(self, program: str, *arguments: str) -> None:
        account = pwd.getpwnam("postgres") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
        os.chown(self.folder, account.pw_uid, account.pw_gid)
        done = subprocess.run(
            [str(self.programs / program), "-D", str(self.folder / "data"), *arguments],
            user=account.pw_uid,
            group=account.pw_gid,
            extra_groups=[] if os.geteuid() == 0 else None,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=120,
            check=False,
        )
        if done.returncode:
            raise MissingError(f"PostgreSQL: {program} failed: {done.stderr.decode(errors='replace').strip()[-200:]}")

    def start(self) -> None:
        where = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder}"
        self.run(
            "pg_ctl",
            "start",
            "-w",
            "-l",
            str(self.folder / "log"),
            "-o",
            f"{where} {SETTINGS} -c fsync={'on' if self.durable else 'off'}",
        )

    def stop(self) -> None:
        self.run("pg_ctl", "stop", "-w", "-m", "immediate")

    def database(self) -> str:
        """The URL of its database, emptied: quicker than a new one for each test."""
        import psycopg

        url = f"postgresql://advisor@127.0.0.1:{self.port}/postgres"
        with psycopg.connect(url, autocommit=True, options="-c lock_timeout=10000") as db:
            db.execute("DROP SCHEMA public CASCADE")
            db.execute("CREATE SCHEMA public")
        return url


@contextmanager
def cluster(durable: bool = False) -> Iterator[Cluster]:
    """A running server, gone afterwards."""
    programs = _programs()
    with tempfile.TemporaryDirectory(prefix="recveil-pg-") as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        made = Cluster(programs, Path(folder), port, durable)
        made.run("initdb", "-U", "advisor", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        made.start()
        try:
            yield made
        finally:
            made.stop()


def _programs() -> Path:
    """The folder of initdb and pg_ctl; Debian's package is installed where it is missing and that is permitted."""
    with (Path(tempfile.gettempdir()) / "recveil-postgresql.lock").open("w") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)  # workers that run tests side by side install it once
        found = _installed()
        if found is None and os.geteuid() == 0 and shutil.which("apt-get") and not os.environ.get("RECVEIL_NO_INSTALL"):
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            for command in ("update -qq", "install -y -qq --no-install-recommends postgresql"):
                subprocess.run(["apt-get", *command.split()], env=environment, capture_output=True, check=False)
            found = _installed()
    if found is None:
        raise MissingError("PostgreSQL is not installed: no tests on it (apt-get install postgresql)")
    return found


def _installed() -> Path | None:
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    other = shutil.which("initdb")
    places += [Path(other).resolve().parent] if other else []
    return next((place for place in places if (place / "initdb").exists() and (place / "pg_ctl").exists()), None)
