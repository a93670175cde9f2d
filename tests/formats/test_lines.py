"""Each line by itself: in a release with a proof no line, however odd, changes or refuses what others have."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather

from recveil.errors import RecveilError
from recveil.evaluation.inspect import warnings_of
from recveil.formats import from_frame, read
from recveil.formats.databases import as_sent
from recveil.formats.letters import sound
from recveil.formats.lines import stand_alone
from recveil.formats.sources import DataFile

Run = Callable[..., Any]

BASE = {
    "csv": (b"user,item,time,note", [b'%d,%d,%d,"a, b"' % (u, i, 9 * u + i) for u in range(1, 6) for i in range(1, 5)]),
    "tsv": (b"user\titem\ttime", [b"%d\t%d\t%d" % (u, i, 9 * u + i) for u in range(1, 6) for i in range(1, 5)]),
    "jsonl": (
        None,
        [b'{"user": %d, "item": %d, "time": %d}' % (u, i, u + i) for u in range(1, 6) for i in range(1, 5)],
    ),
    "itemsets": (None, [b"%d\t1,2,3,4" % u for u in range(1, 6)]),
    "data": (None, [b"%d\t%d\t3\t%d" % (u, i, 9 * u + i) for u in range(1, 6) for i in range(1, 5)]),
}
ODD = {
    "csv": [
        b'77,"3,5,x', b'77,3",5,x', b'77,"3"3,5,x', b'77,"3""4",5,x', b'"77","3","5","x"', b"77,3,5,x,y,z", b"77", b"",
        b"   ", b'"', b'77,3,5,"two\nlines"', b"77,3\r4,5,x", b"77,\xff\xfe,5,x", b"\xff,3,5,x", b"77,a\x00b,5,x",
        b"77,3,5,\xe9", b",,,",
    ],
    "tsv": [b'77\t"3\t5', b"77\t3\t5\t6\t7", b"77", b"77\t\xff\t5", b"\t\t"],
    "jsonl": [
        b'{"user": 77, "item": "3', b'{"user": 77, "item": 3}}', b"[77, 3]", b"77", b"null", b'{"user": 77}', b"", b'"',
        b'{"user": 77, "item": [3], "time": 1}', b'{"user": 77, "item": NaN, "time": 1}', b"\x28\xb5\x2f\xfd\x00",
        b'{"user": 77, "item": "\xff"}', b'{"user": {"a": 77}, "item": 3}', b'{"user": 77,\n"item": 3}',
        b'{"user": 77, "item": 3, "more": 1}', b'{"user": 77, "item": 3}{"user": 78, "item": 3}', b"\x1f\x8b",
    ],
    "itemsets": [b"77", b"77\t", b"77\t,,", b"77\t\xff,3", b"\xff\t3", b"\t3", b"", b"77\t1\t2", b"\x1f\x8b\t3"],
    "data": [b"77\t3", b"77\t3\t4\t5\t6", b"77\t3\tx\t5", b"\xff\t3\t4\t5", b"", b"\x1f\x8b\t3\t4\t5"],
}  # fmt: skip
CASES = [(form, odd) for form, lines in ODD.items() for odd in lines]


def kept(path: Path) -> pl.DataFrame:
    """The rows of all but the odd person, as text."""
    columns = {role: role for role in ("user", "item", "time")} if path.suffix == ".jsonl" else None
    data = read(path, columns, duplicates="all", broken="drop")
    frame = data.frame().with_columns(pl.col("user", "item").cast(pl.String))
    return frame.filter(pl.col("user").is_in([str(u) for u in range(1, 6)])).with_columns(
        pl.exclude("user", "item").cast(float)
    )


@pytest.mark.parametrize("place", [0, 7, None], ids=["first", "within", "last"])
@pytest.mark.parametrize(("form", "odd"), CASES, ids=[f"{form}-{n}" for n, (form, _) in enumerate(CASES)])
def test_an_odd_line_changes_no_other(form: str, odd: bytes, place: int | None, tmp_path: Path) -> None:
    head, lines = BASE[form]
    path = tmp_path / f"d.{form}"
    texts = []
    for more in ([], [odd]):
        at = len(lines) if place is None else place
        body = [*lines[:at], *more, *lines[at:]]
        path.write_bytes(b"\n".join([head, *body] if head else body) + b"\n" * (place is not None))
        texts.append(kept(path))
    assert texts[0].height == 20
    assert texts[0].equals(texts[1])


@given(st.binary(max_size=40).filter(lambda b: b"\n" not in b), st.sampled_from(["csv", "tsv", "jsonl"]))
def test_any_bytes_on_a_line_change_no_other(tmp_path_factory: pytest.TempPathFactory, odd: bytes, form: str) -> None:
    head, lines = BASE[form]
    path = tmp_path_factory.mktemp("any") / f"d.{form}"
    path.write_bytes(b"\n".join([*([head] if head else []), *lines[:3], odd, *lines[3:]]))
    found = kept(path)
    hers = found.height - 20
    assert 0 <= hers <= 1  # her line may name somebody
    assert found.height == 20 + hers


def test_quick_and_careful_reading_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the quick way gives on regular files is what lines give one by one."""
    for form in ("csv", "tsv", "data"):
        head, lines = BASE[form]
        more = {"csv": [b"77,,5,x", b"77,3", b"", b"78,03,1.5,", b"79,x,2020-02-03,", b'"80","4","5",""']}.get(form, [])
        path = tmp_path / f"d.{form}"
        path.write_bytes(b"\r\n".join([*([head] if head else []), *lines, *more]))
        quick = read(path, duplicates="all", broken="drop")
        with monkeypatch.context() as patched:
            patched.setattr("recveil.formats.text.stand_alone", lambda *_: False)
            careful = read(path, duplicates="all", broken="drop")
        assert quick.equals(careful) and quick.untyped == careful.untyped


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        (b'a,b\n1,"x, y"\n"2",3\n', True), (b'a,b\r\n1,"x"\r\n', True), (b'a,b\n1,"x"', True), (b"a,b\n1,2", True),
        (b'a,b\n1,"x\ny"\n', False), (b'a,b\n1,x"y\n2,"\n', False), (b'a,b\n1,"x"y\n', False), (b'a,b\n1,"x\n', False),
        (b'a,b\n1,""""\n', False), (b"a,b\n1,x\ry\n", False), (b"a,b\n1,x\r", True), (b'"a",b\n1,2\n', True),
        (b'a,b\n1,2\n\n\r\n3,"4,5"', True), (b'a,b\n1,2\n"3,4"\n', False), (b"a,b\n1\n", False), (b"a,b\n1", False),
        (b"a,b\n1,2,3\n", True), (b"a,b\n \n", False), (b'a,b\n"","4"\n,\n', True),
    ],
)  # fmt: skip
def test_lines_that_stand_alone(text: bytes, alone: bool, tmp_path: Path) -> None:
    assert stand_alone(DataFile("d", tmp_path, "csv", text), ",", True, 1) is alone


