"""What a court refuses: always for what stands in the file, in one line, with nothing spent."""

from __future__ import annotations

import importlib.util
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from courts import ITEMS, MODELS, court, log, random_vectors, random_weights, ranked_list, saved

import recveil as package
from recveil.actions.publish import ReleaseRequest
from recveil.actions.publish import run_release as release
from recveil.court import submissions
from recveil.court.challenge import export_challenge
from recveil.court.founding import CourtRequest
from recveil.court.network import check_operators
from recveil.court.scoring import enter, score
from recveil.errors import RecveilError
from recveil.releases.inputs import Input


def written(make: Callable[[Path], None], name: str = "model.parquet") -> Callable[[Path], Path]:
    def put(folder: Path) -> Path:
        make(folder / name)
        return folder / name

    return put


def table(frame: pl.DataFrame) -> Callable[[Path], Path]:
    return written(frame.write_parquet)


def bomb(file: Path) -> None:
    """Small on the disk, and 200 million rows when it is unpacked."""
    zeros = pa.table({"item": pa.array(np.zeros(1_000_000, np.int64)), "other": pa.array(np.ones(1_000_000, np.int64)),
                      "weight": pa.array(np.ones(1_000_000, np.float32))})  # fmt: skip
    with pq.ParquetWriter(file, zeros.schema, compression="zstd") as writer:
        for _ in range(3):
            writer.write_table(zeros)


