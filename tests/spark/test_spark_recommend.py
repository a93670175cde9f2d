"""Recommendations on Spark: lists of similar items from blocks of pairs, and everybody's list, as on one machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from spark_session import IN_A_LAKE
from test_dp_streams import camps
from test_spark import frame

from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.evaluation.recommenders.mask import lists, similar_items
from recveil.mechanisms.mask import Mask, perturb
from recveil.views.bits import columns

pytestmark = pytest.mark.spark


def people(users: int = 150, items: int = 37) -> Interactions:
    """Profiles of all lengths over items of all popularities."""
    rng = np.random.default_rng(8)
    has = rng.random((users, items)) < np.outer(rng.random(users), np.linspace(0.9, 0.1, items))
    has[:, 0] |= ~has.any(axis=1)
    user, item = np.nonzero(has)
    return from_ids(pl.Series([f"u{u:03d}" for u in user]), pl.Series(item * 3))


@pytest.mark.parametrize(
    ("p", "minsup", "k", "block"), [(0.9, None, 5, 8), ("auto", 0.0, None, 12), (0.8, 40.0, 9, 64)]
)
def test_similar_items_come_from_blocks_of_pairs(
    spark: Any,
    p: float | str,
    minsup: float | None,
    k: int | None,
    block: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from recveil.spark import supports
    from recveil.spark.reading import table

    monkeypatch.setattr(supports, "BLOCK", block)
    monkeypatch.setattr(supports, "USERS", 13)  # with one block of items, people are shared out
    data = people()
    seen, used = perturb(data, Mask(p=p), seed=3)
    wanted = similar_items(seen, p=float(used.p), minsup=minsup, k=k)
    there = supports.perturb_table(table(frame(spark, data, 3)), Mask(p=p), seed=3)
    assert there.mechanism == used
    assert (there.seen.people, there.seen.longest) == (data.n_users, np.bincount(data.user).max())
    assert np.array_equal(there.seen.ones, seen.singles)
    found = supports.similar_table(there, minsup=minsup, k=k)
    assert found.minsup == wanted.minsup
    assert found.items.equals(wanted.items)
    for name in ("neighbour", "similarity", "support"):
        assert np.array_equal(getattr(found, name), getattr(wanted, name)), name


def written(directory: Path) -> list[str]:
    assert {file.suffix for file in directory.iterdir()} == {".txt"}
    return sorted(line for file in directory.iterdir() for line in file.read_text().splitlines())


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("score", ["max", "sum"])
def test_everybody_gets_the_same_list(score: str, recveil: Callable[..., Any], tmp_path: Path) -> None:
    people().frame().write_parquet("data.parquet")
    command = ["recommend", "data.parquet", "--with", "mask:p=auto", "--top", 6, "--seed", 5, "--score", score]
    here = recveil(*command, "--similar", "here.txt", json_answer=True)
    there = recveil(*command, "--similar", "there.txt", "--engine", "spark", "-o", "lists", json_answer=True)
    assert written(tmp_path / "lists") == sorted(
        f"{r['user']}\t{','.join(map(str, r['items']))}" for r in here["lists"]
    )
    assert Path("here.txt").read_text() == Path("there.txt").read_text()
    assert there == {**here, "lists": len(here["lists"]), "directory": "lists"}


@pytest.mark.usefixtures("spark")
def test_everybody_gets_the_same_list_from_noisy_tables(recveil: Callable[..., Any], tmp_path: Path) -> None:
    camps(500).frame().write_parquet("data.parquet")
    Path("items.txt").write_text("\n".join(map(str, range(1, 60))))
    command = ["recommend", "data.parquet", "--with", "dp-streams:epsilon=8,delta=1e-4", "--seed", 5, "--top", 25]
    command += ["--catalogue", "items.txt"]
    here = recveil(*command, "-o", "here.txt")
    there = recveil(*command, "--engine", "spark", "-o", "lists")
    assert written(tmp_path / "lists") == sorted(Path("here.txt").read_text().splitlines())
    assert there.stdout == "lists: 500 lists of 25\n"
    assert "spent: epsilon 8" in there.stderr
    assert [line for line in here.stderr.splitlines() if "lists have fewer" in line] == [
        line for line in there.stderr.splitlines() if "lists have fewer" in line
    ]


def test_people_who_have_nothing_are_in_the_bits(
    spark: Any,
    recveil: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who is in the data is public, what she has is not: her bits are flipped, also where nobody is with her."""
    monkeypatch.setattr("recveil.spark.supports.USERS", 1)
    kept = {name: spark.conf.get(name) for name in ("spark.sql.adaptive.enabled", "spark.sql.shuffle.partitions")}
    rows = [f"{user},{item}" for user in "abcdef" for item in range(4) if item != ord(user) % 4]
    Path("data.csv").write_text("user,item\n" + "\n".join([*rows, *(f"{user}," for user in "uvwxyz"), ""]))
    command = ["recommend", "data.csv", "--with", "mask:p=0.8", "--top", 2, "--seed", 5, "--minsup", 0]
    recveil(*command, "--similar", "here.txt", "-o", "here")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    spark.conf.set("spark.sql.shuffle.partitions", "40")
    try:
        recveil(*command, "--similar", "there.txt", "--engine", "spark", "-o", "lists")
    finally:
        for name, value in kept.items():
            spark.conf.set(name, value)
    assert Path("there.txt").read_text() == Path("here.txt").read_text()
    assert written(tmp_path / "lists") == sorted(Path("here").read_text().splitlines())


REFUSED = {
    "no place": ([], "on Spark the lists are written by the executors; name a new directory with -o DIR"),
    "perturbed": (
        ["-o", "lists", "--history", "perturbed"],
        "--history perturbed is for --engine local; on Spark lists are made from real histories",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_is_said_before_any_work(
    case: str, recveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    options, says = REFUSED[case]
    done = recveil("recommend", "none.parquet", "--with", "mask:p=0.9", "--engine", "spark", *options, code=1)
    assert done.stderr == f"recveil: {says}\n"


@IN_A_LAKE
@pytest.mark.usefixtures("spark")
def test_a_place_that_is_taken_is_left_alone(recveil: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    command = ["recommend", "none.parquet", "--with", "mask:p=0.9", "--engine", "spark", "-o"]
    assert recveil(*command, "taken", code=1).stderr == "recveil: taken exists already; choose another place\n"
    there = f"file://{tmp_path}/taken"
    assert recveil(*command, there, code=1).stderr == f"recveil: {there} exists already; choose another place\n"


def test_what_fails_leaves_nothing(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recveil.releases.places import Folder
    from recveil.spark import lists as engine
    from recveil.spark.reading import table
    from recveil.spark.session import one_line

    similar = similar_items(columns(people()), minsup=0)
    rows, place = table(frame(spark, people(), 4)), Folder(tmp_path / "lists")
    strange = partial(lists, similar=replace(similar, items=similar.items + 1), top=3)
    with pytest.raises(RecveilError, match="of the users have an empty profile"), one_line():
        engine.write_lists(rows, strange, 3, place)
    (tmp_path / "file").touch()
    with pytest.raises(RecveilError, match="lists cannot be written: Not a directory"):
        engine.write_lists(rows, strange, 3, Folder(tmp_path / "file" / "lists"))
    monkeypatch.setattr(Folder, "names", lambda self: [])  # noqa: ARG005
    with pytest.raises(RecveilError, match="to a place that the driver and all executors see"):
        engine.write_lists(rows, partial(lists, similar=similar, top=3), 3, place)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
