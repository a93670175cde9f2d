"""Whatever is wrong with an input or an output: one clear line, and nothing written."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from recveil.data import from_ids
from recveil.errors import RecveilError
from recveil.formats import from_csr, from_frame, parse_columns, read, write

DATA = from_ids(pl.Series([1, 2]), pl.Series(["a", "b"]), rating=np.array([1.0, 2.0]))


def refusal(path: Path, columns: dict[str, str] | None = None) -> str:
    """The line that reading this file ends in, without the folder."""
    with pytest.raises(RecveilError) as raised:
        read(path, columns)
    line = str(raised.value)
    assert line.isprintable(), line
    assert line.startswith(str(path))
    assert len(line) < len(str(path)) + 400
    return line.removeprefix(f"{path.parent}{os.sep}")


def parquet(**columns: Any) -> bytes:
    file = BytesIO()
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


HEAD = "user,item,rating,timestamp\n"
GOOD = HEAD + "1,2,3,4\n5,6,4.5,8\n"
UNSIGNED = pl.Series([2**63], dtype=pl.UInt64)
PACKED = gzip.compress(GOOD.encode() * 50)
FROZEN = pa.compress(GOOD.encode() * 50, codec="zstd", asbytes=True)

FILES: dict[str, tuple[str, str | bytes, str]] = {
    "empty": ("a.csv", "", ": the file is empty"),
    "blank": ("a.csv", "\r\n\n", ": the file is empty"),
    "empty parquet": ("a.parquet", b"", ": the file is empty"),
    "blank jsonl": ("a.jsonl", "\n \n", ": the file is empty"),
    "nothing packed": ("a.csv.gz", gzip.compress(b""), ": the file is empty"),
    "only a header": ("a.csv", HEAD, ": no rows, only a header"),
    "header and blank lines": ("a.inter", "user_id:token\titem_id:token\n\n", ": no rows, only a header"),
    "parquet of no rows": ("a.parquet", parquet(user=[], item=[]), ": no rows"),
    "only empty lists": ("a.parquet", parquet(user=[1], item=[[]]), ": no rows"),
    "no user": ("a.csv", "name,item\nx,1\n", ": no column for user among: name, item; name it, as in: recveil inspect"),
    "no item": ("a.tsv", "user\tage\n1\t2\n", ": no column for item among: user, age; name it, as in: recveil inspect"),
    "no header": ("a.csv", "1,2,3.5,4\n", ", line 1: numbers where column names belong; a first line such as"),
    "two users": ("a.csv", "user_id,userid,item\n1,2,3\n", ": columns 'user_id' and 'userid' both look like user"),
    "one column": ("a.csv", "user item\n1 2\n", ": one column only, 'user item'; fields are separated by"),
    "text rating": ("a.csv", GOOD + "7,8,good,9\n", ", line 4: rating 'good' is not a number"),
    "decimal comma": ("a.csv", "user;item;rating\n1;2;3,5\n", ", line 2: rating '3,5' is not a number"),
    "NaN rating": ("a.csv", GOOD + "7,8,NaN,9\n", ", line 4: rating nan is not a finite number"),
    "infinite rating": ("a.csv", HEAD + "\n7,8,-inf,9\n", ", line 3: rating -inf is not a finite number"),
    "rating too large": ("a.csv", HEAD + "7,8,1e999,9\n", ", line 2: rating inf is not a finite number"),
    "no rating": ("a.csv", GOOD + "7,8,,9\n", ", line 4: rating is empty"),
    "line after long record": ("a.csv", 'user,item,rating\n"a\n\nb",1,2\nc,2,x\n', ", line 5: rating 'x' is"),
    "second line of u.data": ("u.data", "1\t2\t3\t4\n5\t6\tx\t8\n", ", line 2: rating 'x' is not a number"),
    "second line of ratings.dat": ("r.dat", "1::2::3::4\n5::6::x::8\n", ", line 2: rating 'x' is not a number"),
    "inter": ("a.inter", "user_id:token\titem_id:token\trating:float\n1\t2\tx\n", ", line 2: rating 'x'"),
    "jsonl": ("a.jsonl", '{"user":1,"item":2,"rating":1}\n\n{"user":1,"item":3}\n', ", line 3: rating is empty"),
    "text rating in jsonl": ("a.jsonl", '{"user":1,"item":2,"rating":"x"}\n', ", line 1: rating 'x' is not a"),
    "parquet": ("a.parquet", parquet(user=[1], item=[1], rating=[float("nan")]), ", row 1: rating nan"),
    "unreadable time": ("a.csv", GOOD + "7,8,1,noon\n", ", line 4: time 'noon' is neither"),
    "unreadable date": ("a.csv", "user,item,date\n1,2,2019-12-31\n1,3,2019-31-12\n", ", line 3: time '2019-31-12' is"),
    "first time unreadable": ("a.csv", HEAD + "7,8,1,noon\n", ", line 2: time 'noon' is neither"),
    "infinite time": ("a.csv", HEAD + "7,8,1,inf\n", ", line 2: time inf is not a finite number"),
    "no date": ("a.dat", "userID\tmovieID\tday\tmonth\tyear\n1\t2\t31\t2\t2008\n", ", line 2: time '2008-2-31'"),
    "time of a kind": ("a.parquet", parquet(user=[1], item=[1], time=[b"x"]), ": time holds Binary; times are"),
    "huge time": ("a.parquet", parquet(user=[1], item=[1], time=UNSIGNED), ", row 1: time 9223372036854775808 does"),
    "no user id": ("a.csv", GOOD + ",8,3,9\n", ", line 4: user is empty"),
    "no item id": ("a.csv", GOOD + "7,\n", ", line 4: item is empty"),
    "no ids at all": ("a.csv", HEAD + "\n1,2,3,4\n\n,,,\n", ", line 5: user is empty"),
    "quoted nothing": ("a.csv", 'user,item\nx,""\n', ", line 2: item is empty"),
    "no tag": ("a.csv", "user,item,tag\n1,2,x\n1,2,\n", ", line 3: tag is empty"),
    "null id in jsonl": ("a.jsonl", '{"user":1,"item":2}\n{"user":null,"item":2}\n', ", line 2: user is empty"),
    "null id in a list": ("a.parquet", parquet(user=[1, 2], clicks=[[1], [2, None]]), ", row 2: item is empty"),
    "half an id": ("a.parquet", parquet(user=[1.0, 1.5], item=[2, 2]), ", row 2: user 1.5 is not an id"),
    "the word NaN": ("a.csv", "user,item\n1,2\n1,NaN\n", ", line 3: item is NaN, a missing value; declare item=text"),
    "NaN among floats": ("a.parquet", parquet(user=[1.0, float("nan")], item=[2, 2]), ", row 2: user is nan, a miss"),
    "ids of a kind": ("a.parquet", parquet(user=[1.0], item=[True]), ": item holds Boolean"),
    "too many fields": ("a.csv", GOOD + "7,8,3,9,10\n", ", line 4: 5 fields where 4 belong"),
    "too many fields at once": ("a.csv", HEAD + "7,8,3,9,10\n", ", line 2: 5 fields where 4 belong"),
    "u.data of three": ("u.data", "1\t2\t3\n", ", line 1: 3 fields where user, item, rating"),
    "u.data with commas": ("u.data", "1,2,3,4\n", ", line 1: 1 fields where user, item, rating"),
    "open quote": ("a.csv", HEAD + '1,2,3,4\n"7,8,3,9\n', ", after line 2: unexpected end of data"),
    "text after a quote": ("a.csv", HEAD + '"7"x,8,3,9\n', ", after line 1: ',' expected after '\"'"),
    "not UTF-8": ("a.csv", b"user,item\na,b\n\xff,c\n", ", line 3: not UTF-8 text"),
    "UTF-16": ("a.csv", GOOD.encode("utf-16"), ", line 1: not UTF-8 text"),
    "truncated gz": ("a.csv.gz", PACKED[:-9], ": truncated gzip data"),
    "cut gz": ("a.csv.gz", PACKED[: len(PACKED) // 2], ": truncated gzip data"),
    "truncated zst": ("a.csv.zst", FROZEN[:-3], ": truncated zstd data"),
    "damaged gz": ("a.csv.gz", PACKED[:20] + b"oops" + PACKED[24:], ": damaged, or not gzip data"),
    "plain text as zst": ("a.csv.zst", GOOD, ": damaged, or not zstd data"),
    "not a parquet": ("a.parquet", GOOD, ": not a sound parquet file: Parquet magic bytes not found"),
    "half a parquet": ("a.parquet", parquet(user=[1], item=[2])[:-20], ": not a sound parquet file"),
    "not JSON": ("a.jsonl", '{"user":1,"item":2}\n{"user":1,"it\n', ", line 2: not a JSON object: Unterminated"),
    "a JSON list": ("a.jsonl", '{"user":1,"item":2}\n[1,2]\n', ", line 2: not a JSON object"),
    "NaN in JSON": ("a.jsonl", '{"user":1,"item":2,"rating":NaN}\n', ", line 1: not a JSON object: NaN is not JSON"),
    "a list in a list": ("a.jsonl", '{"user":1,"item":[[2]]}\n', ": item holds List; ids are integers or text"),
    "deep lists": ("a.jsonl", '{"user":1,"item":' + "[" * 99 + "]" * 99 + "}", ": "),
    "deeper lists": ("a.jsonl", '{"user":1,"item":' + "[" * 9999 + "]" * 9999 + "}", ", line 1: not a JSON object"),
    "unknown ending": ("a.9w9", b"x", ": unknown format '9w9'; known: "),
    "near ending": ("a.parque", b"x", ": unknown format 'parque'; did you mean parquet"),
    "no ending": ("data", b"x", ": unknown format 'data'"),
    "only packed": ("a.gz", PACKED, ": unknown format 'a'"),
}  # fmt: skip


@pytest.mark.parametrize("case", FILES)
def test_bad_files(case: str, tmp_path: Path) -> None:
    name, content, expected = FILES[case]
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    assert refusal(path).startswith(name + expected)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"user": "uid"}, "a.csv: no column 'uid' for user among: user, item, rating, timestamp"),
        ({"item": "user"}, "a.csv: no column for user among: user, item, rating, timestamp; name it"),
    ],
)
def test_bad_mappings(columns: dict[str, str], expected: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(GOOD)
    assert refusal(path, columns).startswith(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("user=a,user=b", "columns: user is mapped twice, to 'a' and to 'b'"),
        ("user=a,item=a", "columns: 'a' is mapped twice, as user and as item"),
        ("usr=a", "unknown role of a column 'usr'; did you mean user"),
        ("user", "columns: 'user' is not role=column"),
        ("user=", "columns: 'user=' is not role=column"),
        ("user=a,", "columns: '' is not role=column"),
        ("", "columns: '' is not role=column"),
    ],
)
def test_bad_mappings_on_the_command_line(text: str, expected: str) -> None:
    with pytest.raises(RecveilError) as raised:
        parse_columns(text)
    assert str(raised.value).startswith(expected)


def test_a_name_with_a_comma_stands_in_quotes() -> None:
    assert parse_columns('user=uid,"item=Film, Title",rating=a=b') == {
        "user": "uid",
        "item": "Film, Title",
        "rating": "a=b",
    }


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,a,b,other,other\n1,2,3,4,5\n")
    assert refusal(path, {"user": "a", "item": "b"}).startswith("a.csv: 2 columns named 'a' for user")
    path.write_text("a,b,other,other\n1,2,3,4\n")
    assert read(path, {"user": "a", "item": "b"}).frame().rows() == [(1, 2)]


def test_bad_places(tmp_path: Path) -> None:
    assert refusal(tmp_path / "absent.csv") == "absent.csv: No such file or directory"
    (tmp_path / "folder.csv").mkdir()
    assert refusal(tmp_path / "folder.csv") == "folder.csv: a folder without any data in it"
    os.mkfifo(tmp_path / "pipe.csv")
    assert refusal(tmp_path / "pipe.csv") == "pipe.csv: not a regular file"
    with pytest.raises(RecveilError, match="null byte"):
        read("a\0.csv")
    with pytest.raises(RecveilError, match=r"^folder\.csv/inside\.csv: No such file"):
        read("folder.csv/inside.csv")


def test_names_that_mean_something_elsewhere(tmp_path: Path) -> None:
    for name in ("*.csv", "[a].csv", "~.csv", "a b?.csv", "naïve.csv"):
        (tmp_path / name).write_text(GOOD)
        assert len(read(tmp_path / name)) == 2


def test_bad_frames() -> None:
    for frame, expected in (
        (pd.DataFrame({"user": [1, None], "item": [1, 2]}), "the frame, row 2: user is empty"),
        (pd.DataFrame({"user": [1, "a"], "item": [1, 2]}), "the frame: cannot be read"),
        (pl.DataFrame({"user": [1], "item": [1.5]}), "the frame, row 1: item 1.5 is not an id"),
        (pl.DataFrame({"user": [1], "item": [float("inf")]}), "the frame, row 1: item inf is not an id"),
        (pl.DataFrame({"user": [], "item": []}), "the frame: no rows"),
        (pl.DataFrame({"user": [1]}), "the frame: no column for item among: user"),
        ({"user": [1], "item": [2]}, "dict is not a polars, pandas or pyarrow table"),
    ):
        with pytest.raises(RecveilError) as raised:
            from_frame(frame)
        assert str(raised.value).startswith(expected)
    with pytest.raises(RecveilError, match="the matrix, row 1, column 0: rating nan is not"):
        from_csr(sparse.csr_array([[0, 1], [np.nan, 0]]))
    with pytest.raises(RecveilError, match="the matrix: no rows"):
        from_csr(sparse.csr_array((2, 2)))


# --- permissions, full disks ----------------------------------------------------------------------------------

ATTEMPTS = """
import os, resource, sys
from pathlib import Path
from recveil.errors import RecveilError
from recveil.formats import read, write
folder, limit, *targets = sys.argv[1:]
data = read(Path(folder) / "good.csv")
if limit == "space":
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
elif os.geteuid() == 0:
    os.setuid(65534)  # to whom permissions apply
