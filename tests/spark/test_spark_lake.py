"""What Spark measures of everyone and writes by its executors: popularity, people's rows, held-out people, bundles."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from spark_session import IN_A_LAKE
from test_contracts import fitting
from test_spark import frame

from recveil.data import from_ids
from recveil.errors import RecveilError
from recveil.mechanisms.pseudonymise import Pseudonymise
from recveil.mechanisms.random_ratings import RandomRatings
from recveil.releases.bundle import load

pytest.importorskip("pyspark", reason="the extra spark is not installed")
pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def released(recveil: Callable[..., Any], *options: str, spec: str = "random-ratings") -> None:
    """data.parquet, and a release of it in `out` with its map."""
    fitting("random-ratings").frame().write_parquet("data.parquet")
    recveil("release", "data.parquet", "--with", spec, "-o", "out", "--keep-map", "map.csv", "--seed", "1", *options)


def test_popularity_is_that_of_the_local_engine_and_needs_no_map(recveil: Callable[..., Any]) -> None:
    released(recveil, spec="mask:p=0.8")
    command = ["measure", "data.parquet", "out", "--seed", "2"]
    here = recveil(*command, "--only", "popularity", json_answer=True)
    there = recveil(*command, "--engine", "spark", json_answer=True)
    assert there["measurements"] == here["measurements"]
    assert 0 < here["measurements"][0]["value"] < 1
    assert [gap["name"] for gap in there["skipped"]] == ["hiding", "linkage"]
    asked = recveil(*command, "--engine", "spark", "--only", "linkage", code=1)
    assert asked.stderr == "recveil: linkage: on Spark it needs the id map, --map FILE\n"


def test_rare_items_are_rare_among_everyone(recveil: Callable[..., Any], spark: Any) -> None:
    """A person's rarest item finds her among those who have it: of all people, though few are targets."""
    from recveil.spark import measure as attacks
    from recveil.spark.loading import here
    from recveil.spark.reading import read_bundle, table

    item = np.repeat(np.arange(30), np.arange(30) + 5)  # item i has i + 5 people
    user = np.concatenate([np.arange(i + 5) for i in range(30)])
    data = from_ids(pl.Series(user * 7 % 34), pl.Series(item))
    data.frame().write_parquet("data.parquet")
    recveil("release", "data.parquet", "--with", "pseudonymise", "-o", "out", "--keep-map", "map.csv")
    rows, out = table(frame(spark, data)), read_bundle(spark, "out", load("out").manifest)
    some, known = attacks.sampled(rows, out, spark.read.csv(here("map.csv"), header=True), 5, people=6)
    counts = attacks.holders(rows, some.train.items)
    assert counts.tolist() == [i + 5 for i in range(30)]
    found = attacks.linkage_table(some, known, out, counts, np.random.default_rng(0), known=[1], items="rare")
    hers = data.frame().filter(pl.col("user").is_in(known["original"].implode())).group_by("user").agg(pl.min("item"))
    assert hers.height == 6
    assert found[0].value == pytest.approx((1 / (hers["item"] + 5)).mean())


@IN_A_LAKE
def test_a_bundle_in_the_lake_is_the_one_on_disk(recveil: Callable[..., Any], tmp_path: Path) -> None:
    """file: runs through the same calls as hdfs: and s3a: do; no name is a pattern."""
    released(recveil)
    uri = f"file://{tmp_path}/lake/out [1] {{a,b}}*"
    command = ["release", "data.parquet", "--with", "random-ratings", "--seed", "1", "--engine", "spark"]
    made = recveil(*command, "-o", uri, "--ledger", "book.jsonl", json_answer=True)["manifest"]
    assert json.loads(Path("book.jsonl").read_text())["mechanism"] == made["spec"]
    assert load("lake/out [1] {a,b}*").data.equals(load("out").data)
    assert sorted(p.name for p in Path("lake").rglob("*")) == [
        "README.md", "croissant.json", "data", "manifest.json", "out [1] {a,b}*", "part-00000.parquet"
    ]  # fmt: skip
    assert str(tmp_path) not in Path("lake/out [1] {a,b}*/manifest.json").read_text()
    verified = recveil("verify", uri, "--engine", "spark", json_answer=True)
    assert (verified["verified"], verified["manifest"]) == (True, made)
    command = ["measure", "data.parquet", "--map", "map.csv", "--seed", "3", "--only", "hiding"]
    there = recveil(*command, uri, "--engine", "spark", json_answer=True)["measurements"]
    assert there == recveil(*command, "out", json_answer=True)["measurements"]


