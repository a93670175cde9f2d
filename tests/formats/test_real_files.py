"""Files as they lie in public repositories: by their content, not by their names, inspect proposes how to read them.

Every shape is made here; the heads of real ones are tried where they are at hand.
"""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from shlex import split
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import io, sparse

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.formats import read
from recveil.formats.overview import proposal
from recveil.formats.schema import Schema, read_schema
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
    "UTF-16 without a mark": (
        "r.csv", table(",", "userId,movieId,rating,timestamp").decode().encode("utf-16-be"), "ratings", 540,
    ),
    "an ending of JSON": ("r.json", table(",", "userId,movieId,rating,timestamp"), "ratings", 540),
    "a quote that nobody closes": (
        "r.csv", table(",", "userId,movieId,rating,timestamp") + b'"1,2,3,4\n', "ratings", 540,
    ),
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
        ("x.json", b"[" * 100_000, "one column only"),
        ("x.csv", b"sep=;\n1;2;3\n1;3;4\n", "'sep=;' stands above the table; leave it out: tail -n +2 x.csv"),
        ("x.csv", b"# of May\nuser,item\n1,2\n", "'# of May' stands above the table"),
        ("x.csv", b"user;item;n\n1,2,3\n" * 9, "lines parted by ',' beside ';': sed"),
        ("x.csv", b"<!DOCTYPE html>\n", "a page, no table"),
        ("x.csv", bytes(range(256)) * 9, "bytes that are no text"),
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


def walked(recveil: Run, name: str) -> dict[str, Any]:
    """The bundle to which the commands lead that inspect prints, typed as they stand there; the long looks apart."""
    commands = recveil("inspect", name, json_answer=True)["next"]
    for command in commands:
        words = split(command)[1:]
        if words[0] in ("assess", "compare"):
            continue
        more = {"measure": ["--only", "popularity"], "release": ["--seed", "1"]}  # of few people nobody may be held out
        done = recveil(*words, *more.get(words[0], []))
        if words[0] == "decide":
            assert "recveil decide out" in done.stdout and "--approve" in done.stdout
    return dict(json.loads(Path("out", "manifest.json").read_text()))


def other_shapes() -> dict[str, tuple[str, bytes, str, int]]:
    """Shapes beside those above, as bytes: name, content, kind, rows."""
    frame = pl.DataFrame(ROWS, schema=["user", "item", "rating", "timestamp"], orient="row")
    matrix = sparse.coo_array((frame["rating"].to_numpy(), (frame["user"].to_numpy(), frame["item"].to_numpy())))
    arrow, npz, mtx, packed, tape = BytesIO(), BytesIO(), BytesIO(), BytesIO(), BytesIO()
    frame.write_ipc(arrow)
    sparse.save_npz(npz, matrix.tocsr())
    io.mmwrite(mtx, matrix)
    csv = table(",", "userId,movieId,rating,timestamp")
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("ml/ratings.csv", csv)
        archive.writestr("ml/README.txt", "about it")
    with tarfile.open(fileobj=tape, mode="w:gz") as reel:
        member = tarfile.TarInfo("ml/ratings.csv")
        member.size = len(csv)
        reel.addfile(member, BytesIO(csv))
    dated = "\n".join(f"{u};{i};{r},5;{1 + t % 28:02}-0{1 + u % 9}-2015" for u, i, r, t in ROWS)
    american = "\n".join(f"{u},{i},{1 + u % 9:02}/{1 + t % 28:02}/2015" for u, i, _, t in ROWS)
    mixed = "\n".join(f"{u},{i},{t * 1000 if u % 2 else t}" for u, i, _, t in ROWS)
    nested = "\n".join(json.dumps({"user": {"id": u}, "product": {"id": i, "x": [1]}, "ts": t}) for u, i, _, t in ROWS)
    events = "\n".join(f"{u},Game {i},{'purchase' if r > 2 else 'play'},{r}.5,0" for u, i, r, _ in ROWS)
    baskets = "\n".join(",".join(f"thing {(n * 7 + k) % 20}" for k in range(1 + n % 5)) for n in range(200))
    index = ",0,1,2\n" + "\n".join(f"{n},{u},{i},{r * 37}" for n, (u, i, r, _) in enumerate(ROWS))
    return {
        "arrow": ("r.arrow", arrow.getvalue(), "ratings", 540),
        "npz": ("r.npz", npz.getvalue(), "ratings", 540),
        "mtx": ("r.mtx", mtx.getvalue(), "ratings", 540),
        "zip": ("ml.zip", packed.getvalue(), "ratings", 540),
        "tar": ("ml.tar.gz", tape.getvalue(), "ratings", 540),
        "decimal comma, dd-mm-yyyy": ("l.csv", f"Kunde;Artikel;Bewertung;Datum\n{dated}".encode(), "ratings", 540),
        "US dates": ("l.csv", f"user,item,date\n{american}".encode(), "clicks", 540),
        "seconds and milliseconds": ("l.csv", f"user,item,timestamp\n{mixed}".encode(), "clicks", 540),
        "nested JSON": ("l.jsonl", nested.encode(), "clicks", 540),
        "events without a header": ("steam-200k.csv", events.encode(), "clicks", 540),
        "baskets": ("groceries.csv", baskets.encode(), "sessions", sum(1 + n % 5 for n in range(200))),
        "an index, and numbers as names": ("train.csv", index.encode(), "clicks", 540),
    }


