"""A log in several files: a folder, a pattern, several names; read as one file that holds all of it."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from recveil.errors import RecveilError
from recveil.formats import read, write
from recveil.formats.overview import proposal
from recveil.formats.parts import name_of, parts_of, quoted
from recveil.formats.schema import Schema
from recveil.samples import sample

Run = Callable[..., Any]
DATA = sample("films?users=60,items=50")
FRAME = DATA.frame()
FORMATS = ("csv", "tsv", "parquet", "jsonl", "inter", "itemsets", "data")


def put(frame: pl.DataFrame, path: Path) -> None:
    """One part, in the format that its name tells."""
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".jsonl":
        frame.write_ndjson(path)
    elif path.suffix == ".csv":
        frame.write_csv(path)
    elif path.suffix == ".tsv":
        frame.write_csv(path, separator="\t")
    elif path.suffix == ".data":
        frame.with_columns(time=pl.lit(7)).write_csv(path, separator="\t", include_header=False)
    else:
        part = read_frame(frame)
        write(part.over_items(DATA.items) if path.suffix == ".inter" else part, path)


def read_frame(frame: pl.DataFrame) -> Any:
    from recveil.formats import from_frame

    return from_frame(frame.select("user", "item"), duplicates="all")


@pytest.mark.parametrize("form", FORMATS)
def test_parts_are_read_as_the_whole(form: str, tmp_path: Path) -> None:
    """With an empty part among them, and what Spark leaves beside its parts."""
    (tmp_path / "log" / "deep").mkdir(parents=True)
    put(FRAME, tmp_path / f"whole.{form}")
    cut = [0, 1, 30, FRAME.height // 2, FRAME.height]
    for n, (begin, end) in enumerate(pairwise(cut)):
        put(FRAME[begin:end], tmp_path / "log" / ("deep" * (n > 2)) / f"part-{'zz' * (n > 2)}{n}.{form}")
    (tmp_path / "log" / "_SUCCESS").touch()
    if form in ("csv", "tsv", "jsonl"):
        (tmp_path / "log" / f"part-empty.{form}").touch()
    names = parts_of(str(tmp_path / "log"))
    whole = read(tmp_path / f"whole.{form}")
    for source in (tmp_path / "log", [p for p in names if "empty" not in p], str(tmp_path / "log/**" / f"*.{form}")):
        found = read(source)
        assert found.frame().sort(*found.frame().columns).equals(whole.frame().sort(*whole.frame().columns))
    dropped = {} if form != "jsonl" else {"schema": proposal(tmp_path / "log")}
    assert len(read(tmp_path / "log", broken="drop", **dropped)) == len(whole)


def test_packed_parts_and_parts_without_a_last_line_end(tmp_path: Path) -> None:
    (tmp_path / "1.csv.gz").write_bytes(gzip.compress(b"user,item\n1,a\n2,b"))
    (tmp_path / "2.csv").write_bytes(b"\xef\xbb\xbfuser,item\r\n3,c\r\n4,d")
    assert read(tmp_path).frame().rows() == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


def test_a_fault_is_told_by_the_line_of_its_part(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("user,item,rating\n1,a,3\n2,b,4\n")
    (tmp_path / "2.csv").write_text("user,item,rating\n3,c,3\n4,d,much\n")
    (tmp_path / "3.csv").write_text("user,item,rating\n3,c,\n")
    with pytest.raises(RecveilError, match=r"2\.csv, line 3: rating 'much' is not a number"):
        read([tmp_path / "1.csv", tmp_path / "2.csv"])
    (tmp_path / "2.csv").unlink()
    with pytest.raises(RecveilError, match=r"3\.csv, line 2: rating is empty"):
        read(tmp_path)


def test_types_of_parts_join_as_in_one_file(tmp_path: Path) -> None:
    """Digits in one part and names in another are text in both; small and large integers of parquet are integers."""
    (tmp_path / "1.csv").write_text("user,item\n1,7\n2,8\n")
    (tmp_path / "2.csv").write_text("user,item\n3,x\n")
    (tmp_path / "all.tsv").write_text("user\titem\n1\t7\n2\t8\n3\tx\n")
    parts = read(str(tmp_path / "*.csv"))
    assert parts.frame().equals(read(tmp_path / "all.tsv").frame())
    for n, kind in enumerate((pl.Int32, pl.Int64)):
        pl.DataFrame({"user": [n], "item": [n + 5]}, schema={"user": kind, "item": kind}).write_parquet(
            tmp_path / f"{n}.parquet"
        )
    assert read(str(tmp_path / "*.parquet")).frame().rows() == [(0, 5), (1, 6)]


def test_folders_that_name_values(tmp_path: Path) -> None:
    for day, rows in (("2024-05-02", [("u", "late")]), ("2024-05-01", [("u", "early"), ("v", "early")])):
        folder = tmp_path / "log" / f"date={day}"
        folder.mkdir(parents=True)
        pl.DataFrame(rows, schema=["user", "item"], orient="row").write_parquet(folder / "0.parquet")
    found = read(tmp_path / "log")
    assert found.ordered().frame().filter(user="u")["item"].to_list() == ["early", "late"]
    assert proposal(tmp_path / "log").columns["time"] == "date"


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({"ratings.csv": "user,item\n1,2\n", "tags.csv": "user,item,tag\n1,2,x\n"}, "has other columns than"),
        ({"ratings.csv": "user,item\n1,2\n", "x.jsonl": "{}\n"}, "a folder with csv and jsonl; name a pattern"),
        ({"manifest.json": "{}", "data.csv": "user,item\n1,2\n"}, "is the folder of a bundle"),
        ({"_SUCCESS": ""}, "a folder without any data in it"),
    ],
)
def test_a_folder_that_is_no_log(files: dict[str, str], line: str, recveil: Run, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    for name, text in files.items():
        (tmp_path / "log" / name).write_text(text)
    done = recveil("inspect", "log", code=1)
    assert line in done.stderr and done.stderr.count("\n") == 1


def test_names(tmp_path: Path) -> None:
    assert name_of(["a.csv", "b.csv", "c.csv"]) == "a.csv and 2 more"
    assert quoted(["a b.csv", "c.csv"]) == "'a b.csv' c.csv"
    for wrong, line in ((str(tmp_path / "*.csv"), "no file has such a name"), (["a", "a"], "a is given twice")):
        with pytest.raises(RecveilError, match=line):
            parts_of(wrong)
    (tmp_path / "odd[1].csv").write_text("user,item\n1,2\n")
    assert len(read(tmp_path / "odd[1].csv")) == 1


def test_several_files_on_the_command_line(recveil: Run, tmp_path: Path) -> None:
    FRAME[:200].write_csv(tmp_path / "1.csv")
    FRAME[200:].write_csv(tmp_path / "2.csv")
    found = recveil("inspect", "1.csv", "2.csv", json_answer=True)
    assert found["rows"] == FRAME.height
    assert any(line.startswith("recveil release 1.csv 2.csv --with") for line in found["next"])
    made = recveil("release", "1.csv", "2.csv", "--with", "mask:p=0.8", "-o", "out", json_answer=True)
    assert made["manifest"]["users"] == DATA.n_users
    recveil("measure", "1.csv", "2.csv", "out", "--only", "popularity")


@pytest.mark.parametrize("odd", ["a text", 2.5, 2**63 + 1, True, None, [3]])
def test_the_types_of_a_part_change_nothing_in_another(odd: Any, tmp_path: Path) -> None:
    """pandas makes the types of a part of what stands in its rows: one refuses nobody, and no id becomes another."""
    far = 2**60  # whole numbers which a fraction would not hold
    many = {"user": [far + 1, far + 3], "item": [far + 5, far + 7], "time": [far + 9, far + 11]}
    pl.DataFrame(many).write_parquet(tmp_path / "a.parquet")
    for column in many:
        hers = {"user": 1, "item": 2, "time": 3} | {column: odd}
        frame = pl.DataFrame({c: [v] for c, v in hers.items()}) if odd is not None else pl.DataFrame(
            {c: pl.Series([v], dtype=pl.Float64) for c, v in hers.items()}
        )  # fmt: skip
        frame.write_parquet(tmp_path / "b.parquet")
        if isinstance(odd, list):  # a column of lists says that each row is a basket: another log
            with pytest.raises(RecveilError, match="the columns of its parts differ"):
                read(tmp_path, broken="drop")
            continue
        found = read(tmp_path, broken="drop").frame().with_columns(pl.col("user", "item").cast(pl.String))
        others = found.filter(pl.col("user") != "1").filter(pl.col("item") != "2").filter(pl.col("time") != 3)
        assert others.rows() == [(str(u), str(i), pytest.approx(t)) for u, i, t in zip(*many.values(), strict=True)]


def test_texts_of_any_type_stay_declared_as_text(tmp_path: Path) -> None:
    ids = pl.Series("item", ["NaN", "7"])
    for name, kind in (("a", pl.String), ("b", pl.Categorical)):
        pl.DataFrame({"user": [1, 2], "item": ids.cast(kind)}).write_parquet(tmp_path / f"{name}.parquet")
    found = read(tmp_path, broken="drop", duplicates="all")
    assert found.items.to_list() == ["7", "NaN"] and not found.untyped


def test_parts_of_lists_are_lists_whatever_they_hold(tmp_path: Path) -> None:
    pl.DataFrame({"user": [1], "items": [[2**60 + 1, 2]]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"user": [3, 4], "items": [["x", "3"], []]}).write_parquet(tmp_path / "b.parquet")
    pl.DataFrame({"user": [5.0], "items": [[1.0, 2.5]]}).write_parquet(tmp_path / "c.parquet")
    found = read(tmp_path, broken="drop")
    named = dict(zip(found.frame()["item"].cast(pl.String), found.frame()["user"].cast(pl.String), strict=True))
    assert named == {str(2**60 + 1): "1", "2": "1", "x": "3", "3": "3", "1": "5"}
    assert found.n_users == 4  # 4 is there, with nothing


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
@pytest.mark.parametrize("empty", [0, 1, 2])
def test_an_empty_list_refuses_nobody(form: str, empty: int, tmp_path: Path) -> None:
    users = [7, 8, 9]
    lists = [[] if n == empty else [n, n + 1] for n in range(3)]
    frame = pl.DataFrame({"user": users, "items": lists}, schema={"user": pl.Int64, "items": pl.List(pl.Int64)})
    frame.write_parquet(tmp_path / "log.parquet") if form == "parquet" else frame.write_ndjson(tmp_path / "log.jsonl")
    schema = Schema({"user": "user", "item": "items"}, format=form, lists=True)
    for broken, people in (("drop", 3), ("refuse", 2)):
        found = read(tmp_path / f"log.{form}", broken=broken, schema=schema)  # type: ignore[arg-type]
        assert len(found) == 4 and found.n_users == people
