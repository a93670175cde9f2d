"""dp-ratings: what one person can change, kernels and their twins, the budget, structure kept, errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import naive
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.data import Interactions, from_ids, group
from recveil.dp import denoise
from recveil.errors import RecveilError
from recveil.kernels.pair_tables import cumulate_rows, nearest_cells, pair_errors, square
from recveil.kernels.rating_counts import bound, count_effects, count_loadings, count_products, count_rest
from recveil.kernels.rating_draws import choose, swap
from recveil.kernels.rating_levels import cut_by_shares, heights, leanings, tilted_shares
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_ratings import SHARES, UNIT, DpRatings
from recveil.mechanisms.dp_ratings.directions import extremes, top_vectors
from recveil.mechanisms.dp_ratings.effects import popularity
from recveil.mechanisms.dp_ratings.levels import item_shares
from recveil.mechanisms.dp_ratings.people import HEIGHTS, SPREADS
from recveil.mechanisms.dp_ratings.predicting import from_frames
from recveil.mechanisms.dp_ratings.scale import scale
from recveil.mechanisms.dp_streams.baskets import cumulated
from recveil.mechanisms.spec import parse, text
from recveil.randomness import seeded
from recveil.releases.bundle import load
from recveil.releases.published import load_statistics, save_statistics
from recveil.releases.release import draw, release

N = 14
LEVELS = scale("1..5")
CLASSES = (LEVELS.ends, HEIGHTS, SPREADS)
MECHANISM = DpRatings(epsilon=8.0, delta=1e-3, scale="1..5")
ratings = st.tuples(st.integers(0, N - 1), st.sampled_from(LEVELS.values.tolist()))
people = st.lists(st.lists(ratings, min_size=1, max_size=25), min_size=1, max_size=5)


def flat(many: list[list[tuple[int, float]]]) -> tuple[Any, Any, Any]:
    starts = np.cumsum([0, *map(len, many)]).astype(np.int64)
    rows = [row for person in many for row in person]
    return starts, np.array([i for i, _ in rows], dtype=np.int32), np.array([y for _, y in rows])


def learned(seed: int) -> tuple[Any, Any, Any, list[int]]:
    """Effects, directions and top items as earlier rounds might have published them."""
    rng = np.random.default_rng(seed)
    phi, psi = (np.linalg.qr(rng.normal(size=(N, d)))[0] for d in (3, 2))
    return rng.normal(size=N) / 2, phi, psi, sorted(rng.choice(N, 6, replace=False).tolist())


def tables(many: list[list[tuple[int, float]]], seed: int) -> dict[str, Any]:
    """Every table that is about ratings, from the kernels."""
    rows, (effect, phi, psi, top) = flat(many), learned(seed)
    have, like = count_effects(*rows, N, UNIT)
    rest, levels, profiles = count_rest(*rows, effect, CLASSES, UNIT)
    among = np.full(N, -1, dtype=np.int32)
    among[top] = np.arange(len(top))
    return {
        "have": have, "like": like, "rest": rest, "levels": levels,
        "profiles": profiles.reshape(len(HEIGHTS) + 1, -1),
        "products": count_products(*rows, effect, among, len(top), UNIT),
        "loadings": count_loadings(*rows, effect, phi, True, UNIT),
        "tastes": count_loadings(*rows, effect, psi, False, UNIT),
    }  # fmt: skip


@pytest.mark.kernel
@settings(max_examples=25, deadline=None)
@given(people, st.integers(0, 3))
def test_counts_equal_their_twins(many: list[list[tuple[int, float]]], seed: int) -> None:
    effect, phi, psi, top = learned(seed)
    found = tables(many, seed)
    expected = {name: np.zeros(table.shape, dtype=np.int64) for name, table in found.items()}
    corner = np.zeros((len(top), len(top)), dtype=np.int64)
    expected["products"] = corner
    classes = tuple(c.tolist() for c in CLASSES)
    for person in many:
        twin = naive.rating_tables(person, effect.tolist(), classes, top, phi.tolist(), psi.tolist(), UNIT)  # type: ignore[arg-type]
        for name, cells in twin.items():
            for cell, value in cells.items():
                expected[name][cell] += value
    expected["products"] = corner[np.triu_indices(len(top), 1)]
    exact = ("have", "levels", "profiles")
    for name, table in found.items():  # sums of floats in another order may move a cell by one
        assert np.abs(table - expected[name]).max(initial=0) <= (0 if name in exact else len(many)), name


ODD = {
    "one rating": [(3, 1.0)],
    "two opposite ratings": [(0, -1.0), (1, 1.0)],
    "all alike": [(i, 0.5) for i in range(N)],
    "one outlier": [(i, -1.0) for i in range(N - 1)] + [(N - 1, 1.0)],
    "the same item again and again": [(2, 1.0), (2, -1.0), (2, 0.0), (5, 0.5)],
    "everything": [(i, float(LEVELS.values[i % 5])) for i in range(N)],
}


@pytest.mark.parametrize("who", ODD)
@pytest.mark.parametrize("seed", range(4))
def test_nobody_is_longer_than_one_in_any_table(who: str, seed: int) -> None:
    """Squares of integers, so nothing is rounded; the odd ones reach the bound or come near it."""
    for name, table in tables([ODD[who]], seed).items():
        total = sum(int(v) ** 2 for v in np.ravel(table))
        assert total <= UNIT**2, name
        if name in ("have", "profiles"):
            assert total > 0.99 * UNIT**2, name


@settings(max_examples=40, deadline=None)
@given(people, st.integers(0, 4), st.integers(0, 3))
def test_one_person_moves_every_table_by_at_most_one(many: list[list[tuple[int, float]]], who: int, seed: int) -> None:
    fewer = [person for k, person in enumerate(many) if k != who % len(many)]
    for name, table in tables(many, seed).items():
        gap = table - tables(fewer, seed)[name] if fewer else table
        assert sum(int(v) ** 2 for v in np.ravel(gap)) <= UNIT**2, name


def test_a_vector_that_rounding_made_too_long_is_halved() -> None:
    v = np.array([UNIT, -UNIT, 3], dtype=np.int64)
    bound(v, 3, UNIT)
    assert v.tolist() == [UNIT // 2, -UNIT // 2, 1]


@pytest.mark.kernel
@pytest.mark.parametrize("odd", [-(2**63), 2**63 - 1, 2**32, -(2**32)])
def test_a_number_whose_square_wraps_is_bounded_too(odd: int) -> None:
    """What is no number becomes the least integer, and its square is 0 in 64 bits."""
    v = np.array([odd, 3], dtype=np.int64)
    bound(v, 2, UNIT)
    assert sum(int(x) ** 2 for x in v) <= UNIT**2


def test_a_person_with_very_many_ratings_is_bounded_too() -> None:
    rng = np.random.default_rng(0)
    n = 3000
    rows = (np.array([0, n]), np.arange(n, dtype=np.int32), rng.choice(LEVELS.values, n))
    effect, phi = rng.normal(size=n), rng.normal(size=(n, 5))
    have, like = count_effects(*rows, n, UNIT)
    top = np.where(np.arange(n) < 100, np.arange(n), -1).astype(np.int32)
    for table in (
        have,
        like,
        count_rest(*rows, effect, CLASSES, UNIT)[0],
        count_products(*rows, effect, top, 100, UNIT),
        count_loadings(*rows, effect, phi, True, UNIT),
    ):
        assert 0.8 * UNIT**2 < sum(int(v) ** 2 for v in np.ravel(table)) <= UNIT**2


def test_so_many_people_bring_an_item_to_the_threshold() -> None:
    made, public = (
        DpRatings(epsilon=4.0, delta=1e-6, scale="1..5"),
        PublicInfo("ratings", "user", pl.Series([1]), None, False),
    )
    people = made.people_of_an_item(public, 100)
    assert people is not None and people * UNIT / 10 == pytest.approx(made._above(public))


@pytest.mark.parametrize("catalogue", [True, False])
def test_of_very_many_items_all_count_unless_items_are_selected(catalogue: bool) -> None:
    n = 600
    data = from_ids(pl.Series([1] * n), pl.Series(range(n)), np.arange(n) % 5 + 1.0)
    public = PublicInfo("ratings", "user", data.items, None, catalogue)
    have = DpRatings(epsilon=4.0, delta=1e-6, scale="1..5").count(data, (), public)["have"]
    assert np.count_nonzero(have) == (n if catalogue else 500)


@pytest.mark.kernel
def test_draws_equal_their_twins() -> None:
    rng = np.random.default_rng(4)
    m, sizes = 8, [3, 1, 0, 5, 8, 2]
    starts = np.cumsum([0, *sizes]).astype(np.int64)
    weight, taste, key = rng.random(m) + 0.1, rng.normal(size=(m, 2)), seeded(5)
    item = choose(key.key(), starts, weight, taste)
    words = [naive.chacha_words(key.key().tobytes(), k, 200) for k in range(len(sizes))]
    expected = [naive.choose(w, weight.tolist(), taste.tolist(), n) for w, n in zip(words, sizes, strict=True)]
    assert item.tolist() == [i for basket in expected for i in basket]
    plain = [naive.choose(w, weight.tolist(), [[]] * m, n) for w, n in zip(words, sizes, strict=True)]
    assert choose(key.key(), starts, weight, taste[:, :0]).tolist() == [i for basket in plain for i in basket]
    M = rng.random((m, m))
    M = M + M.T
    np.fill_diagonal(M, 0)
    pair_weight = 1 / np.sqrt(np.maximum(np.array(sizes) * (np.array(sizes) - 1) / 2, 1))
    target = (M / 4).astype(np.float32)
    error = pair_errors(starts, item, pair_weight, target, 0.7)
    first, rows = cumulated(M.sum(1)[None])[0], cumulated(M)
    steps = [dict(enumerate(row)) for row in rows.tolist()]
    goal = {(i, j): float(M[i, j] / 4) for i in range(m) for j in range(i + 1, m)}
    for together in (1, 2, 4):
        now, wrong = item.copy(), error.copy()
        swapped = naive.swap_items(key.key().tobytes(), expected, goal, first.tolist(), steps, 0.7, 3, together)
        assert swap(key.key(), starts, now, wrong, first, rows, 3, together) >= 2
        assert now.tolist() == [i for basket in swapped for i in basket]
        assert np.allclose(wrong, pair_errors(starts, now, pair_weight, target, 0.7), atol=1e-4)


@pytest.mark.kernel
def test_tables_of_pairs_equal_their_twins() -> None:
    rng = np.random.default_rng(1)
    m, baskets = 9, [[0, 3, 8], [1], [], [2, 3, 5, 7], [3, 8]]
    starts, item = np.cumsum([0, *map(len, baskets)]), np.array([i for b in baskets for i in b], dtype=np.int32)
    sums = pair_errors(starts, item, np.arange(1.0, 6.0), np.full((m, m), 2.0, dtype=np.float32), 2.0)
    for i in range(m):
        for j in range(m):
            both = sum(k + 1 for k, b in enumerate(baskets) if i in b and j in b)
            assert sums[i, j].tolist() == [both - 2.0 if i != j else 0.0, 0.25]
    whole = square(np.arange(m * (m - 1) // 2), m, 2.0)
    assert (whole == whole.T).all() and not np.diag(whole).any()
    assert (whole[np.triu_indices(m, 1)] == np.arange(m * (m - 1) // 2) / 2).all()
    table = rng.integers(0, 4, (m, m)).astype(np.float32)
    table[4] = 0
    norm = rng.random(m) + 0.5
    column, value = nearest_cells(table, norm, 3)
    for i in range(m):
        cosine = [float(np.float32(table[i, j] / norm[i] / norm[j])) for j in range(m)]
        best = sorted(sorted(range(m), key=lambda j: (-cosine[j], j))[:3])
        best = [j for j in best if cosine[j] > 0]
        assert column[i].tolist() == best + [-1] * (3 - len(best))
        assert value[i, : len(best)].tolist() == [cosine[j] for j in best]
    steps = cumulate_rows(table).astype(float) / (2**32 - 1)
    expected = np.cumsum(np.where(table.sum(1, keepdims=True) > 0, table, 1.0), axis=1)
    assert np.allclose(steps, expected / expected[:, -1:], atol=1e-9)


def test_extreme_eigenvectors_of_a_large_table() -> None:
    """Six directions, the weakest a quarter above the edge of the noise, on both sides of it."""
    rng = np.random.default_rng(0)
    m = 600
    noise = rng.normal(size=(m, m))
    V = np.linalg.qr(rng.normal(size=(m, 6)))[0]
    strength = np.array([6.0, 4.0, 2.5, -2.5, 3.0, 2.0]) * np.sqrt(m)
    E = ((noise + noise.T) / np.sqrt(2) + (V * strength) @ V.T).astype(np.float32)
    values, vectors = np.linalg.eigh(E.astype(float))
    found, close = top_vectors(E, 5)
    assert np.allclose(found, values[::-1][:5], rtol=1e-3)
    assert (np.abs((close * vectors[:, ::-1][:, :5]).sum(0)) > 0.999).all()
    outer = extremes(E, 6)[0]
    assert np.isclose(outer.min(), values.min(), rtol=1e-3)


@pytest.mark.kernel
def test_a_table_is_shrunk_as_its_cells_are() -> None:
    rng = np.random.default_rng(2)
    m, above = 40, np.triu_indices(40, 1)
    prior, noisy = np.zeros((2, m, m), dtype=np.float32)
    prior[above] = rng.random(len(above[0])) * 9
    noisy[above] = prior[above] + rng.normal(size=len(above[0])) * rng.choice([1.0, 30.0], len(above[0]))
    prior, noisy = prior + prior.T, noisy + noisy.T
    for power, table in zip((0.5, 1.0), denoise.shrink_table(noisy, prior, 1.5, (0.5, 1.0)), strict=True):
        cells = prior[above].astype(float)
        rest = denoise.shrink(noisy[above].astype(float) - cells, denoise.classes(prior[above]), 1.5, power)
        assert np.allclose(table[above], np.maximum(cells + rest, 0.0), atol=1e-5)
        assert (table == table.T).all()


@pytest.mark.kernel
def test_drawn_levels_equal_their_twins() -> None:
    rng = np.random.default_rng(3)
    n, d, baskets = 5, 2, [[0, 1, 4], [2], [], [0, 2, 3, 4], [1, 2, 4], [0, 4]]
    starts, item = np.cumsum([0, *map(len, baskets)]), np.array([i for b in baskets for i in b], dtype=np.int32)
    user = np.repeat(np.arange(len(baskets)), np.diff(starts))
    loading, stand, chance = rng.normal(size=(n, d)) / 2, rng.normal(size=(len(baskets), d)), rng.normal(size=len(item))
    effect, height, spread = rng.normal(size=n), rng.normal(size=len(baskets)), rng.random(len(baskets)) + 0.2
    wanted, offset = np.array([0.1, 0.2, 0.3, 0.25, 0.15]), rng.random(n)
    alone = np.sqrt(np.maximum(1 - (loading**2).sum(1), 0.05))
    lean = leanings(starts, item, loading, alone, stand, chance, spread)
    by_item = group(item, n)
    x, means = heights(*by_item, user, lean, effect, height, spread)
    mixing, turns, inner = np.full(n, 1 / n), (5, 2, 3), np.clip(means, -0.9, 0.9)
    shares = tilted_shares(inner, mixing, wanted, LEVELS.values, turns, 0.7, 40.0)
    slow = naive.tilted_shares(
        inner.tolist(), mixing.tolist(), wanted.tolist(), LEVELS.values.tolist(), turns, 0.7, 40.0
    )
    assert np.allclose(shares, slow, atol=1e-9)
    found = cut_by_shares(*by_item, x, shares, offset, LEVELS.values)
    split = [part.tolist() for part in np.split(chance, starts[1:-1])]
    about = (effect.tolist(), height.tolist(), spread.tolist())
    levels, middle = naive.drawn_levels(
        baskets,
        loading.tolist(),
        stand.tolist(),
        split,
        about,
        shares.tolist(),
        offset.tolist(),
        LEVELS.values.tolist(),
    )
    assert np.allclose(means, middle)
    assert found.tolist() == [v for person in levels for v in person]


def test_shares_of_levels_have_the_means_and_the_mixture() -> None:
    rng = np.random.default_rng(0)
    weight, values = rng.random(50) + 0.1, LEVELS.values
    wanted = np.array([0.06, 0.11, 0.27, 0.35, 0.21])
    mean = rng.normal(size=50) / 5
    mean += wanted @ values - weight @ mean / weight.sum()
    shares = item_shares(mean, weight, wanted, values)
    assert np.allclose(shares @ values, mean, atol=0.01)
    assert np.allclose(weight @ shares / weight.sum(), wanted, atol=0.01)


def test_the_budget_is_spent_and_no_more() -> None:
    assert sum(SHARES.values()) == 1000
    given_items = PublicInfo("ratings", "user", pl.Series(range(30)), None, True)
    for public in (given_items, replace(given_items, catalogue=False)):
        assert 0.999 * MECHANISM.epsilon < MECHANISM.spent(public) <= MECHANISM.epsilon
    assert MECHANISM.guarantee(given_items).given == "the catalogue of items and the scale of ratings"
    assert MECHANISM.guarantee(replace(given_items, catalogue=False)).given == "the scale of ratings"


# --- a whole release ------------------------------------------------------------------------------------------


def camps(n: int = 3000, items: int = 40, seed: int = 1, apart: float = 1.5) -> Interactions:
    """People of two camps, who have the same items and like other halves of them."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(n), 12)
    item = np.concatenate([rng.choice(items, 12, replace=False) for _ in range(n)])
    side = np.where((user % 2 == 0) == (item % 2 == 0), apart, -apart) / 2
    value = np.clip(np.rint(3.4 + (item - items / 2) / items + side + rng.normal(size=len(user)) * 0.7), 1, 5)
    return from_ids(pl.Series(user), pl.Series(item), value)


