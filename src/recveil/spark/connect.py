"""Spark Connect: a session by way of a server (sc://host:port), where neither broadcasts nor a JVM are in reach."""

from __future__ import annotations

import os
import pickle
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from recveil.errors import RecveilError
from recveil.randomness import Source, entropy

SCHEME = "sc://"
PORT = 15002
REACH = 3.0  # seconds to reach a server
ANSWER = 30.0  # seconds until it speaks
_MODE = "SPARK_CONNECT_MODE_ENABLED"  # by it pyspark.sql.functions make columns of the right kind
SMALL = 4 << 20  # bytes
_HELD = 4  # values that a worker keeps at once


@contextmanager
def connected(server: str) -> Iterator[Any]:
    """A session of its own on a server that runs already; it is released in the end, and with it all it was sent."""
    found = re.fullmatch(r"sc://([^/:;]+)(?::([0-9]+))?(?:/(;.*)?)?", server)
    if not found:
        raise RecveilError(f"--master {_shown(server)} is not of the form sc://host:port")
    try:
        import grpc
        from pyspark.sql.connect.client import DefaultChannelBuilder
        from pyspark.sql.connect.session import SparkSession
    except ImportError as why:
        raise RecveilError(f"Spark Connect needs pip install 'recveil[spark]' ({why})") from None
    try:
        socket.create_connection((found[1], int(found[2] or PORT)), timeout=REACH).close()
    except OSError as fault:
        raise RecveilError(f"{_shown(server)} cannot be reached: {fault.strerror or fault}") from None
    channel = DefaultChannelBuilder(server).toChannel()
    try:
        grpc.channel_ready_future(channel).result(timeout=ANSWER)
    except grpc.FutureTimeoutError:
        raise RecveilError(f"{_shown(server)} does not answer as a Spark Connect server does") from None
    finally:
        channel.close()
    before = os.environ.get(_MODE)
    os.environ[_MODE] = "1"
    try:
        spark = SparkSession.builder.remote(server).create()
        try:
            spark.conf.set("spark.sql.session.timeZone", "UTC")
            yield spark
        finally:
            spark.stop()
    finally:
        os.environ.pop(_MODE)
        if before is not None:
            os.environ[_MODE] = before


def _shown(server: str) -> str:
    """Without what follows the place: a token may stand there."""
    return server.partition("/;")[0]


def is_connect(spark: Any) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


@dataclass(frozen=True, eq=False)
class Enclosed:
    """A value that travels within each step that takes it."""

    value: Any


@dataclass(frozen=True)
class Sent:
    """A value that lies as a file on every executor, as a broadcast would; its key travels within each step.

    Executors keep files until the server ends: without the key, which then is gone, nobody can read them.
    """

    name: str
    key: Source

    @property
    def value(self) -> Any:
        return _opened(self)


def sent(spark: Any, value: Any) -> Enclosed | Sent:
    """What executors get: with every query what is small, once what is large. A new file costs new Python workers."""
    content = pickle.dumps(value)
    if len(content) <= SMALL:
        return Enclosed(value)
    made = Sent(token_hex(16), entropy())
    with TemporaryDirectory() as folder:
        file = Path(folder) / made.name
        file.write_bytes(_veiled(content, made.key))
        spark.addArtifact(str(file), file=True)
    return made


@lru_cache(maxsize=_HELD)
def _opened(file: Sent) -> Any:
    from pyspark import SparkFiles

    return pickle.loads(_veiled(Path(SparkFiles.get(file.name)).read_bytes(), file.key))


def _veiled(content: bytes, key: Source) -> bytes:
    """The exclusive or with a stream of the key, which is used once; again, and it is undone."""
    stream = key.generator().bytes(len(content))
    return (np.frombuffer(content, np.uint8) ^ np.frombuffer(stream, np.uint8)).tobytes()
