"""dp-streams: what one person can change, kernels and their twins, the budget, errors, statistics kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import naive
import numpy as np
import polars as pl
import pytest
from epsilons import lower_bound
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from recveil.data import Interactions, concat, from_ids
from recveil.dp.budget import rho_of
from recveil.errors import RecveilError
from recveil.kernels import swaps
from recveil.kernels.baskets import PairTable, count_items, count_pairs, list_pairs, swap_listed, walk
from recveil.mechanism import PublicInfo
from recveil.mechanisms import dp_streams
from recveil.mechanisms.dp_streams import EDGES, UNIT, DpStreams, counting
from recveil.mechanisms.dp_streams import baskets as steps
from recveil.mechanisms.dp_streams.baskets import Pairs, cumulated, cumulated_rows, pair_counts
from recveil.mechanisms.dp_streams.counting import PAIRS
from recveil.mechanisms.dp_streams.lists import similarity
from recveil.mechanisms.dp_streams.pairs import FALSE, listed, places
from recveil.mechanisms.spec import parse
from recveil.randomness import Source, seeded
from recveil.releases.published import drawing, load_statistics, save_statistics
from recveil.releases.release import draw, publish, release

N_ITEMS = 12
baskets = st.lists(st.lists(st.integers(0, N_ITEMS - 1), max_size=30), min_size=1, max_size=6)
MECHANISM = DpStreams(epsilon=4.0, delta=1e-4)
PUBLIC = PublicInfo("clicks", "user", pl.Series(range(40)), None, True)


def flat(many: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    starts = np.cumsum([0, *map(len, many)]).astype(np.int64)
    return starts, np.array([i for b in many for i in b], dtype=np.int32)


def camps(n: int = 600, items: int = 40, seed: int = 1) -> Interactions:
    """People of two camps, each with items of its own."""
    rng = np.random.default_rng(seed)
    half = items // 2
    rows = [(u, i + half * (u % 2)) for u in range(n) for i in rng.choice(half, 8, replace=False)]
    user, item = np.array(rows).T
    return from_ids(pl.Series(user), pl.Series(item), time=np.arange(len(user)))


@pytest.mark.kernel
@settings(max_examples=30, deadline=None)
@given(baskets, st.sets(st.integers(0, N_ITEMS - 1), min_size=2))
def test_counts_equal_their_twins(many: list[list[int]], some: set[int]) -> None:
    starts, item = flat(many)
    kept = sorted(some)
    keep = np.full(N_ITEMS, -1, dtype=np.int32)
    keep[kept] = np.arange(len(kept))
    items, pairs, lengths, moves = naive.bounded_counts(many, kept, EDGES.tolist(), PAIRS, UNIT**2 - PAIRS, UNIT)
    assert {i: int(c) for i, c in enumerate(count_items(starts, item, N_ITEMS, UNIT)) if c} == items
    m = len(kept)
    upper, size, after = count_pairs(starts, item, keep, m, EDGES, PAIRS, UNIT**2 - PAIRS, UNIT, True)
    rows, columns = np.triu_indices(m, 1)
    assert {(int(a), int(b)): int(c) for a, b, c in zip(rows, columns, upper, strict=True) if c} == pairs
    assert {j: int(c) for j, c in enumerate(size) if c} == lengths
    assert {divmod(j, m): int(c) for j, c in enumerate(after) if c} == moves
    cells, weights, again = list_pairs(starts, item, keep, m, EDGES, PAIRS, UNIT**2 - PAIRS)
    one_by_one = listed(cells, weights, again)
    where = zip(*(side.tolist() for side in places(one_by_one.cells, m)), strict=True)
    assert dict(zip(where, one_by_one.values.tolist(), strict=True)) == pairs
    assert np.array_equal(again, size)


@settings(max_examples=60, deadline=None)
@given(baskets, st.integers(0, 5), st.sets(st.integers(0, N_ITEMS - 1), min_size=2))
def test_one_person_moves_every_query_by_at_most_one(many: list[list[int]], who: int, some: set[int]) -> None:
    """Squares of integers, so nothing is rounded: the change is at most UNIT^2 in each of the three queries."""
    fewer = [b for k, b in enumerate(many) if k != who % len(many)]
    keep = np.full(N_ITEMS, -1, dtype=np.int32)
    keep[sorted(some)] = np.arange(len(some))

    def queries(people: list[list[int]]) -> list[np.ndarray]:
        starts, item = flat(people)
        upper, size, after = count_pairs(
            starts, item, keep, len(some), EDGES, PAIRS, UNIT**2 - PAIRS, UNIT, True
        )  # fmt: skip
        return [count_items(starts, item, N_ITEMS, UNIT), np.concatenate([upper, size]), after]

    for one, other in zip(queries(many), queries(fewer), strict=True):
        assert sum(int(d) ** 2 for d in one - other) <= UNIT**2


def test_a_large_basket_is_bounded_too() -> None:
    starts, item = np.array([0, 5000]), np.arange(5000, dtype=np.int32)
    keep = np.arange(5000, dtype=np.int32)
    upper, size, after = count_pairs(starts, item, keep, 5000, EDGES, PAIRS, UNIT**2 - PAIRS, UNIT, True)
    total = int((upper**2).sum()) + int((size**2).sum())
    assert 0.8 * UNIT**2 < total <= UNIT**2
    assert int((after**2).sum()) <= UNIT**2


@dataclass(frozen=True)
class Small:
    """A small table to draw from, baskets walked from it, and the same for the twins."""

    pairs: Pairs
    starts: np.ndarray
    item: np.ndarray
    chance: tuple[np.ndarray, np.ndarray]
    baskets: list[list[int]]
    rows: list[dict[int, int]]


def small(whole: bool, sizes: list[int], key: Source) -> Small:
    rng = np.random.default_rng(3)
    m = 7
    M = rng.random((m, m)) * 3
    M = M + M.T
    np.fill_diagonal(M, 0)
    pairs = whole_or_not(M, whole)
    rows, first = cumulated_rows(pairs), cumulated(pairs.strength[None])[0]
    starts = np.cumsum([0, *sizes]).astype(np.int64)
    item = walk(key.key(), starts, first, rows, pairs.table)
    columns = pairs.table.indices if len(pairs.table.indices) else np.tile(np.arange(m), m)
    places = [slice(*pairs.table.indptr[i : i + 2]) for i in range(m)]
    steps = [dict(zip(columns[p].tolist(), rows[p].tolist(), strict=True)) for p in places]
    many = [
        naive.walk_basket(naive.chacha_words(key.key().tobytes(), k, 400), size, first.tolist(), steps)
        for k, size in enumerate(sizes)
    ]
    assert item.tolist() == [i for b in many for i in b]
    return Small(pairs, starts, item, (first, rows), many, steps)


@pytest.mark.kernel
def test_draws_from_a_list_of_pairs_equal_their_twins() -> None:
    key = seeded(9)
    made = small(False, [3, 1, 2, 5, 4, 7], key)
    table, item, (first, rows) = made.pairs.table, made.item, made.chance
    target = (made.pairs.weight / 4).astype(np.float32)
    row = np.repeat(np.arange(7), np.diff(table.indptr))
    goal = {(int(i), int(j)): float(t) for i, j, t in zip(row, table.indices, target, strict=True) if i < j}
    excess = pair_counts(made.starts, item, table) - target
    swapped = naive.swap_items(key.key().tobytes(), made.baskets, goal, first.tolist(), made.rows, 0.7, 3)
    accepted = swap_listed(key.key(), made.starts, item, excess, target, first, rows, table, 0.7, 3)
    assert item.tolist() == [i for b in swapped for i in b]
    assert accepted >= 3
    assert np.allclose(excess, pair_counts(made.starts, item, table) - target, atol=1e-4)


@pytest.mark.kernel
def test_draws_from_a_whole_table_equal_their_twins() -> None:
    key, sizes, scale = seeded(9), [3, 1, 2, 4, 4, 5, 0, 2, 3, 3, 2], 0.25
    pairs = small(True, sizes, key).pairs
    starts, word = np.cumsum([0, *sizes]).astype(np.int64), key.key().tobytes()
    rows = np.vstack([cumulated_rows(pairs).reshape(7, 7), cumulated(pairs.strength[None])])
    guide = swaps.guides(rows)
    item = swaps.walk(key.key(), starts, rows, guide)
    walked = [naive.walk_whole(naive.chacha_words(word, k, 400), size, rows.tolist()) for k, size in enumerate(sizes)]
    assert item.tolist() == [i for b in walked for i in b]
    target = pairs.square.astype(np.float32)
    goal, share = (target * scale).tolist(), np.linspace(0.5, 2, 7, dtype=np.float32)
    excess = swaps.pair_excess(starts, item, target, scale)
    assert np.allclose(excess, np.array(naive.pairs_of(walked, 7)) - goal, atol=1e-5)
    slow = word, walked, goal, share.tolist(), rows.tolist(), 0.1, 3
    swapped = naive.swap_whole(*slow, swaps.TRIES, swaps.FEW)
    taken = swaps.swap_items(key.key(), starts, item, excess, share, 0.1, rows, guide, 3)
    assert item.tolist() == [i for b in swapped for i in b]
    assert taken >= 3
    assert np.allclose(excess, np.array(naive.pairs_of(swapped, 7)) - goal, atol=1e-5)
    mixed = naive.shuffle(word, swapped)
    swaps.shuffle(key.key(), starts, item)
    assert item.tolist() == [i for b in mixed for i in b]
    target *= np.random.default_rng(4).random((7, 7), dtype=np.float32)  # a move is not as likely as the one back
    goal = (target * scale).tolist()
    moves = swaps.move_errors(starts, item, target, scale, 0.7)
    assert np.allclose(moves[..., 0], np.array(naive.moves_of(mixed, 7)) - goal, atol=1e-5)
    ordered = naive.swap_order(word, mixed, goal, 0.7, 3)
    assert swaps.swap_order(key.key(), starts, item, moves, 3) > 3
    assert item.tolist() == [i for b in ordered for i in b]
    assert np.allclose(moves[..., 0], np.array(naive.moves_of(ordered, 7)) - goal, atol=1e-5)


def test_neither_threads_nor_the_number_of_blocks_decide_what_a_block_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block is drawn by its number; pairs over all blocks come as near the table as those of one block."""
    made = small(True, [2], seeded(9))
    drawer = steps.BasketDrawer(made.pairs, None, 4)
    sizes = np.full(4000, 3)
    found, errors = [], []
    for block, threads in ((1000, 1), (1000, 2), (4000, 2)):
        monkeypatch.setattr(steps, "BLOCK", block)
        monkeypatch.setattr(swaps, "get_num_threads", lambda threads=threads: threads)
        found.append(steps.draw_all(drawer, sizes, seeded(5)))
        there = swaps.pair_excess(np.arange(0, 12001, 3), found[-1], made.pairs.square.astype(np.float32), 0.0)
        errors.append(np.abs(there / there.sum() - made.pairs.square / made.pairs.square.sum()).sum())
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])
    assert max(errors) < 0.02
    plain = steps.draw_all(steps.BasketDrawer(made.pairs, None, 0), sizes, seeded(5))
    there = swaps.pair_excess(np.arange(0, 12001, 3), plain, made.pairs.square.astype(np.float32), 0.0)
    assert np.abs(there / there.sum() - made.pairs.square / made.pairs.square.sum()).sum() > 0.04


