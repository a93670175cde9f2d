"""One person moves what a court answers no farther than its proof says: sensitivity, an attacker, and planted bugs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from courts import ITEMS, MODELS, Loose, court, log, loose, random_vectors, random_weights, ranked_list, saved
from epsilons import lower_bound

from recveil.actions.publish import ReleaseRequest, run_release
from recveil.court import people as peoples
from recveil.court import scoring, submissions, values
from recveil.court.folder import Court
from recveil.court.scoring import Entrant, enter, score
from recveil.dp.budget import variance as honest_variance
from recveil.randomness import Source
from recveil.releases import aside
from recveil.releases.inputs import Input

METRICS = ("ndcg@10", "recall@5", "map@10", "hit@1", "precision@3")
HER = 1000  # set aside under the fixed key of the tests


def her(rows: int, items: list[int] | None = None) -> pl.DataFrame:
    return pl.DataFrame({"user": [HER] * rows, "item": items or list(range(rows)), "time": list(range(rows))})


NEIGHBOURS = {
    "an ordinary person": her(6),
    "one with everything": her(ITEMS),
    "one with a single row": her(1),
    "one with nothing in the catalogue": her(3, [900, 901, 902]),
    "one with times that are far off": her(6).with_columns(time=pl.Series([10**15 + k for k in range(6)])),
}


def sums(made: Court, folder: Path) -> dict[str, int]:
    """What reaches the noise, for every kind of model and metric, and the number of people."""
    people = made.people()
    found = {"people": len(people)}
    for kind, model in MODELS.items():
        lists = enter(made, saved(folder, model())).submission.lists(people, 10)
        for metric in METRICS:
            each = values.values(lists, people, metric)
            found[f"{kind} {metric}"] = int(each.sum())
            other = values.values(
                enter(made, saved(folder, ranked_list(7))).submission.lists(people, 10), people, metric
            )
            found[f"{kind} over a list {metric}"] = int((each - other).sum())
    return found


def one_person_moves_no_sum_beyond_the_bound(folder: Path) -> None:
    frame = log()
    apart = sums(court(folder / "without", frame), folder)
    for number, (name, rows) in enumerate(NEIGHBOURS.items()):
        joined = sums(court(folder / f"with{number}", pl.concat([frame, rows])), folder)
        for what, value in joined.items():
            bound = 1 if what == "people" else values.ONE
            assert abs(value - apart[what]) <= bound, f"{name}: {what}"


def test_one_person_moves_no_sum_beyond_the_bound(tmp_path: Path) -> None:
    one_person_moves_no_sum_beyond_the_bound(tmp_path)
    people = [len(court(tmp_path / f"n{k}", frame).people()) for k, frame in
              enumerate((log(), pl.concat([log(), her(6)])))]  # fmt: skip
    assert people[1] == people[0] + 1  # she is one of those who are judged: else nothing was tried


def test_the_lists_of_others_stay_as_they_are() -> None:
    """Bit by bit, in any block of people: a sum in another order could turn a tie."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((37, 200)).astype(np.float32)
    model = submissions.Vectors(vectors, np.zeros(200, np.float32), np.ones(200, np.bool_))
    lengths = rng.integers(1, 30, 150)
    history = np.concatenate([rng.choice(200, n, replace=False) for n in lengths]).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    none, nothing = np.zeros(151, np.int64), np.zeros(0, np.int32)
    whole = model.lists(peoples.Histories(starts, history, none, nothing), 50)
    for first in (1, 63, 100):
        part = peoples.Histories(starts[first:] - starts[first], history[starts[first] :], none[first:], nothing)
        np.testing.assert_array_equal(model.lists(part, 50), whole[first:])


def test_a_score_that_is_not_finite_is_a_zero_for_her_alone(tmp_path: Path) -> None:
    frame = pl.concat([log(), her(4, [0, 1, 2, 3])])
    made = court(tmp_path, frame)
    table = random_vectors()
    vectors = np.array(table["vector"].to_list())
    sound = enter(made, saved(tmp_path, table)).submission.lists(made.people(), 10)
    vectors[[28, 29], 0] = 3e38  # each is finite, and their sum is not
    table = table.with_columns(vector=pl.Series(vectors.tolist(), dtype=pl.List(pl.Float32)))
    people = made.people()
    lists = enter(made, saved(tmp_path, table)).submission.lists(people, 10)
    both = np.array(
        [{28, 29} <= set(people.history[a:b]) for a, b in zip(people.starts, people.starts[1:], strict=False)]
    )
    np.testing.assert_array_equal((lists < 0).all(axis=1) >= both, True)
    assert not (sound < 0).all(axis=1).any()
    found = values.values(lists, people, "ndcg@10")
    assert (found[both] == 0).all()


# --- an attacker who singles one person out -------------------------------------------------------------------

EPSILON, DELTA, TRIES = 1.0, 1e-3, 4


def singling_out(folder: Path) -> Callable[..., Any]:
    """A court with and without her, and submissions that serve her alone: from items that only she has to what she
    looks for. What an attacker sees are all answers, again and again.
    """
    rows = her(5, [25, 26, 27, 28, 29])
    others = log().filter(pl.col("item") < 25)
    sides = [court(folder / name, frame, epsilon=EPSILON, delta=DELTA, scores=TRIES, people=0.5)
             for name, frame in (("in", pl.concat([others, rows])), ("out", others))]  # fmt: skip
    tables = [pl.DataFrame({"item": [25, 26], "other": [29, 29], "weight": [1.0, 1.0 + k]}) for k in range(TRIES)]
    entrants = [_unchecked(sides[0], saved(folder, table, f"t{k}")) for k, table in enumerate(tables)]

    exact = []
    for side in sides:
        people = side.people()
        exact.append([values.values(e.submission.lists(people, 5), people, "recall@5").sum() for e in entrants])
    assert exact[0] == [values.ONE] * TRIES and exact[1] == [0] * TRIES

    def run(side: int, seed: int) -> dict[str, float]:
        asked: Loose = loose(sides[side], seed)
        found = [scoring._answer(asked, e, "recall@5", scoring.query(e.name), int(total))
                 for e, total in zip(entrants, exact[side], strict=True)]  # fmt: skip
        n = asked.settled.people
        return {f"try {k}": a.value * n for k, a in enumerate(found)} | {"all": sum(a.value for a in found) * n}

    return run


