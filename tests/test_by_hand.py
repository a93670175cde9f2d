"""Small cases whose answers are known by hand: attacks, metrics, tables of many items."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import naive
import numpy as np
import polars as pl
import pytest
from attacked import people, same

from recveil.attacks.linkage import linkage
from recveil.attacks.reconstruction import reconstruction
from recveil.attacks.traces import suspects, traces
from recveil.data import from_ids
from recveil.kernels.membership import CLOSENESS
from recveil.measurement import Trial, trial
from recveil.mechanisms.dp_streams import DENSE, UNIT, pair_table
from recveil.mechanisms.dp_streams.pairs import Above, cut
from recveil.metrics.challenge import challenge
from recveil.metrics.exposure import REPEATS, _three, exposure, head
from recveil.metrics.ranking import arms
from recveil.recommenders import RATERS
from recveil.recommenders.popular import MostPopular
from recveil.views.records import records


def test_pairs_of_many_items_are_in_units_of_a_person() -> None:
    cells = np.array([5, 9])
    found = pair_table({"cells": cells, "values": np.array([3 * UNIT, 7 * UNIT])}, DENSE + 1, UNIT**2)
    assert isinstance(found, Above)
    assert found.values.tolist() == [3.0, 7.0] and found.threshold == cut(DENSE + 1, UNIT**2) / UNIT


def test_an_attacker_claims_those_who_are_left_alone() -> None:
    """Everybody has an item of her own: who knows it, and nothing else, claims all and is right."""
    data = from_ids(pl.Series(range(40)), pl.Series(range(40)))
    rows = linkage(Trial(data, data, owner=np.arange(40, dtype=np.int32)), np.random.default_rng(0), known=(1,))
    notes = [m.note for m in rows if m.params.get("attacker") == "intersection" and m.name == "linkage"]
    assert notes and all("claims to have found 100.0%, and is right in 100.0%" in note for note in notes)


def test_ratings_are_weighed_by_how_many_others_gave_them(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    user, item = np.divmod(np.arange(60), 6)
    data = from_ids(pl.Series(user), pl.Series(item), rng.integers(1, 4, 60).astype(float))
    seen: list[Any] = []

    def tilt(table: Any, *_: Any) -> Any:
        seen.append(table)
        return table.argmax(1)

    monkeypatch.setitem(reconstruction.__globals__, "_tilt", tilt)
    reconstruction(replace(trial(data, data), owner=np.arange(10, dtype=np.int32)), rng, rank=2)
    assert all(np.array_equal(table.sum(1), np.full(60, 9.0)) for table in seen)  # nine others rated each item
    assert len(seen) == 2 and np.array_equal(seen[0], np.rint(seen[0]))


def test_traces_of_closeness_see_every_record() -> None:
    """Also the last one, whose copy is looked for."""
    known, made = people(12, 0, items=20, size=5), people(9, 1, items=20, size=4)
    made = made.over_items(known.items)
    both = [[set(d.item[d.user == u].tolist()) for u in range(d.n_users)] for d in (known, made)]
    both[1][-1] = set(both[0][3])
    rows = [(u, i) for u, items in enumerate(both[1]) for i in items]
    made = from_ids(*map(pl.Series, zip(*rows, strict=True)), time=np.arange(len(rows)))
    made = made.over_items(pl.Series(range(known.n_items)))
    found = traces(suspects(known, np.arange(12), False), replace(made, items=known.items))
    weights = 1.0 / np.log(2.0 + records(known).popularity())
    for person, row in zip(both[0], found[:, : len(CLOSENESS)], strict=True):
        assert row == pytest.approx(naive.closeness(person, both[1], weights.tolist()))


def test_intervals_of_exposure_are_two_deviations_of_resamples() -> None:
    subject, ranker = same(60), MostPopular()
    query, result = (people(20, seed, first=500).over_items(subject.train.items) for seed in (7, 8))
    subject = replace(subject, query=query, result=result)
    rng = np.random.default_rng(5)
    again = deepcopy(rng)
    found = exposure(subject, rng, (ranker,), n=5)[:3]
    made, popular = arms(subject, ranker, 5)[0], head(subject.train)
    everything = np.bincount(subject.train.item, minlength=subject.train.n_items) > 0
    n = len(made.lists)
    drawn = [_three(made.lists[again.integers(0, n, n)], popular, everything) for _ in range(REPEATS)]
    for m, spread in zip(found, 1.96 * np.std(drawn, axis=0), strict=True):
        assert (m.low, m.high) == pytest.approx((max(m.value - spread, 0.0), min(m.value + spread, 1.0)))
    assert any(m.high > m.low for m in found)


def test_two_raters_make_a_challenge() -> None:
    data = people(60, 1)
    subject = replace(trial(data, data), owner=np.arange(60, dtype=np.int32))
    found = challenge(
        subject, np.random.default_rng(0), [RATERS[n] for n in ("item-average", "user-average")], splits=1
    )
    assert {m.params["algorithms"] for m in found if m.name == "challenge"} == {2}
    assert len([m for m in found if m.name == "challenge rmse"]) == 4