def together(rows: Interactions) -> float:
    """How far two ratings of a person agree beyond the items' means, by the items' sides."""
    ids, value = rows.items.to_numpy()[rows.item], np.asarray(rows.rating)
    mean = np.bincount(ids, value) / np.maximum(np.bincount(ids), 1)
    z = value - mean[ids]
    z -= (np.bincount(rows.user, z) / np.bincount(rows.user))[rows.user]
    lean = np.bincount(rows.user, z * np.where(ids % 2, 1.0, -1.0)) / np.sqrt(np.bincount(rows.user))
    return float(lean.var() / z.var())


def test_a_release_keeps_means_levels_and_camps_and_the_null_has_none() -> None:
    data = camps()
    made = release(data, MECHANISM, seed=1, catalogue=data.items)
    assert made.guarantee.status == "experiment" and made.id_map is None
    real, drawn = (
        np.bincount(d.item, d.rating, minlength=40) / np.bincount(d.item, minlength=40)
        for d in (data, made.data.over_items(data.items))
    )
    assert np.corrcoef(real, drawn)[0, 1] > 0.9
    assert np.abs(real - drawn).mean() < 0.15
    shares = [
        np.bincount(d.rating.astype(int), minlength=6) / len(d) for d in (data, made.data) if d.rating is not None
    ]
    assert np.abs(shares[0] - shares[1]).max() < 0.05
    assert together(data) > 2.5
    assert together(made.data) > 2.0
    assert data.rating is not None
    null = replace(data, rating=np.random.default_rng(2).permutation(data.rating))
    assert together(release(null, MECHANISM, seed=1, catalogue=data.items).data) < 1.3


