"""A real cluster on loopback: a master and two workers, a job from the command line, and a worker killed under it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from recveil.errors import RecveilError
from recveil.mechanisms.random_ratings import RandomRatings
from recveil.releases.bundle import load
from recveil.releases.release import release
from recveil.samples import sample
from recveil.spark.session import _check_java

pyspark = pytest.importorskip("pyspark", reason="the extra spark is not installed")
pytestmark = pytest.mark.spark

PATIENCE = 900  # seconds: machines are shared
DATA = "films?users=2000"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # nothing here runs long enough to be compiled well


@dataclass(frozen=True)
class Cluster:
    url: str
    workers: list[subprocess.Popen[bytes]]
    folders: list[Path]  # what the executors of each worker wrote


def until(what: str, holds: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.05)


def listens(port: int) -> bool:
    with suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    return False


@pytest.fixture
def java() -> None:
    try:
        _check_java()
    except RecveilError as why:
        pytest.skip(str(why))


@pytest.fixture
def cluster(tmp_path: Path, java: None) -> Iterator[Cluster]:  # noqa: ARG001
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url, folders = f"spark://127.0.0.1:{port}", [tmp_path / "first", tmp_path / "second"]
    running: list[subprocess.Popen[bytes]] = []

    def start(role: str, *arguments: str, **env: str) -> None:
        name = f"org.apache.spark.deploy.{role.lower()}.{role}"
        command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), name, "--host", "127.0.0.1"]
        log = (tmp_path / f"{role}-{len(running)}.log").open("wb")
        env = {
            **os.environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            **env,
            "SPARK_DAEMON_JAVA_OPTS": QUICK,
        }
        with log:
            group = {"start_new_session": True, "stdout": log, "stderr": log}
            running.append(subprocess.Popen([*command, *arguments, "--webui-port", "0"], env=env, **group))  # type: ignore[call-overload]

    try:
        start("Master", "--port", str(port))
        until("the master", lambda: listens(port))
        for folder in folders:
            folder.mkdir()
            size = ["--cores", "1", "--memory", "600m", "--work-dir", str(folder / "work")]
            start("Worker", *size, url, SPARK_LOCAL_DIRS=str(folder / "local"))
        yield Cluster(url, running[1:], folders)
    finally:
        for process in running:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def submitted(memory: str, conf: dict[str, str]) -> dict[str, str]:
    """The environment of a job that starts a session of its own."""
    java = f'--driver-java-options "{QUICK}" --conf "spark.executor.extraJavaOptions={QUICK}"'
    options = " ".join(f"--conf spark.{name}={value}" for name, value in conf.items())
    return {
        **os.environ,
        "PYSPARK_SUBMIT_ARGS": f"{memory} {java} {options} pyspark-shell",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


@pytest.mark.usefixtures("java")
def test_a_master_that_does_not_answer_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"spark://127.0.0.1:{silent.getsockname()[1]}"
        code = f"from recveil.spark import session as s; s.ANSWER = 2.0; s.session({url!r}).__enter__()"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    assert done.stderr.endswith(f"RecveilError: the Spark master {url} cannot be reached: no answer in 2 seconds\n")


def test_a_worker_dies_and_the_release_is_right(cluster: Cluster, tmp_path: Path) -> None:
    env = submitted("--driver-memory 512m", {"sql.shuffle.partitions": "4", "executor.memory": "512m"})
    command = [sys.executable, "-m", "recveil", "release", f"sample:{DATA}", "--with", "random-ratings", "--seed", "7"]
    command += ["-o", str(tmp_path / "out"), "--engine", "spark", "--master", cluster.url]
    job = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        for folder in cluster.folders:
            shuffled = folder / "local"
            until("both executors at work", lambda at=shuffled: job.poll() is not None or [*at.rglob("shuffle_*.data")])  # type: ignore[misc]
        assert job.poll() is None, f"the job ended before a worker could be killed: {job.communicate()[1]}"
        assert not (tmp_path / "out").exists()
        os.killpg(cluster.workers[0].pid, signal.SIGKILL)
        _, said = job.communicate(timeout=PATIENCE)
    finally:
        job.kill()
        job.wait()
    assert job.returncode == 0, said
    assert cluster.workers[0].wait() == -signal.SIGKILL
    assert load(tmp_path / "out").data.equals(release(sample(DATA), RandomRatings(), seed=7).data)


@pytest.mark.usefixtures("java")
def test_what_a_cluster_logs_names_nobody_and_no_seed(recveil: Callable[..., Any], tmp_path: Path) -> None:
    rows = sample("films?users=60,items=50").frame().with_columns(user=pl.format("somebody-{}", "user"))
    rows.write_parquet("data.parquet")
    recveil("release", "data.parquet", "--with", "random-ratings", "-o", "out", "--keep-map", "map.csv")
    (tmp_path / "log").mkdir()
    logged = {"enabled": "true", "dir": f"file://{tmp_path}/log", "compress": "false"}
    env = submitted(
        "", {"sql.shuffle.partitions": "4", **{f"eventLog.{name}": value for name, value in logged.items()}}
    )
    command = ["measure", "data.parquet", "out", "--map", "map.csv", "--engine", "spark", "--seed", "918273645546372"]
    subprocess.run([sys.executable, "-m", "recveil", *command], env=env, check=True, stdout=subprocess.DEVNULL)
    text = "".join(file.read_text() for file in (tmp_path / "log").rglob("events_*"))
    assert "MapInArrow" in text
    assert "somebody-" not in text and "918273645546372" not in text
