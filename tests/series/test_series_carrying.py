"""Carrying over: tables combined by their variances, with a drift that they tell; a series that knows more by it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from shops import ITEMS, log, released, shop

from recveil.dp.combining import (
    FORGET,
    CarriedTable,
    best_forgetting,
    evened,
    foretold,
    nothing_known,
    told_next,
)
from recveil.dp.noise import gaussian
from recveil.ids import keys
from recveil.mechanisms.dp_streams import carried, carried_space, known
from recveil.mechanisms.dp_streams.counting import EDGES, UNIT
from recveil.releases.published import load_statistics
from recveil.series.folder import open_series
from recveil.series.opening import window_mechanism
from recveil.series.verifying import verify_series


def foreseen(drift: float, windows: int, cells: int = 400, seed: int = 0) -> tuple[float, list[float]]:
    """How fast is forgotten after some windows of cells at 5 deviations of the noise, and the errors of each way."""
    rng = np.random.default_rng(seed)
    truth, tables, skill = np.full(cells, 50.0), [nothing_known(cells) for _ in FORGET], np.zeros((2, len(FORGET)))
    for _ in range(windows):
        truth = truth + drift * rng.standard_normal(cells)
        noisy = truth + 10 * rng.standard_normal(cells)
        chosen = np.flatnonzero(tables[0].value > 45.0)  # cells that stand out, some of them by luck
        skill = skill + foretold(tables, noisy, 100.0, chosen)
        tables = [t.after(noisy, 100.0, f) for t, f in zip(tables, FORGET, strict=True)]
    return FORGET[best_forgetting(skill)], [float(np.sqrt(((t.value - truth) ** 2).mean())) for t in tables]


def test_a_table_that_stays_is_averaged() -> None:
    for seed in range(5):
        forget, errors = foreseen(0.0, 25, seed=seed)
        assert forget == 0.0 and errors[0] == pytest.approx(2.0, rel=0.15)


def test_a_table_that_drifts_is_forgotten_about_as_fast_as_is_best() -> None:
    for seed in range(5):
        forget, errors = foreseen(8.0, 25, seed=seed)
        assert forget > 0 and errors[FORGET.index(forget)] < 1.15 * min(errors) < 0.9 * errors[0]


def test_means_know_how_much_they_know() -> None:
    table = nothing_known(1)
    for _ in range(4):
        table = table.after(np.array([3.0]), 8.0)
    assert table.variance.tolist() == [2.0] and table.value.tolist() == [3.0]
    anew = table.after(np.array([5.0]), 8.0, forget=1.0)
    assert anew.variance.tolist() == [8.0] and anew.value.tolist() == [5.0]


def test_cells_move_and_what_is_new_is_unknown() -> None:
    found = CarriedTable(np.array([1.0, 2.0]), np.array([4.0, 9.0]))
    moved = found.at(np.array([1, -1, 0]))
    assert moved.value.tolist() == [2.0, 0.0, 1.0] and moved.variance.tolist() == [9.0, np.inf, 4.0]
    after = moved.after(np.array([2.0, 7.0, 1.0]), 16.0)
    assert after.value[1] == 7.0 and after.variance[1] == 16.0 and after.variance[0] < 9.0


def test_an_even_table_stands_out_of_its_noise_as_before() -> None:
    found = CarriedTable(np.array([10.0, 10.0, 0.0]), np.array([4.0, 16.0, np.inf]))
    even, sigma = evened(found, np.array([2.0, 2.0, 2.0]))
    assert sigma == 2.0 and even.tolist() == [10.0, 6.0, 2.0]
    assert (even[1] - 2) / sigma == (10 - 2) / 4


def test_pairs_are_found_again_where_items_come_and_go() -> None:
    """A cell of a pair keeps what was known of it, by the ids of its items."""
    ids = pl.Series([10, 20, 30, 40, 50])
    public = _Public(ids, {})
    first = carried.with_items({"items": np.full(5, 100 * UNIT)}, public, UNIT**2)
    told = carried.with_tables({"pairs": np.arange(3.0)}, np.array([0, 1, 3]), first, public, {"pairs": 1})
    before = told_next((first, told))
    more = _Public(pl.Series([5, 10, 20, 30, 40, 50]), before)  # the list has grown
    again = carried.with_tables({"pairs": np.zeros(6)}, np.array([1, 2, 3, 4]), first, more, {"pairs": 1})
    # 10-20, 10-30, 10-40, 20-30, 20-40, 30-40: those with 30 are new
    assert again["carried.pairs.variance"].tolist() == [0.5, 1.0, 0.5, 1.0, 0.5, 1.0]
    assert again["carried.pairs"].tolist() == [0.0, 0.0, 0.5, 0.0, 1.0, 0.0]


class _Public:
    def __init__(self, items: pl.Series, earlier: dict[str, Any]) -> None:
        self.items, self.earlier = items, earlier


def test_a_series_knows_more_with_every_window(tmp_path: Path) -> None:
    rows = log(people=400)
    known = {}
    for carry in (True, False):
        series = shop(tmp_path / str(carry), carry=carry, seed=5, epsilon=2.0)
        made = released(series, rows, 4)
        assert [left.manifest["series"]["carried"] for left in made] == [carry] * 4
        assert verify_series(series.path).problems == ()
        known[carry] = load_statistics(open_series(series.path).statistics(4)).rounds
    deviation = np.sqrt(known[True][0]["carried.items.variance"]).mean() / UNIT
    assert len(known[True][0]["carried.items"]) == ITEMS
    half = replace(open_series(tmp_path / "True" / "shop.series").period).participations / 4
    truth = sum(_weights(rows, w) for w in range(4)) / 4 * half
    wrong = {k: np.abs(r[0]["carried.items" if k else "items"] / UNIT - truth).mean() for k, r in known.items()}
    assert wrong[True] < wrong[False] and deviation < wrong[False]


def _weights(rows: Any, week: int) -> Any:
    from shops import WEEK, after

    begin = after(0).timestamp() - 3600 + week * WEEK
    part = rows.take((rows.time >= begin) & (rows.time < begin + WEEK))
    pairs = np.unique(np.stack([part.user, part.item]), axis=1)
    many = np.bincount(pairs[0], minlength=rows.n_users)
    return np.bincount(pairs[1], 1 / np.sqrt(many[pairs[0]]), minlength=ITEMS)


def test_without_a_public_list_nothing_is_carried(tmp_path: Path) -> None:
    series = shop(tmp_path, items=None, catalogue_is_public=False, seed=1)
    assert not series.carries
    assert not any(left.manifest["series"]["carried"] for left in released(series, log(), 2))
    assert shop(tmp_path / "listed").carries


def test_the_prior_of_many_people_s_pairs_is_finite() -> None:
    """A million people's counts, multiplied and squared, do not fit into the floats in which tables are kept."""
    have, pairs = np.full(3, 3e10, np.float32), np.array([2e10, 2e10, 0.0], np.float32)
    first = {"carried.items": have}
    variance = {"carried.pairs.variance": np.array([1e6, 1e6, np.inf], np.float32)}
    lengths = {"carried.lengths": np.ones(len(EDGES)), "carried.lengths.variance": np.ones(len(EDGES))}
    second = {"carried.kept": np.arange(3), "carried.windows": np.ones(1), "carried.pairs": pairs}
    found = carried.tables((first, second | variance | lengths))
    assert np.asarray(found.pairs)[1, 2] * UNIT == pytest.approx(2e10, rel=1e-3)  # as independence has it


