"""dp-streams with a public file of items: what people add, the guard, what is drawn, and what a neighbour moves."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import naive
import numpy as np
import polars as pl
import promises
import pytest
from scipy import sparse

from recveil.data import Interactions, from_ids
from recveil.dp.budget import cost
from recveil.items import PublicItems
from recveil.kernels import directions as directions_kernel
from recveil.kernels.directions import count_loadings, count_products, count_sizes, exchange
from recveil.kernels.pair_tables import largest_cells
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_streams import DpStreams, expectations, known
from recveil.mechanisms.dp_streams.counting import UNIT
from recveil.mechanisms.dp_streams.drawing import little, with_rare
from recveil.mechanisms.dp_streams.loadings import SpaceTables, tastes
from recveil.mechanisms.dp_streams.space import directions, popularity, reduced, smooth, spaces, structure, trusted
from recveil.randomness import Source, seeded
from recveil.releases.published import load_statistics, save_statistics
from recveil.releases.release import publish

N, KINDS = 120, 6


def world(people: int = 1500, sessions: bool = False) -> Interactions:
    """People who have items of one kind mostly; the kind of an item is its number's rest. The last items nobody has."""
    rng = np.random.default_rng(3)
    weight = 1 / np.sqrt(np.arange(1, N + 1 - 20))
    user, item = [], []
    for u in range(people):
        near = np.where(np.arange(N - 20) % KINDS == rng.integers(KINDS), 12.0, 1.0) * weight
        size = rng.integers(2, 9)
        user += [u] * size
        item += rng.choice(N - 20, size, replace=False, p=near / near.sum()).tolist()
    session = pl.Series(rng.integers(0, 2, len(user))) if sessions else None
    data = from_ids(pl.Series(user), pl.Series(item), time=np.arange(len(user)), session=session)
    return data.over_items(pl.Series(np.arange(N))).canonical()


def facts(mixed: bool = False, empty: bool = False) -> PublicItems:
    kind = np.arange(N) % KINDS
    kind = np.random.default_rng(1).permutation(kind) if mixed else np.zeros(N, dtype=int) if empty else kind
    table = sparse.csr_array((np.ones(N, np.float32), (np.arange(N), kind)), shape=(N, KINDS))
    return PublicItems(pl.Series(np.arange(N)), tuple(f"kind {k}" for k in range(KINDS)), table)


def public_of(data: Interactions, given: PublicItems | None) -> PublicInfo:
    return PublicInfo(
        data.kind, data.unit, data.items, None, True, features=given, sessions=data.session is not None
    )  # fmt: skip


def mechanism(order: str = "none", epsilon: float = 8.0, **more: Any) -> DpStreams:
    return DpStreams(epsilon=epsilon, delta=1e-5, order=order, **more)


def baskets(rng: np.random.Generator) -> tuple[list[list[list[int]]], Any, Any, Any]:
    people = [[rng.integers(0, 9, rng.integers(0, 6)).tolist() for _ in range(rng.integers(0, 4))] for _ in range(12)]
    people.append([list(range(9))] * 30)
    flat = [basket for hers in people for basket in hers]
    starts = np.cumsum([0, *map(len, flat)]).astype(np.int64)
    item = np.array([i for basket in flat for i in basket], dtype=np.int32)
    return people, np.cumsum([0, *map(len, people)]).astype(np.int64), starts, item


@pytest.mark.kernel
def test_kernels_count_as_their_slow_twins() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((9, 4)).astype(np.float32)
    vectors[3] = 0
    slow = vectors.astype(float).tolist()
    for _ in range(5):
        people, who, starts, item = baskets(rng)
        edges = np.array([1, 2, 4])
        assert count_sizes(who, starts, item, 9, edges, 1000).tolist() == naive.sizes_of_people(people, [1, 2, 4], 1000)
        made = count_products(who, starts, item, vectors, UNIT)
        assert np.abs(made - naive.products_of_people(people, slow, UNIT)).max() <= 60  # roundings of so many baskets
        loads = count_loadings(who, starts, item, vectors, UNIT).reshape(9, 4)
        assert np.abs(loads - np.array(naive.loadings_of_people(people, slow, UNIT))).max() <= 60


