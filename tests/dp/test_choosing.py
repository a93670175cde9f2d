"""Choosing on the data: what is on record stands beside the promise; a choice with a budget keeps its epsilon."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import recveil
from recveil import splits
from recveil.data import Interactions, from_ids
from recveil.desk.project.choices import Choices
from recveil.desk.project.folder import open_project
from recveil.desk.project.jobs import JobStore
from recveil.desk.project.plan import jobs_of
from recveil.desk.project.stages import perform
from recveil.dp import choice, noise
from recveil.errors import RecveilError
from recveil.evaluation import choose
from recveil.evaluation.attacks.epsilon import judge
from recveil.evaluation.choose import WHOLE, halves, score
from recveil.governance.context import Context
from recveil.governance.recipients import read_recipient
from recveil.governance.sheet import sheet
from recveil.guarantee import CHOSEN_ON_DATA
from recveil.randomness import seeded
from recveil.releases import hash_chain, ledger
from recveil.releases.keys import new_key
from recveil.releases.progress import SILENT
from recveil.splits import Split

Run = Callable[..., Any]
STREAMS = "dp-streams:epsilon=2,delta=1e-4"
SPECS = [STREAMS, "dp-streams:epsilon=4,delta=1e-4"]


@pytest.fixture
def run(recveil: Run) -> Run:
    return recveil


@pytest.fixture
def clicks(tmp_path: Path) -> str:
    """800 people, each of whom likes one of two halves of the catalogue."""
    rng = np.random.default_rng(1)
    item = np.concatenate([rng.choice(12, 6, replace=False) + 12 * (user % 2) for user in range(800)])
    data = from_ids(pl.Series(np.repeat(np.arange(800), 6)), pl.Series(item), time=np.arange(len(item)))
    data.frame().write_csv(tmp_path / "clicks.csv")
    return "clicks.csv"


def manifest(run: Run, clicks: str, out: str, *more: str) -> dict[str, Any]:
    run("release", clicks, "--with", STREAMS, "-o", out, *more)
    return dict(json.loads(Path(out, "manifest.json").read_text()))


# --- what is on record ----------------------------------------------------------------------------------------


def test_without_a_line_it_is_not_on_record_and_never_no(run: Run, clicks: str) -> None:
    assert manifest(run, clicks, "out")["chosen_on_data"] == "not on record"
    assert manifest(run, clicks, "kept", "--ledger", "l.jsonl")["chosen_on_data"] == "not on record"
    assert CHOSEN_ON_DATA["not on record"] in Path("out", "README.md").read_text()
    assert "no" not in CHOSEN_ON_DATA
    assert manifest(run, clicks, "declared", "--chosen-on-data")["chosen_on_data"] == "yes"


@pytest.mark.parametrize(
    "look",
    [
        ("compare", "clicks.csv", "--with", STREAMS, "--only", "popularity", "--no-cache"),
        ("measure", "clicks.csv", "first", "--only", "popularity"),
        ("tune", "clicks.csv", "--with", "mask", "--seed", "1"),
    ],
    ids=lambda look: look[0],
)
def test_a_look_is_in_the_ledger_and_in_the_next_manifest(run: Run, clicks: str, look: tuple[str, ...]) -> None:
    first = manifest(run, clicks, "first", "--ledger", "l.jsonl")
    assert first["chosen_on_data"] == "not on record"
    run(*look, "--ledger", "l.jsonl")
    line = hash_chain.read("l.jsonl")[-1]
    assert line["looked"] == look[0]
    assert len(line["data"]) == 64
    made = manifest(run, clicks, "second", "--ledger", "l.jsonl")
    assert made["chosen_on_data"] == "yes"
    assert CHOSEN_ON_DATA["yes"] in Path("second", "README.md").read_text()
    assert not hash_chain.check("l.jsonl")[0]
    published = "".join(file.read_bytes().decode(errors="replace") for file in Path("second").glob("*.*"))
    assert line["data"] not in published  # a fingerprint of private data, even a keyed one, stays with the owner
    assert CHOSEN_ON_DATA["yes"] in run("verify", "second").stdout


def test_the_answer_is_about_the_population_and_does_not_depend_on_a_row(run: Run, clicks: str) -> None:
    run("compare", clicks, "--with", STREAMS, "--only", "popularity", "--no-cache", "--ledger", "l.jsonl")
    one_more = Path(clicks).read_text() + "9999,3,99999\n"
    Path("more.csv").write_text(one_more)
    assert manifest(run, "more.csv", "out", "--ledger", "l.jsonl")["chosen_on_data"] == "yes"


def test_what_is_generated_is_nobodys_and_leaves_no_line(run: Run) -> None:
    run("compare", "sample:films?users=100", "--with", "mask:p=0.9", "--only", "popularity", "--ledger", "l.jsonl")
    run("tune", "sample:films?users=60,items=60", "--with", "mask", "--seed", "1", "--ledger", "l.jsonl")
    assert not Path("l.jsonl").exists()


def test_looks_are_no_releases_and_add_up_to_nothing(run: Run, clicks: str) -> None:
    manifest(run, clicks, "out", "--ledger", "l.jsonl")
    before = ledger.totals(hash_chain.read("l.jsonl"))
    run("measure", clicks, "out", "--only", "popularity", "--ledger", "l.jsonl")
    entries = hash_chain.read("l.jsonl")
    assert ledger.totals(entries) == before
    assert ledger.unpromised(entries) == 0
    assert "measure looked at the data" in run("ledger", "show", "--ledger", "l.jsonl").stdout


def test_python_says_the_same(clicks: str, tmp_path: Path) -> None:
    data, file = recveil.read(tmp_path / clicks), str(tmp_path / "l.jsonl")
    assert recveil.release(data, STREAMS, ledger=file).chosen_on_data == "not on record"
    recveil.compare(data, [STREAMS], only=["popularity"], ledger=file)
    made = recveil.release(data, STREAMS, ledger=file)
    assert made.chosen_on_data == "yes"
    assert made.save(tmp_path / "out")["chosen_on_data"] == "yes"
    assert recveil.release(data, STREAMS, chosen_on_data=True).chosen_on_data == "yes"
    recveil.measure(data, made, only=["popularity"], ledger=str(tmp_path / "other.jsonl"))
    assert [line["looked"] for line in hash_chain.read(tmp_path / "other.jsonl")] == ["measure"]


def test_statistics_that_were_kept_say_what_their_release_said(run: Run, clicks: str) -> None:
    manifest(run, clicks, "out", "--chosen-on-data", "--keep-statistics", "kept.npz")
    assert manifest(run, "kept.npz", "again")["chosen_on_data"] == "yes"


def test_the_desk_knows_of_its_own_trials(clicks: str, tmp_path: Path) -> None:
    project = open_project(tmp_path / "desk")
    changes = {
        "data": {"source": str(tmp_path / clicks)},
        "candidates": {"specs": [STREAMS], "chosen": STREAMS, "measures": ["popularity"]},
        "release": {"holdout": 0.0},
    }
    choices = Choices().changed(changes)
    desk = JobStore(project)

    def made(kind: str, asked: Choices) -> Any:
        (one,) = jobs_of(desk, asked, kind)
        desk.ask(one)
        found = perform(project, one, SILENT)
        desk.keep(one.id, found)
        return found

    assert made("bundle", choices)["manifest"]["chosen_on_data"] == "not on record"
    made("candidates", choices)
    assert [e["looked"] for e in hash_chain.read(project.path("ledger.jsonl")) if "looked" in e] == ["compare"]
    later = choices.changed({"release": {"ledger": "", "time": "drop"}})
    assert made("bundle", later)["manifest"]["chosen_on_data"] == "yes"


def test_sheet_and_claim_say_it_and_that_the_decision_saw_figures(run: Run, clicks: str) -> None:
    run("release", clicks, "--with", STREAMS, "-o", "out", "--chosen-on-data")
    run("measure", clicks, "out", "--keep", "--only", "popularity")
    new_key(Path("dpo.key"))
    run("decide", "out")
    run("decide", "out", "--as", "Jane Roe, officer", "--key", "dpo.key", "--refuse")
    page = Path("out.owner", "decision.html").read_text().replace("&#39;", "'")
    assert CHOSEN_ON_DATA["yes"] in page
    assert "depends on figures that were measured on the private data" in page
    (claim,) = json.loads(run("verify", "out", "--json", code=3).stdout)["claims"]
    assert claim["facts"]["chosen_on_data"] == "yes"
    assert claim["facts"]["measured_on_data"] is True


def test_an_older_bundle_is_not_on_record() -> None:
    from test_decision import MANIFEST

    made = sheet(MANIFEST, None, Context(read_recipient("public")))
    assert made["choosing"] == [CHOSEN_ON_DATA["not on record"]]


def test_honest_ways_are_offered_first(run: Run, clicks: str) -> None:
    said = run("compare", clicks, "--with", STREAMS, "--only", "popularity", "--no-cache").stderr
    assert said.index("--choose-epsilon") < said.index("1 mechanisms")
    assert "stand-in" in said
    assert "twin" in said
    assert "--choose" not in run("compare", clicks, "--with", "pseudonymise", "--only", "popularity").stderr


# --- a choice with a budget ------------------------------------------------------------------------------------


def world(seed: int, timed: bool, n: int = 30) -> Interactions:
    rng = np.random.default_rng(seed)
    items = [rng.choice(15, rng.integers(1, 12), replace=True) for _ in range(n)]
    user, item = np.repeat(np.arange(n), [len(i) for i in items]), np.concatenate(items)
    time = rng.integers(0, 50, len(item)) if timed else None
    return from_ids(pl.Series(user), pl.Series([f"i{i}" for i in item]), time=time)


@cache
def models() -> list[tuple[Any, pl.Series]]:
    made = [world(seed, timed=False, n=60) for seed in (91, 92, 93)]
    return [(choose.REFEREE.fit(one, 0), one.items) for one in made]


def moves(data: Interactions, who: int) -> list[int]:
    """By how much the scores of several models rise because somebody is there."""
    without = data.among(np.arange(data.n_users) != who)
    return [score(*model, halves(data)) - score(*model, halves(without)) for model in models()]


def check_sensitivity() -> None:
    """One person raises every score by 0 to WHOLE, whoever else is there and wherever she stands."""
    for seed in range(8):
        data = world(seed, timed=bool(seed % 2))
        assert all(0 <= move <= WHOLE for who in (0, 7, 29) for move in moves(data, who))


def test_one_person_moves_every_score_by_at_most_one_and_in_one_direction() -> None:
    check_sensitivity()
    assert max(move for who in range(12) for move in moves(world(1, timed=True), who)) > WHOLE / 2


def _shared_permutation(patch: pytest.MonkeyPatch) -> None:
    from recveil.splits import before_and_after

    patch.setattr(choose, "halves", lambda people: before_and_after(people, np.random.default_rng(0)))


def _hits_in_place_of_shares(patch: pytest.MonkeyPatch) -> None:
    honest = choose.score

    def counted(model: Any, items: pl.Series, judges: Split) -> int:
        return honest(model, items, judges) * choose.TOP

    patch.setattr(choose, "score", counted)


def _one_moment_for_all(patch: pytest.MonkeyPatch) -> None:
    def cut(people: Interactions) -> Split:
        when = people.item if people.moments is None else people.moments
        early = when < np.quantile(when, 0.5)
        return Split(people.take(early), people.take(~early))

    patch.setattr(choose, "halves", cut)


@pytest.mark.parametrize("bug", [_shared_permutation, _hits_in_place_of_shares, _one_moment_for_all])
def test_planted_bugs_in_scores_are_caught(bug: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    monkeypatch.setitem(globals(), "halves", choose.halves)
    monkeypatch.setitem(globals(), "score", choose.score)
    with pytest.raises(AssertionError):
        check_sensitivity()


def audited(epsilon: float, runs: int = 4000) -> float:
    """A lower bound of the epsilon of a choice between three, on neighbours that differ as much as they may."""
    pair = ({"b": 10 * WHOLE, "a": 10 * WHOLE, "c": 9 * WHOLE}, {"b": 10 * WHOLE, "a": 11 * WHOLE, "c": 9 * WHOLE})
    seen = [
        np.array([[float(choice.noisy_choice(s, WHOLE, epsilon, seeded(2 * n + k)) == "a")] for n in range(runs)])
        for k, s in enumerate(pair)
    ]
    return judge(seen[0], seen[1], ["a"], delta=0.0, confidence=0.99).lower


def test_an_audit_of_the_choice_stays_below_its_epsilon() -> None:
    assert audited(1.0) <= 1.0
    assert audited(0.5) <= 0.5


@pytest.mark.parametrize("part", [0, 8, WHOLE], ids=["no noise", "an eighth of the noise", "noise for a unit of one"])
def test_an_audit_breaks_a_choice_without_its_noise(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = noise.draw

    def less(wanted: Any, n: int, source: Any) -> Any:
        return honest(replace(wanted, size=wanted.size / part), n, source) if part else np.zeros(n, dtype=np.int64)

    monkeypatch.setattr(choice, "draw", less)
    assert audited(0.5) > 0.5


def test_the_law_of_the_choice_is_that_of_exact_noise() -> None:
    """Between two, the chance is that of a difference of two discrete Laplace numbers; first of equal ones wins."""
    scale, apart = 1 / 0.5, 2
    a = np.exp(-1 / scale)
    x = np.arange(-200, 201)
    p = (1 - a) / (1 + a) * a ** np.abs(x)
    wins = sum(p[i] * p[x - apart <= x[i]].sum() for i in range(len(x)))
    found = np.mean([choice.noisy_choice({"a": apart, "b": 0}, 1, 0.5, seeded(n)) == "a" for n in range(4000)])
    assert abs(found - wins) < 4 * np.sqrt(wins * (1 - wins) / 4000)


def test_noise_belongs_to_the_name_of_a_candidate() -> None:
    scores = {"a": 5, "b": 5, "c": 5}
    for n in range(40):
        forth = choice.noisy_choice(scores, 1, 0.2, seeded(n))
        back = choice.noisy_choice(dict(reversed(scores.items())), 1, 0.2, seeded(n))
        drawn = {k: int(noise.draw(noise.laplace(5), 1, seeded(n).derive(k))[0]) for k in scores}
        best = [k for k in scores if drawn[k] == max(drawn.values())]
        assert (forth, back) == (best[0], best[-1])


def test_the_choice_takes_the_better_one_and_is_entered(run: Run, clicks: str) -> None:
    """With a stand-in nothing is fitted to the data: only the choice is spent."""
    Path("public.csv").write_text(Path(clicks).read_text())
    found = json.loads(
        run("compare", clicks, "--with", "mask:p=0.51", "--with", "pseudonymise", "--choose-epsilon", "1", "--stand-in",
            "public.csv", "--ledger", "l.jsonl", "--json").stdout
    )  # fmt: skip
    assert found["chosen"] == "pseudonymise"
    assert "score" not in found
    (line,) = hash_chain.read("l.jsonl")
    assert (line["mechanism"], line["status"], line["epsilon"], line["unit"]) == ("choice", "proved", 1.0, "user")
    made = manifest(run, clicks, "out", "--ledger", "l.jsonl")
    assert made["chosen_on_data"] == "within a budget"
    (total,) = ledger.totals(hash_chain.read("l.jsonl"))
    assert total.epsilon == 3.0


def test_trial_fits_are_entered_before_the_choice(clicks: str, tmp_path: Path) -> None:
    file = str(tmp_path / "l.jsonl")
    found = recveil.choose(tmp_path / clicks, SPECS, epsilon=1, ledger=file)
    assert found.spec.startswith("dp-streams")
    assert [line["mechanism"][:10] for line in hash_chain.read(file)] == ["dp-streams", "dp-streams", "choice"]
    with pytest.raises(RecveilError, match="promises nothing"):
        recveil.choose(tmp_path / clicks, ["pseudonymise", STREAMS], epsilon=1, ledger=file)
    assert len(hash_chain.read(file)) == 3


def test_a_budget_refuses_a_choice_before_noise(run: Run, clicks: str) -> None:
    run("ledger", "budget", "--ledger", "l.jsonl", "--epsilon", "0.5")
    Path("public.csv").write_text(Path(clicks).read_text())
    asked = ("--with", SPECS[0], "--with", SPECS[1], "--stand-in", "public.csv", "--ledger", "l.jsonl")
    refused = run("compare", clicks, *asked, "--choose-epsilon", "0.6", code=1)
    assert "would exceed the ledger's budget" in refused.stderr
    assert len(hash_chain.read("l.jsonl")) == 1


def test_who_is_set_aside_does_not_depend_on_others(clicks: str, tmp_path: Path, monkeypatch: Any) -> None:
    """And nobody is both: who judges was never fitted to."""
    seen: list[tuple[set[int], set[int]]] = []
    honest = splits.hold_out

    def watched(*given: Any) -> Split:
        found = honest(*given)
        seen.append(tuple(set(part.compact().users) for part in found))  # type: ignore[arg-type]
        return found

    monkeypatch.setattr(choose, "hold_out", watched)
    data = recveil.read(tmp_path / clicks)
    for rows in (data, data.take_users(np.arange(1, 800)).compact()):
        recveil.choose(rows, SPECS, epsilon=1, seed=3, ledger=str(tmp_path / "l.jsonl"))
    (fitted, judged), (fewer, others) = seen
    assert not fitted & judged
    assert (fewer | others, fewer <= fitted, others <= judged) == ((fitted | judged) - {0}, True, True)


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (("--choose-epsilon", "1"), "--ledger FILE"),
        (("--choose-epsilon", "0", "--ledger", "l"), "finite and above 0"),
        (("--choose-epsilon", "1", "--ledger", "l", "--stand-in", "clicks.csv"), "names other rows than DATA"),
        (("--stand-in", "clicks.csv"), "--stand-in is for --choose-epsilon"),
        (("--choose-epsilon", "1", "--ledger", "l", "-o", "r.html"), "shows no figures"),
    ],
)
def test_what_cannot_be_is_one_clear_line(run: Run, clicks: str, more: tuple[str, ...], line: str) -> None:
    found = run("compare", clicks, "--with", SPECS[0], "--with", SPECS[1], *more, code=1)
    assert line in found.stderr
    assert not Path("l").exists()
