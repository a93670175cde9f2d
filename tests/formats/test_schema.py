"""The declared schema: what a release with a proof reads is said before any row is looked at, on both engines."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from recveil.errors import RecveilError
from recveil.formats import from_frame, read
from recveil.formats.overview import proposal
from recveil.formats.schema import Schema, as_schema, parse_schema, read_schema

Run = Callable[..., Any]
SPEC = "dp-streams:epsilon=90,delta=0.01,k=40"
EVENTS = [{"uid": u, "film": 1 + (u * 7 + n * 3) % 30, "at": 100 * u + n} for u in range(1, 90) for n in range(9)]
EVENT = Schema({"user": "uid", "item": "film", "time": "at"})
# What one person's object may be, and must change nothing for others.
ODD = [
    {"uid": 7000, "film": 3},
    {"film": 3, "uid": 7000},
    {"uid": 7000, "film": [3, 4], "at": 5},
    {"uid": 7000, "film": {"id": 3}, "at": 5},
    {"uid": 7000, "film": 3, "at": 5, "rating": 4, "tag": "x", "session": 1},
    {"uid": [7000], "film": 3, "at": 5},
    {"uid": None, "film": None, "at": None},
    {"uid": 7000, "film": 3, "at": "soon"},
    {"at": 1},
    {"uid": 7000, "film": "\ud800", "at": "\ud800"},
    {"uid": "\ud800"},
    {},
]


def lines(objects: list[Any], path: Path) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in objects), encoding="utf-8")
    return path


# --- the file itself ------------------------------------------------------------------------------------------


def test_a_schema_is_written_and_read_back(tmp_path: Path) -> None:
    for schema in (
        EVENT,
        Schema({"user": "u", "item": "i", "rating": "r"}, {"user": "int", "item": "text"}, "ratings", "0.5..5/0.5"),
        Schema({"session": "s", "item": 'a "b"'}, kind="sessions", proposed=True, ignored=("x", "y"), lists=True),
        Schema({"user": "u", "item": "i"}, header=False, names=("u", "i", "t"), separator="::", format="dat"),
        Schema({"user": "u", "item": "i", "time": ("y", "m", "d")}, catalogue_is_public=True),
    ):
        (tmp_path / "log.toml").write_text(schema.text("How it is."), encoding="utf-8")
        found = read_schema(str(tmp_path / "log.toml"))
        assert found == Schema(**{**vars(schema), "kind": schema.kind or schema.shown_kind})
        assert found.origin == ("proposed by inspect" if schema.proposed else "declared")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("colums = 3", "unknown key in a schema 'colums'; did you mean columns"),
        (
            "[columns]\nuser = 'u'\nitem = 'i'\nratings = 'r'",
            "unknown key [columns] in a schema 'ratings'; did you mean rating",
        ),
        ("[columns]\nuser = 'u'", "[columns] has no item"),
        ("[columns]\nitem = 'u'", "[columns] has no user"),
        ("[columns]\nuser = 'u'\nitem = 'u'", "[columns] names 'u' twice"),
        ("[columns]\nuser = 'u'\nitem = 'i'\nignored = ['i']", "[columns] names 'i' twice"),
        ("[columns]\nuser = 3\nitem = 'i'", "[columns] user is the name of a column, not 3"),
        ("columns = 3", "columns is a section"),
        ("proposed = 'yes'\n[columns]\nuser = 'u'\nitem = 'i'", "proposed is true or false"),
        (
            "kind = 'ratings'\n[columns]\nuser = 'u'\nitem = 'i'",
            "kind = 'ratings', and the columns are those of clicks",
        ),
        ("scale = '1..5'\n[columns]\nuser = 'u'\nitem = 'i'", "scale is of ratings, and [columns] has no rating"),
        ("scale = 'a..b'\n[columns]\nuser = 'u'\nitem = 'i'\nrating = 'r'", "a scale of ratings cannot be 'a..b'"),
        ("[columns]\nuser = 'u'\nitem = 'i'\n[types]\nuser = 'float'", "unknown [types] user 'float'"),
        ("[columns]\nuser = 'u'\nitem = 'i'\n[file]\nformat = 'exe'", "unknown [file] format 'exe'"),
        ("[columns]\nuser = 'u'\nitem = 'i'\n[file]\nheader = false", "names, the columns in their order, lacks 'u'"),
        ("[columns]\nuser = 'u'\nitem = 'i'\n[file]\nnames = ['u', 'i']", "add header = false"),
        ("[columns]\nuser = 'u'\nitem = 'i'\ntime = ['y', 'm']", "time is one column, or year, month, day"),
        ("user = ", "cannot be read as a schema"),
    ],
)
def test_what_is_wrong_with_a_schema_is_one_line(text: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "log.toml").write_text(text, encoding="utf-8")
    with pytest.raises(RecveilError) as wrong:
        read_schema(str(tmp_path / "log.toml"))
    assert line in str(wrong.value) and "\n" not in str(wrong.value) and "log.toml" in str(wrong.value)


def test_a_schema_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(
        RecveilError, match=r"there is no such schema; recveil inspect LOG --schema .*none.toml proposes"
    ):
        as_schema(tmp_path / "none.toml")
    with pytest.raises(RecveilError, match="a schema is the path"):
        as_schema(7)


def test_a_schema_that_contradicts_the_file(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("uid,film\n1,2\n")
    with pytest.raises(RecveilError, match="no column 'at' for time among: uid, film"):
        read(tmp_path / "d.csv", schema=EVENT)
    with pytest.raises(RecveilError, match=r"d.csv: the column of items holds no lists, and the schema says lists"):
        read(tmp_path / "d.csv", schema=Schema({"user": "uid", "item": "film"}, lists=True))
    pl.DataFrame({"uid": [1], "film": [[2, 3]], "at": [1]}).write_parquet(tmp_path / "d.parquet")
    with pytest.raises(RecveilError, match="holds lists, and the schema says lists = False"):
        read(tmp_path / "d.parquet", schema=EVENT)
    with pytest.raises(RecveilError, match=r"d.parquet: the schema says format = 'csv', and this is parquet$"):
        read(tmp_path / "d.parquet", schema=replace(EVENT, format="csv"))
    with pytest.raises(RecveilError, match=r"d.csv: the schema says format = 'parquet', and this is csv$"):
        read(tmp_path / "d.csv", schema=replace(EVENT, format="parquet"))
    with pytest.raises(RecveilError, match="holds no lists, and the schema says lists = True"):
        from_frame(pl.DataFrame({"u": [1], "i": [2]}), schema=Schema({"user": "u", "item": "i"}, lists=True))
    with pytest.raises(RecveilError, match="leave columns and types out"):
        read(tmp_path / "d.csv", columns={"user": "uid"}, schema=EVENT)


def test_no_other_column_is_read_than_the_declared(tmp_path: Path) -> None:
    pl.DataFrame({"uid": [1], "film": [2], "rating": [3], "tag": ["x"]}).write_csv(tmp_path / "d.csv")
    found = read(tmp_path / "d.csv", schema=Schema({"user": "uid", "item": "film"}))
    assert found.kind == "clicks" and found.frame().columns == ["user", "item"]


def test_a_file_without_a_header_of_any_separator(tmp_path: Path) -> None:
    for name, separator in (("a.dat", "::"), ("a.csv", ","), ("a.csv", ";"), ("a.dat", "|"), ("a.data", "\t")):
        (tmp_path / name).write_text(f"1{separator}2{separator}x\n3{separator}4{separator}y\n")
        how = Schema({"user": "u", "item": "i"}, header=False, names=("u", "i", "n"), separator=separator)
        assert read(tmp_path / name, schema=how).frame().rows() == [(1, 2), (3, 4)]


def test_the_scale_of_a_schema_is_that_of_the_column(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("u,i,r\n1,2,3\n")
    how = Schema({"user": "u", "item": "i", "rating": "r"}, scale="0..10")
    assert read(tmp_path / "d.csv", schema=how).levels == tuple(map(float, range(11)))


# --- N2, N6: no row says what the columns are ------------------------------------------------------------------


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_no_object_changes_how_others_are_read(odd: Any, tmp_path: Path) -> None:
    few = EVENTS[:40]
    want = read(lines(few, tmp_path / "a.jsonl"), broken="drop", schema=EVENT).frame()
    for place in (0, 11, 40):
        path = lines([*few[:place], odd, *few[place:]], tmp_path / "b.jsonl")
        for how in ({"schema": EVENT}, {"columns": EVENT.columns}):
            found = read(path, broken="drop", **how)
            assert found.frame().columns == ["user", "item", "time"]
            assert found.frame().filter(pl.col("user").cast(pl.String) != "7000").cast(int).equals(want)


IN_ARRAYS = {
    **{str(n): json.dumps(one) for n, one in enumerate(ODD)},
    "digits": '{"uid": 7000, "film": ' + "9" * 5000 + "}",
    "braces": '{"uid": 7000, "at": "}{[\\""}',
    "depth": '{"uid": 7000, "film": ' + "[" * 3000 + "]" * 3000 + "}",
    "null": "null",
    "lists": "[1, [2]]",
}


@pytest.mark.parametrize("odd", IN_ARRAYS.values(), ids=IN_ARRAYS)
def test_no_object_of_an_array_changes_how_others_are_read(odd: str, tmp_path: Path) -> None:
    """One text holds everybody: nothing in it is refused, and whether it is an array is declared."""
    few, schema, path = (
        [json.dumps(e, indent=1) for e in EVENTS[:40]],
        replace(EVENT, format="json"),
        tmp_path / "a.json",
    )
    path.write_text(f"[{','.join(few)}]")
    want = read(path, broken="drop", schema=schema).frame()
    assert want.height == 40
    for place in (0, 11, 40):
        path.write_text(f"[{', '.join([*few[:place], odd, *few[place:]])}]")
        found = read(path, broken="drop", schema=schema).frame()
        others = found.filter(pl.col("user").cast(pl.String).is_in([str(e["uid"]) for e in EVENTS]))
        assert others.cast(int).equals(want)
        with pytest.raises(RecveilError, match="proposes a schema"):
            read(path, broken="drop", columns=dict(EVENT.columns))


@pytest.mark.parametrize("first", [b"\x1f\x8b,3,5", b"\x28\xb5\x2f\xfd", b"PAR1", b""])
def test_whoever_stands_first_without_a_header_is_no_packed_file(first: bytes, tmp_path: Path) -> None:
    rows = [f"{e['uid']},{e['film']},{e['at']}".encode() for e in EVENTS]
    names = ("uid", "film", "at")
    for form in (replace(EVENT, format="csv", header=False, names=names, separator=mark) for mark in (",", "::")):
        (tmp_path / "log.csv").write_bytes(b"\n".join([first, *rows]).replace(b",", form.separator.encode()))
        found = read(tmp_path / "log.csv", broken="drop", schema=form).frame()
        assert found.filter(pl.col("user").cast(pl.String).str.contains(r"^\d+$")).height == len(EVENTS)
        (tmp_path / "log.csv").write_bytes(b"")  # she was the only one
        assert len(read(tmp_path / "log.csv", broken="drop", schema=form)) == 0


def test_a_release_with_a_proof_asks_for_a_schema(recveil: Run, tmp_path: Path) -> None:
    """Whoever stands first: the same words, and the same exit code."""
    said = set()
    for first in ([], *([one] for one in ODD)):
        lines([*first, *EVENTS], tmp_path / "log.jsonl")
        said.add(recveil("release", "log.jsonl", "--with", SPEC, "-o", "out", code=1).stderr)
    (asked,) = said
    assert "recveil inspect log.jsonl --schema log.toml proposes a schema" in asked
    lines([{"user": 1, "item": 2}, {"user": 1, "item": 3}], tmp_path / "few.jsonl")
    recveil("release", "few.jsonl", "--with", "pseudonymise", "-o", "plain")  # without a proof: as ever


def test_one_person_first_in_the_file_does_not_take_the_order_away(recveil: Run, tmp_path: Path) -> None:
    """One who lacks the time of her event, or stands in the way in another fashion."""
    recveil(
        "inspect",
        lines(EVENTS, tmp_path / "log.jsonl"),
        "--columns",
        "user=uid,item=film,time=at",
        "--schema",
        "log.toml",
    )
    said = []
    for number, first in enumerate(([], *([one] for one in ODD))):
        lines([*first, *EVENTS], tmp_path / "log.jsonl")
        options = ("--schema", "log.toml", "-o", f"out{number}", "--seed", 1)
        done = recveil("release", "log.jsonl", "--with", SPEC, *options, json_answer=True)
        said.append([column["name"] for column in done["manifest"]["schema"]])
    assert said == [["user", "item", "order"]] * len(said)


def test_an_odd_first_line_of_a_dat_refuses_nothing(recveil: Run, tmp_path: Path) -> None:
    """`0:4:3:1` gave exit code 1; without a declaration all such files ask alike, with one none does."""
    rows = [f"{e['uid']}::{e['film']}::{1 + e['at'] % 5}::{e['at']}" for e in EVENTS]
    firsts = ([], ["0:4:3:1"], ["7000::3::x::5"], ["7000::3"], ["a\tb\tc"], ["7000::3::4::5::6"], [""])
    said = set()
    for first in firsts:
        (tmp_path / "r.dat").write_text("\n".join([*first, *rows]))
        said.add(recveil("release", "r.dat", "--with", SPEC, "-o", "out", code=1).stderr)
    assert len(said) == 1 and "recveil inspect r.dat --schema log.toml" in said.pop()
    (tmp_path / "r.dat").write_text("\n".join(rows))
    recveil("inspect", "r.dat", "--schema", "log.toml")
    for number, first in enumerate(firsts):
        (tmp_path / "r.dat").write_text("\n".join([*first, *rows]))
        recveil("release", "r.dat", "--with", "mask:p=0.8", "--schema", "log.toml", "-o", f"out{number}", "--seed", 1)


def test_a_dat_with_a_header_needs_nothing(tmp_path: Path) -> None:
    (tmp_path / "r.dat").write_text("userID\tartistID\tweight\n1\t2\t3\n")
    assert read(tmp_path / "r.dat", broken="drop").frame().rows() == [(1, 2)]


@pytest.mark.parametrize("ending", ["csv", "tsv", "dat", "data", "jsonl", "itemsets", "inter"])
def test_a_byte_order_mark_changes_nothing(ending: str, tmp_path: Path) -> None:
    text = {
        "csv": '"user",item,time\n1,2,3\n"4","5",6\n', "tsv": "user\titem\n1\t2\n", "dat": "userID\titemID\n1\t2\n",
        "data": "1\t2\t3\t4\n5\t6\t3\t4\n", "jsonl": '{"user": 1, "item": 2}\n{"user": 3, "item": 4}\n',
        "itemsets": "1\t2,3\n4\t5\n", "inter": "user_id:token\titem_id:token\n1\t2\n",
    }[ending].encode()  # fmt: skip
    path, columns = tmp_path / f"d.{ending}", {"user": "user", "item": "item"} if ending == "jsonl" else None
    for broken in ("refuse", "drop"):
        found = []
        for mark in (b"", b"\xef\xbb\xbf"):
            path.write_bytes(mark + text)
            found.append(read(path, columns, broken=broken))  # type: ignore[arg-type]
        assert found[0].equals(found[1]) and found[0].untyped == found[1].untyped
        assert found[0].users.equals(found[1].users)


# --- what inspect proposes ------------------------------------------------------------------------------------


def test_inspect_proposes_a_schema_and_keeps_one_that_is_there(recveil: Run, tmp_path: Path) -> None:
    pl.DataFrame({"uid": [1, 2, 3], "isbn": ["a", "b", "a"], "rating": [0, 10, 7], "zip": [1, 2, 3]}).write_csv(
        tmp_path / "d.csv"
    )
    done = recveil("inspect", "d.csv", "--schema", "log.toml")
    assert "log.toml: a schema, proposed" in done.stderr
    schema = read_schema(str(tmp_path / "log.toml"))
    assert schema.columns == {"user": "uid", "item": "isbn", "rating": "rating"}
    assert schema.proposed and schema.scale == "0..10" and schema.ignored == ("zip",) and schema.kind == "ratings"
    text = (tmp_path / "log.toml").read_text()
    (tmp_path / "log.toml").write_text(text.replace("proposed = true", "proposed = false").replace("0..10", "0..20"))
    assert "log.toml was there" in recveil("inspect", "d.csv", "--schema", "log.toml").stderr
    assert not read_schema(str(tmp_path / "log.toml")).proposed  # as its owner left it
    recveil("inspect", "d.csv", "--schema", "log.toml", "--force")
    assert (tmp_path / "log.toml").read_text() == text
    found = recveil("inspect", "d.csv", "--schema", "log.toml", json_answer=True)
    assert found["scale"] == "0..10" and "--schema log.toml" in found["next"][0]


def test_what_inspect_suggests_for_a_file_without_a_header_works(recveil: Run, tmp_path: Path) -> None:
    from shlex import split

    lines([{"user": e["uid"], "item": e["film"], "time": e["at"]} for e in EVENTS], tmp_path / "log.jsonl")
    commands = recveil("inspect", "log.jsonl", json_answer=True)["next"]
    assert [split(command)[1] for command in commands] == [
        "inspect", "assess", "compare", "release", "measure", "decide", "verify",
    ]  # fmt: skip
    recveil(*split(commands[0])[1:])
    recveil(*[*split(commands[1])[1:], "--known", "2"])
    release = ["dp-streams:epsilon=90,delta=0.01,k=40" if w.startswith("dp-") else w for w in split(commands[3])[1:]]
    recveil(*release)
    recveil(*split(commands[4])[1:])


def test_no_single_person_changes_what_is_proposed(tmp_path: Path) -> None:
    want = proposal(lines(EVENTS, tmp_path / "a.jsonl"), {"user": "uid", "item": "film", "time": "at"})
    for odd in ODD[:-3]:
        path = lines([odd, *EVENTS, odd], tmp_path / "b.jsonl")
        assert proposal(path, {"user": "uid", "item": "film", "time": "at"}) == want


def test_lines_of_one_person_do_not_change_the_encoding_of_all(tmp_path: Path) -> None:
    sound = "".join(f"{user},café {user % 4}\n" for user in range(40)).encode()
    hers = "".join(f"40,thé {n}\n" for n in range(6)).encode("cp1252")
    for name, rows, found in (("a", sound, ""), ("b", hers + sound, ""), ("c", hers, "cp1252")):
        (tmp_path / f"{name}.csv").write_bytes(b"user,item\n" + rows + b"41,tea\n")
        assert proposal(tmp_path / f"{name}.csv").encoding == found


@pytest.mark.parametrize(
    "text",
    [
        "session_id,item,time\n1,2,3\n",
        "user,item,day,month,year\n1,2,3,4,2020\n",
        "user;item;rating\n1;2;3\n",
    ],
)
def test_a_proposal_reads_what_inspect_read(text: str, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text(text)
    schema = proposal(path)
    (tmp_path / "log.toml").write_text(schema.text())
    found, want = read(path, schema=read_schema(str(tmp_path / "log.toml"))), read(path)
    assert found.equals(want) and found.unit == want.unit


@pytest.mark.parametrize(
    ("dates", "role"),
    [
        (["15.06.2024", "01.02.2024"], "time"),
        (["2024-06-15", "2024-02-01"], "time"),
        (["funny", "15.06.2024 was a day"], "tag"),
    ],
)
def test_a_tag_of_dates_is_the_german_word_for_a_day(dates: list[str], role: str, tmp_path: Path) -> None:
    lines = ["Kunde,Artikel,Tag", *(f"K{u},A{i},{dates[(u + i) % 2]}" for u in range(9) for i in range(4))]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    found = proposal(tmp_path / "log.csv")
    assert found.columns == {"user": "Kunde", "item": "Artikel", role: "Tag"}
    assert found.shown_kind == ("tags" if role == "tag" else "clicks")
    assert proposal(tmp_path / "log.csv", {"user": "Kunde", "item": "Artikel", "tag": "Tag"}).columns["tag"] == "Tag"


def test_sections_that_are_none() -> None:
    with pytest.raises(RecveilError, match="types is a section"):
        parse_schema({"columns": {"user": "u", "item": "i"}, "types": 3})


# --- Spark ----------------------------------------------------------------------------------------------------


@pytest.mark.spark
def test_spark_reads_by_the_same_schema(spark: Any, tmp_path: Path) -> None:
    from recveil.spark.reading import read_table

    def rows(path: Path, schema: Schema) -> tuple[Any, ...]:
        table = read_table(spark, str(path), broken="drop", schema=schema)
        frame = pl.DataFrame(table.frame.toArrow()).with_columns(pl.all().cast(pl.String))
        return frame.columns, frame.drop_nulls("item").sort(pl.all()).rows(), sorted(set(frame["user"]))

    few = EVENTS[:30]
    path = lines(few, tmp_path / "log.jsonl")
    with pytest.raises(RecveilError, match=r"recveil inspect \S*log.jsonl --schema log.toml proposes a schema"):
        read_table(spark, str(path), broken="drop")
    columns, want, _ = rows(path, EVENT)
    assert columns == ["user", "item", "time"]
    columns, found, _ = rows(lines([*ODD, *few], path), EVENT)
    assert columns == ["user", "item", "time"]
    others = [row for row in found if row[0] != "7000"]
    assert [tuple(map(float, row)) for row in others] == [tuple(map(float, row)) for row in want]
    local = read(path, broken="drop", schema=EVENT)
    assert sorted(tuple(map(float, row)) for row in found if row[2]) == sorted(
        tuple(map(float, row)) for row in local.frame().drop_nulls().rows()
    )
    how = Schema({"user": "u", "item": "i"}, header=False, names=("u", "i", "r", "t"), separator="::")
    for mark in ("", "\ufeff"):
        (tmp_path / "r.dat").write_text(mark + "1::2::3::4\n5::6::3::1e30\n", encoding="utf-8")
        assert rows(tmp_path / "r.dat", how)[1] == [("1", "2"), ("5", "6")]
        (tmp_path / "c.csv").write_text(mark + "user,item,time\n1,2,3\n5,6,1e30\n", encoding="utf-8")
        table = read_table(spark, str(tmp_path / "c.csv"), broken="drop")  # 1e30 is no reason to fail
        assert table.frame.count() == 2 and table.frame.columns == ["user", "item", "time"]
    with pytest.raises(RecveilError, match="holds no lists, unlike the schema"):
        rows(tmp_path / "c.csv", Schema({"user": "user", "item": "item"}, lists=True))
    lists = Schema({"user": "user", "item": "items"}, lists=True)
    lines([{"user": 1, "items": [1, "b", None, [2]]}, {"user": 2, "items": 5}, {"user": 3}], path)
    assert rows(path, lists)[1:] == ([("1", "1", "0"), ("1", "b", "1")], ["1", "2", "3"])
    assert read(path, broken="drop", schema=lists).frame().cast(pl.String).rows() == rows(path, lists)[1]
    scaled = Schema({"user": "user", "item": "item", "rating": "time"}, scale="1..5")
    assert read_table(spark, str(tmp_path / "c.csv"), broken="drop", schema=scaled).specimen.levels == (1, 2, 3, 4, 5)


def test_a_file_of_which_no_line_is_a_row_makes_the_owner_ask(
    recveil: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.toml").write_text(replace(EVENT, format="jsonl").text())
    Path("log.csv").write_text("uid,film,at\n" + "1,2,3\n" * 9)
    said = recveil("release", "log.csv", "--with", SPEC, "--schema", "log.toml", "-o", "out", code=1).stderr
    assert "warning: 10 lines left out that are no rows, and there are no others: is the file written as decl" in said
