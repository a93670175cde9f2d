"""What every referee of the catalogue must hold. A new one is tested by being listed."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import naive
import numpy as np
import polars as pl
import pytest

from recveil.data import By, Interactions, from_ids, group
from recveil.errors import RecveilError
from recveil.evaluation.design import split
from recveil.evaluation.metrics.lift import lift
from recveil.evaluation.metrics.ranking import N, outcome
from recveil.evaluation.metrics.settings import is_ahead
from recveil.evaluation.recommenders import RANKERS, RATERS, SEQUENCERS, recommend
from recveil.evaluation.recommenders import ranker as adapter
from recveil.evaluation.recommenders.neighbours import ItemKNN
from recveil.evaluation.recommenders.rater import Surprise, feasible
from recveil.evaluation.recommenders.residuals import Neighbours
from recveil.formats import from_frame
from recveil.kernels.residuals import weighted_residuals
from recveil.measurement import Trial

DOCS = Path(__file__).parents[2] / "docs" / "explanation" / "referees.md"
ITEMS = 20

rankers = pytest.mark.parametrize("name", sorted(RANKERS))
raters = pytest.mark.parametrize("name", sorted(RATERS))


def checkerboard(people: int = 60, leave_out: bool = True) -> Interactions:
    """Person p likes the items of p's own parity, all but one."""
    cells = [
        (p, i) for p in range(people) for i in range(ITEMS) if (p + i) % 2 == 0 and not (leave_out and i // 2 == p % 10)
    ]
    return from_ids(pl.Series([p for p, _ in cells]), pl.Series([i for _, i in cells]))


def strangers(like: Interactions, histories: list[list[int]]) -> Interactions:
    user = np.array([u for u, h in enumerate(histories) for _ in h], dtype=np.int32)
    item = np.array([i for h in histories for i in h], dtype=np.int32)
    return Interactions(user, item, pl.Series([f"s{u}" for u in range(len(histories))]), like.items)


@rankers
def test_the_missing_square_is_found(name: str) -> None:
    board = checkerboard()
    first = recommend(RANKERS[name].fit(board, 0), board, 1)[:, 0]
    missing = np.array([2 * (p % 10) + p % 2 for p in range(60)])
    assert np.mean(first == missing) == 1.0 or name == "most-popular"


@rankers
def test_strangers_are_judged_by_their_history(name: str) -> None:
    board = checkerboard()
    query = strangers(board, [[0, 2, 4, 6, 8, 10], [1, 3, 5, 7], []])
    lists = recommend(RANKERS[name].fit(board, 0), query, 3)
    assert lists.shape == (3, 3) and lists.dtype == np.int32
    if name != "most-popular":
        assert np.all(lists[0] % 2 == 0) and np.all(lists[1] % 2 == 1)
    assert not set(lists[0].tolist()) & {0, 2, 4, 6, 8, 10}
    assert not set(lists[1].tolist()) & {1, 3, 5, 7}


@rankers
def test_lists_hold_only_known_and_unseen_items(name: str) -> None:
    board = checkerboard()
    wider = board.over_items(pl.Series(range(ITEMS + 5)))  # five items that nobody ever touched
    query = strangers(wider, [[0, 1, 2, ITEMS + 1], [ITEMS + 2]])
    lists = recommend(RANKERS[name].fit(wider, 0), query, ITEMS + 5)
    assert lists.max() < ITEMS
    for row, seen in zip(lists.tolist(), ({0, 1, 2}, set()), strict=True):
        listed = [i for i in row if i >= 0]
        assert row == listed + [-1] * (len(row) - len(listed))
        assert len(set(listed)) == len(listed) and not set(listed) & seen


@rankers
def test_the_same_seed_gives_the_same_lists_and_leaves_the_data_alone(name: str) -> None:
    board = checkerboard()
    before = board.frame()
    query = strangers(board, [[0, 2, 4], [1, 3]])
    first, second = (recommend(RANKERS[name].fit(board, 5), query, 8) for _ in range(2))
    assert first.tolist() == second.tolist()
    assert board.frame().equals(before)


@rankers
def test_how_often_a_person_touched_an_item_does_not_count(name: str) -> None:
    board = checkerboard()
    twice = board.take(np.sort(np.concatenate([np.arange(len(board)), np.arange(0, len(board), 3)])))
    query = strangers(board, [[0, 2, 4], [1, 3]])
    lists = [recommend(RANKERS[name].fit(d, 0), query, 4).tolist() for d in (board, twice)]
    assert lists[0] == lists[1]


def test_the_items_of_the_history_vote_for_their_nearest() -> None:
    # a-b are together three times, b-c four times: with one neighbour a votes for b, b for c, c for b, nobody for a
    pairs = [("a", "b")] * 3 + [("b", "c")] * 4 + [("a", "d")]
    users = [u for u, _ in enumerate(pairs) for _ in range(2)]
    data = from_ids(pl.Series(users), pl.Series([i for pair in pairs for i in pair]))
    model = ItemKNN(k=1).fit(data, 0)
    query = strangers(data, [[0], [1], [2]])
    assert recommend(model, query, 2).tolist() == [[1, -1], [2, -1], [1, -1]]


def tastes() -> Interactions:
    """Two tribes of people and two of items: own tribe 5 or 4, the other 1 or 2."""
    rng = np.random.default_rng(0)
    user, item = np.divmod(rng.permutation(40 * ITEMS)[:600], ITEMS)
    own = (user + item) % 2 == 0
    return from_ids(
        pl.Series(user), pl.Series(item), rating=np.where(own, 5, 1) + np.where(own, -1, 1) * (item % 3 == 0)
    )


@raters
def test_raters_stay_in_the_scale_and_know_the_tribes(name: str) -> None:
    data = tastes()
    user, item = (a.ravel().astype(np.int32) for a in np.meshgrid(np.arange(data.n_users), np.arange(data.n_items)))
    guess = RATERS[name].fit(data, 3).predict(user, item)
    assert np.isfinite(guess).all() and guess.min() >= 1 and guess.max() <= 5
    own = (user + item) % 2 == 0
    if "average" not in name and name not in ("slope-one",):  # those see no tribes
        assert guess[own].mean() > guess[~own].mean() + 0.5
    assert guess.tolist() == RATERS[name].fit(data, 3).predict(user, item).tolist()


def test_averages_are_averages() -> None:
    data = from_ids(pl.Series([1, 1, 2]), pl.Series([7, 8, 7]), rating=np.array([1.0, 4.0, 5.0]))
    data = data.over_items(pl.Series([7, 8, 9]))
    user, item = np.array([0, 1, 1]), np.array([0, 1, 2])
    assert RATERS["item-average"].fit(data, 0).predict(user, item).tolist() == [3.0, 4.0, pytest.approx(10 / 3)]
    assert RATERS["user-average"].fit(data, 0).predict(user, item).tolist() == [2.5, 5.0, 5.0]


@raters
def test_strangers_to_a_rater_get_a_rating_too(name: str) -> None:
    data = tastes()
    wider = replace(data, users=pl.Series(range(data.n_users + 1))).over_items(pl.Series(range(ITEMS + 1)))
    guess = RATERS[name].fit(wider, 0).predict(np.array([data.n_users, 0]), np.array([0, ITEMS]))
    assert np.all((guess >= 1) & (guess <= 5))


def test_a_rater_that_would_not_fit_in_memory_says_so() -> None:
    shop = tastes().over_items(pl.Series(range(60_000)))
    with pytest.raises(RecveilError, match="slope-one of surprise compares all pairs and would need 58 GB"):
        RATERS["slope-one"].fit(shop, 0)
    assert [name for name, r in RATERS.items() if not feasible(r, tastes(), shop)] == ["slope-one"]


@pytest.mark.parametrize("by", ["user", "item"])
def test_neighbours_guess_what_surprise_guesses(by: By) -> None:
    rng = np.random.default_rng(4)
    pair = rng.permutation(40 * 25)[:500]
    data = from_ids(pl.Series(pair // 25), pl.Series(pair % 25), rating=rng.integers(1, 6, 500).astype(float))
    new = np.setdiff1d(np.arange(40 * 25), pair)
    user, item = np.searchsorted(data.users, new // 25), np.searchsorted(data.items, new % 25)
    alike = {"name": "pearson_baseline", "shrinkage": 200, "user_based": by == "user"}
    theirs = Surprise("knn", "KNNBaseline", {"k": 5, "verbose": False, "sim_options": alike}).fit(data, 0)
    found = Neighbours(by, k=5).fit(data, 0).predict(user, item)
    np.testing.assert_allclose(found, theirs.predict(user, item), atol=1e-12)


@pytest.mark.kernel
def test_weighted_residuals_agree_with_their_twin() -> None:
    rng = np.random.default_rng(1)
    table = np.where(rng.random((7, 6)) < 0.7, rng.normal(size=(7, 6)).round(2), np.nan)
    row, column = np.nonzero(~np.isnan(table))
    starts, order = group(row, 7)
    column_starts, column_order = group(column, 6)
    asked = np.array([[0, 1], [0, 5], [3, 2], [6, 0], [6, 6 - 1]])
    found = weighted_residuals(
        (starts, column[order].astype(np.int32), table[row, column][order]),
        (column_starts, row[column_order].astype(np.int32), table[row, column][column_order]),
        (np.array([0, 2, 3, 5]), np.array([0, 3, 6], dtype=np.int32), asked[:, 1].astype(np.int32)),
        2,
        3.0,
    )
    expected = [naive.weighted_residual(table.tolist(), x, y, 2, 3.0) for x, y in asked.tolist()]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.any(found != 0)


@raters
def test_raters_need_ratings(name: str) -> None:
    with pytest.raises(RecveilError, match="ratings"):
        RATERS[name].fit(checkerboard(), 0)


def test_the_last_rating_of_an_item_counts() -> None:
    data = tastes()
    again = data.take(np.concatenate([np.arange(len(data)), [0]]))
    changed = replace(again, rating=np.concatenate([[6.0 - data.rating[0]], again.rating[1:]]))  # type: ignore[index]
    user, item = data.user[:50], data.item[:50]
    model = RATERS["biased-mf"]
    moved = replace(data, rating=data.rating)
    assert sorted(_ratings(model, changed)) == sorted(_ratings(model, moved))
    assert model.fit(changed, 0).predict(user, item).shape == (50,)


def _ratings(model: Any, data: Interactions) -> list[tuple[int, int, float]]:
    return [(u, i, r) for u, i, r in model.fit(data, 0).model.trainset.all_ratings()]


def test_a_missing_library_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(adapter, "import_module", absent)
    with pytest.raises(RecveilError, match=r"implicit is not installed.*pip install 'recveil\[measure\]'"):
        RANKERS["item-knn"].fit(checkerboard(), 0)
    with pytest.raises(RecveilError, match="surprise is not installed"):
        RATERS["slope-one"].fit(tastes(), 0)


def parameters(referee: Any) -> dict[str, Any]:
    if hasattr(referee, "options"):
        flat = dict(referee.options)
        return flat | flat.pop("sim_options", {})
    return {f.name: getattr(referee, f.name) for f in fields(referee) if f.name != "by"}


@pytest.mark.parametrize("kind", ["ranking", "rating", "sequence"])
def test_the_documented_hyper_parameters_are_those_of_the_code(kind: str) -> None:
    table = dict(re.findall(rf"^\| (\S+) \| {kind} \| [^|]+ \| ([^|]+) \|$", DOCS.read_text(encoding="utf-8"), re.M))
    catalogue: dict[str, Any] = {"ranking": RANKERS, "rating": RATERS, "sequence": SEQUENCERS}[kind]
    assert list(table) == list(catalogue)
    for name, text in table.items():
        assert text == (", ".join(f"{k}={v}" for k, v in parameters(catalogue[name]).items()) or "none"), name


def uneven_log() -> Interactions:
    """A log in the shape of game purchases: few games have most of the players, most players have few games."""
    rng = np.random.default_rng(3)
    people, items = 3000, 1200
    popularity, group, rows = rng.lognormal(0, 1.9, items), rng.integers(0, 12, items), []
    for user in range(people):
        many = int(np.clip(rng.lognormal(1.2, 1.2), 1, 300))
        weight = popularity * np.where(group == rng.integers(0, 12), 20.0, 1.0)
        rows += [(user, int(item)) for item in rng.choice(items, many, replace=False, p=weight / weight.sum())]
    return from_frame(pl.DataFrame(rows, schema=["user", "item"], orient="row"))


def test_a_referee_that_learns_nothing_is_searched_on_the_real_data() -> None:
    """So that lift is defined by more than one, although item-knn with its usual settings loses to most-popular."""
    parts = split(uneven_log(), 0.2, [0])
    made = parts.train.take(np.arange(0, len(parts.train), 2))
    trial = Trial(parts.train, made, query=parts.query, result=parts.result)
    usual, popular = (
        outcome(one, parts.train, parts.query, parts.result, None, N, 0).values["ndcg"]
        for one in (RANKERS["item-knn"], RANKERS["most-popular"])
    )
    assert not is_ahead(usual, popular)
    referees = tuple(RANKERS[name] for name in ("item-knn", "user-knn", "ease"))
    found = lift(trial, np.random.default_rng(1), referees)
    assert {m.params["referee"] for m in found if m.name == "lift"} >= {"item-knn", "user-knn"}
    other = lift(replace(trial, released=parts.train), np.random.default_rng(1), referees)
    real = {m.params["referee"]: m.value for m in found if m.name == "advantage"}
    assert real == {m.params["referee"]: m.value for m in other if m.name == "advantage"}  # whatever the release