def products_squared(data: Interactions, among: list[int]) -> float:
    """The sum of squares of products of ratings of these items, counted as the mechanism does."""
    rows = data.canonical()
    place = np.full(rows.n_items, -1, dtype=np.int32)
    place[among] = np.arange(len(among), dtype=np.int32)
    value = LEVELS.inside(np.asarray(rows.rating))
    cells = count_products(rows.starts(), rows.item, value, np.zeros(rows.n_items), place, len(among), UNIT) / UNIT
    return float(cells @ cells)


def test_ratings_of_items_without_products_lean_in_directions_of_chance_unless_there_is_no_structure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(5)
    weight = np.repeat([4.0, 1.0], [100, 60])  # products are counted of the first hundred
    user = np.repeat(np.arange(3000), 30)
    item = np.concatenate([rng.choice(160, 30, replace=False, p=weight / weight.sum()) for _ in range(3000)])
    lean = ((rng.normal(size=(160, 3)) / 2)[item] * rng.normal(size=(3000, 3))[user]).sum(1)
    value = np.clip(np.rint(3.2 + 1.2 * (lean + 0.5 * rng.normal(size=len(user)))), 1, 5)
    data = from_ids(pl.Series(user), pl.Series(item), value)
    null = replace(data, rating=rng.permutation(value))
    mechanism = DpRatings(epsilon=4.0, delta=1e-5, scale="1..5")
    drawn = [release(of, mechanism, seed=1, catalogue=data.items).data for of in (data, null)]
    monkeypatch.setattr("recveil.mechanisms.dp_ratings.ratings.HIDDEN_LENGTH", 0.0)
    plain = [release(of, mechanism, seed=1, catalogue=data.items).data for of in (data, null)]
    top, others = list(range(100)), list(range(100, 160))
    assert products_squared(drawn[0], others) > 1.05 * products_squared(plain[0], others)
    assert products_squared(drawn[0], top) == pytest.approx(products_squared(plain[0], top), rel=0.1)
    assert products_squared(drawn[1], others) < 1.05 * products_squared(plain[1], others)