@IN_A_LAKE
def test_a_bundle_in_the_lake_is_signed_decided_verified_and_exported(
    recveil: Callable[..., Any], tmp_path: Path
) -> None:
    released(recveil)
    for key in ("owner.key", "dpo/dpo.key"):
        recveil("keys", "new", key)
    prints = [recveil("keys", "show", key).stdout.strip() for key in ("owner.key", "dpo/dpo.key")]
    Path("trust").write_text(f"{prints[0]} owner Shop\n{prints[1]} officer Jane\n")
    uri, cluster = f"file://{tmp_path}/lake/there", ("--engine", "spark")
    options = ("--with", "pseudonymise", "--sign", "owner.key", "--keep-map", "spark.csv", "--licence", "CC-BY-4.0")
    recveil("release", "data.parquet", *options, "-o", uri, *cluster)
    only = ("--map", "spark.csv", "--only", "linkage", "--sign", "owner.key")
    recveil("measure", "data.parquet", uri, *only, *cluster)
    recveil("decide", uri, *cluster)  # writes the sheet that is read before anybody signs
    signed = ("--as", "Jane, DPO", "--key", "dpo/dpo.key")
    recveil("decide", uri, *signed, "--refuse", *cluster)
    recveil("decide", uri, *signed, "--approve", "--reason", "an exercise", *cluster)
    assert sorted(p.name for p in Path("lake/there").iterdir()) == [
        "README.md", "claims.jsonl", "croissant.json", "data", "manifest.json"
    ]  # fmt: skip
    assert {"claims.jsonl", "decision.html", "measurements.json"} <= {p.name for p in Path("there.owner").iterdir()}
    found = recveil("verify", uri, "--trust", "trust", *cluster, json_answer=True)
    assert [claim["kind"] for claim in found["claims"]] == ["released", "refused", "approved"]
    assert recveil("verify", "lake/there", "--trust", "trust", json_answer=True)["verified"]
    recveil("export", uri, "--to", "huggingface", "-o", "hub", *cluster)
    assert load("hub").manifest == found["manifest"]
    Path("hub/claims.jsonl").write_text("")
    assert "no claim by the officer" in recveil("verify", "hub", "--trust", "trust", code=3).stdout


@IN_A_LAKE
def test_a_changed_bundle_in_the_lake_is_found(recveil: Callable[..., Any], tmp_path: Path) -> None:
    released(recveil)
    manifest, uri = Path("out/manifest.json"), f"file://{tmp_path}/out"
    text = manifest.read_text()
    manifest.write_text(text.replace('"users": ', '"users": 1'))
    check = ["verify", uri, "--engine", "spark"]
    assert "do not have the rows, users and items" in recveil(*check, code=3).stdout
    manifest.write_text(text)
    (tmp_path / "out" / ".hidden").write_text("x")
    assert recveil(*check, code=3).stdout == f"not verified: {uri}: .hidden does not stand in the manifest\n"
    (tmp_path / "out" / ".hidden").unlink()
    (tmp_path / "out" / "README.md").write_text("another promise")
    assert "README.md is not the file that the manifest describes" in recveil(*check, code=3).stdout
    (tmp_path / "out" / "README.md").unlink()
    assert "README.md is missing" in recveil(*check, code=3).stdout
    manifest.unlink()
    assert recveil(*check, code=1).stderr == f"recveil: {uri} is not a bundle: it has no manifest.json\n"
    assert "there is no such directory" in recveil("verify", f"{uri}er", "--engine", "spark", code=1).stderr


