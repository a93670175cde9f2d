"""A ledger that grew up: locked, chained, with a head and a budget that nobody exceeds, however they are stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recveil.errors import RecveilError
from recveil.guarantee import NEIGHBOURS, Guarantee, nothing
from recveil.mechanisms import Pseudonymise
from recveil.releases import hash_chain, ledger
from recveil.releases.ledger import Budget, into, set_budget

Run = Callable[..., Any]


def promise(epsilon: float = 1.0, delta: float = 0.0, unit: str = "user") -> Guarantee:
    return Guarantee("A promise.", "proved", epsilon, delta, unit, NEIGHBOURS[unit])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


@pytest.fixture
def three(file: Path) -> Path:
    for _ in range(3):
        into(file)(Pseudonymise(), promise())
    return file


def changed(recveil: Run, words: str) -> None:
    found = recveil("ledger", "check", json_answer=True, code=3)
    assert not found["whole"] and any(words in problem for problem in found["problems"]), found


def test_a_whole_ledger_is_whole(three: Path, recveil: Run) -> None:
    assert recveil("ledger", "check", json_answer=True) == {"whole": True, "problems": [], "remarks": []}
    lines = [json.loads(line) for line in three.read_text().splitlines()]
    assert [line["previous"] is None for line in lines] == [True, False, False]
    assert (three.stat().st_mode & 0o777) == 0o600
    assert "epsilon 3, delta 0 for every user (3 releases together)" in recveil("ledger", "show").stdout


def test_what_was_changed_removed_or_cut_off_shows(three: Path, recveil: Run) -> None:
    whole = three.read_text()
    lines = whole.splitlines(keepends=True)
    three.write_text("".join(lines[:2]))
    changed(recveil, "its end was cut off")
    with pytest.raises(RecveilError, match="cut off; nothing is entered"):
        into(three)(Pseudonymise(), promise())
    three.write_text("")
    changed(recveil, "its end was cut off")
    three.write_text(lines[0] + lines[2])
    changed(recveil, "does not follow")
    three.write_text(whole.replace('"epsilon": 1.0', '"epsilon": 0.5', 1))
    changed(recveil, "line 2 does not follow line 1")
    three.write_text(lines[0] + lines[1] + lines[2].replace('"epsilon": 1.0', '"epsilon": 0.1'))
    changed(recveil, "line 3 is not the one that its head names")
    three.write_text(whole)
    Path(f"{three}.head").unlink()
    changed(recveil, "is missing")
    for many in (0, -5):  # no head that is written says so
        Path(f"{three}.head").write_text(f'{{"lines": {many}, "last": ""}}')
        changed(recveil, "is not the one that its head names")
    Path(f"{three}.head").write_text("x")
    assert "cannot be read as the head" in recveil("ledger", "check", code=1).stderr


def test_the_head_may_lie_elsewhere(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "safe").mkdir()
    monkeypatch.setenv("RECVEIL_LEDGER_HEADS", str(tmp_path / "safe"))
    into(file)(Pseudonymise(), promise())
    assert [p.name for p in (tmp_path / "safe").iterdir()] == ["ledger.jsonl.head"]
    assert not Path(f"{file}.head").exists()


def test_older_ledgers_are_read_and_continued(file: Path, recveil: Run) -> None:
    keys = ("date", "mechanism", "status", "epsilon", "delta", "rho", "unit", "neighbours")
    old = {key: value for key, value in ledger.entry(Pseudonymise(), promise()).items() if key in keys}
    file.write_text(json.dumps(old) + "\n" + json.dumps(old))  # its last line was never ended
    assert "an older ledger" in recveil("ledger", "check").stdout
    into(file)(Pseudonymise(), promise())
    assert recveil("ledger", "check", json_answer=True)["whole"]
    assert ledger.totals(ledger.read(file))[0].epsilon == 3
    lines = file.read_text().splitlines(keepends=True)
    file.write_text(lines[0].replace("1.0", "0.1") + "".join(lines[1:]))
    assert recveil("ledger", "check", json_answer=True)["whole"]  # what no hash covers cannot be vouched for
    file.write_text(lines[0] + lines[1].replace("1.0", "0.1") + lines[2])
    changed(recveil, "line 3 does not follow line 2")


# --- budgets ----------------------------------------------------------------------------------------------------


def test_a_budget_is_kept(file: Path) -> None:
    set_budget(file, Budget(0.3, 0, "user"), {})
    enter = into(file)
    for _ in range(3):
        enter(Pseudonymise(), promise(0.1))  # 0.1 + 0.1 + 0.1 is 0.3, whatever floats make of it
    with pytest.raises(RecveilError, match="would exceed the ledger's budget"):
        enter(Pseudonymise(), promise(0.0001))
    assert len(ledger.read(file)) == 4
    set_budget(file, Budget(0.5, 0, "user"), {})
    enter(Pseudonymise(), promise(0.2))  # what was spent stays spent
    with pytest.raises(RecveilError, match="would exceed"):
        enter(Pseudonymise(), promise(0.1))


def test_gaussian_noise_counts_by_rho_at_half_of_the_budgets_delta(file: Path) -> None:
    from recveil.dp.budget import epsilon_of, rho_of

    rho = rho_of(1.0, 1e-6)
    together = epsilon_of(4 * rho, 5e-7)
    assert together < 4
    set_budget(file, Budget(together * 1.0001, 1e-6), {})
    gaussian = Guarantee("A promise.", "proved", 1.0, 1e-6, "user", NEIGHBOURS["user"], rho=rho)
    for _ in range(4):
        into(file)(Pseudonymise(), gaussian)
    with pytest.raises(RecveilError, match="would exceed"):
        into(file)(Pseudonymise(), gaussian)


def test_the_chance_that_a_rho_fails_takes_the_other_half(file: Path) -> None:
    from recveil.dp.budget import rho_of

    def chosen(delta: float) -> Guarantee:  # half of its delta pays for what it selects, as in dp-streams
        half = delta / 2
        return Guarantee(
            "A promise.", "proved", 1.0, delta, "user", NEIGHBOURS["user"], rho=rho_of(1.0, half), rho_fails=half
        )

    set_budget(file, Budget(1.0, 1e-6), {})
    into(file)(Pseudonymise(), chosen(1e-6))  # exactly the budget
    with pytest.raises(RecveilError, match="would exceed"):
        into(file)(Pseudonymise(), chosen(1e-9))
    set_budget(file, Budget(10.0, 1e-6), {})
    with pytest.raises(RecveilError, match="would exceed"):
        into(file)(Pseudonymise(), chosen(1e-7))  # epsilon would do, but half of delta is gone
    set_budget(file, Budget(10.0, 2e-6), {})
    into(file)(Pseudonymise(), chosen(1e-6))


def test_epsilon_and_delta_are_not_added_up_where_later_lines_may_depend_on_earlier_ones(file: Path) -> None:
    """Two lines without rho, each within half of the budget: their deltas have to fit into half of its delta."""
    set_budget(file, Budget(2.0, 1e-6), {})
    into(file)(Pseudonymise(), promise(1.0, 5e-7))
    with pytest.raises(RecveilError, match="would exceed"):
        into(file)(Pseudonymise(), promise(1.0, 5e-7))


def test_what_no_budget_counts_is_refused(file: Path) -> None:
    set_budget(file, Budget(4, 1e-6), {})
    for guarantee in (nothing("Nothing."), promise(unit="record"), promise().as_experiment()):
        with pytest.raises(RecveilError, match="--outside-budget"):
            into(file)(Pseudonymise(), guarantee)
        into(file, outside=True)(Pseudonymise(), guarantee)
    with pytest.raises(RecveilError, match="would exceed"):
        into(file, outside=True)(Pseudonymise(), promise(5))  # the budget itself is for everybody
    assert ledger.unpromised(ledger.read(file)) == 2


class Tomorrow(datetime):
    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return datetime.now(tz) + timedelta(days=1)


def test_until_ends_permission_and_resets_nothing(recveil: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recveil("ledger", "budget", "--epsilon", 1, "--until", "2020-01-01", "--who", "Shop", "--about", "clicks")
    with pytest.raises(RecveilError, match="ended on 2020-01-01"):
        into(file)(Pseudonymise(), promise(0.1))
    recveil("ledger", "budget", "--epsilon", 1, "--until", datetime.now(UTC).date() + timedelta(days=1))
    monkeypatch.setattr(ledger, "datetime", Tomorrow)
    into(file)(Pseudonymise(), promise(0.7))  # the last day is one of them
    recveil("ledger", "budget", "--epsilon", 1, "--until", "2999-02-01")
    with pytest.raises(RecveilError, match="would exceed"):
        into(file)(Pseudonymise(), promise(0.7))
    found = recveil("ledger", "show", json_answer=True)
    assert (found["who"], found["about"], len(found["budgets"])) == ("Shop", "clicks", 3)
    wanted = {"date", "mechanism", "status", "epsilon", "delta", "rho", "unit", "neighbours", "proof", "data"}
    assert set(found["releases"][0]) == wanted


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--epsilon", 0), "above 0"),
        (("--epsilon", 1, "--delta", 1), "must lie in"),
        (("--epsilon", 1, "--unit", "planet"), "planet"),
        (("--epsilon", 1, "--until", "soon"), "--until is a day"),
    ],
)
def test_bad_budgets_are_refused(recveil: Run, file: Path, options: tuple[object, ...], words: str) -> None:
    assert words in recveil("ledger", "budget", *options, code=1).stderr
    assert not file.exists()
    assert "there is no such ledger" in recveil("ledger", "show", code=1).stderr


def test_a_release_over_budget_draws_nothing(recveil: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recveil.mechanisms import DpStreams

    def noise(*_: object) -> None:
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(DpStreams, "publish", noise)
    (tmp_path / "clicks.csv").write_text("user,item,time\n1,1,1\n1,2,2\n2,2,3\n")
    recveil("ledger", "budget", "--ledger", "l", "--epsilon", 1, "--delta", 1e-6)
    options = ("release", "clicks.csv", "-o", "out", "--ledger", "l", "--with")
    assert "would exceed" in recveil(*options, "dp-streams:epsilon=2,delta=1e-6", code=1).stderr
    assert "--outside-budget" in recveil(*options, "pseudonymise", code=1).stderr
    recveil(*options, "pseudonymise", "--outside-budget")


# --- processes --------------------------------------------------------------------------------------------------

ENTER = """
import os, signal, sys
from recveil.releases import hash_chain
from recveil.releases.ledger import into
from recveil.errors import RecveilError
from recveil.guarantee import NEIGHBOURS, Guarantee
from recveil.mechanisms import Pseudonymise
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
how, path = sys.argv[1:]
if how == "before the head":
    hash_chain._put_head = die