OTHERS = other_shapes()


@pytest.mark.parametrize("shape", OTHERS)
def test_other_shapes_go_from_the_file_to_a_verified_bundle(shape: str, recveil: Run, tmp_path: Path) -> None:
    """By typing what inspect prints, and nothing else."""
    name, content, kind, rows = OTHERS[shape]
    (tmp_path / name).write_bytes(content)
    found = proposal(tmp_path / name)
    for broken in ("refuse", "drop"):
        data = read(tmp_path / name, schema=found, broken=broken, duplicates="all")  # type: ignore[arg-type]
        assert (data.kind, len(data)) == (kind, rows)
    assert read_schema_text(found, tmp_path) == found
    assert walked(recveil, name)["rows"] > 0


def read_schema_text(found: Schema, folder: Path) -> Schema:
    (folder / "kept.toml").write_text(found.text(), encoding="utf-8")
    return replace(read_schema(str(folder / "kept.toml")), kind="")


def test_values_are_read_as_they_are_declared(tmp_path: Path) -> None:
    def of(shape: str) -> Interactions:
        name, content, _, _ = OTHERS[shape]
        (tmp_path / name).write_bytes(content)
        return read(tmp_path / name, schema=proposal(tmp_path / name))

    dated = of("decimal comma, dd-mm-yyyy")
    assert dated.rating is not None and set(np.unique(dated.rating)) == {1.5, 2.5, 3.5, 4.5, 5.5}
    assert dated.time is not None and dated.time.min() >= 1_420_000_000  # 2015
    mixed = of("seconds and milliseconds")
    assert mixed.time is not None and mixed.time.max() / mixed.time.min() < 1.01
    us = of("US dates")
    assert us.time is not None and len(np.unique(us.time)) > 100


def test_missing_ratings_and_events_are_chosen_by_options(recveil: Run, tmp_path: Path) -> None:
    rows = "\n".join(f"{n % 40},{n % 17},{n % 5 * 2}" for n in range(400))
    (tmp_path / "r.csv").write_text(f"User-ID,ISBN,Book-Rating\n{rows}\n")
    asked = recveil("inspect", "r.csv").stdout
    assert "is 0 'not rated'? --missing 0" in asked
    told = recveil("inspect", "r.csv", "--missing", "0", "--schema", "log.toml", json_answer=True)
    assert told["rows"] == 320 and told["rating"]["min"] == 2
    name, content, _, _ = OTHERS["events without a header"]
    (tmp_path / name).write_bytes(content)
    bought = recveil("inspect", name, "--events", "purchase", json_answer=True)
    assert bought["rows"] == sum(r > 2 for _, _, r, _ in ROWS) and "--events purchase" in bought["next"][0]