def whole_or_not(M: np.ndarray, whole: bool) -> Pairs:
    """A table of pairs with every cell, or with those of more than average weight."""
    m = len(M)
    if whole:
        return Pairs(PairTable(np.arange(m + 1) * m, np.empty(0, np.int32)), M.ravel(), M.sum(1))
    kept = sparse.csr_array(np.where(M.mean() < M, M, 0.0))
    return Pairs(PairTable(kept.indptr.astype(np.int64), kept.indices.astype(np.int32)), kept.data, M.sum(1))


def test_budget_agrees_with_dp_accounting() -> None:
    from dp_accounting import GaussianDpEvent
    from dp_accounting.pld import PLDAccountant

    for mechanism, public in ((MECHANISM, PUBLIC), (replace(MECHANISM, order="none"), PUBLIC)):
        accountant = PLDAccountant()
        for v in mechanism.variances(public):
            accountant.compose(GaussianDpEvent(np.sqrt(v) / UNIT))
        assert accountant.get_epsilon(mechanism.delta) == pytest.approx(mechanism.epsilon, rel=2e-3)
    for public in (PUBLIC, replace(PUBLIC, catalogue=False)):
        assert 0.999 * MECHANISM.epsilon < MECHANISM.spent(public) <= MECHANISM.epsilon