@IN_A_LAKE
def test_what_is_in_the_lake_is_replaced_by_force_alone(recveil: Callable[..., Any], tmp_path: Path) -> None:
    uri = f"file://{tmp_path}/out"
    released(recveil)
    command = ["release", "none.parquet", "--with", "pseudonymise", "-o", uri, "--engine", "spark"]
    exists = f"recveil: {uri} exists already; choose another place, or --force (force=True) replaces it\n"
    assert recveil(*command, code=1).stderr == exists
    command[1] = "data.parquet"
    recveil(*command, "--force")
    assert load("out").manifest["mechanism"] == "pseudonymise"
    Path("out/manifest.json").unlink()
    assert "is not a bundle, so --force (force=True) does not replace it" in recveil(*command, "--force", code=1).stderr
    for local in (command[:-2], ["verify", uri], ["measure", "data.parquet", uri]):
        said = recveil(*local, code=1).stderr
        assert said == f"recveil: {uri} is a place that a cluster reads and writes: --engine spark\n"
    assert {p.name for p in tmp_path.iterdir()} == {"data.parquet", "map.csv", "out"}


def test_statistics_of_the_driver_go_to_the_lake(recveil: Callable[..., Any], tmp_path: Path) -> None:
    command = [
        "release",
        "sample:sessions?users=500,items=50",
        "--with",
        "dp-streams:epsilon=20,delta=1e-3",
        "--seed",
        "5",
    ]
    recveil(*command, "-o", f"file://{tmp_path}/lake", "--engine", "spark", "--ledger", "book.jsonl")
    recveil(*command, "-o", "here", "--ledger", "book.jsonl")
    assert load("lake").data.equals(load("here").data)
    first, second = (json.loads(line) for line in Path("book.jsonl").read_text().splitlines())
    spent = ("mechanism", "status", "epsilon", "delta", "rho", "unit", "neighbours")
    assert [first[name] for name in spent] == [second[name] for name in spent]


