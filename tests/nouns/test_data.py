from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from recveil.data import NO_TIME, Interactions, align, concat, from_ids
from recveil.ids import code

ids = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40),
    st.lists(st.integers(0, 9), max_size=40),
    st.lists(st.text(max_size=5), max_size=40),
    st.lists(st.sampled_from(["7", "07", "10", "-3", "x", str(2**63), str(2**63 - 1), "", "é"]), max_size=40),
)


def in_order(one: int | str) -> tuple[bool, int, str]:
    """Whole numbers by value, then texts."""
    text = str(one)
    whole = text.isascii() and text.removeprefix("-").isdecimal() and str(int(text)) == text
    return (False, int(text), "") if whole and -(2**63) <= int(text) < 2**63 else (True, 0, text)


def data(rows: list[tuple[int, int]], time: list[int] | None = None) -> Interactions:
    user, item = zip(*rows, strict=True)
    return from_ids(pl.Series(user), pl.Series(item), time=None if time is None else np.array(time))


rows = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), min_size=1, max_size=40)


@given(ids)
def test_codes_point_into_a_sorted_vocabulary(values: list[int] | list[str]) -> None:
    series = pl.Series(values, dtype=pl.String if values and isinstance(values[0], str) else pl.Int64)
    codes, vocabulary = code(series)
    assert [vocabulary[int(c)] for c in codes] == values
    assert vocabulary.to_list() == sorted(set(values), key=in_order)
    assert codes.dtype == np.int32


def test_unsigned_ids_beyond_int64() -> None:
    big = from_ids(pl.Series([2**64 - 1, 0, 2**63], dtype=pl.UInt64), pl.Series(["a", "b", "a"]))
    assert big.frame()["user"].to_list() == [2**64 - 1, 0, 2**63]


def test_columns_are_read_only_and_inputs_stay_writeable() -> None:
    time = np.array([3, 2])
    found = from_ids(pl.Series([1, 2]), pl.Series([1, 2]), time=time)
    with pytest.raises(ValueError, match="read-only"):
        found.user[0] = 1
    time[0] = 7


@given(rows, st.data())
def test_ordered_is_a_stable_sort_by_user_and_time(pairs: list[tuple[int, int]], more: st.DataObject) -> None:
    size = len(pairs)
    time = more.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    found = data(pairs, time).ordered()
    position = sorted(range(size), key=lambda i: (pairs[i][0], time[i], i))
    assert found.frame().rows() == [(*pairs[i], time[i]) for i in position]
    assert found.ordered() is found


def test_unknown_times_sort_last() -> None:
    found = data([(1, 1), (1, 2), (1, 3)], [NO_TIME, 5, 2]).ordered()
    assert found.frame()["item"].to_list() == [3, 2, 1]
    assert found.frame()["time"].to_list() == [2, 5, None]
    assert found.unknown_times == 1
    floats = from_ids(pl.Series([1, 1]), pl.Series([1, 2]), time=np.array([np.nan, 0.5])).ordered()
    assert floats.frame()["item"].to_list() == [2, 1]
    assert floats.is_ordered()


@settings(deadline=None)
@given(rows, st.integers(1, 20), st.sampled_from(["user", "item"]))
def test_chunks_partition_the_rows_and_keep_groups_whole(pairs: list[tuple[int, int]], size: int, by: str) -> None:
    whole = data(pairs)
    chunks = list(whole.chunks(by, size))  # type: ignore[arg-type]
    assert sorted(r for c in chunks for r in c.frame().rows()) == sorted(pairs)
    seen = [set(c.frame()[by]) for c in chunks]
    assert sum(map(len, seen)) == len(set().union(*seen))
    assert all(len(c) <= size or len(s) == 1 for c, s in zip(chunks, seen, strict=True))


@given(rows, rows)
def test_concat_and_align_join_vocabularies(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> None:
    both = concat([data(first), data(second)])
    assert both.frame().rows() == first + second
    one, other = align(data(first), data(second))
    assert one.items.equals(other.items)
    assert other.frame().rows() == second


def test_over_items_drops_what_the_catalogue_lacks() -> None:
    found = data([(1, 5), (2, 6), (2, 7)]).over_items(pl.Series([4, 5, 7, 9]))
    assert found.frame().rows() == [(1, 5), (2, 7)]
    assert found.n_items == 4


def test_keys_do_not_depend_on_the_company() -> None:
    numbers, mixed = (
        from_ids(pl.Series([-3, 7]), pl.Series([1, 1])),
        from_ids(pl.Series(["7", "x", "-3"]), pl.Series([1] * 3)),
    )
    assert numbers.keys("user").tolist() == mixed.keys("user")[:2].tolist()
    few = from_ids(pl.Series(["b", "x"]), pl.Series([1, 1]))
    many = from_ids(pl.Series(["a", "b", "c", "x"]), pl.Series([1, 1, 1, 1]))
    assert few.keys("user").tolist() == many.keys("user")[[1, 3]].tolist()


def test_compact_and_take_users() -> None:
    found = data([(1, 5), (2, 6), (3, 7)])
    only = found.take_users(np.array([1]))
    assert only.frame().rows() == [(2, 6)]
    assert (only.n_users, only.n_items) == (3, 3)
    assert (only.compact().n_users, only.compact().n_items) == (1, 1)


def test_matrix_holds_ratings_or_ones() -> None:
    rated = from_ids(pl.Series([1, 2]), pl.Series([1, 2]), rating=np.array([3.0, 4.5]))
    assert rated.matrix().toarray().tolist() == [[3, 0], [0, 4.5]]
    assert data([(1, 1), (1, 1), (2, 2)]).matrix().toarray().tolist() == [[1, 0], [0, 1]]


def test_the_canonical_order_is_not_that_of_the_file() -> None:
    """Also where people repeat an item at the same time, with the same tag, and where times are unknown."""
    rng = np.random.default_rng(0)
    rows = pl.DataFrame({"user": rng.integers(0, 4, 80), "item": rng.integers(0, 3, 80), "tag": rng.integers(0, 2, 80)})
    rating, time = rng.integers(1, 4, 80).astype(np.float64), rng.choice([1.0, 2.0, np.nan], 80)

    def made(order: NDArray[np.int64]) -> Interactions:
        some = rows[order]
        return from_ids(some["user"], some["item"], rating[order], time[order], some["tag"]).canonical()

    as_it_stood = made(np.arange(80))
    assert as_it_stood.is_ordered()
    assert made(rng.permutation(80)).equals(as_it_stood)
    frame = as_it_stood.frame()
    assert frame.equals(frame.sort("user", "time", "item", "tag", "rating", nulls_last=True))


def test_clicks_without_times_keep_the_order_of_the_file() -> None:
    found = from_ids(pl.Series([2, 1, 2]), pl.Series([9, 5, 3])).canonical()
    assert found.frame().rows() == [(1, 5), (2, 9), (2, 3)]


def test_times_are_compared_one_by_one() -> None:
    """Beyond 2^53 neighbours are equal as floats: also where all times are whole, so that no fraction changes it."""
    late = 2**60
    for time in (np.array([late + 1, late, NO_TIME]), np.array([late + 1, late, np.nan])):
        found = from_ids(pl.Series([1, 1, 1]), pl.Series([1, 2, 0]), time=time).canonical()
        assert found.frame()["item"].to_list() == [1, 2, 0]