REFUSED: dict[str, tuple[Callable[[Path], Path], str]] = {
    "an empty file": (written(lambda file: file.write_bytes(b"")), "is empty"),
    "no rows": (table(random_weights().head(0)), "has no rows"),
    "text": (written(lambda file: file.write_text("item,other,weight\n1,2,3\n"), "model.csv"), "neither parquet nor"),
    "a pickle": (written(lambda file: file.write_bytes(pickle.dumps([1, 2]))), "pickles, archives and arrays"),
    "a pickle that says it is onnx": (
        written(lambda file: file.write_bytes(pickle.dumps([1])), "model.onnx"),
        "pickles, archives and arrays",
    ),
    "an archive of pickles": (written(lambda file: file.write_bytes(b"PK\x03\x04rest")), "pickles"),
    "half a parquet": (
        written(lambda file: file.write_bytes(b"PAR1 and then nothing of the kind")),
        "cannot be read as parquet",
    ),
    "no onnx": (written(lambda file: file.write_bytes(b"\x08\x07hello"), "model.onnx"), "no ONNX model"),
    "other columns": (table(pl.DataFrame({"user": [1], "score": [0.5]})), "has the columns score, user"),
    "a pair twice": (table(pl.concat([random_weights(), random_weights().head(1)])), "stands there twice"),
    "an item twice": (table(pl.concat([ranked_list(), ranked_list().head(1)])), "an item stands there twice"),
    "NaN": (table(random_weights().with_columns(weight=pl.lit(float("nan")))), "not finite"),
    "too large a number": (table(random_weights().with_columns(weight=pl.lit(1e300))), "too large for 32 bits"),
    "a missing id": (table(random_weights().with_columns(item=pl.lit(None, pl.Int64))), "an id is missing"),
    "ids that are none": (table(random_weights().with_columns(item=pl.lit(0.5))), "ids are integers or text"),
    "weights that are text": (table(random_weights().with_columns(weight=pl.lit("much"))), "must hold numbers"),
    "vectors of several lengths": (
        table(pl.DataFrame({"item": [1, 2], "vector": [[1.0], [1.0, 2.0]]})),
        "must all have the same length",
    ),
    "empty vectors": (
        table(pl.DataFrame({"item": [1], "vector": [[]]}, schema_overrides={"vector": pl.List(pl.Float32)})),
        "must all have the same length",
    ),
    "vectors that are numbers": (table(pl.DataFrame({"item": [1], "vector": [1.0]})), "must be a list of numbers"),
    "items of another world": (
        table(random_weights().with_columns(pl.col("item", "other") + 10_000)),
        "none of its items stands in the catalogue",
    ),
    "nothing": (lambda folder: folder / "nothing.parquet", "cannot be read"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_in_one_line_with_nothing_spent(what: str, tmp_path: Path) -> None:
    make, why = REFUSED[what]
    made = court(tmp_path)
    with pytest.raises(RecveilError, match=why) as stopped:
        enter(made, make(tmp_path))
    assert "\n" not in str(stopped.value)
    assert [line["mechanism"] for line in made.lines()] == ["judge:count"]
    assert not list((made.path / "submissions").glob("*")) if (made.path / "submissions").exists() else True


@pytest.fixture(scope="module")
def challenge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that participants get, by commands."""
    folder = tmp_path_factory.mktemp("challenge")
    made = court(folder, log(600), seed=None)
    public = {"catalogue": str(folder / "items.txt"), "catalogue_is_public": True}
    wishes: dict[str, Any] = {**public, "ledger": str(folder / "ledger.jsonl")}
    release(ReleaseRequest(Input(log(600)), "dp-streams:epsilon=8,delta=1e-6", str(folder / "out"), **wishes))
    export_challenge(folder / "out", folder / "challenge", made.path)
    return folder / "challenge"


def validated(challenge: Path, file: Path) -> Any:
    """What the validator says, run by an interpreter that is told nothing of this package."""
    command = [sys.executable, "-I", str(challenge / "validate.py"), str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=challenge)


def test_a_challenge_has_what_participants_need(challenge: Path) -> None:
    names = {file.name for file in challenge.iterdir()}
    assert names == {"bundle", "items.parquet", "histories.json", "challenge.json", "SUBMISSIONS.md", "validate.py"}
    assert package.verify(challenge / "bundle")["mechanism"] == "dp-streams"
    items = pl.read_parquet(challenge / "items.parquet")
    assert items["number"].to_list() == items["item"].to_list() == list(range(ITEMS))
    assert "import recveil" not in (challenge / "validate.py").read_text()
    with pytest.raises(RecveilError, match="exists already"):
        export_challenge(challenge / "bundle", challenge)


@pytest.mark.parametrize("kind", MODELS)
def test_the_validator_takes_what_the_court_takes(kind: str, challenge: Path, tmp_path: Path) -> None:
    file = saved(tmp_path, MODELS[kind]())
    done = validated(challenge, file)
    found = enter(court(tmp_path), file).submission
    said = json.loads(done.stdout)
    assert (said["kind"], said["rows"], said["ignored"]) == (found.kind, found.rows, found.ignored)
    assert said["sha256"] == found.sha256


def test_the_validator_refuses_what_the_court_refuses(challenge: Path, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("validate", challenge / "validate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for what, (make, _) in REFUSED.items():
        if what in ("no onnx", "a pickle that says it is onnx"):
            continue  # they need onnxruntime
        with pytest.raises(module.RefusedError):
            pytest.fail(f"{what} is taken: {module.validate(make(tmp_path), challenge)}")
    done = validated(challenge, REFUSED["NaN"][0](tmp_path))
    assert done.returncode == 1 and done.stderr.startswith("refused: weight must hold finite numbers")


def test_a_parquet_bomb_is_never_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = court(tmp_path)
    bomb(file := tmp_path / "bomb.parquet")
    assert file.stat().st_size < 1_000_000
    monkeypatch.setattr(submissions, "MOST_ROWS", 2_000_000)
    monkeypatch.setattr(submissions, "_table", lambda *_: pytest.fail("it was unpacked"))
    with pytest.raises(RecveilError, match="says that it unpacks to 3,000,000 rows"):
        enter(made, file)
    monkeypatch.undo()
    monkeypatch.setattr(submissions, "MOST_NUMBERS", 1000)
    long = pl.DataFrame({"item": [1], "vector": [np.zeros(5000, np.float32).tolist()]})
    with pytest.raises(RecveilError, match="a submission has at most"):
        enter(made, saved(tmp_path, long))


def test_a_long_text_that_stands_often_is_held_once(tmp_path: Path) -> None:
    long = "x" * 100_000
    frame = pl.DataFrame({"item": [str(k) for k in range(ITEMS)] + [long], "place": list(range(ITEMS + 1))})
    found = enter(court(tmp_path), saved(tmp_path, frame)).submission
    assert (found.rows, found.ignored) == (ITEMS + 1, 1)


def test_items_outside_the_catalogue_are_ignored_and_counted(tmp_path: Path, recveil: Any) -> None:
    made = court(tmp_path)
    more = pl.DataFrame({"item": [1, 777], "other": [778, 2], "weight": [1.0, 1.0]}, schema=random_weights().schema)
    file = saved(tmp_path, pl.concat([random_weights(), more]))
    known = enter(made, saved(tmp_path, random_weights(), "known")).submission
    found = enter(made, file).submission
    assert found.ignored == 2 and found.rows == known.rows + 2
    people = made.people()
    np.testing.assert_array_equal(found.lists(people, 10), known.lists(people, 10))
    done = recveil("judge", "score", made.path, file)
    assert "2 of them are about items outside the catalogue" in done.stderr


def test_ids_may_be_text_or_numbers(tmp_path: Path) -> None:
    made = court(tmp_path)
    text = random_weights().with_columns(pl.col("item", "other").cast(pl.String))
    people = made.people()
    lists = [enter(made, saved(tmp_path, frame)).submission.lists(people, 5) for frame in (random_weights(), text)]
    np.testing.assert_array_equal(*lists)


def test_the_table_of_pairs_of_a_bundle_is_a_submission(tmp_path: Path) -> None:
    made = court(tmp_path)
    ratings = package.read("sample:films?users=400,items=50")
    public = pl.Series(sorted(ratings.items))
    released = package.release(ratings, "dp-ratings:epsilon=8,delta=1e-6,scale=1..5", seed=1, catalogue=public)
    pairs = released.tables["pairs"]
    assert set(pairs.columns) == {"item", "other", "likeness"}
    kept = {item: number for number, item in enumerate(public)}
    renamed = pairs.with_columns(pl.col("item", "other").replace_strict(kept, return_dtype=pl.Int64))
    renamed = renamed.filter((pl.col("item") < ITEMS) & (pl.col("other") < ITEMS))
    found = enter(made, saved(tmp_path, renamed)).submission
    same = enter(made, saved(tmp_path, renamed.rename({"likeness": "weight"}), "same")).submission
    assert (found.kind, found.ignored) == ("pairs", 0)
    np.testing.assert_array_equal(found.lists(made.people(), 5), same.lists(made.people(), 5))


@pytest.mark.parametrize("name", ["", "  ", "x" * 61, "two\nlines", "\x1b[31mred"])
def test_a_name_is_a_line_of_text(name: str, tmp_path: Path) -> None:
    with pytest.raises(RecveilError, match="--name is a line"):
        enter(court(tmp_path), saved(tmp_path, ranked_list()), name)


@pytest.mark.parametrize(
    ("metric", "why"),
    [("ndgc@10", "did you mean"), ("ndcg", "such as ndcg@10"), ("ndcg@0", "1 to 100"), ("recall@1000", "1 to 100"),
     ("", "names none")],
)  # fmt: skip
def test_metrics_are_checked(metric: str, why: str, tmp_path: Path) -> None:
    made = court(tmp_path)
    with pytest.raises(RecveilError, match=why):
        score(made, [enter(made, saved(tmp_path, ranked_list()))], metric)
    assert made.left == 20


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({"epsilon": 0.0}, "--epsilon must be above 0"), ({"delta": 0.0}, "--delta between 0 and 1"),
        ({"people": 1.0}, "shares strictly between"), ({"find": 0.0}, "shares strictly between"),
        ({"scores": 0}, "--scores must be"), ({"step": 2.0}, "--step lies"), ({"each": 0.0}, "--each is above"),
        ({"catalogue_is_public": False}, "which items exist is shown to every participant"),
        ({"bundle": "out"}, "give one of them"),
    ],
)  # fmt: skip
def test_wishes_are_checked_before_anything_is_read(wish: dict[str, Any], why: str) -> None:
    given: dict[str, Any] = {"items": "items.txt", "catalogue_is_public": True} | wish
    with pytest.raises(RecveilError, match=why):
        CourtRequest(Input("nothing.csv"), "court", "ledger.jsonl", **given)
    with pytest.raises(RecveilError, match="would refuse by what stands in the data"):
        CourtRequest(Input("nothing.csv", duplicates="error"), "court", "ledger.jsonl", catalogue_is_public=True)


def test_a_folder_that_is_no_court_and_one_that_is_there(tmp_path: Path, recveil: Any) -> None:
    assert "is not a court" in recveil("judge", "score", tmp_path, "x.parquet", code=1).stderr
    with pytest.raises(RecveilError, match="is not a court"):
        package.judge(tmp_path)
    made = court(tmp_path)
    with pytest.raises(RecveilError, match="exists already"):
        court(tmp_path)
    assert len(made.lines()) == 1
    with pytest.raises(RecveilError, match="neither a file nor the name"):
        package.judge(made.path).compare("nobody", "nothing")


def test_a_refused_court_leaves_no_folder_and_sets_nobody_aside(tmp_path: Path) -> None:
    from recveil.releases import aside, ledger

    ledger.set_budget(tmp_path / "ledger.jsonl", ledger.Budget(0.01, 1e-9), {})
    with pytest.raises(RecveilError, match="would exceed the ledger's budget"):
        court(tmp_path, log(), seed=None)
    assert not (tmp_path / "court").exists()
    assert aside.share_aside(ledger.read(tmp_path / "ledger.jsonl")) == 0.0


def test_a_court_over_no_one_answers_all_the_same(tmp_path: Path) -> None:
    nobody = log().filter(pl.col("user") < 0)
    made = court(tmp_path, pl.concat([nobody, pl.DataFrame({"user": [5], "item": [1], "time": [0]})]))
    assert len(made.people()) == 0
    (found,) = score(made, [enter(made, saved(tmp_path, random_vectors()))])
    assert found.noise and found.noise > 0
    elsewhere = court(tmp_path / "elsewhere", log().with_columns(pl.col("item") + 10_000))
    assert len(elsewhere.people()) == 0 and elsewhere.items().to_list() == list(range(ITEMS))
    untimed = court(tmp_path / "untimed", log().with_columns(time=pl.when(pl.col("item") > 9).then("time")))
    assert len(untimed.people()) > 0


def field(number: int, content: bytes | str) -> bytes:
    body = content.encode() if isinstance(content, str) else content
    return bytes([number << 3 | 2]) + varint(len(body)) + body


def varint(n: int) -> bytes:
    found = b""
    while n > 127:
        found, n = found + bytes([n & 127 | 128]), n >> 7
    return found + bytes([n])


def onnx_of(operator: str, domain: str = "", inner: bytes = b"") -> bytes:
    """A model of one node, by hand; `inner`: a graph in an attribute of it."""
    attribute = field(5, field(1, "body") + field(6, inner)) if inner else b""
    return field(7, field(1, field(4, operator) + field(7, domain) + attribute))


def test_operators_are_looked_at_in_every_graph() -> None:
    check_operators(onnx_of("Gather"))
    for model, why in (
        (onnx_of("RandomNormal"), "draws by chance"),
        (onnx_of("Anything", "com.evil"), "are not ONNX's own"),
        (onnx_of("Loop", inner=field(1, field(4, "Bernoulli"))), "draws by chance"),
        (field(7, field(5, field(8, "w") + field(13, b"elsewhere"))), "lie in other files"),
        (field(7, field(1, field(4, "Gather")))[:-2], "no ONNX model"),
        (b"", "no ONNX model"),
    ):
        with pytest.raises(RecveilError, match=why):
            check_operators(model)
    deep = field(1, field(4, "Gather"))
    for _ in range(60):
        deep = field(1, field(4, "If") + field(5, field(6, deep)))
    with pytest.raises(RecveilError, match="more deeply"):
        check_operators(field(7, deep))