for target in targets:
    path = Path(folder) / target
    try:
        read(path) if path.is_file() else write(data, path)
    except RecveilError as fault:
        print(str(fault).removeprefix(folder + "/"))
"""


def attempts(folder: Path, limit: str, *targets: str) -> list[str]:
    """What someone without space, or without special rights, is told about these files."""
    (folder / "good.csv").write_text(HEAD + "".join(f"{n},{n * 7919 % 1009},3,{n * n}\n" for n in range(1000)))
    command = [sys.executable, "-c", ATTEMPTS, str(folder), limit, *targets]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    told = attempts(tmp_path, "space", "a.csv", "a.parquet", "a.inter")
    assert told == ["a.csv: File too large", "a.parquet: File too large", "a.inter: File too large"]
    assert [p.name for p in tmp_path.iterdir()] == ["good.csv"]


def test_without_permission() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "secret.csv").write_text(GOOD)
        (folder / "secret.csv").chmod(0)
        (folder / "sealed").mkdir(mode=0o555)
        told = attempts(folder, "rights", "secret.csv", "sealed/a.csv")
        assert told == ["secret.csv: Permission denied", "sealed/a.csv cannot be written: Permission denied"]
        assert list((folder / "sealed").iterdir()) == []


def test_bad_outputs(tmp_path: Path) -> None:
    for target, expected in (
        (tmp_path, "exists and is not a regular file"),
        (tmp_path / "absent" / "a.csv", "No such file or directory"),
    ):
        with pytest.raises(RecveilError, match=expected):
            write(DATA, target, format="csv")
    with pytest.raises(RecveilError, match="unknown format to write 'xlsx'"):
        write(DATA, tmp_path / "a.xlsx")
    with pytest.raises(RecveilError, match="item has an empty id"):
        write(from_ids(pl.Series([1]), pl.Series([""])), tmp_path / "a.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.csv"
    target.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(RecveilError, match=r"a\.csv cannot be written: No space left on device"):
        write(DATA, target)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


# --- fuzz -----------------------------------------------------------------------------------------------------

ENDINGS = ["csv", "tsv", "parquet", "jsonl", "inter", "dat", "data", "csv.gz", "jsonl.zst", "parquet.gz"]


def survives(path: Path, content: bytes) -> None:
    """Reading ends well, or in one line."""
    path.write_bytes(content)
    try:
        assert len(read(path)) > 0
    except RecveilError as fault:
        line = str(fault)
    else:
        return
    assert line.startswith(str(path))
    assert line.isprintable()


def fuzz(examples: int) -> Any:
    return settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=examples, derandomize=False)


@pytest.mark.parametrize("ending", ENDINGS)
@fuzz(60)
@given(content=st.binary(max_size=200))
def test_random_bytes(ending: str, content: bytes, tmp_path: Path) -> None:
    survives(tmp_path / f"x.{ending}", content)


marks = [*',;|\t\n"{}[]:\0', "\r\n", "::", '""', "\ufeff", "\x1f", "\u2028", "\x85", "\x1c"]
words = "user item rating time tag session clicks user_id:token year month day 1 -0 007 nan inf 1e999 2020-01-01 null é"
tokens = st.sampled_from([*marks, *words.split(), '"user":', '"item":', '{"user":1,"item":2}\n', str(2**64), "true"])


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "inter", "dat", "data"])
@fuzz(150)
@given(content=st.lists(tokens | st.text(max_size=4), max_size=30).map("".join), header=st.booleans())
@example(content='"\n', header=True)
def test_random_text(ending: str, content: str, header: bool, tmp_path: Path) -> None:
    start = {"csv": "user,item,rating,time\n", "jsonl": '{"user":1,"item":2}\n', "data": "1\t2\t3\t4\n"}.get(
        ending, "user\titem\trating\ttime\n"
    )
    survives(tmp_path / f"x.{ending}", ((start if header else "") + content).encode())


SEEDS = {
    "csv": b'\xef\xbb\xbfuser,item,rating,time,tag\r\n"a,b",2,3.5,2020-01-01,x\r\nc,4,1,2021-02-03T04:05Z,"y\nz"\r\n',
    "tsv": b"user\titem\tts\n1\t2\t3\n4\t5\t\n",
    "parquet": parquet(user=[1, 2] * 9, item=["a", "b"] * 9, rating=[1.0, 2.5] * 9, time=[None, 4] * 9),
    "pq": parquet(session=[1, 2], clicks=[["a", "b"], ["c"]]),
    "jsonl": b'{"user":1,"item":[1,2]}\n{"user":2,"item":[]}\n\n{"user":3,"item":["x"]}\n',
    "ndjson": b'{"user":1,"item":2,"rating":3,"time":"2020-01-01"}\n{"user":2,"item":3,"rating":4.5,"time":null}\n',
    "inter": b"session_id:token\titem_id:token\ttimestamp:float\n1\t2\t3\n4\t5\t6.5\n",
    "dat": b"userID\tmovieID\ttagID\tday\tmonth\tyear\n1\t2\t3\t4\t5\t2006\n",
    "colons.dat": b"1::2::3::4\n5::6::3.5::8\n",
    "data": b"1\t2\t3\t4\n5\t6\t3\t8\n",
    "csv.gz": gzip.compress(b"user,item\n1,2\n3,4\n"),
    "csv.zst": pa.compress(b"user,item\n1,2\n3,4\n", codec="zstd", asbytes=True),
}


@st.composite
def mutated(draw: st.DrawFn, seed: bytes) -> bytes:
    content = bytearray(seed)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(start + 8, len(content))))
        content[start:end] = draw(st.binary(max_size=4))
    return bytes(content)


@pytest.mark.parametrize("ending", SEEDS)
@fuzz(150)
@given(more=st.data())
def test_mutated_files(ending: str, more: st.DataObject, tmp_path: Path) -> None:
    survives(tmp_path / f"x.{ending}", SEEDS[ending])
    survives(tmp_path / f"x.{ending}", more.draw(mutated(SEEDS[ending])))


@pytest.mark.parametrize("ending", SEEDS)
def test_the_seeds_of_the_fuzzing_are_sound(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{ending}"
    path.write_bytes(SEEDS[ending])
    assert len(read(path)) > 0