def _unchecked(made: Court, file: Path) -> Entrant:
    return Entrant(file.stem, submissions.read_submission(file, made.items(), 1.0))


def audited(folder: Path, runs: int = 400) -> float:
    run = singling_out(folder)
    return lower_bound(run, (0, 1), lambda seen: seen, runs=runs, delta=DELTA, seed=0).lower


def test_a_submission_that_singles_out_one_person_stays_below_the_bound(tmp_path: Path) -> None:
    assert audited(tmp_path) <= EPSILON


def test_without_noise_it_is_called_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "draw", lambda _, n, *__: np.zeros(n, dtype=np.int64))
    assert audited(tmp_path, 100) > EPSILON


# --- planted bugs ---------------------------------------------------------------------------------------------


def stays_below_the_bound(folder: Path) -> None:
    assert audited(folder, 200) <= EPSILON


def every_answer_has_noise_of_its_own(folder: Path) -> None:
    made = court(folder, epsilon=1.0)
    people = made.people()
    noise = []
    for k in range(3):
        entrant = enter(made, saved(folder, random_weights(k)))
        for metric, answer in zip(METRICS[:3], score(made, [entrant], METRICS[:3]), strict=True):
            exact = values.values(entrant.submission.lists(people, 10), people, metric).sum()
            noise.append(round(answer.value * values.ONE * made.settled.people) - int(exact))
    assert len(set(noise)) == len(noise) and 0 not in noise


def no_release_holds_who_is_judged(folder: Path) -> None:
    frame = log(100)
    made = court(folder, frame, seed=None)
    where = str(folder / "ledger.jsonl")
    run_release(ReleaseRequest(Input(frame), "pseudonymise", str(folder / "out"), ledger=where, outside_budget=True,
                               keep_map=str(folder / "map.csv")))  # fmt: skip
    released = pl.read_csv(folder / "map.csv")["original"]
    judged = aside.chance(where).names(frame["user"].unique(maintain_order=True).to_list()) < made.settled.share * 2**63
    assert not set(released) & set(frame["user"].unique(maintain_order=True).filter(pl.Series(judged)))


def a_line_stands_before_noise_is_drawn(folder: Path) -> None:
    made = court(folder)
    before = len(made.lines())
    drawn: list[int] = []
    honest = scoring.draw
    try:
        scoring.draw = lambda *given: (drawn.append(len(made.lines())), honest(*given))[1]  # type: ignore[assignment]
        score(made, [enter(made, saved(folder, random_weights()))])
    finally:
        scoring.draw = honest
    assert drawn == [before + 1]


def values_are_not_bounded(patch: pytest.MonkeyPatch) -> None:
    honest = values.values
    patch.setattr(values, "values", lambda lists, people, metric: honest(lists, people, metric) * 2)


def one_failure_is_everybodys(patch: pytest.MonkeyPatch) -> None:
    honest = submissions.Weights.lists

    def lists(self: Any, people: Any, n: int) -> Any:
        made = honest(self, people, n)
        return np.full_like(made, -1) if len(people.wanted) and np.any(np.diff(people.starts) >= ITEMS - 6) else made

    patch.setattr(submissions.Weights, "lists", lists)


def a_person_counts_by_how_much_she_did(patch: pytest.MonkeyPatch) -> None:
    honest = values.values
    patch.setattr(values, "values", lambda lists, people, metric: honest(lists, people, metric) *
                  np.diff(people.bounds))  # fmt: skip


def noise_for_a_norm_of_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scoring, "variance", lambda norm, rho: honest_variance(norm // 100, rho))


def one_stream_for_all_answers(patch: pytest.MonkeyPatch) -> None:
    honest = Source.derive
    patch.setattr(Source, "derive", lambda self, *name: honest(self, *name[:1] if name[0] == "score" else name))


def releases_forget_who_is_set_aside(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(aside, "share_aside", lambda entries: 0.0)  # noqa: ARG005


def the_line_comes_last(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Court, "spend", lambda *_: None)


BUGS = [
    (values_are_not_bounded, one_person_moves_no_sum_beyond_the_bound),
    (a_person_counts_by_how_much_she_did, one_person_moves_no_sum_beyond_the_bound),
    (one_failure_is_everybodys, one_person_moves_no_sum_beyond_the_bound),
    (noise_for_a_norm_of_one, stays_below_the_bound),
    (one_stream_for_all_answers, every_answer_has_noise_of_its_own),
    (releases_forget_who_is_set_aside, no_release_holds_who_is_judged),
    (the_line_comes_last, a_line_stands_before_noise_is_drawn),
]


@pytest.mark.parametrize("check", [every_answer_has_noise_of_its_own, no_release_holds_who_is_judged,
                                   a_line_stands_before_noise_is_drawn], ids=lambda c: c.__name__)  # fmt: skip
def test_the_checks_hold_without_a_bug(check: Any, tmp_path: Path) -> None:
    check(tmp_path)


@pytest.mark.parametrize(("bug", "check"), BUGS, ids=[bug.__name__ for bug, _ in BUGS])
def test_a_planted_bug_is_caught(bug: Any, check: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    with pytest.raises(AssertionError):
        check(tmp_path)