@pytest.mark.kernel
def test_exchange_brings_pairs_nearer_and_keeps_excess_true() -> None:
    rng = np.random.default_rng(2)
    m, sizes = 12, np.full(40, 4)
    starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
    item = np.concatenate([rng.permutation(m)[:4] for _ in sizes]).astype(np.int32)
    target = rng.random((m, m)).astype(np.float32)
    target = (target + target.T) * 2
    np.fill_diagonal(target, 0)
    weight = (1 / (target + 1)).astype(np.float32)
    np.fill_diagonal(weight, 0)

    def excess() -> Any:
        X = np.zeros((len(sizes), m))
        X[np.repeat(np.arange(len(sizes)), sizes), item] = 1
        found = (X.T @ X / np.sqrt(6) - target).astype(np.float32)
        np.fill_diagonal(found, 0)
        return found

    errors = excess()
    before = float((errors**2 * weight).sum())
    assert exchange(starts, item, errors, weight, 3, 0.5) > 0
    assert np.allclose(errors, excess(), atol=1e-3)
    assert float((errors**2 * weight).sum()) < before
    assert all(len(set(item[a:b])) == 4 for a, b in pairwise(starts))


@pytest.mark.kernel
def test_the_largest_cells_of_a_row_are_those_of_a_sort() -> None:
    table = np.random.default_rng(5).integers(0, 30, (6, 40)).astype(np.float32)
    table[2, 3] = -np.inf
    for k in (1, 4, 40):
        column, value = largest_cells(table, k)
        for i in range(6):
            assert sorted(value[i], reverse=True) == sorted(table[i], reverse=True)[:k]
            assert len(set(column[i])) == k and (table[i, column[i]] == value[i]).all()


def unasked(patch: pytest.MonkeyPatch) -> None:
    """Streams are too long, and items too many, to be drawn from a space."""
    patch.setattr(known, "WHOLE", 2)
    patch.setattr(known, "_LONG", 0.0)
    patch.setattr(known, "uses_space", lambda *_: False)


WAYS = ["used", "left out", "unasked"]


def go(way: str, patch: pytest.MonkeyPatch) -> None:
    if way == "unasked":
        unasked(patch)
    else:
        patch.setattr(known, "uses_space", lambda *_: way == "used")