def test_a_window_of_many_people_draws_no_more_than_they_are() -> None:
    """A window's cost would grow with every window before it."""
    assert [carried.times(1e6, 52.0), carried.times(1000.0, 12.0), carried.times(10_000.0, 12.0)] == [1.0, 12.0, 3.0]


# --- features of items --------------------------------------------------------------------------------------------


def test_the_space_of_features_stays_so_that_its_tables_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_STRONG", 0.0)  # few items, whose pairs would tell enough
    facts = tmp_path / "facts.csv"
    facts.write_text("item,kind\n" + "\n".join(f"{i},{'ab'[i // 8]}" for i in range(ITEMS)) + "\n")
    series = shop(tmp_path, items=str(facts), seed=5, epsilon=4.0)
    made = released(series, log(people=1500), 3)
    assert [left.manifest["series"]["carried"] for left in made] == [True] * 3
    windows = [load_statistics(series.statistics(left.window.number)).rounds for left in made]
    assert windows[-1][0]["carried.forget"] == [0.0]
    for number, name in ((0, "sizes"), (1, "space"), (1, "decoy"), (2, "loadings"), (2, "pairs"), (2, "transitions")):
        told = windows[-1][number]
        assert np.allclose(told[f"carried.{name}"], np.mean([w[number][name] for w in windows], axis=0), rtol=1e-4)
        assert np.allclose(told[f"carried.{name}.variance"] * 3, windows[0][number][f"carried.{name}.variance"])
    assert all(np.array_equal(w[0]["vectors"], windows[0][0]["vectors"]) for w in windows)
    assert windows[-1][2]["carried.windows"] == [3.0]
    laws = window_mechanism(series).laws(series.public)  # type: ignore[attr-defined]
    tables, left = carried_space.seen(windows[-1], laws)
    assert np.allclose(tables[2]["loadings"], windows[-1][2]["carried.loadings"])
    assert left["loadings"].deviation * np.sqrt(3) == pytest.approx(laws["loadings"].deviation, rel=1e-3)


def test_a_new_item_has_no_place_and_another_list_makes_the_space_anew() -> None:
    vectors, duel = np.arange(6, dtype=np.float32).reshape(3, 2), np.ones((3, 4), np.float32)
    before = {"ids": keys(pl.Series([10, 20, 30])), "vectors": vectors, "duel": duel}
    before |= {"loadings": np.arange(6.0), "loadings.variance": np.ones(6)}
    public: Any = _Public(pl.Series([30, 10, 20, 40]), before)
    have = np.array([5.0, 5.0, 5.0, 1.0])
    space = carried_space.space_before(public, have)
    assert space is not None and space[0].tolist() == [[4, 5], [0, 1], [2, 3], [0, 0]]
    first = {"vectors": space[0], "carried.forget": np.zeros(1)}
    noise = {"loadings": gaussian(1)}
    found = carried_space.with_earlier({"loadings": np.zeros(8)}, (first, {}), public, noise, None)
    assert found["carried.loadings"].tolist() == [2.0, 2.5, 0.0, 0.5, 1.0, 1.5, 0.0, 0.0]
    assert found["carried.loadings.variance"].tolist() == [0.5] * 6 + [1.0] * 2
    assert carried_space.space_before(public, have[::-1] ** 2) is None  # the new one is what people have
    first["vectors"] = space[0] + 1
    found = carried_space.with_earlier({"loadings": np.ones(8)}, (first, {}), public, noise, None)
    assert found["carried.loadings"].tolist() == [1.0] * 8
    assert found["carried.loadings.variance"].tolist() == [1.0] * 8