def test_options_say_what_content_does_not(recveil: Run, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes("a|é\nb|è\nc|é\n".encode("latin-1"))
    said = ("--no-header", "--separator", "|", "--encoding", "latin-1", "--columns", "user=user,item=item")
    found = recveil("inspect", "x.txt", *said, "--schema", "log.toml", json_answer=True)
    assert (found["rows"], found["items"]) == (3, 2)
    assert read(tmp_path / "x.txt", schema=read_schema(str(tmp_path / "log.toml"))).items.to_list() == ["è", "é"]


def test_few_bad_rows_are_left_out_and_told(recveil: Run, tmp_path: Path) -> None:
    good = table(",", "user,item,rating,time").decode()
    (tmp_path / "r.csv").write_text(good + "7,8,none,3\n9,10,4,5,6,7\n")
    done = recveil("inspect", "r.csv")
    assert "540 rows" in done.stdout and "2 of 542 rows left out that are none: " in done.stderr
    assert "r.csv, line 543 is no row" in done.stderr
    (tmp_path / "r.csv").write_text(good + "7,8,none,3\n" * 60)
    assert "60 of 600 rows are none, and up to 5% would be left out" in recveil("inspect", "r.csv", code=1).stderr
    recveil("release", "r.csv", "--with", "pseudonymise", "-o", "out", code=1)


def test_one_person_does_not_change_a_proposal(tmp_path: Path) -> None:
    """However many rows of hers stand first, and however they are written."""
    for name, content, _, _ in (OTHERS["decimal comma, dd-mm-yyyy"], OTHERS["seconds and milliseconds"]):
        head, _, body = content.decode().partition("\n")
        odd = {";": "ann;x;3.25;2015-07-21\n", ",": "ann,x,07/21/2015\n"}[";" if ";" in head else ","]
        (tmp_path / name).write_text(f"{head}\n{body}")
        before = proposal(tmp_path / name)
        (tmp_path / name).write_text(f"{head}\n{odd * 400}{body}")
        assert proposal(tmp_path / name) == before


def test_tables_of_databases(recveil: Run, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as base:
        base.execute("CREATE TABLE events (user_id, product_id, rating, ts)")
        base.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", ROWS)
        base.execute("CREATE TABLE other (x)")
        base.commit()
    assert "say which, as in 'shop.sqlite#events'" in recveil("inspect", "shop.sqlite", code=1).stderr
    assert recveil("inspect", "shop.sqlite#events", json_answer=True)["rows"] == 540
    some = "shop.sqlite#SELECT user_id, product_id FROM events WHERE rating > 2"
    assert recveil("inspect", some, json_answer=True)["kind"] == "clicks"
    assert walked(recveil, "shop.sqlite#events")["rows"] > 0


def test_a_table_of_postgresql(recveil: Run, postgresql: Any) -> None:
    import psycopg

    url = postgresql.database()
    with psycopg.connect(url) as base:
        base.execute("CREATE TABLE events (user_id int, product_id text, rating numeric, ts bigint)")
        base.cursor().executemany("INSERT INTO events VALUES (%s, %s, %s, %s)", ROWS)
    found = recveil("inspect", url, json_answer=True)
    assert (found["kind"], found["rows"]) == ("ratings", 540)
    some = recveil("inspect", f"{url}#SELECT user_id, product_id FROM events LIMIT 100", json_answer=True)
    assert (some["kind"], some["rows"]) == ("clicks", 100)
    secret = url.replace("advisor@", "advisor:secret@")
    assert "secret" not in recveil("inspect", f"{secret}#nowhere", code=1).stderr


@pytest.mark.parametrize(("module", "name"), [("fastexcel", "r.xlsx"), ("duckdb", "r.duckdb"), ("deltalake", "lake")])
def test_tables_by_readers_of_extras(module: str, name: str, tmp_path: Path) -> None:
    pytest.importorskip(module)
    frame = pl.DataFrame(ROWS, schema=["user", "item", "rating", "timestamp"], orient="row")
    if module == "fastexcel":
        pytest.importorskip("xlsxwriter")
        frame.write_excel(tmp_path / name)
    elif module == "deltalake":
        frame.write_delta(tmp_path / name)
    else:
        with pytest.importorskip("duckdb").connect(str(tmp_path / name)) as base:
            base.execute("CREATE TABLE events AS SELECT * FROM frame")
    found = read(str(tmp_path / name), schema=proposal(str(tmp_path / name)))
    assert (found.kind, len(found), found.n_users) == ("ratings", 540, 60)


def test_a_table_of_iceberg(recveil: Run, tmp_path: Path) -> None:
    """Its newest state, by its folder alone."""
    catalog = pytest.importorskip("pyiceberg.catalog.sql").SqlCatalog(
        "shop", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=tmp_path.as_uri()
    )
    rows = pl.DataFrame(ROWS, schema=["user", "item", "rating", "timestamp"], orient="row").to_arrow()
    catalog.create_namespace("shop")
    events = catalog.create_table("shop.events", schema=rows.schema)
    for part in (rows.slice(0, 100), rows.slice(100)):
        events.append(part)
    found = recveil("inspect", "shop/events", json_answer=True)
    assert (found["kind"], found["rows"], found["users"]) == ("ratings", 540, 60)


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