def test_tables_predict_ratings_better_than_a_person_s_own_mean() -> None:
    data = camps()
    made = release(data, MECHANISM, seed=1, catalogue=data.items)
    items, about = made.tables["items"], made.tables["people"]
    model = from_frames(items, about)
    fresh = camps(200, seed=9).over_items(data.items)
    shown = np.arange(len(fresh)) % 2 == 0
    history, hidden = fresh.take(shown), fresh.take(~shown)
    guess = model.predict(history, hidden.user.astype(np.int64), hidden.item.astype(np.int64))
    own = (np.bincount(history.user, history.rating) / np.bincount(history.user))[hidden.user]
    error, plain = (float(np.sqrt(np.mean((p - np.asarray(hidden.rating)) ** 2))) for p in (guess, own))
    assert error < plain - 0.15
    assert {"item", "other", "likeness"} == set(made.tables["pairs"].columns)


def test_items_are_selected_within_the_budget_where_no_catalogue_is_given() -> None:
    data = camps()
    alone = from_ids(pl.Series([10**6] * 3), pl.Series([7000, 7001, 7002]), np.array([1.0, 5.0, 5.0]))
    both = from_ids(
        pl.concat([data.frame()["user"], alone.frame()["user"]]),
        pl.concat([data.frame()["item"], alone.frame()["item"]]),
        np.concatenate([np.asarray(data.rating), np.asarray(alone.rating)]),
    )
    made = release(both, MECHANISM, seed=3)
    assert made.published is not None
    assert set(made.published.public.items) == set(data.items)
    assert set(made.data.items) <= set(data.items)
    assert together(made.data) > 2.0