def test_audit_of_the_published_statistics() -> None:
    """The strongest attacker looks along the canary's own direction in all tables at once."""
    mechanism = DpStreams(epsilon=8.0, delta=1e-3)
    data = camps(1000, 40)
    canary = from_ids(pl.Series([10**6] * 8), pl.Series(np.arange(8)), time=np.arange(8))
    whole = Interactions(
        np.append(data.user, np.full(8, data.n_users, dtype=np.int32)), np.append(data.item, canary.item),
        pl.concat([data.users, canary.users]), data.items, time=np.append(data.time, canary.time + 10**6),
    )  # fmt: skip
    public = PublicInfo("clicks", "user", data.items, None, True)

    exact = [
        [(r := mechanism.count(d, (), public)), mechanism.count(d, ({"items": r * 100},), public)]
        for d in (whole, data)
    ]
    gaps = [exact[0][0] - exact[1][0]] + [
        getattr(exact[0][1], name) - getattr(exact[1][1], name) for name in ("pairs", "lengths", "transitions")
    ]
    weights = [gap / v for gap, v in zip(gaps, [mechanism.variances(public)[i] for i in (0, 1, 1, 2)], strict=True)]

    def run(rows: Interactions, number: int) -> float:
        first, second = publish(rows, mechanism, public, seeded(number)).rounds
        if len(second["pairs"]) != len(weights[1]):
            return 0.0
        noisy = (first["items"], second["pairs"], second["lengths"], second["transitions"])
        return float(sum((w * x).sum() for w, x in zip(weights, noisy, strict=True)))

    found = lower_bound(run, (whole, data), lambda score: {"score": score}, runs=300, delta=1e-3, confidence=0.999)
    assert 0.2 < found.lower <= 8.0
    scores = [[run(rows, 10**6 + 2 * k + side) for k in range(200)] for side, rows in enumerate((whole, data))]
    apart = (np.mean(scores[0]) - np.mean(scores[1])) / np.sqrt((np.var(scores[0]) + np.var(scores[1])) / 2)
    most = np.sqrt(2 * rho_of(8.0, 1e-3))  # deviations by which Gaussian noise lets the two sides differ
    assert 0.9 * most - 0.4 < apart < most + 0.4


