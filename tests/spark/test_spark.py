"""The Spark engine gives what the local one gives, in any partitions; its faults are one line, and publish nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from test_contracts import fitting, mechanism

from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.mechanism import Mechanism
from recveil.mechanisms import MECHANISMS
from recveil.mechanisms.mbrw import MBRW
from recveil.mechanisms.pseudonymise import Pseudonymise
from recveil.mechanisms.shuffle_nnn import ShuffleNNN
from recveil.mechanisms.spec import parse, text
from recveil.releases.bundle import load, verify
from recveil.releases.release import release
from recveil.spark import session as sessions

pytest.importorskip("pyspark", reason="the extra spark is not installed")
pytestmark = pytest.mark.spark

ON_SPARK = sorted(name for name, m in MECHANISMS.items() if not m.local_only)


def frame(spark: Any, data: Interactions, partitions: int = 2) -> Any:
    return spark.createDataFrame(data.frame().to_arrow()).repartition(partitions)


def both(
    spark: Any,
    data: Interactions,
    how: Mechanism,
    out: Path,
    partitions: int,
    part_rows: int = 200,
    rows: Any = None,
    **wishes: Any,
) -> None:
    """Release locally and on Spark (the same `rows`), and compare all that is released and said."""
    from recveil.spark.reading import table
    from recveil.spark.release import release_table

    spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    wanted = release(data, how, seed=11, **wishes)
    made = release_table(
        table(rows or frame(spark, data, partitions), data.unit),
        how,
        out,
        seed=11,
        keep_map=True,
        part_rows=part_rows,
        **wishes,
    )
    found = load(out)
    assert found.data.frame().equals(wanted.data.frame())
    assert found.guarantee == wanted.guarantee
    assert made.manifest["notes"] == dict(wanted.notes)
    assert made.manifest["parameters"] == vars(wanted.mechanism)
    if wanted.id_map is not None:
        assert made.id_map is not None
        shown = wanted.id_map.filter(pl.col("released").is_in(wanted.data.users.implode())).sort("released")
        assert made.id_map.equals(shown)


@pytest.mark.parametrize("name", ON_SPARK)
def test_the_same_rows_in_any_partitions(spark: Any, name: str, tmp_path: Path) -> None:
    for partitions in (1, 3, 8) if name == "random-ratings" else (3,):
        both(spark, fitting(name), mechanism(name), tmp_path / str(partitions), partitions)


def test_sessions_of_people_are_counted_on_the_executors(spark: Any, tmp_path: Path) -> None:
    """Streams are sessions for dp-streams; for others the sessions of a person are one stream."""
    from test_sessions import shoppers

    data = shoppers(400)
    both(spark, data, parse("dp-streams:epsilon=20,delta=0.01"), tmp_path / "sessions", 3)
    both(spark, data, parse("pseudonymise"), tmp_path / "people", 3)


def test_rows_of_a_public_list_of_users_are_not_for_spark() -> None:
    from recveil.spark.release import check_runs

    check_runs(parse("dp-tags:epsilon=1"))
    with pytest.raises(RecveilError, match="dp-tags with tables of users does not run on Spark"):
        check_runs(parse("dp-tags:epsilon=1,profiles=central"))


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - set(ON_SPARK)))
def test_what_does_not_run_says_so_before_any_work(
    name: str, recveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    done = recveil("release", "none.parquet", "--with", text(mechanism(name)), "-o", "out", "--engine", "spark", code=1)
    assert done.stderr == f"recveil: {name} does not run on Spark: {MECHANISMS[name].local_only}; use --engine local\n"


def clicks(users: int = 60) -> Interactions:
    rng = np.random.default_rng(5)
    n = users * 6
    return from_ids(
        pl.Series(rng.integers(0, users, n)), pl.Series(rng.integers(0, 40, n)), time=rng.integers(0, 50, n)
    )


@pytest.mark.parametrize("how", [MBRW(theta=0.7), MBRW(k=90, theta=0.6, redraw=True)], ids=["left out", "drawn again"])
def test_theta_is_a_join(spark: Any, how: MBRW, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recveil.spark import similar

    monkeypatch.setattr(similar, "CELLS", 60)  # several blocks, some of them for one length
    both(spark, clicks(), how, tmp_path / "out", 3)


def test_theta_among_streams_of_one_length(spark: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    items = np.concatenate([rng.permutation(12)[:4] for _ in range(30)])
    data = from_ids(pl.Series(np.repeat(np.arange(30), 4)), pl.Series(items), time=np.tile(np.arange(4), 30))
    both(spark, data, MBRW(theta=0.6, memory="constant(2)", hops="constant(1)"), tmp_path / "out", 2)


def test_sums_of_many_tasks_are_added_up_level_by_level() -> None:
    from recveil.spark.chunks import levels

    assert [levels(tasks) for tasks in (1, 32, 200, 2000)] == [[1], [4], [25, 4], [250, 32, 4]]


@pytest.mark.parametrize("similarity", ["item-centred", "adjusted"])
def test_neighbourhoods_come_from_blocks_of_pairs(
    spark: Any, similarity: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recveil.spark import neighbours

    monkeypatch.setattr(neighbours, "BLOCK", 7)
    how = ShuffleNNN(theta=0.2, k=3, similarity=similarity)
    both(spark, fitting("shuffle-nnn"), how, tmp_path / "out", 4)


def test_tokens_that_clash_or_name_somebody_are_drawn_again(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recveil.spark import release as distributed
    from recveil.spark.reading import table

    bad, tried = ["5L", "user"], []

    def unlucky(*wishes: Any) -> Any:
        tried.append(1)
        masked = distributed._rewrite(*wishes)
        return masked.selectExpr("* except (token)", f"{bad.pop(0)} as token") if bad else masked

    monkeypatch.setitem(distributed.REWRITES, "", unlucky)
    distributed.release_table(table(frame(spark, clicks(20))), Pseudonymise(), tmp_path / "out")
    assert len(tried) == 3
    assert load(tmp_path / "out").data.n_users == clicks(20).n_users


@pytest.mark.slow
def test_an_item_with_a_million_raters(spark: Any, tmp_path: Path) -> None:
    n = 1_000_000
    people = np.arange(n)
    rows = from_ids(
        pl.Series(np.concatenate([people, people[:5000]])),
        pl.Series(np.concatenate([np.zeros(n, dtype=np.int64), 1 + people[:5000] % 50])),
        np.concatenate([people % 5 + 1, people[:5000] % 3 + 1]),
    )
    rows.frame().write_parquet(tmp_path / "rows.parquet")
    there = spark.read.parquet(str(tmp_path / "rows.parquet"))
    both(spark, rows, ShuffleNNN(theta=0.9, k=5), tmp_path / "out", 4, part_rows=400_000, rows=there)


def test_chunks_of_any_size_and_empty_partitions(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recveil.spark import chunks as engine
    from recveil.spark import release as distributed

    monkeypatch.setattr(engine, "CHUNK_ROWS", 7)
    monkeypatch.setattr(engine, "PART_ROWS", 1)  # of more rows than there are partitions
    monkeypatch.setattr(engine, "FAN", 2)
    monkeypatch.setattr(distributed, "CHUNK_ROWS", 7)
    few = clicks(3)
    for rule in ("order", "keep"):
        both(spark, few, Pseudonymise(), tmp_path / rule, 9, time=rule)


@pytest.mark.usefixtures("spark")
def test_csv_from_the_command_line(recveil: Callable[..., Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pairs = rng.permutation(600)[:200]
    rows = pl.DataFrame({"uid": pairs // 20, "movie": pairs % 20, "stars": rng.integers(1, 6, 200)})
    rows = rows.with_columns(
        pl.col("movie").map_elements(lambda i: f"film {i:03d}", pl.String), when=pl.lit("2020-01-02")
    )
    rows.write_csv(tmp_path / "ratings.csv")
    (tmp_path / "items.txt").write_text("\n".join(f"film {i:03d}" for i in range(15)))
    command = ["release", "ratings.csv", "--with", "random-ratings", "--seed", "4", "--catalogue", "items.txt"]
    command += ["--columns", "user=uid,item=movie,rating=stars,time=when", "--time", "keep"]
    recveil(*command, "-o", "here")
    recveil(*command, "-o", "there", "--engine", "spark", "--keep-map", "map.csv")
    assert load("here").data.equals(load("there").data)
    assert recveil("verify", "there", json_answer=True)["verified"]
    assert Path("map.csv").read_text().startswith("original,released\n")
    again = recveil("release", "none.csv", "--with", "pseudonymise", "-o", "there", "--engine", "spark", code=1)
    assert "there exists already" in again.stderr


@pytest.mark.parametrize("name", ["films", "sessions"])
@pytest.mark.usefixtures("spark")
def test_clicks_are_summed_up_alike(name: str, recveil: Callable[..., Any]) -> None:
    command = ["clicks", f"sample:{name}?users=80,items=60", "--items"]
    here = recveil(*command, "here.csv", json_answer=True)
    there = recveil(*command, "there.csv", "--engine", "spark", json_answer=True)
    mine, other = _flat(there), _flat(here)
    assert mine.keys() == other.keys()
    for key, value in other.items():
        assert mine[key] == (pytest.approx(value, rel=1e-9) if isinstance(value, float) else value), key
    assert Path("here.csv").read_text() == Path("there.csv").read_text()


def _flat(found: dict[str, Any], at: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in found.items():
        flat |= _flat(value, f"{at}{key}.") if isinstance(value, dict) else {f"{at}{key}": value}
    return flat


def test_a_release_is_measured_alike(spark: Any, recveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Everyone is a target, so hiding is the same number; a search in chunks finds what one in one place finds."""
    from recveil.spark import measure as attacks
    from recveil.spark.loading import here
    from recveil.spark.reading import read_bundle, table

    data = fitting("random-ratings")
    data.frame().write_parquet("data.parquet")
    recveil("release", "data.parquet", "--with", "random-ratings", "-o", "out", "--keep-map", "map.csv", "--seed", "1")
    command = ["measure", "data.parquet", "out", "--map", "map.csv", "--seed", "2", "--known", "3"]
    local = recveil(*command, "--only", "hiding", json_answer=True)["measurements"]
    there = recveil(*command, "--engine", "spark", json_answer=True)["measurements"]
    assert [m for m in there if m["name"] == "hiding"] == [m for m in local if m["name"] == "hiding"]
    monkeypatch.setattr(attacks, "total", lambda table, count, by: count(load("out").data))  # noqa: ARG005
    whole = recveil(*command, "--engine", "spark", json_answer=True)["measurements"]
    assert whole == there
    assert {m["n"] for m in there if m["name"] == "linkage"} == {data.n_users}
    released = read_bundle(spark, "out", load("out").manifest)
    people = spark.read.csv(here("map.csv"), header=True)
    some, _ = attacks.sampled(table(frame(spark, data)), released, people, 5, people=7)
    assert some.train.compact().n_users == some.released.compact().n_users == 7


