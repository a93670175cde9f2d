"""Files as they lie in public repositories: by their content, not by their names, inspect proposes how to read them.

Every shape is made here; the heads of real ones are tried where they are at hand.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recveil.errors import RecveilError
from recveil.formats import read
from recveil.formats.overview import proposal
from recveil.formats.schema import read_schema
from recveil.formats.sniffing import sniff

Run = Callable[..., Any]
RAW = Path(os.environ.get("RECVEIL_DATA", Path(__file__).parents[2] / "shared" / "data")) / "raw"
ROWS = [
    (u, 100 + (u * 7 + n * 3) % 30, 1 + (u + n) % 5, 1_215_184_630 + 60 * u + n) for u in range(60) for n in range(9)
]


def table(separator: str, header: str = "", end: str = "\n", width: int = 4) -> bytes:
    lines = [separator.join(map(str, row[:width])) for row in ROWS]
    return (end.join([*([header] if header else []), *lines]) + end).encode()


def objects(*names: str) -> list[dict[str, Any]]:
    return [dict(zip(names, row, strict=True)) for row in ROWS]


TAGS = "\n".join(f"{u}::{i}::{'good' if r > 3 else 'so, so'}::{t}" for u, i, r, t in ROWS).encode()
LISTS = "\n".join(
    " ".join(map(str, [u, *(100 + (u * 7 + n * 3) % 30 for n in range(3 + u % 6))])) for u in range(1, 60)
)
AMAZON = ("reviewerID", "asin", "overall", "unixReviewTime")
STEAM = "user-id,game-title,value,\n" + "\n".join(f"{u},Game {i},{r}.5," for u, i, r, _ in ROWS)
WESTERN = "1,é,3\n2,è,3\n3,ü,4\n".encode("cp1252")
# The name of a file, its content, its kind of log, and how many rows there are.
SHAPES: dict[str, tuple[str, bytes, str, int]] = {
    "BookCrossing": ("r.csv", table(",", "User-ID,ISBN,Book-Rating", "\r\n", 3), "ratings", 540),
    "CR alone": ("r.csv", table(",", "User-ID,ISBN,Book-Rating", "\r", 3), "ratings", 540),
    "semicolons": ("r.csv", table(";", '"User-ID";"ISBN";"Book-Rating"', "\r\n", 3), "ratings", 540),
    "cp1252": ("r.csv", table(",", "User-ID,ISBN,Book-Rating", width=3) + WESTERN, "ratings", 543),
    "UTF-16": ("r.csv", table(",", "userId,movieId,rating,timestamp").decode().encode("utf-16"), "ratings", 540),
    "Steam": ("steam.csv", STEAM.encode(), "clicks", 540),
    "tags without a header": ("tags.dat", TAGS, "tags", 540),
    "no header, tabs": ("train.rating", table("\t"), "ratings", 540),
    "no header, blanks": ("train.txt", table(" ", width=2), "clicks", 540),
    "a part of u.data": ("u1.base", table("\t"), "ratings", 540),
    "no header, commas": ("ratings_Beauty.csv", table(","), "ratings", 540),
    "lists": ("train.txt", LISTS.encode(), "clicks", sum(len(line.split()) - 1 for line in LISTS.splitlines())),
    "JSON lines in .json.gz": (
        "m.json.gz", gzip.compress("\n".join(map(json.dumps, objects(*AMAZON))).encode()), "ratings", 540,
    ),
    "an array of objects": ("m.json", json.dumps(objects(*AMAZON), indent=1).encode(), "ratings", 540),
    "no ending": ("log", table(",", "visitorid,itemid,rating,timestamp"), "ratings", 540),
    "German": ("log.csv", table(";", "Kunde;Artikel;Bewertung;Datum"), "ratings", 540),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_inspect_understands_it_unaided(shape: str, recveil: Run, tmp_path: Path) -> None:
    """And what it wrote is enough for every other command."""
    name, content, kind, rows = SHAPES[shape]
    (tmp_path / name).write_bytes(content)
    found = recveil("inspect", name, "--schema", "log.toml", json_answer=True)
    assert (found["kind"], found["rows"]) == (kind, rows)
    schema = read_schema(str(tmp_path / "log.toml"))
    for broken in ("refuse", "drop"):
        data = read(tmp_path / name, schema=schema, broken=broken)  # type: ignore[arg-type]
        assert data.kind == kind and len(data) == rows
    done = recveil("release", name, "--schema", "log.toml", "--with", "mask:p=0.8", "-o", "out", json_answer=True)
    assert done["manifest"]["schema_from"] == "proposed by inspect"
    recveil("verify", "out")


def test_the_columns_of_files_without_a_header(tmp_path: Path) -> None:
    for name, shape, names in (
        ("tags.dat", "tags without a header", ("user", "item", "tag", "timestamp")),
        ("train.rating", "no header, tabs", ("user", "item", "rating", "timestamp")),
        ("train.txt", "no header, blanks", ("user", "item")),
    ):
        (tmp_path / name).write_bytes(SHAPES[shape][1])
        assert proposal(tmp_path / name).names == names
    (tmp_path / "pins.rating").write_text("\n".join(f"{n}\t{n % 9}\t1\t0" for n in range(50)))
    found = proposal(tmp_path / "pins.rating")
    assert found.columns == {"user": "user", "item": "item"} and found.ignored == ("column 3", "column 4")


def test_lists_keep_their_order(tmp_path: Path) -> None:
    (tmp_path / "l.txt").write_text("1 9 7 8\n2 7\n3 8 9\n4 1 2 3 4\n")
    found = read(tmp_path / "l.txt", schema=proposal(tmp_path / "l.txt"))
    assert found.ordered().frame().filter(user=1)["item"].to_list() == [9, 7, 8]


def test_few_odd_bytes_are_no_other_encoding(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_bytes(table(",", "user,item,rating,time") + b"1,\xe9,3,4\n")
    assert sniff(str(tmp_path / "r.csv")).encoding == ""


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("x.pkl", b"\x80\x04\x95x", "a pickle, which runs code when it is read"),
        ("x.txt", b"", "the file is empty"),
        ("x.txt", b"\n \n", "the file is empty"),
        ("x.txt", b"one\ntwo\n", "one column only, 'one'"),
        ("x.json", b"[{]", "not sound JSON"),
    ],
)
def test_what_cannot_be_read_is_one_line(name: str, content: bytes, line: str, recveil: Run, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    done = recveil("inspect", name, code=1)
    assert line in done.stderr and done.stderr.count("\n") == 1


def test_an_unknown_ending_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "x.rating").write_bytes(table("\t"))
    with pytest.raises(RecveilError, match=r"unknown format 'rating'.* recveil inspect \S*x.rating --schema log.toml"):
        read(tmp_path / "x.rating")


@pytest.mark.skipif(not RAW.exists(), reason="the heads of real files are not at hand (RECVEIL_DATA)")
@pytest.mark.data
def test_heads_of_real_files_are_understood_unaided() -> None:
    kinds = {file.name: proposal(file).shown_kind for file in RAW.iterdir()}
    assert kinds == {
        "beauty-lists.txt": "clicks", "book-crossing-cr.csv": "ratings", "book-crossing-crlf.csv": "ratings",
        "digital-music.json.gz": "ratings", "movielens-tags.dat": "tags", "pinterest.rating": "clicks",
        "steam.csv": "clicks",
    }  # fmt: skip
    for file in RAW.iterdir():
        assert len(read(file, schema=proposal(file))) > 300