def test_a_release_keeps_the_camps_apart_and_the_null_has_none() -> None:
    data = camps(4000)
    made = release(data, MECHANISM, seed=1)
    assert made.published is not None and made.id_map is None
    assert made.guarantee.status == "experiment"
    assert mixed(made.data) < 0.1
    assert 3500 < made.data.n_users < 4500
    rng = np.random.default_rng(2)
    shuffled = Interactions(data.user, rng.permutation(data.item), data.users, data.items, time=data.time)
    assert mixed(release(shuffled, MECHANISM, seed=1).data) > 0.4


def mixed(rows: Interactions, half: int = 20) -> float:
    """The share of pairs of items, within people, that come from both camps."""
    side = (rows.items.to_numpy()[rows.item] >= half).astype(float)
    n = np.bincount(rows.user)
    high = np.bincount(rows.user, side)
    return float((high * (n - high)).sum() / (n * (n - 1) / 2).sum())


def test_of_very_many_items_the_rare_moves_are_put_in_order_too(monkeypatch: pytest.MonkeyPatch) -> None:
    m, n, size = 60, 500, 6
    rng = np.random.default_rng(2)
    starts = np.arange(0, n * size + 1, size)
    near = (rng.integers(0, m, (n, 1)) + np.array([rng.permutation(9)[:size] for _ in range(n)])) % m
    moves = np.full((m, m), 0.3)
    moves[np.arange(m), (np.arange(m) + 1) % m] = 4.0  # a round, whose moves are rare beside all others together
    np.fill_diagonal(moves, 0.0)
    wanted = steps.expected_moves(1 - np.eye(m), moves, 0.01)
    followed = []
    for many in (m, m - 1):
        monkeypatch.setattr(steps, "MANY", many)
        item = near.astype(np.int32).ravel()
        steps.draw_order(item, starts, wanted, seeded(3), 4)
        step = np.diff(item.reshape(n, size), axis=1) % m
        followed.append(float((step == 1).mean()))
    assert followed[1] > followed[0]


