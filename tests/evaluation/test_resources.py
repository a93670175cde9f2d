"""What an owner brings for stronger attackers: shadows, another release, a table of people, another tool."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from attacked import people

from recveil.errors import RecveilError
from recveil.evaluation.command import command_maker
from recveil.evaluation.people import questions, read_people
from recveil.measurement import SkippedError

Run = Callable[..., Any]


@pytest.fixture
def made(recveil: Run, tmp_path: Path) -> Path:
    """120 people, of whom two releases were made, and what they are."""
    data = people(120, 0)
    data.frame().write_csv(tmp_path / "data.csv")
    sides = pl.DataFrame({"user": data.users, "side": np.where(np.arange(120) % 2, "left", "right"), "age": range(120)})
    sides.write_csv(tmp_path / "people.csv")
    for name, seed in (("one", 1), ("two", 2)):
        recveil("release", "data.csv", "--with", "mask:p=0.95", "-o", name, "--keep-map", f"{name}.csv", "--seed", seed)
    return tmp_path


@pytest.mark.usefixtures("made")
def test_all_of_it_from_files(recveil: Run) -> None:
    found = recveil(
        "measure", "data.csv", "one", "--map", "one.csv", "--only", "shadow,across,attributes", "--shadows", 8,
        "--also", "two", "--also-map", "two.csv", "--attributes", "people.csv", "--seed", 1, json_answer=True,
    )  # fmt: skip
    value = {(m["name"], *map(str, m["params"].values())): m for m in found["measurements"]}
    assert value["shadow-auc", "pool", "halves", "8"]["low"] > 0.7
    assert value["across-matched", "likelihood ratio"]["low"] > 0.3
    assert value["attributes-auc", "side = left", "records", "clean"]["low"] > 0.8
    assert not any(str(user) in str(m["note"]) for m in found["measurements"] for user in ("user", "people.csv"))


def test_another_tools_file_and_its_shadows(recveil: Run, made: Path) -> None:
    tool = made / "tool.py"
    tool.write_text("import sys, shutil; shutil.copy(sys.argv[1], sys.argv[2])", encoding="utf-8")
    (made / "other.csv").write_text((made / "data.csv").read_text(encoding="utf-8"), encoding="utf-8")
    given = ("measure", "data.csv", "other.csv", "--only", "shadow", "--shadows", 8)
    assert "--command" in recveil(*given, code=1).stderr
    found = recveil(*given, "--command", f"{sys.executable} {tool} {{in}} {{out}}", json_answer=True)
    assert next(m for m in found["measurements"] if m["name"] == "shadow-auc")["low"] > 0.9


def test_a_command_that_fails_hangs_or_is_not_there(tmp_path: Path) -> None:
    data = people(10, 0)
    python = sys.executable
    with pytest.raises(RecveilError, match="failed with exit code 3"):
        command_maker(f"{python} -c 'import sys; sys.exit(3)' {{in}} {{out}}")(data, 1)
    with pytest.raises(SkippedError, match=r"did not finish within 0\.2 seconds"):
        command_maker(f"{python} -c 'import time; time.sleep(9)' {{in}} {{out}}", 0.2)(data, 1)
    with pytest.raises(SkippedError, match="cannot be run"):
        command_maker("no-such-tool {in} {out}")(data, 1)
    with pytest.raises(SkippedError, match="wrote nothing"):
        command_maker(f"{python} -c pass {{in}} {{out}}")(data, 1)
    with pytest.raises(RecveilError, match="names the files"):
        command_maker("tool {in}")
    trace = tmp_path / "trace"
    with pytest.raises(SkippedError):  # no shell: what looks like a second command is an argument
        command_maker(f"{python} -c pass {{in}} {{out}} ; touch {trace}")(data, 1)
    assert not trace.exists()


def test_questions() -> None:
    frame = pl.DataFrame(
        {"user": range(60), "age": range(60), "sex": ["f", "m", "m"] * 20, "zip": [str(i) for i in range(60)]}
    )
    asked = questions(frame)
    assert list(asked) == ["age > 29.5", "sex = f"]
    assert asked["age > 29.5"].sum() == 30 and asked["sex = f"].sum() == 20


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ({"user": [1, 1], "age": [1, 2]}, "several lines"),
        ({"name": [1, 2], "age": [1, 2]}, "the column user"),
        ({"user": [1, 2]}, "at least one other"),
    ],
)
def test_a_wrong_table_is_one_clear_line(tmp_path: Path, rows: dict[str, list[int]], line: str) -> None:
    pl.DataFrame(rows).write_csv(tmp_path / "people.csv")
    with pytest.raises(RecveilError, match=line):
        read_people(tmp_path / "people.csv")


def test_people_who_are_not_there_and_a_bundle_of_other_data(recveil: Run, made: Path) -> None:
    pl.DataFrame({"user": [9001, 9002] * 20, "x": [0, 1] * 20}).with_columns(user=pl.int_range(9000, 9040)).write_csv(
        made / "strangers.csv"
    )
    done = recveil("measure", "data.csv", "one", "--only", "attributes", "--attributes", "strangers.csv", code=1)
    assert "nobody in the attributes is in the data" in done.stderr
    recveil("release", "sample:tags", "--with", "pseudonymise", "-o", "three", "--seed", 1)
    done = recveil("measure", "data.csv", "one", "--only", "across", "--also", "three", code=1)
    assert "no item in common" in done.stderr
