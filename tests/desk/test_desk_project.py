"""The project of the desk: choices in desk.toml, versions, jobs as files, workers as processes; no server."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import alone

from recveil.desk.project import choices
from recveil.desk.project.bundles import bundle_place
from recveil.desk.project.choices import ChoiceError, Choices
from recveil.desk.project.folder import Project, StaleError, open_project, sole_desk
from recveil.desk.project.frontier import _figure, candidates
from recveil.desk.project.jobs import CANCELLED, DONE, FAILED, RUNNING, WAITING, JobStore
from recveil.desk.project.plan import jobs_of, settled
from recveil.desk.project.standing import STEPS, state
from recveil.desk.project.toml import from_toml, to_toml
from recveil.desk.project.worker_pool import WorkerPool
from recveil.errors import RecveilError
from recveil.governance.evidence import counted
from recveil.governance.recipients import built_in
from recveil.releases.places import Folder, whole

SMALL = "sample:films?users=200,items=60"
LARGE = "sample:films?users=60000,items=400"
LINE = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp", "Zs", "Co", "Cn", "Cf")), max_size=20)


@given(LINE, LINE, st.lists(LINE, max_size=3), st.floats(0.02, 0.98), st.dictionaries(LINE, LINE, max_size=3))
def test_every_choice_comes_back_from_the_file(
    name: str, source: str, said: list[str], keep: float, columns: dict[str, str]
) -> None:
    data = {"source": source, "columns": columns}
    made = Choices().changed({"officer": {"name": name, "conditions": said}, "data": data, "use": {"keep": keep}})
    assert from_toml(to_toml(made)) == made


@pytest.mark.parametrize(
    ("text", "field", "says"),
    [
        ("[data", None, "desk.toml cannot be read"),
        ("[data]\nsource = 3", "data.source", "is a text, not 3"),
        ("[dat]\nsource = 'x'", None, "did you mean data"),
        ("[data]\nsorce = 'x'", "data.sorce", "did you mean source"),
        ("[use]\nkeep = 1.5", "use.keep", "a share"),
        ("[officer]\nuntil = 'soon'", "officer.until", "a day such as"),
        ("[red_team]\nknown = '2,x'", "red_team.known", "whole numbers"),
        ("[publish]\nexports = ['cd']", "publish.exports", "unknown publish.exports"),
        ('[officer]\nname = "a\\u0007b"', "officer.name", "control characters"),
        ("data = 3", "data", "is a section"),
    ],
)
def test_a_file_edited_by_hand_gets_one_line(tmp_path: Path, text: str, field: str | None, says: str) -> None:
    (tmp_path / "desk.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ChoiceError) as refused:
        Project(tmp_path).read()
    assert refused.value.field == field
    assert says in str(refused.value) and "\n" not in str(refused.value)


def test_the_lists_of_names_are_those_of_the_modules_that_use_them() -> None:
    from recveil.actions import publish
    from recveil.evaluation.attacks.knowledge import Choice
    from recveil.governance.export import TARGETS

    assert choices.FORMATS == publish.FORMATS and choices.TIMES == publish.TIMES
    assert get_args(Choice) == choices.KNOWN_ITEMS and tuple(TARGETS) == choices.EXPORTS


def test_two_tabs_do_not_fight_and_a_hand_is_noticed(tmp_path: Path) -> None:
    project = open_project(tmp_path)
    _, version = project.read()
    project.change({"recipient": {"name": "team"}}, version)
    with pytest.raises(StaleError, match="changed elsewhere"):
        project.change({"recipient": {"name": "public"}}, version)
    _, version = project.read()
    project.file.write_text(project.text().replace('"team"', '"contractor"'), encoding="utf-8")
    with pytest.raises(StaleError):
        project.change({"recipient": {"name": "public"}}, version)
    assert project.read()[0].recipient.name == "contractor"
    assert project.file.stat().st_mode & 0o077 == 0


def test_one_desk_at_a_time_and_a_folder_that_cannot_be(tmp_path: Path) -> None:
    project = open_project(tmp_path)
    with sole_desk(project), pytest.raises(RecveilError, match="a desk is open on this folder"), sole_desk(project):
        pass
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(RecveilError, match="cannot be made"):
        open_project(tmp_path / "file" / "desk")


def test_paths_are_kept_as_they_will_be_found(tmp_path: Path) -> None:
    project = open_project(tmp_path / "desk")
    outside, inside = tmp_path / "a.csv", project.folder / "b.csv"
    outside.write_text("user,item\n", encoding="utf-8")
    inside.write_text("user,item\n", encoding="utf-8")
    assert project.stored(str(outside)) == str(outside.resolve())
    assert project.stored(str(inside)) == "b.csv"
    assert project.stored("sample:films") == "sample:films"
    with pytest.raises(ChoiceError, match="there is no such file"):
        project.stored("nowhere.csv")


def test_a_project_that_is_renamed_keeps_its_results(tmp_path: Path) -> None:
    project = open_project(tmp_path / "before")
    project.room("uploads")
    (project.folder / "uploads" / "log.csv").write_text("user,item\na,b\n")
    project.change({"data": {"source": "uploads/log.csv"}})
    before = jobs_of(JobStore(project), project.read()[0], "overview")[0].id
    project = Project(project.folder.rename(tmp_path / "after"))
    assert jobs_of(JobStore(project), project.read()[0], "overview")[0].id == before


def test_a_mechanism_that_does_not_fit_is_refused_at_its_field(small: Project) -> None:
    desk = JobStore(small)
    with pytest.raises(ChoiceError) as unknown:
        settled(desk, small.read()[0], {"candidates": {"specs": ["pseudonymize"]}})
    assert unknown.value.field == "candidates.specs" and "did you mean pseudonymise" in str(unknown.value)
    with pytest.raises(ChoiceError, match="tag"):
        settled(desk, small.read()[0], {"candidates": {"specs": ["dp-tags:epsilon=1,delta=1e-6"]}})


# --- jobs and their workers: real processes ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    """Workers on a small project that was looked at."""
    project = open_project(tmp_path_factory.mktemp("desk"))
    project.change({"data": {"source": SMALL}, "candidates": {"measures": ["linkage"]}})
    made = WorkerPool(project)
    _ask(made, "overview")
    _until(made, lambda: made.desk.state(_jobs(made, "overview")[0]) == DONE)
    yield made
    made.close()


@pytest.fixture
def small(workers: WorkerPool) -> Project:
    return workers.project


def _jobs(workers: WorkerPool, kind: str) -> list[str]:
    return [one.id for one in jobs_of(workers.desk, workers.project.read()[0], kind)]


def _ask(workers: WorkerPool, kind: str) -> list[str]:
    for one in jobs_of(workers.desk, workers.project.read()[0], kind):
        workers.desk.ask(one)
    return _jobs(workers, kind)


def _until(workers: WorkerPool, true: Callable[[], Any], seconds: float = 180.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, [workers.desk.record(one) for one in workers.desk.jobs()]
        workers.tick()
        time.sleep(0.05)


def test_candidates_run_and_a_spec_spelt_otherwise_is_the_same_job(workers: WorkerPool) -> None:
    workers.project.change({"candidates": {"specs": ["pseudonymise", "random-ratings"]}})
    first = _ask(workers, "candidates")
    workers.project.change(
        {"candidates": {"specs": ["pseudonymise", "random-ratings", "random-ratings:values=uniform"]}}
    )
    both = _ask(workers, "candidates")  # one more, while the others wait or run
    assert both[:2] == first and len(set(both)) == 3
    _until(workers, lambda: all(workers.desk.state(one) == DONE for one in both))
    found = state(workers.project)
    assert {w["state"] for w in found["work"]} == {"done"}
    assert found["steps"]["candidates"]["state"] == "open"  # none is chosen yet
    assert list(found["steps"]) == list(STEPS)
    assert workers.desk.result(both[0])["mechanisms"][0]["spec"] == "pseudonymise"
    for name, known in (("public", 8), ("contractor", 4), ("team", 16)):  # what is found by what they may know
        workers.project.change({"recipient": {"name": name}})
        assert candidates(workers.project)["limits"]["found"] == built_in()[name].most_found
        for card in candidates(workers.project)["entries"]:
            at = {point.pop("known"): point for point in card["curve"]}
            assert card["known"] == min(known, max(at)) and card["found"] == at[card["known"]] | {"gain": None} != at[2]
    workers.project.change({"recipient": {"limits": {"most_found": "0.02: the data are about health"}}})
    assert candidates(workers.project)["limits"]["found"] == 0.02  # the corner is that of the decision
    workers.project.change({"recipient": {"name": "", "limits": {}}})


def test_of_a_candidate_counts_what_lies_beyond_strangers() -> None:
    m = {"value": 0.16, "low": 0.13, "high": 0.2, "control": 0.15, "chance": 0.0, "control_n": 100}
    assert _figure(m)["gain"] == list(counted(m)) and _figure(m)["gain"][0] == pytest.approx(0.01)
    assert _figure(m | {"control_n": None})["gain"] is None


def test_a_result_belongs_to_the_choices_it_was_made_for(workers: WorkerPool) -> None:
    (before,) = _jobs(workers, "overview")
    workers.project.change({"data": {"duplicates": "first"}})
    (after,) = _jobs(workers, "overview")
    assert after != before and workers.desk.state(after) is None and workers.desk.state(before) == DONE
    assert state(workers.project)["steps"]["people"]["state"] == "closed"
    workers.project.change({"data": {"duplicates": "last"}})
    assert _jobs(workers, "overview") == [before]


@contextmanager
def _busy(workers: WorkerPool) -> Iterator[str]:
    """A job that takes a while, under way."""
    workers.project.change({"data": {"source": LARGE}})
    try:
        job = _ask(workers, "exposure")[1]
        workers.cancel(_jobs(workers, "exposure")[0])
        _until(workers, lambda: workers.desk.pid(job))
        yield job
    finally:
        workers.cancel(job)
        workers.desk.forget(job)
        workers.project.change({"data": {"source": SMALL}})


def test_cancel_stops_the_process_and_asking_again_begins_anew(workers: WorkerPool) -> None:
    with _busy(workers) as job:
        pid = workers.desk.pid(job)
        workers.cancel(job)
        assert workers.desk.state(job) == CANCELLED and not _alive(pid)
        _ask(workers, "exposure")
        assert workers.desk.state(job) in (WAITING, RUNNING)


def test_a_killed_worker_is_begun_again_once_and_then_has_failed(workers: WorkerPool) -> None:
    with _busy(workers) as job:
        first = workers.desk.pid(job)
        os.kill(first or 0, signal.SIGKILL)
        _until(workers, lambda: workers.desk.pid(job) not in (None, first))
        one = workers.desk.job(job)
        assert one is not None and one.begun == 2
        workers.cancel(job)
        workers.desk.ask(one)  # as it stands after a second kill
        _until(workers, lambda: workers.desk.state(job) == FAILED)
        assert "died 2 times" in workers.desk.why(job)[1]


def test_one_that_takes_too_much_memory_fails_and_no_other(workers: WorkerPool) -> None:
    allowed = workers.memory
    with _busy(workers) as job:
        workers.memory = 1 << 20
        _until(workers, lambda: workers.desk.state(job) == FAILED)
        assert "more than 0.0 GB of memory" in workers.desk.why(job)[1]
        workers.memory = allowed
    _ask(workers, "overview")
    assert workers.desk.state(_jobs(workers, "overview")[0]) == DONE


def test_a_bundle_whose_maker_was_killed_is_not_made_again_unasked(workers: WorkerPool) -> None:
    workers.project.change({"candidates": {"chosen": "pseudonymise"}, "release": {"licence": "for this test"}})
    (job,) = _ask(workers, "bundle")
    one = workers.desk.job(job)
    assert one is not None
    workers.desk.save(replace(one, begun=1))  # as it stands after a kill
    _until(workers, lambda: workers.desk.state(job) == FAILED)
    assert "counts as spent" in workers.desk.why(job)[1]
    workers.desk.ask(one)  # now somebody asks
    _until(workers, lambda: workers.desk.state(job) == DONE)


@contextmanager
def _full_disk(size: int) -> Iterator[None]:
    """No file may grow beyond so many bytes: a write fails as it does on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_on_a_full_disk_a_bundle_is_not_there_at_all(workers: WorkerPool) -> None:
    workers.project.change({"candidates": {"chosen": "pseudonymise"}, "release": {"format": "csv"}})
    workers.close()
    with _full_disk(40_000):  # room for claims and notes, not for the rows
        (job,) = _ask(workers, "bundle")
        _until(workers, lambda: workers.desk.state(job) == FAILED)
    assert "File too large" in workers.desk.why(job)[1]
    left = {path.name for path in (workers.project.folder / "bundles").iterdir()}
    assert not any(job in name for name in left), left
    workers.close()
    _ask(workers, "bundle")
    _until(workers, lambda: workers.desk.state(job) == DONE)
    out = workers.project.folder / "published"
    with (
        _full_disk(2_000),
        pytest.raises(RecveilError, match=r"cannot be written: File too large$"),
        whole(Folder(out)) as p,
    ):
        Folder(bundle_place(workers.project, job)).fetch(p.path / "bundle")
    assert [path.name for path in workers.project.folder.iterdir() if "published" in path.name] == []


def test_on_a_full_disk_no_half_of_an_upload_is_kept(tmp_path: Path) -> None:
    pytest.importorskip("fastapi", reason="the extra `serve` is not installed")
    from recveil.desk.pages.uploads import NoSpaceError, TooLargeError, keep

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"user,item\n" * 1000

    project = open_project(tmp_path)
    with _full_disk(50_000), pytest.raises(NoSpaceError, match="cannot be kept: File too large") as refused:
        alone(keep(project, "large.csv", None, chunks()))
    assert refused.value.field == "data.source"
    assert list((project.folder / "uploads").iterdir()) == []
    with pytest.raises(TooLargeError, match="give its path instead"):
        alone(keep(project, "large.csv", 6_000_000_000, chunks()))
    assert alone(keep(project, "large.csv", None, chunks())) == ("uploads/large.csv", 200_000)
    assert alone(keep(project, "large.csv", None, chunks()))[0] == "uploads/large-2.csv"


def _alive(pid: int | None) -> bool:
    try:
        os.kill(pid or 0, 0)
    except ProcessLookupError:
        return False
    return True
