"""Over Spark Connect: a server of its own gives the rows of the local engine, and keeps nothing that it was sent."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from spark_session import ConnectServer
from test_contracts import fitting, mechanism
from test_spark import both, frame

from recveil.data import from_ids
from recveil.errors import RecveilError
from recveil.mechanisms.pseudonymise import Pseudonymise
from recveil.releases.bundle import load
from recveil.releases.places import Folder
from recveil.spark import connect
from recveil.spark.chunks import shared
from recveil.spark.reading import table
from recveil.spark.release import release_table
from recveil.spark.session import one_line, session

pytest.importorskip("pyspark", reason="the extra spark is not installed")
pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def remote(connect_server: ConnectServer) -> Iterator[Any]:
    with session(connect_server.url) as spark:
        assert connect.is_connect(spark)
        yield spark


@pytest.mark.parametrize("name", ["pseudonymise", "mask", "dp-streams", "dp-ratings"])
def test_the_rows_are_those_of_the_local_engine(remote: Any, name: str, tmp_path: Path) -> None:
    both(remote, fitting(name), mechanism(name), tmp_path / "out", 3)


def test_a_release_is_made_verified_and_measured_by_the_same_commands(
    connect_server: ConnectServer, recveil: Callable[..., Any]
) -> None:
    rng = np.random.default_rng(0)
    pairs = rng.permutation(1200)[:400]
    rows = pl.DataFrame({"uid": pairs // 20, "movie": [f"film {i % 20:02}" for i in pairs], "stars": pairs % 5 + 1})
    rows.write_csv("ratings.csv")
    there = ["--engine", "spark", "--master", connect_server.url]
    command = ["release", "ratings.csv", "--with", "random-ratings", "--seed", "4"]
    command += ["--columns", "user=uid,item=movie,rating=stars", "-o"]
    recveil(*command, "here", "--keep-map", "here.csv")
    recveil(*command, "there", "--keep-map", "there.csv", *there)
    assert load("here").data.equals(load("there").data)
    assert pl.read_csv("here.csv").sort("released").equals(pl.read_csv("there.csv"))
    assert recveil("verify", "there", *there, json_answer=True)["verified"]
    measure = ["measure", "ratings.csv", "there", "--columns", command[7], "--map", "there.csv", "--seed", "2"]
    local = recveil(*measure, "--only", "hiding", json_answer=True)["measurements"]
    found = recveil(*measure, *there, json_answer=True)["measurements"]
    assert {"hiding", "linkage"} < {m["name"] for m in found}
    assert [m for m in found if m["name"] == "hiding"] == [m for m in local if m["name"] == "hiding"]
    away = recveil(*command, "hdfs://host/out", *there, code=1)
    assert away.stderr.startswith("recveil: hdfs://host/out: over Spark Connect bundles lie at a path that")
    Path("ratings.csv").write_text("uid,movie,stars\n1,film,good\n")
    bad = recveil(*command, "bad", *there, code=1)
    assert bad.stderr == "recveil: ratings.csv: rating is not a finite number in 1 of 1 rows\n"
    assert not Path("bad").exists()


def test_a_client_that_does_not_see_what_executors_write_says_so(
    remote: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Folder, "uri", property(lambda self: f"file://{tmp_path}/elsewhere{self.path}"))
    with pytest.raises(RecveilError, match="a place that the driver and all executors see"), one_line():
        release_table(table(frame(remote, fitting("pseudonymise"))), Pseudonymise(), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere"]


def test_what_an_executor_says_is_one_line(remote: Any, tmp_path: Path) -> None:
    data = table(frame(remote, from_ids(pl.Series([1, 1, 2]), pl.Series([5, 5, 6]), np.ones(3), np.arange(3))))
    twice = type(data)(data.frame, type(data.layout)(data.layout.items, None, "user", "error"), data.specimen)
    with pytest.raises(RecveilError, match=r"^1 of \d rows repeat the user and item of another row$"), one_line():
        release_table(twice, Pseudonymise(), tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("small", [0, 1 << 20], ids=["as a file", "within a step"])
def test_nobody_can_read_on_a_server_what_it_was_sent(
    connect_server: ConnectServer, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "SMALL", small)
    secret = bytes(range(256)) * 16  # in any packing but a cipher's, much of it stands as it is

    def files() -> dict[str, bytes]:
        found = {}
        for folder, _, names in os.walk(connect_server.folder):
            for name in names:
                with suppress(OSError):  # what Spark deletes meanwhile
                    found[name] = Path(folder, name).read_bytes()
        return found

    with connect.connected(connect_server.url) as spark:
        value = shared(spark.range(3), secret)

        def told(batches: Any) -> Any:
            for batch in batches:
                assert value.value == bytes(range(256)) * 16
                yield batch

        assert spark.range(3).mapInArrow(told, "id long").count() == 3
        there = files()
        assert small or len(there[value.name]) > len(secret)
        assert not any(secret[:64] in content for content in there.values())


def test_no_server_is_told_in_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    for server, says in (("sc://127.0.0.1:9", "cannot be reached"), ("sc://", "not of the form sc://host:port")):
        with pytest.raises(RecveilError, match=says), connect.connected(server):
            pass
    monkeypatch.setattr(connect, "ANSWER", 1.0)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        place = f"sc://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(RecveilError, match=f"^{place} does not answer as a Spark Connect server does$") as refused:
            connect.connected(f"{place}/;token=secret").__enter__()
    assert "secret" not in str(refused.value)