def test_statistics_are_kept_and_drawn_from_again(tmp_path: Path) -> None:
    made = release(camps(1500), MECHANISM, seed=1)
    assert made.published is not None
    save_statistics(made.published, tmp_path / "kept")
    assert draw(load_statistics(tmp_path / "kept"), seed=1).data.equals(made.data)


def test_every_cell_gets_its_noise() -> None:
    """With nobody's counts every table has the stated variance, and tables are drawn from streams of their own."""
    public = PublicInfo("ratings", "user", pl.Series(range(400)), None, True)
    empty = MECHANISM.count(camps(20, 400).over_items(pl.Series(range(400))).take(slice(0, 0)), (), public)
    noise = [MECHANISM.publish(empty, (), public, seeded(k)) for k in range(40)]
    for name in ("have", "like"):
        cells = np.array([one[name] for one in noise]) / np.sqrt(MECHANISM.variances(public)[name])
        assert abs((cells**2).mean() - 1) < 0.05
        assert ((cells**2).mean(0) > 0.3).all()
    assert abs(np.corrcoef(*(np.ravel([one[n] for one in noise]) for n in ("have", "like")))[0, 1]) < 0.04


# --- scales and bad input -------------------------------------------------------------------------------------


def test_scales() -> None:
    assert scale("1..5").levels == scale("(1,2,3,4,5)").levels == scale("5,4,3,2,1").levels == (1, 2, 3, 4, 5)
    assert scale("0.5..5/0.5").levels == tuple(k / 2 for k in range(1, 11))
    assert len(scale("-10..10/0.5").levels) == 41
    assert scale("1..5").inside(np.array([-3.0, 1.0, 3.4, 3.6, 5.0, 99.0, np.nan])).tolist() == [
        -1,
        -1,
        0,
        0.5,
        1,
        1,
        1,
    ]
    assert scale("0..10/2").outside(np.array([-1.0, 0.0, 1.0, 2.0])).tolist() == [0, 5, 10, 10]
    spec = "dp-ratings:epsilon=2.0,delta=0.0001,scale=(1,2,3,4,5)"
    assert parse(text(parse(spec))) == parse(spec)
    for wrong in ("", "1", "5..1", "1..5/0.3", "good,bad", "1..1000", "1,1,2", "1..inf", "nan,1"):
        with pytest.raises(RecveilError, match="scale"):
            DpRatings(epsilon=1.0, delta=1e-5, scale=wrong)
    assert parse("dp-ratings:epsilon=1,delta=1e-5") == DpRatings(epsilon=1.0, delta=1e-5, scale="type")


