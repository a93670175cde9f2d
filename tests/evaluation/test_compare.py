"""compare: the same people for all, useless data shown as useless, a second run that is quick."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
import polars as pl
import pytest

from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.evaluation.advice import advise, fitting
from recveil.evaluation.cache import Cache, fingerprint
from recveil.evaluation.candidates import candidates
from recveil.evaluation.catalogue import MEASURES
from recveil.evaluation.compare import compare
from recveil.evaluation.design import Design, measures, split
from recveil.evaluation.estimate import estimate
from recveil.evaluation.metrics.lift import lift
from recveil.evaluation.recommenders import RANKERS
from recveil.measurement import attempt, trial
from recveil.mechanisms import MECHANISMS
from recveil.mechanisms.spec import parse
from recveil.releases.release import release
from recveil.samples import sample

FEW = ("linkage", "lift", "ranking")
STREAMS = "dp-streams:epsilon=60,delta=0.01"


@pytest.fixture(scope="module")
def films() -> Interactions:
    return sample("films?users=300")


def test_split_keeps_people_apart_and_items_together(films: Interactions) -> None:
    parts = split(films, 0.2, [0, 0])
    train, held = set(parts.train.users), set(parts.holdout.users)
    assert not train & held and train | held == set(films.users)
    assert len(parts.query) + len(parts.result) == len(parts.holdout)
    for part in (parts.train, parts.holdout, parts.query, parts.result):
        assert part.items.equals(films.items)
    again = split(films, 0.2, [0, 0])
    assert again.query.equals(parts.query) and not split(films, 0.2, [1, 0]).train.equals(parts.train)


def test_people_are_shown_what_came_first(films: Interactions) -> None:
    parts = split(films, 0.2, [0, 0])
    assert parts.query.time is not None and parts.result.time is not None
    last = np.full(parts.query.n_users, -1)
    np.maximum.at(last, parts.query.user, parts.query.time)
    assert np.all(parts.result.time >= last[parts.result.user])


@pytest.mark.parametrize("world", ["films", "sessions"])
def test_items_permuted_across_users_have_no_lift(world: str) -> None:
    """Marginals kept, people destroyed: quality scores of tables call such data good; a recommender learns nothing."""
    data = sample(world)
    parts = split(data, 0.2, [0, 0])
    rng = np.random.default_rng(5)
    permuted = replace(parts.train, item=rng.permutation(parts.train.item))
    useless = trial(parts.train, permuted, holdout=parts.holdout, query=parts.query, result=parts.result)
    referees = tuple(RANKERS[name] for name in ("item-knn", "ease"))
    found = {m.params["referee"]: m for m in lift(useless, rng, referees) if m.name == "lift"}
    assert set(found) == {"all", "item-knn", "ease"}
    for m in found.values():
        assert m.high < 0.1, f"{m.params['referee']}: {m.value:.2f} [{m.low:.2f}, {m.high:.2f}]"


def test_a_second_run_finds_everything_in_the_cache(
    films: Interactions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Design(quick=True, only=FEW)
    first = compare(films, ["pseudonymise"], plan, cache=Cache(tmp_path))

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("a release was made again")

    monkeypatch.setattr("recveil.evaluation.compare.release", never)
    steps: list[str] = []
    second = compare(films, ["pseudonymise"], plan, cache=Cache(tmp_path), step=steps.append)
    assert second.record() == first.record()
    assert len(steps) == 1 + len(FEW)
    text = "".join(p.read_text(encoding="utf-8") for p in tmp_path.iterdir())
    assert not any(str(user) in text for user in films.users if len(str(user)) > 4)
    with pytest.raises(AssertionError, match="made again"):  # another split is another key
        compare(films, ["pseudonymise"], replace(plan, seed=1), cache=Cache(tmp_path))


def test_an_interrupted_comparison_goes_on_where_it_stopped(
    films: Interactions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[tuple[str, str | None]] = []

    def watched(trial: Any, name: str, function: Any, seed: int, mechanism: str | None) -> Any:
        measured.append((name, mechanism))
        return attempt(trial, name, function, seed, mechanism)

    def until_the_second_mechanism(done: str) -> None:
        if done == "random-ratings: linkage":
            raise KeyboardInterrupt

    monkeypatch.setattr("recveil.evaluation.compare.attempt", watched)
    given, design = ["pseudonymise", "random-ratings"], Design(only=("linkage", "popularity"), shadows=0)
    with pytest.raises(KeyboardInterrupt):
        compare(films, given, design, cache=Cache(tmp_path), step=until_the_second_mechanism)
    before = [*measured]
    measured.clear()
    report = compare(films, given, design, cache=Cache(tmp_path))
    assert before == [("linkage", "pseudonymise"), ("popularity", "pseudonymise"), ("linkage", "random-ratings")]
    assert measured == [("popularity", "random-ratings")]
    fresh = compare(films, given, design)
    assert [m.record() for m in report.measurements] == [m.record() for m in fresh.measurements]


def test_one_release_at_a_time_stands_in_memory(films: Interactions, monkeypatch: pytest.MonkeyPatch) -> None:
    alive: list[Any] = []

    def noted(*given: Any, **more: Any) -> Any:
        assert not any(one() for one in alive), "the release before is gone"
        made = release(*given, **more)
        alive.append(ref(made.data))
        return made

    monkeypatch.setattr("recveil.evaluation.compare.release", noted)
    compare(films, ["pseudonymise", "random-ratings"], Design(only=("linkage", "ranking"), quick=True, shadows=0))
    assert len(alive) == 2


def test_what_a_mechanism_chose_is_chosen_once_though_halves_are_released_too(
    films: Interactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recveil.mechanisms import mask

    chosen = []
    monkeypatch.setattr(mask, "best_p", lambda data, _: chosen.append(data.n_users) or 0.9)
    report = compare(films, ["mask"], Design(only=("shadow",), shadows=8))
    assert report.measurements and not report.skipped
    assert len(chosen) == 1


def test_a_broken_cache_is_no_reason_to_stop(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put({"a": 1}, "key")
    assert cache.get("key") == {"a": 1} and cache.get("other") is None
    next((tmp_path / "cache").iterdir()).write_text("{half", encoding="utf-8")
    assert cache.get("key") is None
    (tmp_path / "file").write_text("", encoding="utf-8")
    Cache(tmp_path / "file").put({}, "key")  # not a folder: nothing is kept, nothing is raised
    assert Cache(None).get("key") is None


def test_the_fingerprint_tells_data_apart() -> None:
    """Whatever one field they differ in; a field that is added to Interactions wants a line here."""
    one = from_ids(
        pl.Series([1, 1, 2]), pl.Series(["a", "b", "a"]), np.array([1.0, 2.0, 3.0]), np.array([5, 6, 7]),
        pl.Series(["x", "y", "x"]), session=pl.Series(["s", "t", "s"]),
    )  # fmt: skip
    changed: dict[str, Any] = {
        "user": np.array([0, 0, 0], np.int32), "users": pl.Series([1, 3]), "item": np.array([0, 1, 1], np.int32),
        "items": pl.Series(["a", "c"]), "rating": np.array([1.0, 2.0, 4.0]), "time": np.array([5, 6, 8]),
        "tag": np.array([1, 1, 0], np.int32), "tags": pl.Series(["x", "z"]), "unit": "session",
        "untyped": frozenset({"item"}), "session": np.array([1, 1, 2], np.uint64), "levels": (1.0, 2.0, 3.0),
    }  # fmt: skip
    assert changed.keys() == {field.name for field in fields(Interactions)}
    logs = [one, *(replace(one, **{name: value}) for name, value in changed.items())]
    logs += [replace(one, rating=None), replace(one, tag=None, tags=None), replace(one, users=pl.Series(["1", "2"]))]
    logs += [replace(one, items=pl.Series(["a\0", "b"])), one.take(np.array([1, 0, 2]))]
    assert len({fingerprint(log) for log in logs}) == len(logs)
    assert fingerprint(one) == fingerprint(replace(one))


def test_logs_that_differ_in_sessions_alone_have_figures_of_their_own(tmp_path: Path) -> None:
    """One cache for both: what was measured on the first is not told of the second."""
    rng = np.random.default_rng(1)
    user, item = (pl.Series(rng.integers(0, n, 900)) for n in (60, 20))
    session = pl.Series(rng.integers(0, 4, 900))
    logs = [from_ids(user, item, time=np.arange(900), session=one) for one in (session, session // 2)]
    design = Design(quick=True, only=("popularity",))

    def figures(cache: Cache) -> list[list[float]]:
        return [[m.value for m in compare(log, [STREAMS], design, cache=cache).measurements] for log in logs]

    assert figures(Cache(tmp_path / "shared")) == figures(Cache(None))


def test_all_mechanisms_meet_the_same_people(films: Interactions) -> None:
    report = compare(films, ["pseudonymise", "random-ratings"], Design(quick=True, only=FEW))
    assert [e.spec for e in report.entries] == ["pseudonymise", "random-ratings"]
    real = [[(m.name, dict(m.params), m.value) for m in report.measurements if m.mechanism == e.spec
             and m.params.get("trained_on") == "real"] for e in report.entries]  # fmt: skip
    assert real[0] == real[1] and real[0]
    plain = report.lift(report.entries[0])
    assert plain is not None and plain.value == pytest.approx(1, abs=0.02)
    found, masked = (report.found(e) for e in report.entries)
    assert found is not None and masked is not None
    assert found.low > 0.8 and masked.low > 0.8  # who rated what is unchanged, and that is enough
    assert report.meta["held_out"] == 60 and report.meta["trained"] == 240


def test_a_measure_that_cannot_be_made_is_left_out_with_its_reason(
    films: Interactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RecveilError("there is nobody to measure")

    monkeypatch.setitem(MEASURES, "linkage", replace(MEASURES["linkage"], run=broken))
    report = compare(films, ["pseudonymise"], Design(only=("linkage",)))
    assert report.skipped == ("linkage of pseudonymise: there is nobody to measure",)
    assert not report.measurements


def test_a_mechanism_that_refuses_does_not_stop_the_others(
    films: Interactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise RecveilError("random-ratings: too few people")

    def swell(*_: Any, **__: Any) -> Any:
        return np.ones(2**48)

    for plan, line in (
        (refuse, "random-ratings: too few people"),
        (swell, "random-ratings: there is not enough memory for it"),
    ):
        monkeypatch.setattr(MECHANISMS["random-ratings"], "plan", plan)
        report = compare(films, ["random-ratings", "pseudonymise"], Design(only=("linkage",)))
        assert [e.spec for e in report.entries] == ["pseudonymise"]
        assert report.skipped == (line,)
        with pytest.raises(RecveilError, match=line):
            compare(films, ["random-ratings"], Design(only=("linkage",)))


def test_a_release_without_enough_memory_is_one_line(
    recveil: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MECHANISMS["random-ratings"], "plan", lambda *_: np.ones(2**48))
    done = recveil("release", "sample:films", "--with", "random-ratings", "-o", "out", code=1)
    assert done.stderr == "recveil: there is not enough memory for it; nothing half written is left behind\n"
    assert not list(tmp_path.iterdir())


def test_wrong_requests_are_one_clear_line(films: Interactions) -> None:
    with pytest.raises(RecveilError, match="unknown measure 'linkag'; did you mean linkage"):
        measures(Design(only=("linkag",)))
    with pytest.raises(RecveilError, match="at least one mechanism"):
        candidates(films, [])
    with pytest.raises(RecveilError, match="holdout must be strictly between 0 and 1, not 1"):
        Design(holdout=1)
    with pytest.raises(RecveilError, match="too few to compare on"):
        split(sample("films?users=30"), 0.2, [0, 0])
    clicks = replace(films, rating=None)
    with pytest.raises(RecveilError, match="random-ratings needs a rating column"):
        candidates(clicks, ["pseudonymise", "random-ratings"])
    assert len(candidates(films, ["pseudonymise", "pseudonymise"])) == 1


def test_the_estimate_grows_with_the_work(films: Interactions) -> None:
    one = candidates(films, ["pseudonymise"])
    two = candidates(films, ["pseudonymise", "random-ratings"])
    flipped = candidates(films, ["pseudonymise", "mask:p=0.7"])
    names = list(measures(Design()))
    assert estimate(films, two, names, Design()).seconds > estimate(films, one, names, Design()).seconds
    assert estimate(films, two, ["linkage"], Design()).seconds < estimate(films, two, names, Design()).seconds
    assert "of memory" in str(estimate(films, two, names, Design()))
    few, many = estimate(films, two, names, Design()), estimate(films, flipped, names, Design())
    assert many.seconds > few.seconds and many.megabytes > few.megabytes, "mask invents rows, and they are judged too"


def test_advice_speaks_of_every_mechanism(films: Interactions) -> None:
    assert {a.mechanism for a in advise(films)} == set(MECHANISMS)
    assert all(m.purpose for m in MECHANISMS.values()), "a mechanism says in its class what it is for"
    clicks = replace(films, rating=None)
    unfit = {a.mechanism: a.why for a in advise(clicks) if not a.fits}
    assert "needs a rating column" in unfit["random-ratings"]
    assert "random-ratings" not in fitting(clicks) and "pseudonymise" in fitting(clicks)
    for spec in fitting(films):
        parse(spec).check_fit(films)


def test_the_command_writes_a_report_and_answers_in_json(recveil: Callable[..., Any], tmp_path: Path) -> None:
    arguments = [
        "compare",
        "sample:films?users=150",
        "--with",
        "pseudonymise",
        "--only",
        "linkage,lift,ranking",
        "--quick",
    ]
    document = recveil(*arguments, "-o", "report.html", "--no-cache", json_answer=True)
    assert {"measurements", "verdict", "mechanisms", "advice", "report"} <= set(document)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h1>" in page and "viewer" in page and str(tmp_path) not in page
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["compare", "sample:films", "--with", "nothing"], "unknown mechanism"),
        (["compare", "sample:films", "--with", "pseudonymise", "--only", "lyft"], "unknown measure 'lyft'"),
        (["compare", "sample:films", "--with", "pseudonymise", "-o", "no/where/report.html"], "there is no folder"),
        (["compare", "sample:films", "--with", "pseudonymise", "--holdout", "0"], "holdout must be"),
        (["compare", "missing.csv", "--with", "pseudonymise"], "missing.csv"),
    ],
)
def test_the_command_refuses_in_one_line(recveil: Callable[..., Any], arguments: list[str], says: str) -> None:
    done = recveil(*arguments, code=1)
    assert says in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_of_very_many_held_out_people_some_are_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    from recveil.evaluation import design

    data = sample("films?users=300")
    whole = design.split(data, 0.2, [0, 0])
    monkeypatch.setattr(design, "JUDGES", 25)
    few = design.split(data, 0.2, [0, 0])
    assert few.holdout.n_users == whole.holdout.n_users == whole.query.n_users == 60
    assert few.query.n_users == few.result.n_users == 25
    assert set(few.query.users) <= set(whole.holdout.users) and few.query.users.equals(few.result.users)
    assert few.train.users.equals(whole.train.users)


def movielens(folder: Path) -> Interactions:
    rows = pl.read_parquet(folder / "ml-100k" / "ratings.parquet")
    return from_ids(rows["user"], rows["item"], rating=rows["rating"].to_numpy(), time=rows["timestamp"].to_numpy())


@pytest.mark.slow
@pytest.mark.parametrize("log", ["films", pytest.param("ml-100k", marks=pytest.mark.data)])
def test_the_best_proved_release_is_named_first_and_epsilon_100_never(log: str, request: pytest.FixtureRequest) -> None:
    data = sample("films") if log == "films" else movielens(request.getfixturevalue("real_data"))
    wide = "dp-streams:epsilon=100,delta=0.1"
    given = ["pseudonymise", "microaggregation", wide, "dp-streams:epsilon=8,delta=1e-6"]
    only = (*FEW, *(() if log == "films" else ("shadow",)))
    report = compare(data, given, Design(quick=True, only=only))
    said = report.record()["verdict"][0]
    print(said)
    assert re.match(r"Best with a promise: dp-streams:epsilon=8\S* \(epsilon 8 for a person\), which keeps", said), said
    assert "epsilon=100" not in said and "epsilon 100" not in said


def test_a_release_of_other_data_is_said_to_be(films: Interactions) -> None:
    other = films.take(films.item < 20).compact()
    item = [*other.items.to_list(), *(f"unheard of {n}" for n in range(60))]
    rows = from_ids(pl.Series(np.arange(len(item)) % 7), pl.Series(item), rating=np.full(len(item), 3.0))
    report = compare(films, ["pseudonymise", rows], Design(only=("popularity",), shadows=0))
    said = next(line for line in report.record()["verdict"] if "no release of these data" in line)
    assert f"only {len(other.items)} of its {len(item)} items are in the data" in said