def test_moves_follow_the_power_of_pairs_that_fits_them() -> None:
    """Each item is as frequent in them as in pairs, whatever the power; what contradicts the pairs tells nothing."""
    rng = np.random.default_rng(4)
    M = rng.lognormal(0, 1, (30, 30))
    M = np.triu(M, 1) + np.triu(M, 1).T
    for power in steps.POWERS:
        expected = M**power
        for _ in range(200):  # rows, then columns, until both have the sums of the pairs
            expected *= (M.sum(1) / expected.sum(1))[:, None]
            expected *= M.sum(0) / expected.sum(0)
        noisy = 0.3 * expected + rng.normal(0, 0.1, M.shape)
        assert steps.moves_of_pairs(M, noisy) == pytest.approx(0.3 * expected, rel=0.05, abs=1e-3)
    assert not steps.moves_of_pairs(M, -M).any()


def test_order_is_learned_and_can_be_left_out() -> None:
    rng = np.random.default_rng(1)
    user = np.repeat(np.arange(3000), 6)
    item = np.concatenate([(rng.integers(30) + np.arange(6)) % 30 for _ in range(3000)])
    data = from_ids(pl.Series(user), pl.Series(item), time=np.arange(len(user)))
    rows = release(data, MECHANISM, seed=1).data.ordered()
    step = (np.diff(rows.items.to_numpy()[rows.item]) % 30)[np.diff(rows.user) == 0]
    assert (step == 1).mean() > 0.6
    assert (step == 29).mean() < 0.15
    without = release(data, DpStreams(epsilon=4.0, delta=1e-4, order="none"), seed=1)
    assert without.data.time is None
    assert without.time == "drop"


def test_ratings_without_times_have_no_order_to_spend_on() -> None:
    data = camps(2000)
    rated = Interactions(data.user, data.item, data.users, data.items, np.ones(len(data)))
    made = release(rated, MECHANISM, seed=1)
    assert made.data.time is None and made.time == "drop"
    assert made.mechanism == DpStreams(epsilon=MECHANISM.epsilon, delta=MECHANISM.delta, order="none")
    assert made.published is not None and "transitions" not in made.published.rounds[1]


def test_direct_model_finds_the_camp() -> None:
    made = release(camps(4000), MECHANISM, seed=1)
    assert made.published is not None
    tables = MECHANISM.tables(made.published.rounds, made.published.public)
    S = similarity(tables)
    nearest = tables.kept[np.argmax(S.toarray(), axis=1)]
    assert np.mean((nearest >= 20) == (tables.kept >= 20)) > 0.9


