from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.mechanisms.pseudonymise import Pseudonymise
from recveil.mechanisms.random_ratings import RandomRatings
from recveil.releases.release import release


@pytest.fixture
def ratings() -> Interactions:
    rng = np.random.default_rng(0)
    pairs = rng.permutation(200)[:90]
    return from_ids(
        pl.Series(pairs // 20 + 1000), pl.Series(pairs % 20), rng.integers(1, 6, 90), rng.integers(0, 10**9, 90)
    )


def clicks() -> Interactions:
    return from_ids(pl.Series([2, 1, 2, 2]), pl.Series(["b", "a", "a", "b"]), time=np.array([5, 1, 9, 7]))


def test_users_become_random_tokens(ratings: Interactions) -> None:
    made = release(ratings, Pseudonymise())
    tokens = set(made.data.users)
    assert len(tokens) == ratings.n_users
    assert not tokens & set(ratings.users)
    assert max(tokens) > 2**40
    assert tokens != set(release(ratings, Pseudonymise()).data.users)


def test_the_map_leads_back(ratings: Interactions) -> None:
    made = release(ratings, Pseudonymise())
    assert made.id_map is not None
    back = made.data.frame().join(made.id_map, left_on="user", right_on="released")
    before = ratings.frame().select("user", "item", "rating").sort("user", "item")
    assert back.select(user="original", item="item", rating="rating").sort("user", "item").equals(before)


def test_row_order_carries_nothing(ratings: Interactions) -> None:
    """Shuffling the file does not change what is released."""
    shuffled = ratings.take(np.random.default_rng(1).permutation(len(ratings)))
    for mechanism in (Pseudonymise(), RandomRatings()):
        first, second = (release(d, mechanism, seed=4).data for d in (ratings, shuffled))
        assert first.equals(second)
        frame = first.frame()
        assert frame.equals(frame.sort("user", "item"))


@pytest.mark.parametrize(("rule", "columns"), [("drop", ["user", "item"]), ("order", ["user", "item", "time"])])
def test_times_are_dropped_or_reduced(rule: str, columns: list[str]) -> None:
    made = release(clicks(), Pseudonymise(), time=rule)  # type: ignore[arg-type]
    assert made.data.frame().columns == columns


def test_order_keeps_the_sequence_and_no_more() -> None:
    made = release(clicks(), Pseudonymise())
    assert made.time == "order"
    longest = made.data.frame().filter(pl.len().over("user") == 3)
    assert longest.select("item", "time").rows() == [("b", 1), ("b", 2), ("a", 3)]
    kept = release(clicks(), Pseudonymise(), time="keep").data.frame()
    assert sorted(kept["time"]) == [1, 5, 7, 9]


def test_ratings_drop_their_times(ratings: Interactions) -> None:
    assert release(ratings, Pseudonymise()).time == "drop"


def test_a_catalogue_bounds_what_is_released(ratings: Interactions) -> None:
    made = release(ratings, Pseudonymise(), catalogue=pl.Series([3, 4, 99]))
    assert set(made.data.frame()["item"]) <= {3, 4}
    named = release(ratings, Pseudonymise(), catalogue=pl.Series(["3", "4", "99", "x"])).data.frame()
    assert set(named["item"]) <= {"3", "4"}  # the type of the list rules
    with pytest.raises(RecveilError, match="no rows to release, none in the lists"):
        release(ratings, Pseudonymise(), catalogue=pl.Series(["77"]))


def test_random_ratings_keep_pairs_and_draw_values(ratings: Interactions) -> None:
    made = release(ratings, RandomRatings(), seed=1)
    assert made.id_map is not None
    back = made.data.frame().join(made.id_map, left_on="user", right_on="released")
    assert sorted(zip(back["original"], back["item"], strict=True)) == sorted(
        ratings.frame().select("user", "item").rows()
    )
    assert set(back["rating"]) <= {1.0, 2.0, 3.0, 4.0, 5.0}


@pytest.mark.parametrize("values", ["empirical", "uniform"])
def test_random_ratings_follow_their_law(values: str) -> None:
    n = 60_000
    skewed = from_ids(
        pl.Series(np.arange(n) % 300), pl.Series(np.arange(n) // 300), rating=np.where(np.arange(n) % 4, 5, 1)
    )
    made = release(skewed, RandomRatings(values), seed=2)
    share = np.mean(made.data.rating == 5.0)
    expected = 0.75 if values == "empirical" else 0.5
    assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / n)


def test_what_does_not_fit_is_refused(ratings: Interactions) -> None:
    with pytest.raises(RecveilError, match="random-ratings needs a rating column"):
        release(clicks(), RandomRatings())
    with pytest.raises(RecveilError, match="no rows"):
        release(ratings.take(np.zeros(0, dtype=np.int64)), Pseudonymise())


def test_people_without_rows_leave_no_trace(ratings: Interactions) -> None:
    some = ratings.take_users(np.array([0, 1]))
    made = release(some, Pseudonymise())
    assert made.id_map is not None
    assert set(made.id_map["original"]) == set(some.frame()["user"])
    assert made.data.n_users == 2


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("mask:p=0.995", "p = 0.995 leaves nearly every bit as it was"),
        ("microaggregation:k=1", "k = 1 leaves everyone alone"),
        ("dp-streams:epsilon=30,delta=1e-6", "epsilon 30 lets an attacker's odds grow 10,686,474,581,525 times"),
        ("dp-streams:epsilon=9,delta=0.05", "delta 0.05 would let it fail for one of"),
    ],
)
def test_terminal_and_card_begin_with_what_means_little(
    recveil: Callable[..., Any], tmp_path: Path, spec: str, says: str
) -> None:
    rng = np.random.default_rng(1)
    item = np.concatenate([rng.choice(20, 8, replace=False) for _ in range(800)])
    from_ids(pl.Series(np.repeat(np.arange(800), 8)), pl.Series(item)).frame().write_csv(tmp_path / "d.csv")
    done = recveil("release", "d.csv", "--with", spec, "-o", "out")
    assert done.stdout.startswith(f"this promise means little: {says}")
    card = (tmp_path / "out" / "README.md").read_text()
    body = card.split("\n---\n", 1)[1].strip().splitlines()  # behind the head that other tools read
    assert body[2].startswith(f"> **This promise means little:** {says}")
    recveil("release", "d.csv", "--with", "mask:p=0.9", "-o", "fair")
    assert "means little" not in (tmp_path / "fair" / "README.md").read_text()
