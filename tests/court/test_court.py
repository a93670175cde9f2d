"""A court: who is judged, what a list is worth, what is spent and when, and what a board says."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ir_measures
import naive
import numpy as np
import polars as pl
import pytest
from courts import ITEMS, MODELS, catalogue, court, interactions, log, random_weights, ranked_list, saved

import recveil as package
from recveil.actions.publish import ReleaseRequest, run_release
from recveil.court import ladder, scoring
from recveil.court.board import board, save_board, verify_board
from recveil.court.folder import Court, open_court
from recveil.court.ladder import climb, false_rate, standing
from recveil.court.people import Histories, generated
from recveil.court.scoring import Entrant, compare, enter, entered, score
from recveil.court.submissions import Submission
from recveil.court.values import ONE, values
from recveil.errors import RecveilError
from recveil.evaluation.recommenders import RANKERS
from recveil.releases import ledger
from recveil.releases.inputs import Input

BY = {"ndcg": ir_measures.nDCG, "recall": ir_measures.R, "precision": ir_measures.P, "map": ir_measures.AP}


def by_hand(lists: Any, people: Histories, metric: str) -> list[float]:
    """What ir-measures says of the same lists, person by person."""
    kind, _, n = metric.partition("@")
    wanted = {str(p): {str(i): 1 for i in people.wanted[people.bounds[p] : people.bounds[p + 1]]}
              for p in range(len(people))}  # fmt: skip
    run = {str(p): {str(i): float(-k) for k, i in enumerate(row) if i >= 0} or {"nothing": 0.0}
           for p, row in enumerate(lists)}  # fmt: skip
    found = {m.query_id: m.value for m in ir_measures.iter_calc([BY[kind] @ int(n)], wanted, run)}
    return [found.get(str(p), 0.0) for p in range(len(people))]


def spent(made: Court) -> list[str]:
    return [line["mechanism"] for line in made.lines()]


# --- lists and what they are worth ----------------------------------------------------------------------------


@pytest.mark.kernel
def test_lists_are_those_of_the_slow_twins() -> None:
    from recveil.kernels.judging import by_vectors, by_weights

    rng = np.random.default_rng(3)
    histories = [rng.choice(12, rng.integers(0, 6), replace=False).tolist() for _ in range(70)]
    starts = np.concatenate([[0], np.cumsum([len(h) for h in histories])]).astype(np.int64)
    history = np.array([i for h in histories for i in h], dtype=np.int32)
    cells = {(a, b): np.float32(rng.integers(-2, 3)) for a in range(12) for b in range(12) if rng.random() < 0.4}
    order = sorted(cells)
    rows = np.searchsorted([a for a, _ in order], np.arange(13)).astype(np.int64)
    others = np.array([b for _, b in order], dtype=np.int32)
    weights = np.array([cells[pair] for pair in order], dtype=np.float32)
    for n in (1, 3, 20):
        made = by_weights(starts, history, rows, others, weights, 12, n)
        assert made.tolist() == naive.judged_by_weights(histories, {k: float(v) for k, v in cells.items()}, n)
    vectors = rng.integers(-2, 3, (6, 12)).astype(np.float32)
    bias, known = rng.integers(-1, 2, 12).astype(np.float32), rng.random(12) < 0.8
    for n in (1, 3, 20):
        made = by_vectors(starts, history, vectors, bias, known, n)
        assert made.tolist() == naive.judged_by_vectors(histories, vectors, bias, known, n)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("metric", ["ndcg@5", "recall@10", "precision@3", "map@10"])
def test_exact_values_are_those_of_ir_measures(kind: str, metric: str, tmp_path: Path) -> None:
    made = court(tmp_path)
    entrant = enter(made, saved(tmp_path, MODELS[kind]()))
    people = made.people()
    lists = entrant.submission.lists(people, 10)
    found = values(lists, people, metric)
    np.testing.assert_allclose(found / ONE, by_hand(lists, people, metric), atol=0.00051)
    assert found.max() > 0


def test_the_last_of_what_each_did_is_to_be_found(tmp_path: Path) -> None:
    frame = log()
    made = court(tmp_path, frame, find=0.3)
    people, items = made.people(), made.items().to_list()
    rows = [list(g["item"]) for _, g in frame.sort("user", "time").group_by("user")]
    cut = {(*r[: (k := max(1, int(0.7 * len(r) + 1e-9)))], "then", *sorted(r[k:])) for r in rows}
    for p in range(len(people)):
        history = [items[i] for i in people.history[people.starts[p] : people.starts[p + 1]]]
        wanted = {items[i] for i in people.wanted[people.bounds[p] : people.bounds[p + 1]]}
        assert (*history, "then", *sorted(wanted)) in cut


def test_without_times_chance_decides_and_nobody_else(tmp_path: Path) -> None:
    frame = log().drop("time")
    one = court(tmp_path / "one", frame, people=0.9)
    two = court(tmp_path / "two", frame.filter(pl.col("user") % 3 > 0), people=0.9)

    def each(made: Court) -> set[Any]:
        p = made.people()
        return {(tuple(p.history[p.starts[k] : p.starts[k + 1]]), tuple(p.wanted[p.bounds[k] : p.bounds[k + 1]]))
                for k in range(len(p))}  # fmt: skip

    assert each(two) < each(one) and each(two)


def test_nothing_in_the_folder_names_a_person(tmp_path: Path) -> None:
    frame = log().with_columns(pl.format("person-{}-of-the-log", "user").alias("user"))
    made = court(tmp_path, frame)
    score(made, [enter(made, saved(tmp_path, ranked_list()))])
    for file in [*made.path.rglob("*"), tmp_path / "ledger.jsonl"]:
        assert not file.is_file() or b"of-the-log" not in file.read_bytes()
    assert made.path.stat().st_mode & 0o077 == 0
    assert (made.path / "people.npz").stat().st_mode & 0o077 == 0


# --- releases under the same ledger ---------------------------------------------------------------------------


@pytest.mark.parametrize("python", [False, True])
def test_those_set_aside_are_in_no_later_release(python: bool, tmp_path: Path) -> None:
    frame = log(200)
    made = court(tmp_path, frame, seed=None, people=0.3)
    where = str(tmp_path / "ledger.jsonl")
    if python:
        released = set(package.release(frame, "pseudonymise", ledger=where).id_map["original"])
        assert ledger.read(where)[-1]["people"] == [0.3, 1.0]
    else:
        run_release(ReleaseRequest(Input(frame), "pseudonymise", str(tmp_path / "out"), ledger=where,
                                   keep_map=str(tmp_path / "map.csv"), outside_budget=True))  # fmt: skip
        released = set(pl.read_csv(tmp_path / "map.csv")["original"])
    from recveil.releases import aside

    judged = set(aside.parted(where, interactions(frame), 0.3).test.users)
    assert released | judged == set(frame["user"]) and not released & judged
    assert 30 < len(judged) < 90 and len(made.people()) <= len(judged)


def test_budgets_of_different_people_do_not_add_up_and_others_do(tmp_path: Path) -> None:
    frame, where = log(800), str(tmp_path / "ledger.jsonl")
    spec = "dp-streams:epsilon=8,delta=1e-06"
    wishes: dict[str, Any] = {"ledger": where, "catalogue": catalogue(tmp_path), "catalogue_is_public": True}
    made = court(tmp_path, frame, seed=None, epsilon=1.0, delta=1e-6)
    score(made, [enter(made, saved(tmp_path, ranked_list()))])
    before = ledger.totals(ledger.read(where))[0]
    assert before.epsilon < 1.0
    run_release(ReleaseRequest(Input(frame), spec, str(tmp_path / "out"), **wishes))
    assert ledger.totals(ledger.read(where))[0].epsilon == pytest.approx(8.0, abs=1e-6)
    (tmp_path / "early").mkdir()
    early = str(tmp_path / "early" / "ledger.jsonl")
    run_release(ReleaseRequest(Input(frame), spec, str(tmp_path / "early" / "out"), **(wishes | {"ledger": early})))
    late = court(tmp_path / "early", frame, seed=None, epsilon=1.0, delta=1e-6)
    score(late, [enter(late, saved(tmp_path, ranked_list()))])
    assert ledger.totals(ledger.read(early))[0].epsilon > 8.005


def test_a_budget_of_the_ledger_is_kept_for_each_part_of_the_people(tmp_path: Path) -> None:
    frame, where = log(800), tmp_path / "ledger.jsonl"
    ledger.set_budget(where, ledger.Budget(9.0, 1e-5), {})
    made = court(tmp_path, frame, seed=None, epsilon=6.0, delta=1e-6, scores=1)
    score(made, [enter(made, saved(tmp_path, ranked_list()))])
    wishes: dict[str, Any] = {"ledger": str(where), "catalogue": catalogue(tmp_path), "catalogue_is_public": True}
    run_release(ReleaseRequest(Input(frame), "dp-streams:epsilon=8,delta=1e-6", str(tmp_path / "one"), **wishes))
    with pytest.raises(RecveilError, match="would exceed the ledger's budget"):
        run_release(ReleaseRequest(Input(frame), "dp-streams:epsilon=8,delta=1e-6", str(tmp_path / "two"), **wishes))
    (tmp_path / "again").mkdir()
    with pytest.raises(RecveilError, match="would exceed the ledger's budget"):
        package.judge(frame, tmp_path / "again" / "court", ledger=where, epsilon=8.0, people=0.5, seconds=0.0,
                      catalogue_is_public=True, scores=1).score(saved(tmp_path, random_weights()))  # fmt: skip


# --- what is spent, and when ----------------------------------------------------------------------------------


def test_the_line_is_on_the_disk_before_the_noise_and_stands_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = court(tmp_path)
    entrant = enter(made, saved(tmp_path, random_weights()))

    def crash(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(scoring, "draw", crash)
    with pytest.raises(KeyboardInterrupt):
        score(made, [entrant])
    assert spent(made) == ["judge:count", "judge:score ndcg@10"] and not made.answers()
    monkeypatch.undo()
    (found,) = score(made, [entrant])  # the same noise as would have been drawn: paid for already
    assert spent(made) == ["judge:count", "judge:score ndcg@10"]
    assert made.answers() == [found]


def test_the_same_question_has_the_same_answer_and_costs_nothing_again(tmp_path: Path) -> None:
    made = court(tmp_path)
    first = score(made, [enter(made, saved(tmp_path, random_weights()))], "ndcg@10,recall@20")
    again = score(open_court(made.path), [enter(made, saved(tmp_path, random_weights()), "another name")], "recall@20")
    assert again[0] == first[1] and made.left == made.settled.scores - 2


def test_too_little_budget_is_said_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = court(tmp_path, scores=2)
    entrant = enter(made, saved(tmp_path, random_weights()))
    monkeypatch.setattr(Court, "people", lambda _: pytest.fail("somebody was looked at"))
    with pytest.raises(RecveilError, match=r"3 more answers are asked for, and the budget of this court is for 2"):
        score(made, [entrant], "ndcg@10,recall@5,recall@10")
    assert spent(made) == ["judge:count"]
    monkeypatch.undo()
    score(made, [entrant], "ndcg@10,recall@5")
    assert made.left == 0
    for ask in (lambda: score(made, [entrant], "map@5"), lambda: climb(made, entrant),
                lambda: compare(made, entrant, entrant)):  # fmt: skip
        with pytest.raises(RecveilError, match="nothing was spent"):
            ask()


def test_two_scorers_at_once_both_get_answers_and_the_budget_holds(tmp_path: Path) -> None:
    made = court(tmp_path, scores=3)
    entrants = [enter(made, saved(tmp_path, random_weights(k), f"m{k}")) for k in range(5)]
    refused: list[str] = []

    def one(k: int) -> None:
        try:
            score(open_court(made.path), [entrants[k]])
        except RecveilError as why:
            refused.append(str(why))

    threads = [threading.Thread(target=one, args=(k,)) for k in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made.answers()) == 3 and len(refused) == 2
    assert sum(line["rho"] for line in made.lines()) <= made.settled.rho * (1 + 1e-9)


def test_the_answer_comes_at_a_time_fixed_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = court(tmp_path, seconds=7.0)
    clock, slept = [100.0], []
    monkeypatch.setattr(scoring.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(scoring.time, "sleep", slept.append)
    with scoring.due(made, []):
        clock[0] += 1.5  # whatever the work took
    with scoring.due(made, []):
        clock[0] += 6.25
    assert slept == [5.5, 0.75]
    network = Submission("0" * 64, "network", 1, 0, Serving(0.0))
    with scoring.due(made, [network]):
        pass
    most = made.settled.people + 6 * made.settled.count_variance**0.5
    assert slept[-1] == pytest.approx(
        7.0 + most * (made.settled.each + 0.02)
    )  # whoever is judged, and each to the last


def test_an_answer_has_the_same_form_whoever_is_judged(tmp_path: Path) -> None:
    few = court(tmp_path / "few", log(3))
    many = court(tmp_path / "many", log(300))
    forms = []
    for made in (few, many):
        found = score(made, [enter(made, saved(tmp_path, random_weights()))])[0]
        forms.append({name: type(value) for name, value in vars(found).items()})
    assert forms[0] == forms[1]


# --- noise and intervals --------------------------------------------------------------------------------------


def test_values_and_intervals_are_those_of_the_noise(tmp_path: Path) -> None:
    frame = log(400)
    made = court(tmp_path, frame, scores=5, epsilon=2.0)
    people = made.people()
    one, other = (enter(made, saved(tmp_path, MODELS[k](), k)) for k in ("weights", "list"))
    truth = {e.name: values(e.submission.lists(people, 10), people, "ndcg@10").mean() / ONE for e in (one, other)}
    for found in score(made, [one, other]):
        assert abs(found.value - truth[found.name]) < 2 * found.noise
        sums, count = (5 / (2 * 0.95 * made.settled.rho)) ** 0.5, found.value * made.settled.count_variance**0.5
        assert found.noise == pytest.approx(1.96 * np.hypot(sums, count) / made.settled.people, rel=1e-3)
    gap = compare(made, one, entered(made, "list"))
    assert abs(gap.value - (truth["weights"] - truth["list"])) < 2 * gap.noise
    assert gap.other == "list" and gap.name == "weights"


def test_a_comparison_has_the_sign_and_the_spread_of_its_people(tmp_path: Path) -> None:
    """With hardly any noise it is what ir-measures would say, either way round."""
    made = court(tmp_path, log(400), epsilon=2000.0)
    people = made.people()
    orders = {"popular": range(ITEMS), "rare": range(ITEMS - 1, -1, -1)}
    one, other = (enter(made, saved(tmp_path, pl.DataFrame({"item": list(o)}), name)) for name, o in orders.items())
    each = [values(e.submission.lists(people, 10), people, "ndcg@10") / ONE for e in (one, other)]
    gap = each[0] - each[1]
    for found, truth in ((compare(made, one, other), gap), (compare(made, other, one), -gap)):
        assert found.value == pytest.approx(truth.mean(), abs=0.005) and abs(truth.mean()) > 0.02
        assert found.sample == pytest.approx(1.96 * truth.std() / len(people) ** 0.5, rel=0.05)


@dataclass(frozen=True)
class Serving:
    """A model that gives the first `share` of the people what they look for, and the others nothing."""

    share: float

    def lists(self, people: Histories, n: int) -> Any:
        made = np.full((len(people), n), -1, dtype=np.int32)
        served = round(self.share * len(people))
        made[:served, 0] = people.wanted[people.bounds[:served]]
        return made


def test_the_ladder_pays_for_steps_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred submissions of which eight improve by more than a step and its noise; the others do not improve."""
    made = court(tmp_path, log(600), epsilon=16.0, scores=12, people=0.9, step=None, metrics="hit@1")
    step, rng = made.settled.step, np.random.default_rng(0)
    assert 0.01 < step < 0.06
    levels = 0.1 * np.arange(1, 9)
    shares = [levels[k // 25] if k % 25 == 0 else levels[k // 25] * rng.random() for k in range(200)]
    entrants = {f"{k:064d}": Entrant(f"n{k}", Submission(f"{k:064d}", "fake", 1, 0, Serving(share)))
                for k, share in enumerate(shares)}  # fmt: skip
    monkeypatch.setattr(ladder, "entered", lambda _, sha256: entrants[sha256])
    answers = [climb(made, entrant) for entrant in entrants.values()]
    better = [k for k, answer in enumerate(answers) if answer.better]
    paid = [line for line in made.lines() if line["mechanism"].startswith("judge:ladder")]
    false = [k for k in better if k % 25]
    assert set(range(0, 200, 25)) <= set(better)
    assert len(false) <= 3  # at most one in a hundred is stated
    assert len(paid) == standing(made).rounds + 1 == len(better) + 1
    assert made.left == 12 - len(paid)


def test_false_steps_are_as_rare_as_stated() -> None:
    from recveil.dp.noise import draw, laplace
    from recveil.randomness import seeded

    rho, people, step = 0.01, 500, 0.2
    b = ladder.scale(rho)
    n = 20_000
    noise = draw(laplace(2 * b), n, seeded(1)) - draw(laplace(b), n, seeded(2))
    share = float(np.mean(noise >= step * ONE * people))
    stated = false_rate(step, people, rho)
    assert 0.01 < share < stated * 1.1 and stated < share * 1.15
    assert ladder.false_rate(ladder.step_for(people, rho), people, rho) <= 0.01


# --- the board ------------------------------------------------------------------------------------------------


def test_a_board_says_ties_as_ties_and_nothing_but_answers(tmp_path: Path) -> None:
    made = court(tmp_path, log(400), epsilon=8.0)
    for name, table in (
        ("same", random_weights()),
        ("twin", random_weights().reverse()),
        ("<b>list</b>", ranked_list()),
    ):
        score(made, [enter(made, saved(tmp_path, table), name)])
    score(made, [enter(made, saved(tmp_path, random_weights(9)), "of the owner", owner_only=True)])
    compare(made, entered(made, "same"), entered(made, "<b>list</b>"))
    said = board(made)
    rows = {row["name"]: row for row in said["tables"][0]["rows"]}
    assert set(rows) == {"same", "twin", "<b>list</b>"}
    assert (rows["same"]["first"], rows["same"]["last"]) == (rows["twin"]["first"], rows["twin"]["last"])
    assert rows["same"]["first"] != rows["same"]["last"]
    assert len(said["comparisons"]) == 1 and said["left"] == 20 - 5
    (made.path / "people.npz").unlink()  # a board looks at nobody
    assert {**board(made), "date": ""} == {**said, "date": ""}
    save_board(made, tmp_path / "board.html")
    page = (tmp_path / "board.html").read_text()
    assert "<b>list</b>" not in page and "&lt;b&gt;list&lt;/b&gt;" in page
    assert "tied" in page and "of the owner" not in page
    assert "http" not in page.replace("http-equiv", "") and "<script" not in page
    assert json.loads((tmp_path / "board.json").read_text())["tables"] == said["tables"]


def test_a_board_is_signed_and_a_changed_one_is_noticed(tmp_path: Path) -> None:
    from recveil.releases.keys import load_key, new_key

    made = court(tmp_path, seed=None)
    score(made, [enter(made, saved(tmp_path, random_weights()))])
    print_ = new_key(tmp_path / "owner.key")
    save_board(made, tmp_path / "board.html", load_key(tmp_path / "owner.key"))
    (tmp_path / "trust").write_text(f"{print_} owner The shop\n")
    from recveil.governance.trust import read_trust

    trust = read_trust(tmp_path / "trust")
    assert not verify_board(tmp_path / "board.html", trust)[1].problems
    page = tmp_path / "board.html"
    page.write_text(page.read_text().replace("model", "modal"))
    assert verify_board(tmp_path / "board.json", trust)[1].problems
    seeded = court(tmp_path / "seeded")
    with pytest.raises(RecveilError, match="an experiment is not for publication"):
        save_board(seeded, tmp_path / "other.html", load_key(tmp_path / "owner.key"))


# --- the faces ------------------------------------------------------------------------------------------------


def test_the_whole_way_by_commands(recveil: Any, tmp_path: Path) -> None:
    log(300).write_csv(tmp_path / "log.csv")
    catalogue(tmp_path)
    saved(tmp_path, random_weights())
    public = ("--catalogue", "items.txt", "--catalogue-is-public", "--ledger", "people.jsonl")
    wishes = ("--people", "40%", "--epsilon", 4, "--answer-after", 0, "--scores", 20)
    recveil("judge", "new", "log.csv", *public, *wishes, "-o", "court")
    recveil("release", "log.csv", "--with", "dp-streams:epsilon=4,delta=1e-6", *public, "-o", "out")
    found = recveil("judge", "score", "court", "out", json_answer=True)
    assert [a["name"] for a in found["answers"]] == ["most-popular", "item-knn"]
    assert all(a["reference"] for a in found["answers"])
    done = recveil("judge", "score", "court", "model.parquet", "--name", "team-a", "--metric", "ndcg@10,recall@20")
    assert "team-a: ndcg@10" in done.stdout and "weights" in done.stderr
    assert "team-a over item-knn: ndcg@10" in recveil("judge", "compare", "court", "team-a", "item-knn").stdout
    recveil("judge", "score", "court", "model.parquet", "--ladder")
    recveil("keys", "new", "owner.key")
    recveil("judge", "board", "court", "-o", "board.html", "--sign", "owner.key")
    assert "the files hold" in recveil("verify", "board.html").stdout
    (tmp_path / "board.json").write_text((tmp_path / "board.json").read_text().replace("team-a", "team-b"))
    assert "not verified" in recveil("verify", "board.html", code=3).stdout
    shown = recveil("ledger", "show", "--ledger", "people.jsonl").stdout
    assert "judge:count" in shown and "judge:score ndcg@10" in shown


def test_in_python_it_is_the_same_court(tmp_path: Path) -> None:
    frame = log(200)
    made = package.judge(frame, tmp_path / "court", ledger=tmp_path / "l.jsonl", catalogue_is_public=True, people=0.5,
                         seconds=0.0, epsilon=4.0, scores=9, step=0.001)  # fmt: skip
    (found,) = made.score(saved(tmp_path, random_weights()), name="mine")
    assert package.judge(tmp_path / "court").score(tmp_path / "model.parquet") == [found]
    assert isinstance(made.ladder(tmp_path / "model.parquet"), bool)
    assert made.left == 7 and made.frame()["name"].to_list() == ["mine", "model"]
    assert made.board()["tables"][0]["rows"][0]["name"] == "mine"


@pytest.mark.data
@pytest.mark.parametrize(("name", "people"), [("ml-1m", 1500), ("diginetica", 6000)])
def test_referees_on_real_data_have_the_values_of_ir_measures(
    name: str, people: int, real_data: Path, tmp_path: Path
) -> None:
    """Item-knn and most-popular as submissions: the same lists as the referees themselves, and ir-measures' values."""
    from recveil.court.references import neighbours, popular
    from recveil.data import align
    from recveil.evaluation.recommenders import recommend

    frame = real_frame(real_data, name, people)
    made = court(tmp_path, frame, people=0.3, items=None, catalogue_is_public=True)
    judged = made.people()
    train = interactions(frame).over_items(made.items())
    tables = {"item-knn": neighbours(train), "most-popular": popular(train)}
    starts, history = judged.starts, judged.history
    who = np.repeat(np.arange(len(judged)), np.diff(starts))
    query = package.from_frame(pl.DataFrame({"user": who, "item": made.items().gather(history)}))
    query, _ = align(query.over_items(made.items()), train)
    for ranker, table in tables.items():
        found = enter(made, saved(tmp_path, table)).submission.lists(judged, 20)
        theirs = recommend(RANKERS[ranker].fit(train, 0), query, 20)
        with_history = np.flatnonzero(np.diff(starts))
        # but for ties, which single precision breaks otherwise, the lists are those of the referee
        assert np.mean(found[with_history] == theirs) > (0.97 if ranker == "item-knn" else 1 - 1e-9)
        whole = np.full_like(found, -1)
        whole[with_history] = theirs
        for metric in ("ndcg@10", "recall@20"):
            exact = values(found, judged, metric) / ONE
            assert exact.mean() == pytest.approx(np.mean(by_hand(whole, judged, metric)), abs=0.001)
            np.testing.assert_allclose(exact, by_hand(found, judged, metric), atol=0.00051)


def real_frame(folder: Path, name: str, people: int) -> pl.DataFrame:
    if name == "diginetica":
        rows = pl.read_parquet(folder / name / "sessions.parquet").select(user="session", item="clicks")
        rows = rows.with_columns(time=pl.int_ranges(pl.col("item").list.len())).explode("item", "time")
    else:
        rows = pl.read_parquet(folder / name / "ratings.parquet").select("user", "item", time="order")
    chosen = rows["user"].unique().sort()
    chosen = chosen.gather_every(len(chosen) // people)
    return rows.filter(pl.col("user").is_in(chosen.implode()))


def test_the_generated_histories_are_public() -> None:
    one, two = generated(ITEMS), generated(ITEMS)
    assert np.array_equal(one.history, two.history) and len(one) == 64
    assert all(len(set(one.history[a:b])) == b - a for a, b in zip(one.starts, one.starts[1:], strict=False))