@IN_A_LAKE
@pytest.mark.parametrize("force", [False, True])
def test_a_failed_write_leaves_the_lake_as_it_was(
    spark: Any,
    tmp_path: Path,
    force: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from recveil.releases import bundle
    from recveil.spark.lake import Lake
    from recveil.spark.reading import table
    from recveil.spark.release import release_table

    data, out = table(frame(spark, fitting("random-ratings"))), Lake(spark, f"file://{tmp_path}/out")
    if force:
        release_table(data, Pseudonymise(), out)

    def full(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundle, "card", full)
    with pytest.raises(RecveilError, match=r"out cannot be written: No space left on device"):
        release_table(data, RandomRatings(), out, force=force)
    assert [p.name for p in tmp_path.iterdir()] == (["out"] if force else [])
    if force:
        assert load(tmp_path / "out").manifest["mechanism"] == "pseudonymise"


def test_without_a_bundle_nobody_is_held_out(
    recveil: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recveil.releases import bundle

    def full(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    fitting("random-ratings").frame().write_parquet("data.parquet")
    monkeypatch.setattr(bundle, "card", full)
    command = [
        "release",
        "data.parquet",
        "--with",
        "pseudonymise",
        "--holdout",
        "0.5",
        "--holdout-file",
        "held",
        "--engine",
        "spark",
        "-o",
        "out",
    ]
    assert recveil(*command, code=1).stderr == "recveil: out cannot be written: No space left on device\n"
    assert [p.name for p in tmp_path.iterdir()] == ["data.parquet"]


@IN_A_LAKE
def test_a_place_that_nobody_can_write_is_one_line(recveil: Callable[..., Any]) -> None:
    released(recveil)
    command = ["release", "data.parquet", "--with", "pseudonymise", "--engine", "spark", "-o"]
    assert "cannot be written: " in recveil(*command, "file:///proc/none/out", code=1).stderr
    assert "No FileSystem for scheme" in recveil(*command, "nowhere://host/out", code=1).stderr


@pytest.mark.parametrize(("name", "form"), [("films", "parquet"), ("sessions", "csv")])
def test_people_are_written_by_the_executors(recveil: Callable[..., Any], name: str, form: str, tmp_path: Path) -> None:
    command = ["clicks", f"sample:{name}?users=80,items=60", "--base", "2", "--users"]
    recveil(*command, f"here.{form}")
    recveil(*command, f"there.{form}", "--engine", "spark")
    read = pl.read_parquet if form == "parquet" else pl.read_csv
    here, there = read(f"here.{form}"), read(f"there.{form}/*.{form}")
    assert here.columns == there.columns
    assert here.drop("disclosure").equals(there.drop("disclosure"))
    assert there["disclosure"].to_numpy() == pytest.approx(here["disclosure"].to_numpy(), rel=1e-12)
    assert {p.name for p in tmp_path.iterdir()} == {f"here.{form}", f"there.{form}"}
    command[1] = "none.parquet"
    again = recveil(*command, f"there.{form}", "--engine", "spark", code=1)
    assert again.stderr == f"recveil: there.{form} exists already; choose another place\n"


def test_the_same_people_are_held_out(recveil: Callable[..., Any], tmp_path: Path) -> None:
    """Everyone has two items and the attacker knows both, so nothing is left to chance: linkage and control agree."""
    rng = np.random.default_rng(1)
    pairs = np.array([rng.choice(12, 2, replace=False) for _ in range(90)])
    data = from_ids(pl.Series(np.repeat([f"p{i:02}" for i in range(90)], 2)), pl.Series(pairs.ravel()))
    data.frame().write_parquet("data.parquet")
    command = ["release", "data.parquet", "--with", "pseudonymise", "--seed", "3", "--holdout", "0.3", "-o"]
    recveil(*command, "here", "--keep-map", "map.csv", "--holdout-file", "here.held.parquet")
    aside = "--holdout-file", "there.held"
    recveil(*command, f"file://{tmp_path}/there", "--engine", "spark", *aside)
    assert load("here").data.canonical().equals(load("there").data.canonical())
    held = [pl.read_parquet(f).sort("user", "item") for f in ("here.held.parquet", "there.held/*.parquet")]
    assert held[0].equals(held[1])
    assert held[0]["user"].n_unique() == 21  # about three in ten of 90, each by her own name
    assert Path("there.held").stat().st_mode & 0o777 == 0o700
    measured = [
        "measure",
        "data.parquet",
        "here",
        "--map",
        "map.csv",
        "--known",
        "2",
        "--only",
        "linkage",
        "--seed",
        "1",
    ]
    local = recveil(*measured, "--holdout", "here.held.parquet", json_answer=True)["measurements"]
    spark_ = ["--holdout", "there.held", "--engine", "spark"]
    there = recveil(*measured, *spark_, json_answer=True)["measurements"]
    mine = [m for m in local if m["name"] == "linkage" and m["params"]["attacker"] == "intersection"]
    assert there == mine
    assert 0 < there[0]["control"] < there[0]["value"]
    again = recveil(*command, "there", "--engine", "spark", "--force", *aside)
    assert "30% of the people were kept out, in there.held, which" in again.stderr
    Path("there").rename("elsewhere")
    refused = recveil(*command, "there", "--engine", "spark", *aside, code=1)
    assert refused.stderr == "recveil: there.held exists already; choose another place\n"
    inside = recveil(*measured[:-4], "--seed", "1", "--engine", "spark", "--holdout", "data.parquet", code=1)
    assert inside.stderr == "recveil: 69 of the holdout users are in the release, according to its id map\n"
