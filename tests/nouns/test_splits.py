"""Splits are partitions; each keeps its promise about users, time or posts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil import splits
from recveil.data import NO_TIME, Interactions, from_ids
from recveil.errors import RecveilError
from recveil.samples import sample


@st.composite
def interactions(draw: st.DrawFn) -> Interactions:
    """Rows in any order, of which some repeat; perhaps times, with ties and unknown ones; perhaps tags."""
    n = draw(st.integers(2, 60))
    column = st.lists(st.integers(0, 9), min_size=n, max_size=n)
    user = np.array(draw(column))
    user[0], user[1] = 0, 1
    time = np.array(draw(column), dtype=draw(st.sampled_from([np.int64, np.float64])))
    time[time == 9] = NO_TIME if time.dtype == np.int64 else np.nan
    rows = np.arange(n, dtype=float)  # as the rating: the name of the row
    tag = pl.Series([f"t{i}" for i in draw(column)]) if draw(st.booleans()) else None
    return from_ids(pl.Series(user), pl.Series(draw(column)), rows, time if draw(st.booleans()) else None, tag)


def rows(data: Interactions) -> list[float]:
    assert data.rating is not None
    return [float(r) for r in data.rating]


def moments(data: Interactions) -> list[tuple[float, float]]:
    """Time (unknown: last) and row, which decides between equal times, and alone where there are none."""
    time = np.zeros(len(data)) if data.time is None else data.time
    unknown = np.isnan(time) if time.dtype.kind == "f" else time == NO_TIME
    return list(zip(np.where(unknown, np.inf, time).tolist(), rows(data), strict=True))


def assert_partition(data: Interactions, parts: tuple[Interactions, ...]) -> None:
    assert sorted(r for part in parts for r in rows(part)) == rows(data)
    for part in parts:
        assert rows(part) == sorted(rows(part)), "rows keep their order"
        assert part.users.equals(data.users)
        assert part.items is data.items
        assert part.tags is data.tags
        assert part.equals(data.take(np.array(rows(part), dtype=int)))


shares = st.floats(0.01, 0.99)
seeds = st.integers(0, 2**32).map(np.random.default_rng)


@given(interactions(), shares, shares, seeds)
@settings(max_examples=60, deadline=None)
def test_every_split_is_a_partition(data: Interactions, share: float, cut: float, rng: np.random.Generator) -> None:
    assert_partition(data, splits.horizontal(data, share, rng))
    assert_partition(data, splits.holdout_users(data, share, rng))
    kept, held = splits.hold_out(data, share, rng.integers(0, 2**63, data.n_users))
    assert_partition(data, (kept.over_users(data.users), held.over_users(data.users)))
    assert sorted([*kept.users, *held.users]) == sorted(data.users)
    assert_partition(data, splits.vertical(data, share))
    assert_partition(data, splits.both(data, share, cut, rng))
    assert_partition(data, splits.random_rows(data, share, rng))
    assert_partition(data, splits.leave_one_post_out(data, rng))


@given(interactions(), shares, seeds)
@settings(max_examples=60, deadline=None)
def test_no_user_is_in_both_horizontal_parts(data: Interactions, share: float, rng: np.random.Generator) -> None:
    train, test = splits.horizontal(data, share, rng)
    assert len(train) > 0
    assert len(test) > 0
    assert not set(train.user) & set(test.user)
    users = len(set(data.user))
    assert abs(len(set(train.user)) - share * users) <= 1


@given(interactions(), shares)
@settings(max_examples=60, deadline=None)
def test_vertical_respects_time(data: Interactions, share: float) -> None:
    first, rest = splits.vertical(data, share)
    for user in set(data.user):
        past, future = (moments(d.take(d.user == user)) for d in (first, rest))
        n = len(past) + len(future)
        assert len(past) == (1 if n == 1 else min(max(int(share * n + 1e-9), 1), n - 1))
        assert not future or max(past) < min(future)


@given(interactions(), seeds)
@settings(max_examples=60, deadline=None)
def test_leave_one_post_out_holds_one_whole_post_of_each_eligible_user(
    data: Interactions, rng: np.random.Generator
) -> None:
    train, test = splits.leave_one_post_out(data, rng)
    for user in set(data.user):
        posts, kept, held = (set(d.item[d.user == user]) for d in (data, train, test))
        assert len(held) == (1 if len(posts) > 1 else 0)
        assert not kept & held, "with all its tags"


def test_the_held_out_post_is_uniform() -> None:
    data = from_ids(pl.Series([1] * 6), pl.Series([10, 10, 10, 20, 30, 30]))  # three posts
    rng = np.random.default_rng(0)
    held = np.bincount([splits.leave_one_post_out(data, rng).test.item[0] for _ in range(3000)], minlength=3)
    assert abs(held - 1000).max() < 130  # 5 standard deviations


def test_the_same_seed_is_the_same_split_and_another_is_not() -> None:
    data = sample("tags?users=50")

    def parts(seed: int) -> list[list[int]]:
        rng = np.random.default_rng(seed)
        made = [*splits.both(data, 0.8, 0.5, rng), *splits.random_rows(data, 0.8, rng)]
        made += splits.leave_one_post_out(data, rng)
        return [list(part.item) for part in made]

    assert parts(1) == parts(1)
    assert all(a != b for a, b in zip(parts(1), parts(2), strict=True))


def test_users_without_rows_are_nobody() -> None:
    data = sample("films?users=20")
    some = data.take_users(np.arange(10))
    train, test = splits.horizontal(some, 0.5, np.random.default_rng(0))
    assert len(set(train.user)) == len(set(test.user)) == 5


def test_everybody_is_held_out_by_her_own_name() -> None:
    data = sample("films?users=300")
    names = np.random.default_rng(1).integers(0, 2**63, data.n_users)
    kept, held = splits.hold_out(data, 0.3, names)
    assert held.users.to_list() == [u for u, name in zip(data.users, names, strict=True) if name < 0.3 * 2**63]
    assert 60 < held.n_users < 120
    for one in range(40):  # without any one of them, the others stay where they are
        others = np.arange(data.n_users) != one
        fewer, out = splits.hold_out(data.among(others), 0.3, names[others])
        gone = data.users[one]
        assert set(fewer.users) == set(kept.users) - {gone} and set(out.users) == set(held.users) - {gone}


def test_half_of_an_odd_sequence_is_rounded_down_and_shares_are_exact() -> None:
    data = from_ids(pl.Series([1] * 15 + [2] * 100), pl.Series(np.arange(115)))
    assert np.bincount(splits.vertical(data, 0.5).train.user).tolist() == [7, 50]
    assert np.bincount(splits.vertical(data, 0.29).train.user)[1] == 29


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 1.5, float("nan"), 80])
def test_bad_shares(share: float) -> None:
    data, rng = sample("films?users=10"), np.random.default_rng(0)
    for attempt in (
        lambda: splits.horizontal(data, share, rng),
        lambda: splits.holdout_users(data, share, rng),
        lambda: splits.hold_out(data, share, np.arange(data.n_users)),
        lambda: splits.vertical(data, share),
        lambda: splits.both(data, share, 0.5, rng),
        lambda: splits.both(data, 0.5, share, rng),
        lambda: splits.random_rows(data, share, rng),
    ):
        with pytest.raises(RecveilError, match="share must be strictly between 0 and 1"):
            attempt()


def test_requests_that_these_data_cannot_meet() -> None:
    rng = np.random.default_rng(0)
    alone = from_ids(pl.Series([1, 1]), pl.Series([1, 2]))
    with pytest.raises(RecveilError, match="at least 2 users"):
        splits.horizontal(alone, 0.5, rng)
    with pytest.raises(RecveilError, match="at least 2 rows"):
        splits.random_rows(alone.take(np.array([0])), 0.5, rng)


@pytest.mark.data
def test_the_split_of_the_mbrw_reproduction(real_data: Path) -> None:
    frame = pl.read_parquet(real_data / "yahoo-music-mbrw/ratings.parquet")
    data = from_ids(frame["user"], frame["item"], time=frame["order"].to_numpy().astype(np.int64))
    train, test = splits.horizontal(data, 0.9, np.random.default_rng(0))
    assert (len(set(train.user)), len(set(test.user)), len(train)) == (8999, 1000, 152_901)


@pytest.mark.data
def test_the_users_of_ml_100k(real_data: Path) -> None:
    frame = pl.read_parquet(real_data / "ml-100k/ratings.parquet")
    train, test = splits.horizontal(from_ids(frame["user"], frame["item"]), 0.9, np.random.default_rng(0))
    assert (len(set(train.user)), len(set(test.user))) == (849, 94)


@pytest.mark.data
@pytest.mark.parametrize(
    ("folder", "posts", "tags", "error"),
    [("hetrec-movielens", 1165, 1.38, 0.07), ("hetrec-lastfm", 1640, 2.83, 0.25)],  # 4 standard deviations
)
def test_the_posts_of_hetrec(real_data: Path, folder: str, posts: int, tags: float, error: float) -> None:
    frame = pl.read_parquet(real_data / f"{folder}/tags.parquet")
    data = from_ids(frame["user"], frame["resource"], tag=frame["tag"].cast(pl.String))
    train, test = splits.leave_one_post_out(data, np.random.default_rng(0))
    assert len(train) + len(test) == len(frame)
    assert len(np.unique(np.stack([test.user, test.item]), axis=1).T) == posts
    assert len(test) / posts == pytest.approx(tags, abs=error)