def test_many_items_are_published_sparsely(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same tables, cut: pairs within the camps stand above the threshold, others by chance alone."""
    data, mechanism = camps(6000, 60), DpStreams(epsilon=4.0, delta=1e-4, order="none")
    dense = release(data, mechanism, seed=1)
    monkeypatch.setattr(dp_streams, "DENSE", 20)
    made = release(data, mechanism, seed=1)
    assert made.published is not None and dense.published is not None
    first, second = made.published.rounds
    assert np.array_equal(first["items"], dense.published.rounds[0]["items"])
    i, j = places(second["cells"], 60)
    within = (i < 30) == (j < 30)
    assert within.sum() > 0.99 * 2 * 30 * 29 / 2
    chance = 30 * 30 * 2 * FALSE / 60  # of the pairs of both camps, the share that noise lifts above the threshold
    assert abs((~within).sum() - chance) < 5 * np.sqrt(chance)
    assert mixed(made.data, 30) < 0.1
    assert abs(made.data.n_users - dense.data.n_users) < 200
    real, drawn = (np.bincount(d.item, minlength=60) / len(d) for d in (data, made.data))
    assert np.abs(real - drawn).max() < 0.005
    nearest = np.argmax(similarity(mechanism.tables(made.published.rounds, made.published.public)).toarray(), axis=1)
    assert np.array_equal(nearest >= 30, np.arange(60) >= 30)
    save_statistics(made.published, tmp_path / "kept")
    assert draw(load_statistics(tmp_path / "kept"), seed=1).data.equals(made.data)


def test_listed_pairs_add_up_over_chunks() -> None:
    lengths = np.ones(2, dtype=np.int64)
    one, other = listed(np.array([7, 2, 7]), np.array([1, 2, 3]), lengths), listed(np.array([2, 9]), lengths, lengths)
    both = one + other
    assert both.cells.tolist() == [2, 7, 9]
    assert both.values.tolist() == [3, 4, 1]
    assert both.lengths.tolist() == [2, 2]
    nothing = listed(np.empty(0, np.int64), np.empty(0, np.int64), lengths)
    assert (nothing + nothing).cells.tolist() == []
    m = 9
    i, j = np.triu_indices(m, 1)
    assert np.array_equal(places(np.arange(m * (m - 1) // 2), m), (i, j))


def test_statistics_are_kept_and_drawn_from_again(tmp_path: Path) -> None:
    made = release(camps(2000), MECHANISM, seed=1)
    assert made.published is not None
    save_statistics(made.published, tmp_path / "kept")
    kept = load_statistics(tmp_path / "kept")
    assert draw(kept, seed=1).data.equals(made.data)
    more = draw(drawing(kept, "dp-streams:k=50"), seed=2)
    assert more.data.n_users == 50
    assert more.seeded
    with pytest.raises(RecveilError, match="epsilon was 4"):
        drawing(kept, "dp-streams:epsilon=9")
    with pytest.raises(RecveilError, match="published by dp-streams"):
        drawing(kept, "pseudonymise")
    (tmp_path / "broken").write_bytes(b"PK")
    with pytest.raises(RecveilError, match="cannot be read as published statistics"):
        load_statistics(tmp_path / "broken")


def test_command_keeps_statistics(recveil: Callable[..., Any], tmp_path: Path) -> None:
    camps(2000).frame().write_csv(tmp_path / "clicks.csv")
    spec = "dp-streams:epsilon=4,delta=1e-4"
    done = recveil("release", "clicks.csv", "--with", spec, "-o", "one", "--keep-statistics", "kept.npz")
    assert "spent: epsilon 4, delta 0.0001 for every user" in done.stderr
    assert "guarantee (proved)" in done.stdout
    again = recveil("release", "kept.npz", "--with", "dp-streams:k=30", "-o", "two", json_answer=True)
    assert again["manifest"]["users"] == 30
    assert again["manifest"]["guarantee"]["status"] == "proved"
    recveil("verify", "two")


def test_command_recommends_from_the_tables(recveil: Callable[..., Any], tmp_path: Path) -> None:
    camps(2000).frame().write_csv(tmp_path / "clicks.csv")
    spec = "dp-streams:epsilon=4,delta=1e-4"
    found = recveil("recommend", "clicks.csv", "--with", spec, "--top", 5, json_answer=True)
    right = [(i >= 20) == bool(row["user"] % 2) for row in found["lists"] for i in row["items"]]
    assert len(right) == 5 * 2000
    assert np.mean(right) > 0.95
    recveil("recommend", "clicks.csv", "--with", spec, "--minsup", 3, code=1)


def test_command_recommends_over_a_public_catalogue(recveil: Callable[..., Any], tmp_path: Path) -> None:
    camps(2000).frame().write_csv(tmp_path / "clicks.csv")
    (tmp_path / "items.txt").write_text("\n".join(map(str, range(1, 60))))  # item 0 is missing, 40..59 nobody clicked
    spec = "dp-streams:epsilon=4,delta=1e-4"
    options = ("--catalogue", "items.txt", "--catalogue-is-public", "--top", 5, "-o", "lists.txt")
    done = recveil("recommend", "clicks.csv", "--with", spec, *options)
    assert "do not stand in the catalogue" not in done.stderr  # that would be a true count
    assert "spent: epsilon 4" in done.stderr
    lists = [line.split("\t") for line in (tmp_path / "lists.txt").read_text().splitlines()]
    right = [1 <= int(i) < 40 and (int(i) >= 20) == bool(int(user) % 2) for user, row in lists for i in row.split(",")]
    assert len(right) == 5 * 2000
    assert np.mean(right) > 0.95
    recveil("release", "clicks.csv", "--with", spec, "-o", "one", "--keep-statistics", "kept", *options[:3])
    again = recveil("recommend", "clicks.csv", "--with", "dp-streams", "--statistics", "kept", "--top", 5)
    assert "spent" not in again.stderr
    wrong = recveil("recommend", "clicks.csv", "--with", "mask:p=0.9", "--statistics", "kept", code=1)
    assert "published by dp-streams" in wrong.stderr
    wrong = recveil("recommend", "clicks.csv", "--with", "mask:p=0.9", "--catalogue", "items.txt", code=1)
    assert "--items is for dp-streams" in wrong.stderr


def test_bad_input() -> None:
    for bad in ("epsilon=0,delta=1e-6", "epsilon=nan,delta=1e-6", "epsilon=1,delta=0", "epsilon=1,delta=1"):
        with pytest.raises(RecveilError, match="dp-streams: parameter"):
            parse(f"dp-streams:{bad}")
    for bad in ("k=0", "k=some", "order=maybe"):
        with pytest.raises(RecveilError, match="dp-streams: parameter"):
            parse(f"dp-streams:epsilon=1,delta=1e-6,{bad}")
    with pytest.raises(RecveilError, match="epsilon 1e-05 is too small"):
        release(camps(30), DpStreams(epsilon=1e-5, delta=1e-9), seed=1)
    with pytest.raises(RecveilError, match="needs the parameter delta"):
        parse("dp-streams:epsilon=1")
    with pytest.raises(
        RecveilError, match=r"too few items stand out of the noise at epsilon 1 \(\d, and 10 are needed\)"
    ):
        release(camps(30), DpStreams(epsilon=1.0, delta=1e-6), seed=1)
    one = from_ids(pl.Series([1, 1]), pl.Series([1, 2]))
    with pytest.raises(RecveilError, match=r"the catalogue has too few items \(2, and 10 are needed\)"):
        release(one, DpStreams(epsilon=1.0, delta=1e-6), seed=1, catalogue=pl.Series([1, 2]))
    with pytest.raises(RecveilError, match=r"too few items .* or a public list of items \(--catalogue\) would help"):
        release(one, DpStreams(epsilon=1.0, delta=1e-6), seed=1)
    with pytest.raises(RecveilError, match="stand out of the noise"):
        release(one, DpStreams(epsilon=1.0, delta=1e-6), seed=1, catalogue=pl.Series(np.arange(1000)))


def test_the_promise_names_unit_and_catalogue() -> None:
    items = pl.Series([1, 2])
    promise = MECHANISM.guarantee(PublicInfo("sessions", "session", items, None, False))
    assert promise.unit == "session"
    assert "several sessions" in promise.sentence
    assert promise.status == "proved"
    assert promise.given is None
    assert "given" not in promise.sentence
    assert promise.rho_fails == MECHANISM.delta / 2
    listed = MECHANISM.guarantee(PUBLIC)
    assert listed.given == "the catalogue of items"
    assert listed.rho_fails == 0.0


# --- items selected within the budget -------------------------------------------------------------------------------


def with_hermits(data: Interactions, n: int = 300) -> Interactions:
    """The same with one person more, who alone has n items, and one that has more items than anybody may count with."""
    hermit = from_ids(pl.Series([10**6] * n), pl.Series(10**6 + np.arange(n)), time=np.arange(n))
    hoarder = from_ids(pl.Series([10**7] * 2000), pl.Series(10**7 + np.arange(2000)), time=np.arange(2000))
    return concat([data, hermit, hoarder])


def test_what_one_person_alone_has_leaves_no_trace(tmp_path: Path) -> None:
    """Neither ids nor numbers of items below the threshold reach statistics, public facts, files or rows."""
    data = with_hermits(camps(2000))
    made = release(data, MECHANISM, seed=1)
    published = made.published
    assert published is not None
    assert published.public.items.to_list() == list(range(40))
    assert len(published.rounds[0]["items"]) == 40
    assert set(made.data.items) <= set(range(40))
    save_statistics(published, tmp_path / "kept")
    assert b"1000000" not in (tmp_path / "kept").read_bytes()
    again = load_statistics(tmp_path / "kept")
    assert again.public.items.to_list() == list(range(40))
    assert draw(again, seed=1).data.equals(made.data)


def test_counting_never_sees_forgotten_items(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []
    count = DpStreams.count

    def watched(self: DpStreams, chunk: Interactions, published: tuple[Any, ...], public: PublicInfo) -> Any:
        seen.append((chunk.n_items, len(public.items)))
        return count(self, chunk, published, public)

    monkeypatch.setattr(DpStreams, "count", watched)
    release(with_hermits(camps(2000)), MECHANISM, seed=1)
    assert seen == [(2340, 0), (40, 40)]


@settings(max_examples=40, deadline=None)
@given(baskets, st.integers(0, 5), st.integers(1, 9))
def test_one_person_moves_the_selection_by_at_most_one(many: list[list[int]], who: int, most: int) -> None:
    """With a bound on her items that she may exceed; nobody else's choice depends on her."""
    fewer = [b for k, b in enumerate(many) if k != who % len(many)]

    def counted(people: list[tuple[int, list[int]]]) -> np.ndarray:
        rows = [(u, i) for u, b in people for i in b] or [(0, 0)]
        user, item = np.array(rows).T
        data = from_ids(pl.Series(user), pl.Series(item), time=np.arange(len(rows))).over_items(pl.Series(range(12)))
        return MECHANISM.count(data, (), replace(PUBLIC, catalogue=False))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "MOST_OF_ONE", most)
        change = counted(list(enumerate(many))) - counted([(u, b) for u, b in enumerate(many) if u != who % len(many)])
    if any(fewer):
        assert sum(int(d) ** 2 for d in change) <= UNIT**2