def test_somebody_is_drawn() -> None:
    assert "k=1" in text(parse("dp-ratings:epsilon=2,delta=0.001,scale=1..5,k=1"))
    with pytest.raises(RecveilError, match="whole number >= 1, not 0"):
        parse("dp-ratings:epsilon=2,delta=0.001,scale=1..5,k=0")


@pytest.mark.parametrize(
    "case", ["one value", "half stars", "wide", "outside the scale", "a person with everything", "one rating each"]
)
def test_strange_ratings_give_a_sound_release(case: str) -> None:
    data = camps(1200)
    rng = np.random.default_rng(0)
    values = {
        "one value": np.full(len(data), 4.0),
        "half stars": rng.integers(1, 11, len(data)) / 2,
        "wide": rng.uniform(-10, 10, len(data)),
        "outside the scale": rng.normal(size=len(data)) * 1e6,
    }
    told = {"half stars": "0.5..5/0.5", "wide": "-10..10/0.5"}.get(case, "1..5")
    if case in values:
        data = replace(data, rating=values[case])
    if case == "one rating each":
        data = data.take(np.arange(len(data)) % 12 < 2)
    if case == "a person with everything":
        data = from_ids(
            pl.concat([data.frame()["user"], pl.Series([-1] * 40)]),
            pl.concat([data.frame()["item"], pl.Series(range(40))]),
            np.concatenate([np.asarray(data.rating), np.full(40, 5.0)]),
        )
    made = release(data, replace(MECHANISM, scale=told), seed=1, catalogue=data.items)
    assert set(made.data.rating.tolist()) <= set(scale(told).levels)  # type: ignore[union-attr]
    assert np.isfinite(made.tables["items"].drop("item").to_numpy()).all()