BAD = {
    "no rows": ({"user": [1], "item": [1]}, "user = 2", "no rows"),
    "no user": ({"user": [1, None], "item": [1, 2]}, "true", "user is empty in 1 of 2 rows"),
    "no number": ({"user": [1], "item": ["x"], "rating": ["good"]}, "true", "rating is not a finite number in 1"),
    "half an id": ({"user": [1.5], "item": [1]}, "true", "user is not an id"),
    "no item": ({"user": [1], "thing": [1]}, "true", "no column for item"),
    "no time": ({"user": [1], "item": [1], "time": ["later"]}, "true", "time is not a number or a date in 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_tables_are_named(spark: Any, case: str) -> None:
    from recveil.spark.reading import read_table

    columns, where, says = BAD[case]
    spark.createDataFrame(pl.DataFrame(columns).to_arrow()).where(where).createOrReplaceTempView("bad")
    with pytest.raises(RecveilError, match=f"bad: .*{says}"):
        read_table(spark, "bad")


def test_what_an_executor_says_is_one_line_and_nothing_is_published(spark: Any, tmp_path: Path) -> None:
    from recveil.spark.reading import read_table, table
    from recveil.spark.release import release_table
    from recveil.spark.session import one_line

    data = table(frame(spark, from_ids(pl.Series([1, 1, 2]), pl.Series([5, 5, 6]), np.ones(3), np.arange(3))))
    twice = type(data)(data.frame, type(data.layout)(data.layout.items, None, "user", "error"), data.specimen)
    with pytest.raises(RecveilError, match=r"^1 of \d rows repeat the user and item of another row$"), one_line():
        release_table(twice, Pseudonymise(), tmp_path / "out")
    assert not list(tmp_path.iterdir())
    with pytest.raises(RecveilError, match="does not exist"), one_line():
        read_table(spark, str(tmp_path / "none.parquet"))


def test_a_failed_write_leaves_nothing(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recveil.releases import bundle
    from recveil.spark.reading import table
    from recveil.spark.release import release_table

    def full(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundle, "card", full)
    with pytest.raises(RecveilError, match="No space left on device"):
        release_table(table(frame(spark, clicks(4))), Pseudonymise(), tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_parts_are_bound_to_their_manifest(spark: Any, tmp_path: Path) -> None:
    from recveil.spark.reading import table
    from recveil.spark.release import release_table

    release_table(table(frame(spark, clicks())), Pseudonymise(), tmp_path / "out", part_rows=100)
    parts = sorted((tmp_path / "out" / "data").iterdir())
    assert len(parts) > 2
    parts[1].unlink()
    with pytest.raises(RecveilError, match=r"part-00001\.parquet is missing"):
        verify(tmp_path / "out")


def test_no_java_and_no_master_are_told_in_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = time.monotonic()
    with pytest.raises(RecveilError, match=r"spark://127\.0\.0\.1:9 cannot be reached"):
        sessions._check_master("spark://127.0.0.1:9")
    with pytest.raises(RecveilError, match="not of the form"):
        sessions._check_master("spark://nowhere")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(RecveilError, match="apt-get install openjdk-17-jre-headless"):
        sessions._check_java()
    assert time.monotonic() - begun < 10