def test_her_own_items_pass_no_more_often_than_delta_says() -> None:
    """The whole first round, with a delta large enough to be seen: a person alone with t items, for several t."""
    mechanism = DpStreams(epsilon=8.0, delta=0.1)
    public = replace(PUBLIC, catalogue=False, items=pl.Series([], dtype=pl.Int64))
    found = {}
    for t in (1, 7, 500, 3000):
        hermit = from_ids(pl.Series([1] * t), pl.Series(np.arange(t)), time=np.arange(t))
        counts = mechanism.count(hermit, (), public)
        found[t] = np.mean(
            [len(mechanism.publish(counts, (), public, seeded(k))["items"].codes) > 0 for k in range(400)]
        )
    most = 0.05 + 4 * np.sqrt(0.05 / 400)
    assert max(found.values()) <= most
    assert found[500] > 0.02  # the worst case is nearly reached
    assert abs(found[3000] - found[500]) < 0.06


def test_a_person_with_very_many_pairs_is_cut_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory for listed pairs follows from constants, her norm stays below one, and others keep all their pairs."""
    n = 20_000
    hoarder = from_ids(pl.Series([1] * n + [2] * 3), pl.Series([*range(n), 5, 6, 7]), time=np.arange(n + 3))
    keep = np.arange(n, dtype=np.int32)
    found = counting.listed_counts(hoarder, keep, n)
    pairs = counting.MOST_OF_ONE * (counting.MOST_OF_ONE - 1) // 2
    assert pairs <= len(found.cells) <= pairs + 3
    alone = counting.listed_counts(hoarder.take(np.arange(n)), keep, n)
    squares = sum(int(v) ** 2 for v in (*alone.values, *alone.lengths))
    assert 0.9 * UNIT**2 < squares <= UNIT**2
    monkeypatch.setattr(counting, "_CELLS", 1)
    again = counting.listed_counts(hoarder, keep, n)
    assert np.array_equal(again.cells, found.cells)
    assert np.array_equal(again.values, found.values)
    assert np.array_equal(again.lengths, found.lengths)