def test_fields_of_any_length_are_read_alike(tmp_path: Path) -> None:
    """Whether or not an odd line stands beside them."""
    path, long = tmp_path / "d.csv", b"x" * 200_000
    found = []
    for odd in (b"", b'5,"6\n'):
        path.write_bytes(b"user,item\n1,2\n3," + long + b"\n" + odd)
        found.append(read(path, broken="drop").frame().filter(pl.col("user") < 5))
    assert found[0].height == 2 and found[0].equals(found[1])


def test_a_line_without_fields_for_user_and_item_is_nobodys(tmp_path: Path) -> None:
    """The further lines of a text of several lines are no people."""
    path = tmp_path / "d.csv"
    path.write_bytes(b'user,item,note\n1,2,x\n3,,x\n4,5\n6\n7,8,"of two\nlines"\n')
    data = read(path, broken="drop")
    assert data.users.to_list() == [1, 3, 4, 7]
    assert data.frame().select("user", "item").rows() == [(1, 2), (4, 5)]


def test_other_commands_still_name_the_line(tmp_path: Path) -> None:
    head, lines = BASE["csv"]
    path = tmp_path / "d.csv"
    path.write_bytes(b"\n".join([head or b"", *lines, *[b'77,"3,5,x'] * 2]))
    with pytest.raises(RecveilError, match="after line 21"):
        read(path)
    path.write_bytes(b"\n".join([head or b"", *lines, b'77,3,5,"two\nlines"']))
    assert read(path).n_users == 6  # a field of two lines is one row where a refusal may be given
    assert warnings_of(str(path)) and not warnings_of("sample:films")
    path.write_bytes(b"\n".join([head or b"", *lines]))
    assert not warnings_of(str(path))


