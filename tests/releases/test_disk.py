"""Out of core: the rows of memory for a seed, in any parts; scratch that is its owner's alone, and gone in the end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from test_contracts import fitting, mechanism

from recveil.actions import publish_disk
from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.mechanism import Mechanism
from recveil.mechanisms import MECHANISMS
from recveil.mechanisms.spec import parse
from recveil.releases import batches, disk, doubts, scratch
from recveil.releases.bundle import load, placed
from recveil.releases.chunked_release import HowReleased, release_chunks
from recveil.releases.disk_release import DISK, check_runs
from recveil.releases.inputs import Input
from recveil.releases.progress import SILENT
from recveil.releases.release import release

RUNS = sorted(name for name, m in MECHANISMS.items() if not m.local_only and not m.cluster_steps)


def both(data: Interactions, how: Mechanism, place: Path, parts: int, **wishes: Any) -> None:
    """Release from memory and out of core, and compare all that is released and said."""
    place.mkdir()
    rows = data.frame()
    for number, begin in enumerate(range(0, rows.height, max(rows.height // 3, 1))):
        part = rows[begin : begin + max(rows.height // 3, 1)].rename({"user": data.unit})
        part.write_parquet(place / f"part-{number}.parquet")
    given = Input(sorted(map(str, place.glob("*.parquet"))), duplicates="all")
    wanted = release(given.rows(), how, seed=11, **wishes)
    with scratch.scratch_folder(place / "scratch") as folder:
        table = disk.read_disk(given, folder, parts, SILENT)
        asked = HowReleased(seed=11, keep_map=True, part_rows=200, **wishes)
        made = release_chunks(DISK, table, how, placed(place / "out"), asked)
    assert not list((place / "scratch").iterdir())
    found = load(place / "out")
    assert found.data.frame().equals(wanted.data.frame())
    assert found.guarantee == wanted.guarantee
    assert made.manifest["notes"] == dict(wanted.notes)
    assert made.manifest["parameters"] == vars(wanted.mechanism)
    if wanted.id_map is not None:
        assert made.id_map is not None
        shown = wanted.id_map.filter(pl.col("released").is_in(wanted.data.users.implode())).sort("released")
        assert made.id_map.equals(shown)


@pytest.mark.parametrize("name", RUNS)
def test_the_same_rows_in_any_parts(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for parts, batch, cells in ((1, 50, 10**8), (7, 10**6, 100)):
        monkeypatch.setattr(disk, "CHUNK_CELLS", cells)  # what is dense is masked a few people at a time
        monkeypatch.setattr(batches, "BATCH_ROWS", batch)
        both(fitting(name), mechanism(name), tmp_path / str(parts), parts)


def test_sessions_of_people_stay_together(tmp_path: Path) -> None:
    from test_sessions import shoppers

    data = shoppers(400)
    both(data, parse("dp-streams:epsilon=20,delta=0.01"), tmp_path / "sessions", 3)
    both(data, parse("pseudonymise"), tmp_path / "people", 3)


def test_clicks_without_times_keep_the_order_of_the_log(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    data = from_ids(pl.Series(rng.integers(0, 40, 900)), pl.Series(rng.integers(0, 30, 900)))
    both(data, parse("dp-streams:epsilon=50,delta=0.01"), tmp_path / "streams", 4)


def test_ids_that_are_numbers_in_one_file_and_texts_in_another_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user,item,rating\n7,1,3\n8,2,4\n")
    (tmp_path / "b.csv").write_text("user,item,rating\n7,x,5\nanna,1,2\n")
    given = Input([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")])
    with scratch.scratch_folder(tmp_path / "s") as folder:
        table = disk.read_disk(given, folder, 3, SILENT)
        release_chunks(DISK, table, parse("pseudonymise"), placed(tmp_path / "out"), HowReleased(seed=1))
    wanted = release(given.rows(), parse("pseudonymise"), seed=1)
    assert load(tmp_path / "out").data.frame().equals(wanted.data.frame())


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - set(RUNS)))
def test_what_does_not_run_says_so(name: str) -> None:
    with pytest.raises(RecveilError, match=f"{name} does not run out of core: "):
        check_runs(mechanism(name))


def test_scratch_is_for_its_owner_alone_and_what_a_killed_run_left_is_swept(tmp_path: Path) -> None:
    with scratch.scratch_folder(tmp_path) as folder:
        store = scratch.Store(folder, "rows", 2)
        with store.filling(scratch.by_person(2)) as put:
            put(pl.DataFrame({"user": [1, 2, 3], "item": [1, 1, 2]}))
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {file.stat().st_mode & 0o777 for file in folder.glob("rows-*")} == {0o600}
        left = tmp_path / f"{scratch.PREFIX}0123"
        left.mkdir()
        (left / scratch.LOCK).touch()
        with scratch.scratch_folder(tmp_path):
            assert not left.exists()  # nobody holds it
            assert folder.exists()  # this one is held
    assert not list(tmp_path.iterdir())


def test_a_person_is_in_one_part_and_another_run_has_other_parts() -> None:
    frame = pl.DataFrame({"user": np.arange(1000)})
    one, other = scratch.by_person(4), scratch.by_person(4)
    assert np.array_equal(one(frame), one(frame.cast(pl.String)))
    assert not np.array_equal(one(frame), other(frame))
    assert np.bincount(one(frame), minlength=4).min() > 150


def test_too_little_memory_or_room_is_foretold(tmp_path: Path) -> None:
    pl.DataFrame({"user": np.arange(10_000), "item": 1}).write_parquet(tmp_path / "log.parquet")
    log = Input(str(tmp_path / "log.parquet"))
    assert disk.planned(log, None) is None
    assert disk.planned(log, 10**9) is None
    plan = disk.planned(log, 10**6)
    assert plan is not None
    assert (plan.rows, plan.parts) == (10_000, 5)
    with pytest.raises(RecveilError, match=r"--memory is too small for these data: .* would do"):
        disk.planned(log, 1000)
    held, small = (disk.planned(log, memory, proved=True) for memory in (10**9, 1000))  # neither tells the size
    assert held is not None and (held.parts, held.held) == (1, True)
    assert small is not None and small.parts == disk.MOST_PARTS
    with pytest.raises(RecveilError, match=r"of room, and about .* are needed; name another folder with --scratch"):
        scratch.check_room(tmp_path / "not yet there", 10**18)


def test_the_command_line_says_its_plan_and_gives_the_rows_of_memory(tmp_path: Path, recveil: Any) -> None:
    rng = np.random.default_rng(1)
    log = pl.DataFrame({"user": rng.integers(0, 500, 9000), "item": rng.integers(0, 90, 9000), "time": np.arange(9000)})
    log.write_parquet(tmp_path / "log.parquet")
    common = ("release", str(tmp_path / "log.parquet"), "--with", "pseudonymise", "--seed", "3", "-o")
    done = recveil(*common, str(tmp_path / "parts"), "--memory", "0.5MB", "--scratch", str(tmp_path / "scratch"))
    assert "plan: 1 file of 0.00 GB, more than --memory holds: out of core, 9 parts by way of " in done.stderr
    recveil(*common, str(tmp_path / "whole"), "--memory", "1GB")
    assert (tmp_path / "whole" / "data.parquet").exists()
    assert load(tmp_path / "parts").data.frame().equals(load(tmp_path / "whole").data.frame())
    assert not list((tmp_path / "scratch").iterdir())
    for wish, line in (
        (("--memory", "much"), "--memory is a size such as 4GB or 800MB, not 'much'"),
        (("--scratch", "x"), "--scratch is where a log goes that --memory cannot hold"),
        (("--memory", "0.5MB", "--format", "csv"), "--format is for logs that memory holds"),
        (("--memory", "1KB"), "--memory is too small for these data: 1MB would do"),
    ):
        done = recveil(*common, str(tmp_path / "none"), *wish, code=1)
        assert line in done.stderr
        assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("limit", "said"),
    [(200_000, "s cannot be written: "), (2_500_000, "data/part-00000.parquet of the bundle: ")],
    ids=["scratch", "bundle"],
)
def test_a_disk_that_is_full_is_one_line_and_publishes_nothing(limit: int, said: str, tmp_path: Path) -> None:
    """A limit on the size of files stands for a disk without room: scratch has small files, the bundle a large one."""
    n = 400_000
    pl.DataFrame({"user": np.arange(n), "item": np.random.default_rng(1).integers(0, 2**40, n)}).write_parquet(
        tmp_path / "log.parquet"
    )
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}));"
        "from recveil.cli.app import main; sys.argv[0] = 'recveil'; main()"
    )
    wish = ["release", "log.parquet", "--with", "pseudonymise", "-o", "out", "--memory", "30MB", "--scratch", "s"]
    done = subprocess.run(
        [sys.executable, "-c", code, *wish], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"recveil: {said}")
    assert last.endswith("File too large")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
    assert not list((tmp_path / "s").iterdir())


def test_a_run_that_is_killed_leaves_scratch_that_the_next_one_sweeps(tmp_path: Path) -> None:
    code = (
        "import sys, time; from recveil.releases.scratch import scratch_folder\n"
        "with scratch_folder(sys.argv[1]): print('there', flush=True); time.sleep(600)"
    )
    run = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "there\n"
    scratch.sweep(tmp_path)
    assert len(list(tmp_path.iterdir())) == 1  # it is alive
    run.kill()
    run.wait()
    run.stdout.close()
    assert len(list(tmp_path.iterdir())) == 1
    with scratch.scratch_folder(tmp_path):
        assert len(list(tmp_path.iterdir())) == 1
    assert not list(tmp_path.iterdir())


def test_parts_that_are_broken_or_differ_are_one_line_that_names_the_file(tmp_path: Path, recveil: Any) -> None:
    rng = np.random.default_rng(1)
    log = pl.DataFrame({"user": rng.integers(0, 50, 900), "item": rng.integers(0, 9, 900), "note": "x"})
    for name, frame in (
        ("other", log.rename({"item": "thing"})),
        ("empty", log.with_columns(user=pl.when(pl.int_range(pl.len()) % 2 == 0).then("user"))),
        ("whole", log.with_columns(rating=pl.lit(3.0)).drop("note")),
    ):
        (tmp_path / name).mkdir()
        log.write_parquet(tmp_path / name / "a.parquet")
        frame.write_parquet(tmp_path / name / "b.parquet")
    (tmp_path / "cut").mkdir()
    log.write_parquet(tmp_path / "cut" / "a.parquet")
    whole = (tmp_path / "cut" / "a.parquet").read_bytes()
    (tmp_path / "cut" / "b.parquet").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "texts").mkdir()
    log.select("user", "item").write_csv(tmp_path / "texts" / "a.csv")
    log.select("user", "item", time=pl.int_range(pl.len())).write_csv(tmp_path / "texts" / "b.csv")
    how = ("--with", "pseudonymise", "--memory", "0.1MB", "--scratch", str(tmp_path / "s"), "-o", str(tmp_path / "out"))
    for name, line in (
        ("other", "b.parquet has no column 'item'; parts of a log have the same"),
        ("empty", "b.parquet, from row 1 on, row 2: user is empty"),
        ("cut", "b.parquet: cannot be read: "),
        ("texts", f"b.csv has other columns than {tmp_path / 'texts' / 'a.csv'}; parts of a log have the same"),
    ):
        done = recveil("release", str(tmp_path / name), *how, code=1)
        assert line in done.stderr.splitlines()[-1]
        assert not (tmp_path / "out").exists()
    recveil("release", str(tmp_path / "whole"), *how)  # what the first part has not is not read of others, as in memory
    assert load(tmp_path / "out").data.rating is None
    assert not list((tmp_path / "s").iterdir())


def test_a_person_who_has_nearly_all_rows_is_one_part(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    user = np.where(rng.random(4000) < 0.95, 7, rng.integers(0, 30, 4000))
    data = from_ids(pl.Series(user), pl.Series(rng.integers(0, 30, 4000)), time=np.arange(4000))
    both(data, parse("pseudonymise"), tmp_path / "busy", 6)


def test_more_items_than_memory_holds_are_refused_but_beside_a_public_list_none_is_looked_at(
    tmp_path: Path, recveil: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    (tmp_path / "log").mkdir()
    for number in range(2):
        rows = pl.DataFrame(
            {"user": rng.integers(0, 60, 900), "item": rng.integers(0, 30, 900), "time": np.arange(900)}
        )
        rows.write_parquet(tmp_path / "log" / f"{number}.parquet")
    (tmp_path / "items.txt").write_text("\n".join(map(str, range(31))))
    how = ["--with", "dp-streams:epsilon=20,delta=0.01", "--seed", "3", "--memory", "100KB", "--scratch", "s", "-o"]
    public = ["--items", "items.txt", "--catalogue-is-public"]
    monkeypatch.setattr(disk, "MOST_IDS", 40)
    recveil("release", "log", *how, "without", *public)
    odd = pl.DataFrame({"user": np.full(60, 99), "item": np.arange(1000, 1060), "time": np.arange(60)})
    odd.write_parquet(tmp_path / "log" / "2.parquet")
    refused = recveil("release", "log", *how, "all", "--go-on", code=1)
    assert refused.stderr.splitlines()[-1].endswith("more than 40 items, and their ids have to stand in memory")
    assert not (tmp_path / "all").exists() and not list((tmp_path / "s").iterdir())
    recveil("release", "log", *how, "with", *public)
    assert load("with").data.items.equals(load("without").data.items)


def test_a_digest_is_that_of_the_rows_in_any_parts(tmp_path: Path) -> None:
    rows = pl.DataFrame({"user": np.arange(60) % 9, "item": np.arange(60) % 7, "time": np.arange(60)})
    found = []
    for number, (frame, parts) in enumerate(((rows, 1), (rows.reverse(), 4), (rows[1:], 4))):
        frame.write_parquet(tmp_path / "log.parquet")
        folder = tmp_path / str(number)
        folder.mkdir()
        given = Input(str(tmp_path / "log.parquet"))
        found.append(disk.read_disk(given, folder, parts, SILENT, hashed=True).digest)
    assert found[0] == found[1] != found[2]


def test_a_ledger_is_told_the_digest(tmp_path: Path, recveil: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    plain = publish_disk.read_disk

    def read(*given: Any, **how: Any) -> Any:
        table = plain(*given, **how)
        seen.append(table.digest)
        return table

    monkeypatch.setattr(publish_disk, "read_disk", read)
    pl.DataFrame({"user": np.arange(900) % 90, "item": np.arange(900) % 7}).write_parquet(tmp_path / "log.parquet")
    wish = ("release", str(tmp_path / "log.parquet"), "--with", "pseudonymise", "--memory", "0.1MB", "-o")
    recveil(*wish, str(tmp_path / "one"))
    recveil(*wish, str(tmp_path / "two"), "--ledger", str(tmp_path / "ledger.jsonl"))
    assert [bool(digest) for digest in seen] == [False, True]


def test_beside_a_proof_one_row_more_than_memory_holds_changes_no_file(tmp_path: Path, recveil: Any) -> None:
    rng = np.random.default_rng(1)
    (tmp_path / "items.txt").write_text("\n".join(map(str, range(9))))
    public = ("--items", str(tmp_path / "items.txt"), "--catalogue-is-public")
    wish = ("--with", "mask:p=0.9", *public, "--memory", f"{900 * disk.ROW_BYTES / 1000}KB", "--scratch", str(tmp_path))
    for rows, name in ((900, "holds"), (901, "not")):
        log = pl.DataFrame({"user": np.arange(rows) % 50, "item": rng.integers(0, 9, rows)})
        log.write_parquet(tmp_path / f"{name}.parquet")
        recveil("release", str(tmp_path / f"{name}.parquet"), "-o", str(tmp_path / name), *wish)
    holds, more = (
        {str(p.relative_to(tmp_path / name)) for p in (tmp_path / name).rglob("*")} for name in ("holds", "not")
    )
    assert holds == more and "data/part-00000.parquet" in holds
    for way, said in (
        (("--format", "csv"), "or leave --memory out"),
        (("--holdout", "0.5", "--holdout-file", "h.parquet"), "--holdout"),
    ):
        done = recveil("release", str(tmp_path / "holds.parquet"), "-o", str(tmp_path / "x"), *wish, *way, code=1)
        assert said in done.stderr


def test_a_log_of_nobody_is_read_like_that_of_one_person(tmp_path: Path) -> None:
    rows = pl.DataFrame({"user": [1], "item": [2], "time": [3]})
    for number, frame in enumerate((rows.clear(), rows)):
        frame.write_parquet(tmp_path / "log.parquet")
        (tmp_path / str(number)).mkdir()
        given = Input(str(tmp_path / "log.parquet"), broken="drop")
        assert disk.read_disk(given, tmp_path / str(number), 2, SILENT).rows == number


def test_a_mask_out_of_core_foretells_its_size(tmp_path: Path, recveil: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """300 people who have one of 60 items each: at p = .9 a tenth of 18,000 bits flips."""
    pl.DataFrame({"user": np.arange(300), "item": np.arange(300) % 60}).write_parquet(tmp_path / "log.parquet")
    room = ("--memory", "20KB", "--scratch", str(tmp_path / "scratch"))
    wish = ("release", str(tmp_path / "log.parquet"), "--with", "mask:p=0.9", *room, "-o")
    assert "will be invented" not in recveil(*wish, str(tmp_path / "one")).stderr
    monkeypatch.setattr(doubts, "LARGE", 1000)
    said = recveil(*wish, str(tmp_path / "other")).stderr
    assert "million rows will be invented for " in said
    assert " people and 60 items, 0.0 GB of scratch; p=0.99 in place of 0.9, or " in said
