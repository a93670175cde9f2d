"""Next items: worlds whose order is known, ranks against a slow twin, and data in which there is no order to judge."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.evaluation.catalogue import MEASURES
from recveil.evaluation.metrics.lift import lift
from recveil.evaluation.metrics.next_item import (
    MOVES,
    NETWORKS,
    REFEREES,
    asked_of,
    check_order,
    next_item,
    ranked,
    reached,
)
from recveil.evaluation.metrics.ranking import REFEREES as RANKERS
from recveil.evaluation.recommenders import SEQUENCERS
from recveil.evaluation.recommenders.sequential import AskedStreams
from recveil.measurement import Measurement, SkippedError, Trial, attempt, measure
from recveil.report.table import Entry, Report
from recveil.report.text import text
from recveil.splits import QuerySplit, before_and_after, horizontal

ITEMS = 60


def rounds(people: int = 400, seed: int = 0) -> Interactions:
    """Everybody goes round one of three rings of twenty items, from somewhere on, at times by a jump of two."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        ring, at = rng.integers(3), int(rng.integers(20))
        for step in range(int(rng.integers(4, 12))):
            rows.append((person, 20 * ring + at % 20, step))
            at += 1 + (rng.random() < 0.2)
    user, item, time = np.array(rows).T
    return from_ids(pl.Series(user), pl.Series(item), time=time).over_items(pl.Series(np.arange(ITEMS)))


def parts(data: Interactions) -> QuerySplit:
    train, test = horizontal(data, 0.75, np.random.default_rng(0))
    return QuerySplit(train, *before_and_after(test, np.random.default_rng(0)))


def trial(released: Interactions | None = None) -> Trial:
    split = parts(rounds())
    made = split.train.take(np.arange(len(split.train))) if released is None else released
    return Trial(split.train, made, query=split.query, result=split.result)


def reversed_order(data: Interactions) -> Interactions:
    assert data.time is not None
    return replace(data, time=-data.time)


def permuted(data: Interactions) -> Interactions:
    return replace(data, item=np.random.default_rng(5).permutation(data.item))


def by_referee(found: list[Measurement], name: str) -> dict[str, Measurement]:
    return {m.params["referee"]: m for m in found if m.name == name}


def test_what_follows_is_told_from_the_last_item() -> None:
    found = measure(trial(), {"next-item": next_item}, 0)
    reach = {(m.params["referee"], m.params["trained_on"]): m.value for m in found if m.name == "next hit rate"}
    assert reach["markov", "real"] == reach["markov", "release"] > 0.95
    assert reach["session-knn", "real"] > 0.9 > 0.5 > reach["most-popular", "real"]
    assert set(by_referee(found, "sequence lift")) == {"all", "session-knn", "markov"}
    assert all(m.value == pytest.approx(1.0) for m in by_referee(found, "sequence lift").values())


def test_items_permuted_across_people_teach_no_order() -> None:
    split = parts(rounds())
    found = measure(trial(permuted(split.train)), {"next-item": next_item}, 0)
    assert all(m.high < 0.1 for m in by_referee(found, "sequence lift").values())


def test_reversing_the_order_lowers_markov_and_not_ease() -> None:
    split = parts(rounds())
    backwards = trial(reversed_order(split.train))
    lifts = by_referee(measure(backwards, {"next-item": next_item}, 0), "sequence lift")
    assert lifts["markov"].high < 0.5 and lifts["session-knn"].value == pytest.approx(1.0)
    ease = [r for r in RANKERS if r.name == "ease"]
    assert by_referee(lift(backwards, np.random.default_rng(0), ease), "lift")["ease"].value == pytest.approx(1.0)


@pytest.mark.data
@pytest.mark.slow
def test_on_real_clicks_an_order_that_is_not_theirs_teaches_nothing(real_data: Path) -> None:
    rows = pl.read_parquet(real_data / "yahoo-music-mbrw" / "ratings.parquet")
    split = parts(from_ids(rows["user"], rows["item"], time=rows["order"].to_numpy()))

    def lifts(released: Interactions) -> dict[str, Measurement]:
        judged = Trial(split.train, released, query=split.query, result=split.result)
        return by_referee(measure(judged, {"next-item": next_item}, 0), "sequence lift")

    assert all(m.high < 0.1 for m in lifts(permuted(split.train)).values())
    backwards = lifts(reversed_order(split.train))
    assert backwards["markov"].high < 0 and backwards["session-knn"].value == pytest.approx(1.0)