@pytest.mark.parametrize("sessions", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_nobody_moves_a_table_farther_than_the_noise_is_for(
    way: str, sessions: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    go(way, monkeypatch)
    data, made = world(200, sessions), mechanism("transitions")
    public = public_of(data, facts())
    rounds = publish(data, made, public, seeded(1)).rounds
    largest: dict[str, float] = {}
    for person in (3, 17, 60):
        less = data.take(data.user != person)
        for number in range(3):
            both = [made.count(rows, rounds[:number], public) for rows in (data, less)]
            gap = {name: both[0][name] - both[1][name] for name in both[0]}
            for pair in ("pairs", "pairs_alone", "pairs_whole"):
                if pair in gap:
                    gap[pair] = np.append(gap[pair], gap.pop(pair.replace("pairs", "lengths")))
            for name, moved in gap.items():
                largest[name] = max(largest.get(name, 0.0), float(np.linalg.norm(moved)) / UNIT)
    assert max(largest.values()) <= 1
    assert min(largest.values()) > 0.9, largest
    asked = {"used": {"space", "decoy", "pairs", "loadings"}, "left out": {"space", "decoy", "pairs_alone"}}
    by_way = asked | {"unasked": {"pairs_whole"}}
    assert set(largest) == {"items", "sizes", "transitions"} | by_way[way] | ({"sessions"} if sessions else set())


def _whole_with_the_noise_of_nobody_asked(patch: pytest.MonkeyPatch) -> None:
    """Pairs as exact as if the first round had cost nothing."""
    unasked(patch)
    patch.setattr(known, "_WITHOUT", known._WITHOUT | {"_whole": ("items", "space", "decoy", "loadings")})
    patch.setattr(known, "spent", lambda noise, parts: sum(cost(UNIT, int(noise[name].size)) for name in parts))


@pytest.fixture
def with_items(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The checks of promises, with a public file of items whose space is used."""
    bare = promises.public_of
    table = sparse.csr_array(np.eye(3, dtype=np.float32)[np.arange(promises.ITEMS) % 3])
    given = PublicItems(pl.Series(range(promises.ITEMS)), ("a", "b", "c"), table)
    monkeypatch.setattr(promises, "public_of", lambda data: replace(bare(data), features=given))
    monkeypatch.setattr(promises, "REPEATS", 60)
    monkeypatch.setattr(known, "uses_space", lambda *_: True)
    return monkeypatch


@pytest.mark.parametrize("check", [promises.noise_in_every_cell, promises.contributions_are_bounded])
@pytest.mark.parametrize("way", WAYS)
def test_promises_hold_with_a_file_of_items(check: Any, way: str, with_items: pytest.MonkeyPatch) -> None:
    go(way, with_items)
    check(mechanism("transitions", 2.0), promises.little_world(False))


def _decoy_with_the_noise_of_the_space(patch: pytest.MonkeyPatch) -> None:
    honest = Source.derive
    patch.setattr(Source, "derive", lambda self, *name: honest(self, *("space" if n == "decoy" else n for n in name)))


def _learned_from_true_counts(patch: pytest.MonkeyPatch) -> None:
    honest = known.publish

    def publish(counts: Any, published: Any, public: Any, noise: Any, source: Any) -> Any:
        made = honest(counts, published, public, noise, source)
        return made if published else made | known.learned(made | {"items": counts["items"]}, public, noise)

    patch.setattr(known, "publish", publish)


def _sizes_as_they_are(patch: pytest.MonkeyPatch) -> None:
    honest = known.publish

    def publish(counts: Any, published: Any, *rest: Any) -> Any:
        made = honest(counts, published, *rest)
        return made if published else made | {"sizes": counts["sizes"]}

    patch.setattr(known, "publish", publish)


def _twice(name: str) -> Any:
    def plant(patch: pytest.MonkeyPatch) -> None:
        honest = getattr(directions_kernel, name)
        patch.setattr(directions_kernel, name, lambda *rows: 2 * honest(*rows))

    return plant


@pytest.mark.parametrize(
    ("bug", "check"),
    [
        (_decoy_with_the_noise_of_the_space, promises.noise_in_every_cell),
        (_learned_from_true_counts, promises.noise_in_every_cell),
        (_sizes_as_they_are, promises.noise_in_every_cell),
        (_twice("count_products"), promises.contributions_are_bounded),
        (_twice("count_loadings"), promises.contributions_are_bounded),
        (_whole_with_the_noise_of_nobody_asked, promises.contributions_are_bounded),
    ],
    ids=["one noise", "true counts", "true sizes", "products", "loadings", "too exact"],
)
def test_a_planted_bug_is_caught(bug: Any, check: Any, with_items: pytest.MonkeyPatch) -> None:
    bug(with_items)
    with pytest.raises(AssertionError):
        check(mechanism("transitions", 2.0), promises.little_world(False))


def test_what_is_spent_is_what_was_asked_for() -> None:
    public = public_of(world(50), facts())
    for order in ("none", "transitions"):
        made = mechanism(order, 2.0)
        assert made.spent(public) <= 2.0 * (1 + 1e-9)
        assert made.spent(public) > 1.99
        for n, epsilon in ((99, 1.0), (99, 4.0), (9999, 4.0)):
            parts = known.shares(n, epsilon, order == "transitions", True)
            assert sum(parts.values()) == pytest.approx(1)
            noise = known.laws(0.3, parts)
            rest = sum(cost(UNIT, int(noise[name].size)) for name in parts if name not in ("pairs", "loadings"))
            exact = 1 - 1e-12
            assert known.spent(noise, parts) >= exact * (rest + cost(UNIT, int(noise["pairs_alone"].size)))
            rest -= sum(cost(UNIT, int(noise[name].size)) for name in ("space", "decoy"))
            assert known.spent(noise, parts) >= exact * (rest + cost(UNIT, int(noise["pairs_whole"].size)))
            assert known.spent(noise, parts) <= 0.3


def test_parts_add_up_and_the_same_seed_gives_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_STRONG", 0.0)
    data, made = world(), mechanism("transitions")
    public = public_of(data, facts())
    rounds = publish(data, made, public, seeded(1)).rounds
    for number in range(3):
        whole = made.count(data, rounds[:number], public)
        parts = [made.count(data.take(part), rounds[:number], public) for part in (data.user < 90, data.user >= 90)]
        assert all(np.array_equal(whole[name], (parts[0] + parts[1])[name]) for name in whole)
    one, other = (made.draw(rounds, public, seeded(5)) for _ in range(2))
    assert np.array_equal(one.rows.item, other.rows.item)
    assert one.tables["pairs"].equals(other.tables["pairs"])


def test_features_that_say_nothing_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_STRONG", 0.0)
    data, made = world(), mechanism()
    found = {}
    for name, given in (("true", facts()), ("mixed", facts(mixed=True)), ("constant", facts(empty=True))):
        public = public_of(data, given)
        found[name] = [
            known.uses_space(publish(data, made, public, seeded(seed)).rounds, made.laws(public)) for seed in range(3)
        ]
    assert found == {"true": [True] * 3, "mixed": [False] * 3, "constant": [False] * 3}


def test_a_release_that_lacks_most_of_the_list_says_so_in_the_bundle() -> None:
    data = world(400)
    ids = pl.Series(np.arange(30 * N))
    over, half = data.over_items(ids), np.random.default_rng(0).integers(0, 2, (30 * N, 1)).astype(np.float32)
    for given in (None, PublicItems(ids, ("half",), sparse.csr_array(half))):
        public = PublicInfo(data.kind, data.unit, ids, None, True, features=given)
        made = mechanism("none", 4.0)
        drawn = made.draw(publish(over, made, public, seeded(1)).rounds, public, seeded(2))
        (line,) = drawn.notes.values()
        assert f"of the {30 * N:,} items" in line and ("its features tell nothing" in line) == (given is not None)
    listed = public_of(data, None)
    assert little(N // 2, listed) == {} and little(3, listed) and little(3, replace(listed, catalogue=False)) == {}
    public, made = public_of(data, facts()), mechanism()
    assert not made.draw(publish(data, made, public, seeded(1)).rounds, public, seeded(2)).notes


def test_every_item_of_the_file_can_occur_and_kinds_are_kept() -> None:
    data, made = world(), mechanism(k=4000)
    public = public_of(data, facts())
    rows = made.draw(publish(data, made, public, seeded(2)).rounds, public, seeded(3)).rows
    assert len(np.unique(rows.item)) > N - 25
    X = rows.matrix(binary=True)
    G = (X.T @ X).toarray()
    same = (np.arange(N)[:, None] % KINDS) == (np.arange(N) % KINDS)
    np.fill_diagonal(G, 0)
    real = data.matrix(binary=True)
    R = (real.T @ real).toarray()
    np.fill_diagonal(R, 0)
    assert abs(G[same].sum() / G.sum() - R[same].sum() / R.sum()) < 0.1
    alone = made.draw(publish(data, made, public_of(data, None), seeded(2)).rounds, public_of(data, None), seeded(3))
    assert len(np.unique(alone.rows.item)) < len(np.unique(rows.item))


def test_many_items_are_drawn_by_their_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expectations, "WHOLE", 50)
    monkeypatch.setattr(expectations, "NEAREST", 30)
    monkeypatch.setattr(known, "_STRONG", 0.0)
    data, made = world(), mechanism("transitions")
    public = public_of(data, facts())
    drawn = made.draw(publish(data, made, public, seeded(2)).rounds, public, seeded(3))
    X = drawn.rows.matrix(binary=True)
    G = (X.T @ X).toarray()
    np.fill_diagonal(G, 0)
    same = (np.arange(N)[:, None] % KINDS) == (np.arange(N) % KINDS)
    assert G[same].sum() / G.sum() > 0.4
    assert set(drawn.tables) == {"items", "pairs"}
    assert drawn.tables["items"].height == N


def test_long_streams_of_very_many_items_are_not_drawn_from_a_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "WHOLE", 50)
    data, made = world(), mechanism()
    public = public_of(data, facts())
    rounds = publish(data, made, public, seeded(2)).rounds
    assert known.uses_space(rounds, made.laws(public))
    monkeypatch.setattr(known, "_LONG", 3.0)  # people have two to eight items
    rounds = publish(data, made, public, seeded(2)).rounds
    assert not known.uses_space(rounds, made.laws(public))
    assert not rounds[1] and set(rounds[2]) == {"pairs_whole", "lengths_whole"}, "nothing is spent on the space"
    rows = made.draw(rounds, public, seeded(3)).rows
    assert rows.n_users > 100


def test_pairs_that_most_people_share_are_better_than_features_that_tell_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, made = world(), mechanism("transitions")
    public = public_of(data, facts())
    rounds = publish(data, made, public, seeded(2)).rounds
    monkeypatch.setattr(known, "_STRONG", 0.0)
    assert known.uses_space(rounds, made.laws(public))
    monkeypatch.setattr(known, "_STRONG", 1e9)
    assert not known.uses_space(rounds, made.laws(public))
    monkeypatch.setattr(known, "_MANY_SHARED", 20)  # pairs of more items would each be mostly noise
    assert known.uses_space(rounds, made.laws(public))
    monkeypatch.undo()
    monkeypatch.setattr(known, "_STRONG", 1e9)
    rounds = publish(data, made, public, seeded(2)).rounds
    drawn = made.draw(rounds, public, seeded(3))
    kept = known.paired(rounds, False)
    often = np.bincount(drawn.rows.item, minlength=N) / len(drawn.rows)
    have = rounds[0]["popularity"] / rounds[0]["popularity"].sum()
    rare = np.setdiff1d(np.arange(N), kept)
    assert len(rare) >= 10 and not drawn.notes
    assert abs(often[rare].sum() - have[rare].sum()) < 0.2 * have[rare].sum(), "rare items are as popular as they are"
    items = drawn.tables["items"]
    assert items["item"].to_list() == list(range(N)) and items["popularity"].min() > 0  # type: ignore[operator]
    told, X = items.select(pl.col(r"^v\d+$")).to_numpy(), drawn.rows.matrix(binary=True)[:, kept].astype(float)
    there, p = (X.T @ X).toarray(), items["popularity"].to_numpy()[kept]
    tables = np.outer(p, p) * (1 + told[kept] @ told[kept].T) / drawn.rows.n_users
    apart = ~np.eye(len(kept), dtype=bool)
    assert np.corrcoef(tables[apart], there[apart])[0, 1] > 0.95, "tables say what rows do"
    assert not told[rare].any()
    pairs = drawn.tables["pairs"]
    assert abs(pairs["weight"].sum() / (there[apart].sum() / 2) - 1) < 0.2, "in people"


@pytest.mark.parametrize("way", WAYS)
def test_kept_statistics_give_the_same_rows_in_every_way(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go(way, monkeypatch)
    data, made = world(300), mechanism("transitions")
    published = publish(data, made, public_of(data, facts()), seeded(1))
    save_statistics(published, tmp_path / "s.npz")
    monkeypatch.undo()
    again = load_statistics(tmp_path / "s.npz")
    assert [set(tables) for tables in again.rounds] == [set(tables) for tables in published.rounds]
    rows = [made.draw(p.rounds, p.public, seeded(5)).rows for p in (published, again)]
    assert np.array_equal(rows[0].item, rows[1].item) and np.array_equal(rows[0].user, rows[1].user)


def test_rare_items_come_between_the_others_whose_order_stays() -> None:
    rng = np.random.default_rng(5)
    user = np.repeat(np.arange(200, dtype=np.int32), 5)
    item = np.concatenate([rng.permutation(10)[:5] for _ in range(200)]).astype(np.int32)
    have = np.append(np.full(10, 100.0), np.full(5, 40.0))
    who, what = with_rare(user, item, np.arange(10), have, rng)
    assert (np.diff(who) >= 0).all()
    assert np.array_equal(what[what < 10], item) and np.array_equal(who[what < 10], user)
    assert set(what[what >= 10]) == set(range(10, 15))
    assert abs((what >= 10).sum() - 200) < 60
    assert len(np.unique(who * 15 + what)) == len(who), "nobody has an item twice"
    assert any((what[who == u][:-1] >= 10).any() for u in range(200)), "not all of them stand last"
    same, again = with_rare(user, item, np.arange(15), have, rng)
    assert same is user and again is item


def _kinds(rng: np.random.Generator, strange: int) -> SpaceTables:
    """Items of which some have no features, and those of one kind meet six times as often."""
    n = 60
    table = (rng.random((n, 5)) < 0.3).astype(float)
    table[:strange] = 0
    length = np.linalg.norm(table, axis=1, keepdims=True)
    rows = sparse.csr_array(np.divide(table, length, out=np.zeros_like(table), where=length > 0))
    empty = np.zeros((n, 3), dtype=np.float32)
    return SpaceTables(rows, empty, 40 / np.sqrt(np.arange(1, n + 1)), np.eye(3), empty, np.arange(n), 500.0, 1.0, 1.0)


def test_items_with_like_features_are_near_whatever_people_did(monkeypatch: pytest.MonkeyPatch) -> None:
    tables, n, pull = _kinds(np.random.default_rng(3), 7), 60, 2.0
    monkeypatch.setattr(expectations, "NEAREST", 20)
    found = expectations._near_by_features(tables, pull).toarray()
    weight = np.exp(pull * (tables.facts @ tables.facts.T).toarray()) * tables.have
    told = np.diff(tables.facts.indptr) > 0
    assert 30 < told.sum() <= n - 7
    for item in np.flatnonzero(told):
        near = np.argsort(-weight[item])[:21]
        near = near[near != item]
        assert set(np.flatnonzero(found[item])) == set(near)
        np.testing.assert_allclose(found[item, near], weight[item, near] / weight[item, near].sum(), rtol=1e-5)
    assert not found[~told].any()


def test_the_pull_of_features_follows_what_noisy_pairs_show() -> None:
    rng = np.random.default_rng(4)
    tables = _kinds(rng, 0)
    alike = (tables.facts @ tables.facts.T).toarray()
    found = []
    for pull in (0.0, 2.0):
        noise = np.triu(rng.standard_normal(alike.shape), 1)
        pairs = np.exp(pull * alike) * np.outer(tables.have, tables.have) / 500 + noise + noise.T
        np.fill_diagonal(pairs, 0)
        found.append(expectations.kinship(tables, pairs.astype(np.float32)))
    assert found == [0.0, 4.0], "twice the pull that is there"


def test_few_people_are_served() -> None:
    data, made = world(150), mechanism("none", 0.5)
    public = public_of(data, facts())
    rows = made.draw(publish(data, made, public, seeded(4)).rounds, public, seeded(5)).rows
    assert rows.n_users >= 1 and len(rows)


def test_popularity_follows_features_where_counts_are_noise() -> None:
    rng = np.random.default_rng(6)
    kind = np.arange(600) % 2
    table = sparse.csr_array((np.ones(600), (np.arange(600), kind)), shape=(600, 2))
    noisy = np.where(kind, 9.0, 1.0) + 4 * rng.standard_normal(600)
    found = popularity(noisy, 4.0, table)
    assert found.min() > 0
    assert abs(found[kind == 1].mean() - 9) < 1.5 and abs(found[kind == 0].mean() - 1) < 1


def test_smooth_classes_keep_the_number_of_people() -> None:
    counts = np.array([0.0, 300, 500, 400, 200, 100, 50, 0, 0, 0])
    found = smooth(counts + 30 * np.random.default_rng(0).standard_normal(10), 30.0)
    assert abs(found.sum() - 1550) < 300
    assert np.abs(found - counts).max() < 120
    assert smooth(np.full(4, -5.0), 10.0).min() >= 0


def test_the_guard_compares_with_the_decoy() -> None:
    space, duel = spaces(facts().table.toarray().astype(float), np.linspace(50, 1, N))
    assert duel.shape == (N, 2 * (space.shape[1] - 4))
    active = np.flatnonzero((duel != 0).any(axis=0))
    half = len(active) // 2
    one, other = np.eye(duel.shape[1]) * 100, np.eye(duel.shape[1]) * 100
    one[active[0], active[0]] = 600
    other[active[0], active[0]] = other[active[half], active[half]] = 600
    assert trusted(one, duel, 1000.0, 1.0)
    assert not trusted(other, duel, 1000.0, 1.0), "the decoy shows as much"
    assert not trusted(one, duel, 1000.0, 400.0), "noise could be all of it"
    assert structure(one[np.ix_(active, active)], 1000.0, 1.0)[0] > 1


def test_a_space_grows_with_people_above_the_noise() -> None:
    sizes = [directions(n, 1.3, 40_000) for n in (100, 10_000, 100_000, 10_000_000)]
    assert sizes == sorted(sizes) and sizes[0] == 12 and sizes[-1] == 64


def test_axes_hold_what_items_share_and_chance_what_they_do_not() -> None:
    rng, n = np.random.default_rng(8), 400
    genres = (rng.random((n, 40)) < np.linspace(0.4, 0.02, 40)).astype(np.float32)
    shared = PublicItems(pl.Series(np.arange(n)), tuple(map(str, range(40))), sparse.csr_array(genres))
    held = (reduced(shared, 12) ** 2).sum()
    best = (np.linalg.svd(shared.weighted().toarray(), compute_uv=False)[:12] ** 2).sum()
    assert held == pytest.approx(best, rel=0.01)
    kind = np.repeat(np.arange(27), np.arange(1, 28))[: n - 22]  # one kind each, of 27 sizes
    kind = np.append(kind, np.full(n - len(kind), 26))
    one = sparse.csr_array((np.ones(n, np.float32), (np.arange(n), kind)), shape=(n, 27))
    apart = reduced(PublicItems(pl.Series(np.arange(n)), tuple(map(str, range(27))), one), 8)
    assert (np.linalg.norm(apart, axis=1) > 0.3).all()  # no item is left at 0, whatever its category


def test_noisy_loadings_come_nearer_to_the_true_ones() -> None:
    rng, n, d = np.random.default_rng(9), 300, 8
    have = 60 / np.sqrt(np.arange(1, n + 1))
    vectors = rng.standard_normal((n, d)).astype(np.float32)
    true = 0.1 * vectors @ rng.standard_normal((d, d)) / 3 + 0.15 * rng.standard_normal((n, 2)) @ np.eye(2, d)
    noisy = have[:, None] * true + 2.0 * rng.standard_normal((n, d))
    moments = 1000 * (np.eye(d) / d + 0.1 * np.diag([1, 1, 0, 0, 0, 0, 0, 0]))
    none = sparse.csr_array((n, 0))
    found = tastes(SpaceTables(none, vectors, have, moments, noisy, np.arange(10), 1000.0, 1.0, 2.0)).mean

    def error(mean: Any) -> float:
        return float((have[:, None] ** 2 * (mean - true) ** 2).sum())

    raw, flat = error(noisy / have[:, None]), error(np.zeros_like(true))
    assert error(found) < 0.35 * raw and error(found) < 0.5 * flat
