"""One Spark session for all tests of a process, as cheap as a small table allows; and a server for Spark Connect.

SPARK_REMOTE=sc://host:port pytest -m spark tests/spark: the same tests over a server that runs already.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from recveil.errors import RecveilError

# A query here runs once on a few hundred rows: compiling it costs more than it gives. Jobs that start a session of
# their own (test_spark_cluster) have Spark's defaults.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
PLAIN = ("spark.sql.codegen.wholeStage=false", "spark.sql.codegen.factoryMode=NO_CODEGEN")
IN_A_LAKE = pytest.mark.skipif("SPARK_REMOTE" in os.environ, reason="over Spark Connect bundles lie at a path")
PATIENCE = 900  # seconds: machines are shared


@dataclass(frozen=True)
class ConnectServer:
    url: str
    folder: Path  # in which it keeps what it is sent


@pytest.fixture(scope="session")
def spark_session() -> Iterator[Any]:
    _needs_spark()
    from recveil.spark import session as sessions

    with pytest.MonkeyPatch.context() as patch:
        options = [f'--driver-java-options "{JAVA}"', *(f"--conf {option}" for option in PLAIN)]
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"--driver-memory 1g {' '.join(options)} pyspark-shell")
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        with sessions.session(os.environ.get("SPARK_REMOTE", "local[2]")) as running:
            yield running


@pytest.fixture
def spark(spark_session: Any) -> Any:
    """The session that runs, with few partitions: commands of this process take it, too."""
    spark_session.conf.set("spark.sql.shuffle.partitions", "3")
    return spark_session


@pytest.fixture(scope="session")
def connect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    """A Spark Connect server of our own, with one core."""
    _needs_spark()
    pytest.importorskip("grpc", reason="the extra spark is not installed")
    import pyspark

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("connect")
    conf = [*PLAIN, "spark.ui.enabled=false", "spark.sql.shuffle.partitions=3", "spark.log.level=WARN"]
    conf += [f"spark.connect.grpc.binding.port={port}", "spark.connect.grpc.binding.address=127.0.0.1"]
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local[1]"]
    command += ["--driver-memory", "1g", "--driver-java-options", JAVA, *(w for c in conf for w in ("--conf", c))]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    env = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_DIRS": str(folder),
    }
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log, start_new_session=True)
    try:
        end = time.monotonic() + PATIENCE
        while not _listens(port):
            assert server.poll() is None and time.monotonic() < end, (folder / "log").read_text()[-2000:]
            time.sleep(0.1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("recveil.spark.connect.ANSWER", PATIENCE)
            yield ConnectServer(f"sc://127.0.0.1:{port}", folder)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _needs_spark() -> None:
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    from recveil.spark import session as sessions

    try:
        sessions._check_java()
    except RecveilError as why:
        pytest.skip(str(why))


def _listens(port: int) -> bool:
    with suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    return False
