"""A Spark session that starts in seconds or says in one line why it cannot; what Spark says, as one line."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from recveil.errors import RecveilError
from recveil.spark.connect import SCHEME, connected, is_connect

REACH = 3.0  # seconds to reach a master
ANSWER = 30.0  # seconds until it has taken us on
WORKERS = 60.0  # seconds until a cluster gives us an executor
JAVA = 17
_ONE_THREAD = (
    "NUMBA_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "POLARS_MAX_THREADS",
)  # tasks are the threads
_WISHES = {
    "spark.app.name": "recveil",
    "spark.master": "local[*]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.maxResultSize": "2g",
    "spark.sql.shuffle.partitions": "32",
    **{f"spark.executorEnv.{name}": "1" for name in _ONE_THREAD},
}
_REMEDY = f"Spark needs Java {JAVA} or newer; on Debian: apt-get install openjdk-{JAVA}-jre-headless"


@contextmanager
def session(master: str | None = None) -> Iterator[Any]:
    """A session on `master` that is stopped in the end; one that runs already (a notebook) is kept.

    Without a master: that of spark-submit or spark-defaults.conf, otherwise the cores of this machine.
    """
    from pyspark.sql import SparkSession

    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    master = master or os.environ.get("SPARK_REMOTE")
    over_connect = bool(master and master.startswith(SCHEME))
    if (running := SparkSession.getActiveSession()) and (is_connect(running) or not over_connect):
        with one_line():
            yield running
        return
    if master and over_connect:
        with one_line(), connected(master) as spark:
            yield spark
        return
    _check_java()
    if master and master.startswith("spark://"):
        _check_master(master)
    if master == "yarn" and not {"HADOOP_CONF_DIR", "YARN_CONF_DIR"} & os.environ.keys():
        raise RecveilError("--master yarn needs HADOOP_CONF_DIR or YARN_CONF_DIR, which say where YARN is")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        with one_line(f"Spark does not start on {master or 'this machine'}"):
            spark = _start(master)
        with one_line():
            if spark.sparkContext.master.startswith("spark://"):
                _wait_for_executor(spark, spark.sparkContext.master)
            yield spark
    finally:
        _stop()


@contextmanager
def one_line(what: str = "Spark failed") -> Iterator[None]:
    """Whatever Spark, its JVM or our own code on an executor says, as one RecveilError line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except RecveilError:
        raise
    except (PySparkException, Py4JError, OSError) as fault:
        text = str(fault)
        ours = re.search(r"RecveilError: (.+)", text)
        if ours:
            raise RecveilError(ours[1].strip()) from None
        said = re.search(r"(?:\w+Error|\w+Exception): (.+)", text)
        line = (said[0] if said else text.strip().splitlines()[0] if text.strip() else type(fault).__name__)[:300]
        raise RecveilError(f"{what}: {line}") from None


def _start(master: str | None) -> Any:
    """The JVM first: it knows what spark-submit and spark-defaults.conf say, which goes before our own wishes."""
    from pyspark import SparkContext
    from pyspark.conf import SparkConf
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    with tempfile.TemporaryFile() as log:  # the JVM's chatter; its faults reach us as exceptions
        try:
            gateway = launch_gateway(popen_kwargs={"stderr": log, "stdout": log})
        except Exception as fault:
            log.seek(0)
            said = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
            raise RecveilError(f"Java does not start: {said[-1] if said else fault}") from None
        SparkContext._ensure_initialized(gateway=gateway)
    conf = SparkConf()
    for name, value in _WISHES.items():
        conf.setIfMissing(name, value)
    if master:
        conf.setMaster(master)
    with _answering(conf.get("spark.master"), gateway):
        return SparkSession.builder.config(conf=conf).config("spark.sql.session.timeZone", "UTC").getOrCreate()


@contextmanager
def _answering(master: str, gateway: Any) -> Iterator[None]:
    """Ends the JVM where something at the master's place does not answer: by itself it would wait for minutes."""
    late = threading.Event()

    def end() -> None:
        late.set()
        gateway.proc.kill()

    timer = threading.Timer(ANSWER, end)
    if master.startswith("spark://"):
        timer.start()
    try:
        yield
    except Exception:
        if not late.is_set():
            raise
        raise RecveilError(f"the Spark master {master} cannot be reached: no answer in {ANSWER:.0f} seconds") from None
    finally:
        timer.cancel()


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).is_file():
        where = f", and there is none in JAVA_HOME={home}" if home else ", and there is none on this machine"
        raise RecveilError(_REMEDY.replace(";", f"{where};"))
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(?:1\.)?(\d+)', told)
    if version and int(version[1]) < JAVA:
        raise RecveilError(_REMEDY.replace(";", f", and this is Java {version[1]};"))


def _check_master(master: str) -> None:
    places = [place.rpartition(":") for place in master.removeprefix("spark://").split(",")]
    why = ""
    for host, _, port in places:
        if not host or not port.isdecimal():
            raise RecveilError(f"--master {master} is not of the form spark://host:port")
        try:
            socket.create_connection((host, int(port)), timeout=REACH).close()
        except OSError as fault:
            why = fault.strerror or str(fault)
        else:
            return
    raise RecveilError(f"the Spark master {master} cannot be reached: {why}")


def _wait_for_executor(spark: Any, master: str) -> None:
    """Without one, jobs would wait for ever. The driver itself is the first in the list."""
    if spark.conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        return  # executors come with the first job
    until = time.monotonic() + WORKERS
    while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 2:
        if time.monotonic() > until:
            raise RecveilError(
                f"{master} gave no executor within {WORKERS:.0f} seconds: it has no worker with enough free cores and "
                "memory (spark.executor.memory, spark.executor.cores)"
            )
        time.sleep(0.1)


def _stop() -> None:
    """The session, if one came about, and its JVM, which PySpark would leave running until this process ends."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    gateway = SparkContext._gateway
    if gateway is None:
        return
    with suppress(Exception):  # of a JVM that is gone
        if running := SparkSession.getActiveSession():
            running.stop()
        gateway.shutdown()
    if process := getattr(gateway, "proc", None):
        process.stdin.close()
        process.wait(timeout=30)
    SparkContext._gateway = SparkContext._jvm = None