def test_a_release_with_a_proof_takes_what_it_can_and_names_nobody(recveil: Run, tmp_path: Path) -> None:
    head, lines = BASE["csv"]
    (tmp_path / "d.csv").write_bytes(b"\n".join([head or b"", *lines, *ODD["csv"]]))
    done = recveil("release", "d.csv", "--with", "mask:p=0.9", "-o", "out", "--seed", 1)
    assert "77" not in done.stderr and all(line.startswith("warning: ") for line in done.stderr.splitlines()[:2])
    refused = recveil("release", "d.csv", "--with", "mask:p=0.9", "-o", "two", "--duplicates", "error", code=1)
    assert "would refuse by what stands in the data" in refused.stderr
    refused = recveil("recommend", "d.csv", "--with", "mask:p=0.9", "--duplicates", "error", code=1)
    assert "would refuse by what stands in the data" in refused.stderr
    assert "line" in recveil("release", "d.csv", "--with", "pseudonymise", "-o", "three", code=1).stderr


ODD_VALUES = ("\ud800", 10**5000, Decimal("1e999"), Decimal("sNaN"), Fraction(10**400), object())


@pytest.mark.parametrize("odd", ODD_VALUES, ids=["half a letter", "digits", "large", "nan", "fraction", "object"])
def test_no_value_of_a_pandas_table_refuses_others(odd: Any) -> None:
    rows: list[list[Any]] = [[u, i, 10 * u + i] for u in range(5) for i in range(4)]
    names = ["user", "item", "time"]
    want = from_frame(pd.DataFrame(rows, columns=names), broken="drop").frame()
    for n in range(3):
        hers: list[Any] = [77, 2, 5]
        hers[n] = odd
        found = from_frame(pd.DataFrame([hers, *rows], columns=names), broken="drop").frame()
        others = found.filter(pl.col("user").cast(pl.String).is_in(["0", "1", "2", "3", "4"]))
        assert others.cast(int).equals(want.cast(int))


BYTES = pa.array([b"1", b"2", b"\xff\xfe", b"3"] * 4, pa.binary())
TEXTS = BYTES.view(pa.string())
NO_LETTERS = {
    "text": TEXTS,
    "large text": BYTES.cast(pa.large_binary()).view(pa.large_string()),
    "text view": pa.array(BYTES.to_pylist(), pa.binary_view()).view(pa.string_view()),
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3] * 4, pa.int32()), TEXTS[:4]),
    "lists": pa.ListArray.from_arrays(pa.array(range(17), pa.int32()), TEXTS),
}


@pytest.mark.parametrize("kind", NO_LETTERS)
@pytest.mark.parametrize("form", ["parquet", "feather", "arrow", "pandas"])
def test_bytes_of_one_row_that_are_no_letters_refuse_nothing(kind: str, form: str, tmp_path: Path) -> None:
    if (kind, form) == ("lists", "pandas"):
        pytest.skip("pandas makes Python's lists of them, which hold letters alone")
    table = pa.table({"user": pa.array([str(n // 4) for n in range(16)]), "item": NO_LETTERS[kind]})
    path, how = str(tmp_path / f"log.{form}"), {"parquet": pq.write_table, "feather": feather.write_feather}
    if form in how:
        how[form](table, path)
        found = read(path, broken="drop")
    else:
        frame = table.to_pandas(types_mapper=pd.ArrowDtype) if form == "pandas" else table
        found = from_frame(frame, broken="drop")
    assert len(found) == 16 and found.items.to_list() == ["1", "2", "3", "\ufffd\ufffd"]


def test_a_damaged_table_is_not_taken_for_bytes() -> None:
    offsets = pa.py_buffer(np.array([0, 5, 2], dtype=np.int32).tobytes())
    damaged = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xff\xff")])
    with pytest.raises(pa.ArrowInvalid):
        sound(pa.table({"item": damaged}))


def test_bytes_of_a_server_that_are_no_letters_refuse_nobody() -> None:
    found = as_sent(b'user,item\n1,"a\nb"\n2,\xff\n3,\n4,""\n').to_pylist()
    assert found == [{"user": u, "item": i} for u, i in (("1", "a\nb"), ("2", "\ufffd"), ("3", None), ("4", ""))]