done = 0
for _ in range(10):
    try:
        into(path)(Pseudonymise(), Guarantee("p", "proved", 1.0, 0.0, "user", NEIGHBOURS["user"]))
        done += 1
    except RecveilError:
        pass
    if how == "before the bundle":
        die()
print(done)
"""


def run(how: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", ENTER, how, str(path)], stdout=subprocess.PIPE, text=True)


def test_two_processes_at_once_cannot_exceed_the_budget(file: Path) -> None:
    set_budget(file, Budget(13.0), {})
    running = [run("to the end", file) for _ in range(2)]
    done = [int(process.communicate()[0]) for process in running]
    assert sum(done) == 13
    assert ledger.totals(ledger.read(file))[0].epsilon == 13
    assert hash_chain.check(file) == ([], [])


@pytest.mark.parametrize("how", ["before the head", "before the bundle"])
def test_killed_in_between_it_counts_too_much_and_never_too_little(file: Path, how: str) -> None:
    into(file)(Pseudonymise(), promise())
    with run(how, file) as process:
        assert process.wait() == -signal.SIGKILL
    assert ledger.totals(ledger.read(file))[0].epsilon == 2
    problems, remarks = hash_chain.check(file)
    assert not problems and len(remarks) == (how == "before the head")
    into(file)(Pseudonymise(), promise())
    assert ledger.totals(ledger.read(file))[0].epsilon == 3
    assert hash_chain.check(file) == ([], [])


def test_half_a_line_was_never_a_release(three: Path, recveil: Run) -> None:
    with three.open("a") as ledger_file:
        ledger_file.write('{"date": "2026-')
    assert "half a line" in recveil("ledger", "check").stdout
    into(three)(Pseudonymise(), promise())
    assert hash_chain.check(three) == ([], [])
    assert len(ledger.read(three)) == 4


def test_a_full_disk_enters_nothing(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = three.read_bytes()
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, content: real(handle, content[:10]))
    with pytest.raises(RecveilError, match="disk is full"):
        into(three)(Pseudonymise(), promise())
    monkeypatch.undo()
    assert three.read_bytes() == before


def test_the_key_of_fingerprints_stays_with_the_owner(file: Path) -> None:
    one = hash_chain.keyed(file, "data")
    assert one == hash_chain.keyed(file, "data") != hash_chain.keyed(file, "other data")
    assert (Path(f"{file}.key").stat().st_mode & 0o777) == 0o600
    assert one != hash_chain.keyed(file.with_name("another"), "data")


@pytest.mark.parametrize(
    "line",
    [
        {"budget": {"epsilon": 0, "delta": 0, "unit": "user"}},
        {"budget": {"epsilon": 1, "delta": 1, "unit": "user"}},
        {"looked": "compare"},
        {"looked": "compare", "date": 7},
        {"people": [0, 1.5]},
        {"people": [0.5, 0.5]},
    ],
    ids=str,
)
def test_a_line_that_says_what_cannot_be_is_refused(three: Path, line: dict[str, Any]) -> None:
    first = json.loads(three.read_text().splitlines()[0])
    entry = {**first, **line} if "people" in line else line
    three.write_text(json.dumps(entry) + "\n")
    with pytest.raises(RecveilError, match="line 1"):
        ledger.read(three)