def test_too_few_people_for_the_epsilon_are_refused() -> None:
    few = camps(200)
    with pytest.raises(RecveilError, match=r"at this epsilon fewer than 3\d\d teach nothing"):
        release(few, DpRatings(epsilon=4.0, delta=1e-5, scale="1..5"), seed=1, catalogue=few.items)


def test_what_cannot_be_released_says_why() -> None:
    with pytest.raises(RecveilError, match="needs a rating column"):
        release(from_ids(pl.Series([1, 2]), pl.Series([1, 2])), MECHANISM)
    few = camps(5)
    with pytest.raises(RecveilError, match="people stand out of the noise"):
        release(few, DpRatings(epsilon=0.5, delta=1e-5, scale="1..5"), seed=1, catalogue=few.items)
    with pytest.raises(RecveilError, match=r"too few items stand out of the noise at epsilon .* \(0, and"):
        release(few, DpRatings(epsilon=0.5, delta=1e-5, scale="1..5"), seed=1)
    one = from_ids(pl.Series(range(50)), pl.Series([1] * 50), np.full(50, 3.0))
    with pytest.raises(RecveilError, match=r"the catalogue has too few items \(1, and"):
        release(one, MECHANISM, seed=1, catalogue=one.items)


def test_commands(recveil: Callable[..., Any], tmp_path: Path) -> None:
    camps(1500).frame().write_csv(tmp_path / "ratings.csv")
    spec = "dp-ratings:epsilon=8,delta=1e-3"
    done = recveil("release", "ratings.csv", "--with", spec, "-o", "none", code=1)
    assert "scale" in done.stderr
    found = recveil("release", "ratings.csv", "--with", spec, "--scale", "1,2,3,4,5", "-o", "out", json_answer=True)
    assert found["manifest"]["guarantee"]["status"] == "proved"
    recveil("verify", "out")
    assert load(tmp_path / "out").data.rating is not None
    lists = recveil("recommend", "ratings.csv", "--with", f"{spec},scale=1..5", "--top", 3, json_answer=True)["lists"]
    assert len(lists) == 1500 and all(len(row["items"]) == 3 for row in lists)


def test_directions_of_taste_are_centred_on_what_people_have() -> None:
    """So that popularity is none of them."""
    made = release(camps(1500), MECHANISM, seed=1).published
    assert made is not None
    have = popularity(made.rounds[0]["have"] / UNIT, MECHANISM.sigmas(made.public)["have"])
    psi = made.rounds[1]["psi"]
    assert psi.shape[1] > 0
    assert np.abs(have @ psi).max() < 1e-9 * have.sum()


def test_noise_beyond_64_bits_is_refused() -> None:
    public = PublicInfo("ratings", "user", pl.Series(range(20)), None, True)
    with pytest.raises(RecveilError, match="too small: the noise exceeds 64-bit integers"):
        DpRatings(epsilon=1e-5, delta=1e-6, scale="1..5").variances(public)
    assert max(DpRatings(epsilon=0.01, delta=1e-6, scale="1..5").variances(public).values()) < 2**60