def test_asked_are_the_first_new_items_after_the_middle() -> None:
    items = [[3, 1, 4, 1, 5, 9, 2, 6, 5, 3], [2, 7], [8]]
    user = [u for u, own in enumerate(items) for _ in own]
    data = from_ids(pl.Series(user), pl.Series([i for own in items for i in own]), time=np.arange(len(user)))
    query, result = before_and_after(data, np.random.default_rng(0))
    streams, person = asked_of(query, result)
    told = data.items.gather(streams.item[streams.asked]).to_list()
    assert list(zip(person.tolist(), told, strict=True)) == [(0, 9), (0, 2), (0, 6), (1, 7)]
    assert streams.begin.tolist() == [0, 0, 0, 10]
    assert len(asked_of(query, result, moves=2).person) == 3


def test_a_person_is_asked_for_few_items_and_counts_once() -> None:
    split = parts(rounds())
    _, person = asked_of(split.query, split.result)
    assert np.bincount(person).max() == MOVES
    made = reached(SEQUENCERS["markov"], split.train, split.query, split.result)
    assert len(made.hits) == len(np.unique(person)) and np.all((made.hits >= 0) & (made.hits <= 1))


def test_ranks_are_those_of_a_slow_twin() -> None:
    rng = np.random.default_rng(3)
    item = rng.integers(0, 12, 40).astype(np.int32)
    begin, asked = np.array([0, 5, 5, 20]), np.array([4, 9, 11, 32])
    scores = rng.integers(0, 4, (4, 12)).astype(float)
    scores[1, item[9]] = -np.inf
    found = ranked(scores, AskedStreams(item, begin, asked, 12))
    for k in range(4):
        target, seen = item[asked[k]], set(item[begin[k] : asked[k]].tolist())
        best = sorted(
            (i for i in range(12) if i not in seen and np.isfinite(scores[k, i])), key=lambda i: -scores[k, i]
        )
        assert found[k] == (best.index(target) + 1 if target in best else np.inf)


def test_no_order_is_a_reason() -> None:
    whole = trial()
    bare = {"train": replace(whole.train, time=None), "query": replace(whole.query, time=None)}  # type: ignore[type-var]
    for name in ("next-item", "neural"):
        assert "no order (no time column)" in attempt(replace(whole, **bare), name, MEASURES[name].run, 0)[1]  # type: ignore[arg-type]
        unordered = replace(whole, released=replace(whole.released, time=None))
        assert "the release has no order" in attempt(unordered, name, MEASURES[name].run, 0)[1]
        assert "nobody is known to be held out" in attempt(replace(whole, query=None), name, MEASURES[name].run, 0)[1]


def test_streams_of_one_item_are_a_reason() -> None:
    whole = trial()
    assert whole.query is not None and whole.result is not None
    nothing = replace(whole, result=whole.result.take(np.arange(0)))
    with pytest.raises(SkippedError, match="next item that is new to her"):
        check_order(nothing)
    single = whole.train.take(np.unique(whole.train.user, return_index=True)[1])
    found = measure(replace(whole, released=single), {"next-item": next_item}, 0)
    assert by_referee(found, "sequence lift")["markov"].high <= 0.1


def test_an_empty_release_is_worth_nothing() -> None:
    whole = trial()
    found = measure(replace(whole, released=whole.train.take(np.arange(0))), {"next-item": next_item}, 0)
    assert all(m.high < 0 for m in by_referee(found, "sequence lift").values())


def test_without_torch_the_reason_is_the_line_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "recveil.evaluation.recommenders.networks", raising=False)
    whole = trial()
    line = "torch is not installed; pip install 'recveil[neural]'"
    assert attempt(whole, "neural", MEASURES["neural"].run, 0) == ([], line)
    with pytest.raises(RecveilError, match="pip install"):
        NETWORKS[0].fit(whole.train, 0)


def test_the_report_shows_what_is_kept_of_the_order() -> None:
    from invented import invented

    report = invented(2)
    assert "of the order" not in "\n".join(text(report))
    spec = report.entries[0].spec
    found = [replace(m, mechanism=spec) for m in measure(trial(), {"next-item": next_item}, 0)]
    ordered = replace(report, measurements=(*report.measurements, *found))
    assert isinstance(ordered, Report) and isinstance(ordered.entries[0], Entry)
    kept = ordered.sequence_lift(ordered.entries[0])
    assert kept is not None and kept.params["referee"] == "markov"  # the best on the real data
    assert ordered.sequence_lift(ordered.entries[1]) is None
    assert "of the order" in "\n".join(text(ordered))


def test_every_referee_is_asked_the_same() -> None:
    assert [r.name for r in (*REFEREES, *NETWORKS)] == ["session-knn", "markov", "sasrec", "gru4rec"]
    split = parts(rounds(100))
    streams, _ = asked_of(split.query, split.result)
    for name in ("most-popular", "markov", "session-knn"):
        scores = SEQUENCERS[name].fit(split.train, 0).scores(streams)
        assert scores.shape == (len(streams.asked), ITEMS)
