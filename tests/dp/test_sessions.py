"""People with several sessions: what one of them can change, kernels and twins, releases, and what they promise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import naive
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.data import Interactions, concat, from_ids
from recveil.dp.noise import gaussian
from recveil.dp.sparse_noise import exceeding
from recveil.dp.vocabulary import threshold_of_sums
from recveil.formats import read
from recveil.kernels.sessions import count_items_of_people, count_pairs_of_people
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_streams import EDGES, SESSIONS, UNIT, DpStreams
from recveil.mechanisms.dp_streams.counting import PAIRS, item_counts, table_counts
from recveil.mechanisms.pseudonymise import Pseudonymise
from recveil.releases.bundle import load
from recveil.releases.release import release

N_ITEMS = 12
SHARES = (PAIRS, UNIT**2 - PAIRS)
MECHANISM = DpStreams(epsilon=4.0, delta=1e-4)
basket = st.lists(st.integers(0, N_ITEMS - 1), min_size=1, max_size=8)
crowd = st.lists(st.lists(basket, min_size=1, max_size=6), min_size=1, max_size=4)


def flat(people: list[list[list[int]]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    baskets = [b for hers in people for b in hers]
    starts = np.cumsum([0, *map(len, baskets)]).astype(np.int64)
    item = np.array([i for b in baskets for i in b], dtype=np.int32)
    return np.cumsum([0, *map(len, people)]).astype(np.int64), starts, item


def log(people: list[list[list[int]]], first: int = 0) -> Interactions:
    """The same as rows, sessions of a person one after the other."""
    rows = [(first + u, k, i) for u, hers in enumerate(people) for k, b in enumerate(hers) for i in b]
    user, session, item = np.array(rows).T
    return from_ids(pl.Series(user), pl.Series(item), time=np.arange(len(rows)), session=pl.Series(session))


def shoppers(n: int = 1500, most: int = 3, seed: int = 1) -> Interactions:
    """People of two camps with up to `most` sessions of four items each."""
    rng = np.random.default_rng(seed)
    return log([
        [list(rng.choice(15, 4, replace=False) + 15 * (u % 2)) for _ in range(rng.integers(1, most + 1))]
        for u in range(n)
    ])  # fmt: skip


@pytest.mark.kernel
@settings(max_examples=40, deadline=None)
@given(crowd, st.sets(st.integers(0, N_ITEMS - 1), min_size=2))
def test_counts_of_people_equal_their_twins(people: list[list[list[int]]], some: set[int]) -> None:
    kept = sorted(some)
    m = len(kept)
    keep = np.full(N_ITEMS, -1, dtype=np.int32)
    keep[kept] = np.arange(m)
    items, pairs, lengths, moves = naive.counts_of_people(people, kept, EDGES.tolist(), SHARES, UNIT)
    where = flat(people)
    assert {i: int(c) for i, c in enumerate(count_items_of_people(*where, N_ITEMS, UNIT)) if c} == items
    upper, size, after, many = count_pairs_of_people(*where, keep, m, EDGES, SESSIONS, *SHARES, UNIT, True)
    rows, columns = np.triu_indices(m, 1)
    assert {(int(a), int(b)): int(c) for a, b, c in zip(rows, columns, upper, strict=True) if c} == pairs
    assert {j: int(c) for j, c in enumerate(size) if c} == lengths
    assert {divmod(j, m): int(c) for j, c in enumerate(after) if c} == moves
    useful = [sum(len({i for i in b if i in some}) >= 2 for b in hers) for hers in people]
    classes = [sum(edge <= n for edge in SESSIONS) - 1 for n in useful if n]
    assert many.tolist() == [UNIT * classes.count(j) for j in range(len(SESSIONS))]


def queries(data: Interactions, m: int) -> list[np.ndarray]:
    rows = data.canonical()
    found = table_counts(rows, np.arange(m, dtype=np.int32), m, True, True)
    assert found.sessions is not None
    return [
        item_counts(rows, True, True),
        np.concatenate([found.pairs, found.lengths]),
        found.transitions,
        found.sessions,
    ]


@settings(max_examples=40, deadline=None)
@given(crowd, st.integers(0, 3))
def test_one_person_moves_every_query_by_at_most_one(people: list[list[list[int]]], who: int) -> None:
    """Squares of integers, so nothing is rounded."""
    who %= len(people)
    everything = pl.Series(range(N_ITEMS))
    whole = log(people).over_items(everything)
    fewer = whole.take(whole.user != who)
    for one, other in zip(queries(whole, N_ITEMS), queries(fewer, N_ITEMS), strict=True):
        assert sum(int(d) ** 2 for d in one - other) <= UNIT**2


@pytest.mark.parametrize("kind", ["alike", "different", "long"])
def test_a_person_with_500_sessions_more_moves_every_query_by_at_most_one(kind: str) -> None:
    rng = np.random.default_rng(1)
    length = 40 if kind == "long" else 4
    hers = [list(range(4)) if kind == "alike" else list(rng.choice(60, length, replace=False)) for _ in range(500)]
    data = shoppers(50).over_items(pl.Series(range(60)))
    whole = concat([data, log([hers], 10**6).over_items(data.items)])
    changes = [
        sum(int(d) ** 2 for d in one - other) for one, other in zip(queries(whole, 60), queries(data, 60), strict=True)
    ]
    assert max(changes) <= UNIT**2
    assert min(changes) > 0.7 * UNIT**2  # and nearly so much: sessions are not thrown away


def test_one_session_each_counts_as_streams_do() -> None:
    data = shoppers(300, most=1).canonical()
    keep = np.arange(30, dtype=np.int32)
    ours, theirs = (table_counts(data, keep, 30, True, by) for by in (True, False))
    assert np.array_equal(item_counts(data, True, True), item_counts(data, False, True))
    for name in ("pairs", "lengths", "transitions"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name))


def test_pairs_and_transitions_stay_within_sessions() -> None:
    data = log([[[0, 1], [2, 3]]] * 3)
    found = table_counts(data, np.arange(4, dtype=np.int32), 4, True, True)
    rows, columns = np.triu_indices(4, 1)
    there = {(int(i), int(j)) for i, j, c in zip(rows, columns, found.pairs, strict=True) if c}
    assert there == {(0, 1), (2, 3)}
    assert np.flatnonzero(found.transitions).tolist() == [1, 11]


def test_sessions_are_told_apart_by_user_and_interleave_in_time() -> None:
    """Two users may use the same name for their sessions, and one may have two open at a time."""
    user, session, item = [1, 1, 1, 1, 2, 2], ["a", "b", "a", "b", "a", "a"], [0, 2, 1, 3, 2, 1]
    data = from_ids(pl.Series(user), pl.Series(item), time=np.arange(6), session=pl.Series(session)).canonical()
    found = table_counts(data, np.arange(4, dtype=np.int32), 4, True, True)
    assert set(np.flatnonzero(found.transitions)) == {1, 11, 9}
    assert found.sessions is not None
    assert found.sessions.tolist()[:2] == [UNIT, UNIT]  # one with one session, one with two


def test_her_own_items_pass_no_more_often_than_delta_says() -> None:
    law, delta = gaussian(400), 1e-3
    above = threshold_of_sums(law, delta, 40, 30)
    assert 30 * exceeding(law, above - 40, 60)[1] <= delta


def test_a_release_draws_sessions_and_promises_people() -> None:
    data = shoppers(3000)
    made = release(data, MECHANISM, seed=1)
    assert made.data.unit == "session"
    assert made.data.session is None
    promise = made.guarantee
    assert (promise.unit, promise.given) == ("user", None)
    assert "any one user with all her sessions" in promise.sentence
    assert "protected less" not in promise.sentence
    assert made.data.n_users == pytest.approx(6000, rel=0.1)  # two sessions each, on average
    side = (made.data.items.to_numpy()[made.data.item] >= 15).astype(float)
    n, high = np.bincount(made.data.user), np.bincount(made.data.user, side)
    assert n.mean() == pytest.approx(4, abs=0.5)
    assert (high * (n - high)).sum() < 0.1 * (n * (n - 1) / 2).sum()  # camps stay apart
    fixed = release(data, DpStreams(epsilon=4.0, delta=1e-4, k=50, order="none"), seed=1)
    assert fixed.data.n_users == 50


def test_other_mechanisms_take_a_person_for_one_stream() -> None:
    data = shoppers(40)
    made = release(data, Pseudonymise(), seed=1)
    assert made.data.unit == "user"
    assert made.data.session is None
    assert made.data.n_users == 40


def test_the_budget_covers_the_table_of_numbers() -> None:
    for order in ("transitions", "none"):
        mechanism = DpStreams(epsilon=4.0, delta=1e-4, order=order)
        for catalogue in (True, False):
            public = PublicInfo("clicks", "user", pl.Series([1]), None, catalogue, sessions=True)
            assert 0.999 * 4 < mechanism.spent(public) <= 4


# --- files, commands, Spark -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_sessions_are_read_from_files(ending: str, tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"user_id": ["a", "a", "b"], "session_id": ["x", "y", "x"], "item": [1, 2, 1], "ts": [3, 1, 2]}
    )
    file = tmp_path / f"log.{ending}"
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[ending](file)
    data = read(file)
    assert data.unit == "user"
    assert data.session is not None
    assert len(set(zip(data.user.tolist(), data.session.tolist(), strict=True))) == 3
    assert data.session[0] == data.session[2]  # the same word; whose session it is, the user says
    named = read(file, {"user": "user_id", "session": "session_id"})
    assert named.equals(data)
    only = read(file, {"user": "session_id"})  # one session more is one unit more, as without a column of users
    assert (only.unit, only.session) == ("session", None)


def test_sessions_alone_stand_for_users(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("session_id,item,time\n1,5,1\n1,6,2\n2,5,3\n")
    for columns in (None, {"session": "session_id"}):
        data = read(tmp_path / "log.csv", columns)
        assert (data.unit, data.session, data.n_users) == ("session", None, 2)


def test_commands_protect_people_and_release_sessions(recveil: Callable[..., Any], tmp_path: Path) -> None:
    data = shoppers(2000)
    data.frame().write_csv(tmp_path / "log.csv")
    found = recveil("inspect", "log.csv", json_answer=True)
    assert found["sessions"] > found["users"] == 2000
    assert found["protects"].startswith("a person with all her sessions")
    spec = "dp-streams:epsilon=4,delta=1e-4"
    aside = "--holdout", 0.1, "--holdout-file", "held.parquet", "--keep-statistics", "kept"
    recveil("release", "log.csv", "--with", spec, "-o", "out", *aside)
    made = load(tmp_path / "out")
    assert made.data.frame().columns == ["user", "item", "time"]
    assert pl.read_parquet(tmp_path / "out" / "data.parquet").columns == ["session", "item", "order"]
    assert made.guarantee.unit == "user"
    kept = read(tmp_path / "held.parquet")
    assert kept.session is not None
    recveil("verify", "out")
    again = recveil("release", "kept", "--with", "dp-streams:k=30", "-o", "two", json_answer=True)
    assert again["manifest"]["unit"] == "session"
    measured = recveil("measure", "log.csv", "out", "--only", "membership", "--holdout", "held.parquet")
    assert "AUC" in measured.stdout or "membership" in measured.stdout
