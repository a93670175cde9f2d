from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

Run = Callable[..., Any]


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    rows = [f"u{u},{i},{1 + (u * i) % 5},{1000 + u + i}" for u in range(40) for i in range(u % 7, 30, 2)]
    path.write_text("user,item,rating,timestamp\n" + "\n".join(rows) + "\n")
    return path


def test_inspect_answers_people_and_machines(recveil: Run, ratings: Path) -> None:
    found = recveil("inspect", ratings, json_answer=True)
    assert (found["kind"], found["users"], found["items"]) == ("ratings", 40, 30)
    assert found["rating"]["min"] == 1
    assert "40 people" in recveil("inspect", ratings).stdout


@pytest.mark.parametrize("sample", ["films", "sessions", "tags"])
def test_samples_are_data(recveil: Run, sample: str) -> None:
    assert recveil("inspect", f"sample:{sample}?users=50", json_answer=True)["users"] == 50


def test_release_then_verify_then_a_flipped_byte(recveil: Run, ratings: Path, tmp_path: Path) -> None:
    answer = recveil("release", ratings, "--with", "pseudonymise", "-o", "out", json_answer=True)
    assert answer["manifest"]["seeded"] is False
    assert recveil("verify", "out", json_answer=True)["verified"] is True
    data = tmp_path / "out" / "data.parquet"
    content = bytearray(data.read_bytes())
    content[len(content) // 3] ^= 4
    data.write_bytes(content)
    assert recveil("verify", "out", json_answer=True, code=3)["verified"] is False


def test_holdout_and_map_stay_outside(recveil: Run, ratings: Path, tmp_path: Path) -> None:
    release = "release", ratings, "--with", "pseudonymise", "-o"
    recveil(*release, "out/", "--holdout", 0.3, "--holdout-file", "held.parquet", "--keep-map", "map.csv")
    assert (tmp_path / "held.parquet").stat().st_mode & 0o777 == 0o600
    held = set(pl.read_parquet(tmp_path / "held.parquet")["user"])
    released = set(pl.read_csv(tmp_path / "map.csv")["original"])
    assert 1 <= len(held) <= 30
    assert not held & released
    assert len(held | released) == 40
    for inside in (("--keep-map", "out2/map.csv"), ("--holdout", 0.3, "--holdout-file", "out2/held.parquet")):
        assert "must not lie inside the bundle" in recveil(*release, "out2", *inside, code=1).stderr
    assert "--holdout-file held.parquet" in recveil(*release, "out2", "--holdout", 0.3, code=1).stderr
    recveil(*release, "out2", "--keep-map", "no/such/map.csv", code=1)  # no map, no bundle
    assert not (tmp_path / "out2").exists()


def test_what_cannot_be_published_leaves_no_map(
    recveil: Run, ratings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("recveil.releases.bundle.card", full)
    kept = "--keep-map", "map.csv", "--holdout", 0.3, "--holdout-file", "held.parquet"
    recveil("release", ratings, "--with", "pseudonymise", "-o", "out", *kept, code=1)
    assert not [p.name for p in tmp_path.iterdir() if p.name in ("out", "map.csv", "held.parquet")]


def test_a_release_is_made_by_one_mechanism(recveil: Run, ratings: Path, tmp_path: Path) -> None:
    two = "--with", "pseudonymise", "--with", "random-ratings"
    assert "--with was given 2 times" in recveil("release", ratings, *two, "-o", "out", code=1).stderr
    assert not (tmp_path / "out").exists()


def test_a_seed_repeats_and_is_not_written(recveil: Run, ratings: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        recveil("release", ratings, "--with", "random-ratings", "-o", name, "--seed", 424242424242)
    first, second = ((tmp_path / name / "data.parquet").read_bytes() for name in ("one", "two"))
    assert first == second
    for path in (tmp_path / "one").iterdir():
        assert b"424242424242" not in path.read_bytes()
        assert b"u17" not in path.read_bytes()


def test_repeats_are_told(recveil: Run, tmp_path: Path) -> None:
    (tmp_path / "twice.csv").write_text("user,item,rating\n1,1,2\n1,1,5\n2,1,3\n")
    done = recveil("release", "twice.csv", "--with", "pseudonymise", "-o", "out")
    assert "1 repeated rows left out (kept: the last of each)" in done.stderr
    assert recveil("inspect", "twice.csv", json_answer=True)["duplicates"] == 1
    recveil("release", "twice.csv", "--with", "pseudonymise", "-o", "out3", "--duplicates", "error", code=1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["inspect", "nowhere.csv"], "nowhere.csv"),
        (["inspect", "sample:film"], "films"),
        (["release", "R", "--with", "pseudonimise", "-o", "out"], "pseudonymise"),
        (["release", "R", "--with", "random-ratings:values=x", "-o", "out"], "values"),
        (["release", "R", "--with", "pseudonymise", "-o", "out", "--format", "xls"], "format"),
        (["release", "R", "--with", "pseudonymise", "-o", "out", "--time", "late"], "time"),
        (
            ["release", "R", "--with", "pseudonymise", "-o", "out", "--holdout", "1.5", "--holdout-file", "h.parquet"],
            "share",
        ),
        (["release", "R", "--with", "pseudonymise", "-o", "out", "--catalogue", "none.txt"], "file of items"),
        (["release", "R", "--with", "pseudonymise", "-o", "out", "--columns", "user=who"], "who"),
        (["release", "R", "--with", "pseudonymise", "-o", "/proc/none/out"], "cannot be written"),
        (["release", "sample:sessions?users=20", "--with", "random-ratings", "-o", "out"], "rating"),
        (["verify", "."], "not a bundle"),
    ],
)
def test_a_wrong_request_gets_one_line_and_writes_nothing(
    recveil: Run, ratings: Path, tmp_path: Path, arguments: list[str], says: str
) -> None:
    done = recveil(*(str(ratings) if a == "R" else a for a in arguments), code=1)
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert says in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["ratings.csv"]


@pytest.mark.parametrize(
    "options",
    [
        ["--with", "pseudonymise", "--keep-statistics", "s.npz"],
        ["--with", "dp-streams:epsilon=4,delta=1e-6", "--keep-map", "m.csv"],
    ],
)
def test_what_a_mechanism_cannot_keep_is_said_before_anything_is_written(
    recveil: Run, ratings: Path, tmp_path: Path, options: list[str]
) -> None:
    done = recveil("release", ratings, "-o", "out", *options, code=1)
    assert "to keep" in done.stderr or "could be kept" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["ratings.csv"]


def test_items_outside_the_catalogue_are_left_out_in_silence(recveil: Run, ratings: Path, tmp_path: Path) -> None:
    (tmp_path / "items.txt").write_text("\n".join(map(str, range(28))))
    done = recveil("release", ratings, "--with", "pseudonymise", "-o", "out", "--catalogue", "items.txt")
    assert not done.stderr
    assert all("catalogue" not in p.read_text() for p in (tmp_path / "out").iterdir() if p.suffix == ".json")


def test_a_missing_extra_prints_the_pip_line_before_any_work(
    recveil: Run, ratings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    done = recveil("compare", ratings, "--with", "pseudonymise", "-o", "report.html", code=1)
    assert done.stderr.strip() == "recveil: altair is not installed; pip install 'recveil[measure]'"


def test_usage_is_exit_code_two(recveil: Run) -> None:
    recveil("release", code=2)
    recveil("nonsense", code=2)


def test_a_full_disk_leaves_nothing(ratings: Path, tmp_path: Path) -> None:
    """Files may not grow beyond 2,000 bytes here, as on a disk that fills up while the bundle is written."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    done = subprocess.run(
        [sys.executable, "-m", "recveil", "release", str(ratings), "--with", "pseudonymise", "-o", "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=limit,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not [p for p in tmp_path.iterdir() if "out" in p.name]


def test_the_demo_protects_attacks_compares_and_reports(
    recveil: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recveil.cli.demo.SAMPLE", "films?users=150")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = recveil("demo", "-o", "demo", json_answer=True)
    assert "pseudonymise" in {m["spec"] for m in found["mechanisms"]}
    assert recveil("verify", found["bundle"]).returncode == 0 and Path(found["decision"]).is_file()
    done = recveil("demo", "-o", "demo")
    assert len((done.stdout + done.stderr).strip().splitlines()) <= 40
    assert "<h1>" in (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")


@pytest.mark.data
def test_ml_100k_is_what_it_is(recveil: Run, real_data: Path) -> None:
    found = recveil("inspect", real_data / "ml-100k" / "ratings.parquet", json_answer=True)
    assert (found["rows"], found["users"], found["items"]) == (100_000, 943, 1682)
    assert (found["rating"]["min"], found["rating"]["max"]) == (1, 5)
    assert found["rating"]["mean"] == pytest.approx(3.52986, abs=1e-9)


@pytest.mark.data
def test_real_dirt_is_counted(recveil: Run, real_data: Path) -> None:
    books = recveil("inspect", real_data / "goodbooks-10k" / "ratings.parquet", json_answer=True)
    assert (books["rows"], books["duplicates"]) == (981_756, 2_278)
    films = recveil("inspect", real_data / "ml-1m" / "ratings.parquet", json_answer=True)
    assert (films["rows"], films["unknown_times"]) == (1_000_209, 598)


@pytest.mark.parametrize(("old", "new"), [(["serve"], "recveil advisor serve"), (["attack"], "recveil measure")])
def test_an_old_name_of_a_command_works_and_says_the_new_one(old: list[str], new: str, recveil: Run) -> None:
    done = recveil(*old, "--help")
    assert f"Usage: {new}" in done.stdout
    assert done.stderr == f"recveil {old[0]} is {new} now; the old name goes with the next version\n"
