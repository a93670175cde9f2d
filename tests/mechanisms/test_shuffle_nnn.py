from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import naive
import numpy as np
import polars as pl
import pytest

from recveil.data import Interactions, from_ids, group
from recveil.errors import RecveilError
from recveil.kernels import neighbourhoods
from recveil.kernels.shuffles import shuffle_per_group
from recveil.mechanisms.shuffle_nnn import ShuffleNNN, critical, reaches
from recveil.mechanisms.spec import parse
from recveil.randomness import seeded
from recveil.releases.release import Release, release

SIMILARITIES = ("item-centred", "adjusted", "cosine", "binary")


@pytest.fixture(scope="module")
def ml(real_data: Path) -> Interactions:
    frame = pl.read_parquet(real_data / "ml-100k" / "ratings.parquet")
    return from_ids(frame["user"], frame["item"], frame["rating"].to_numpy())


def world(users: int = 12, items: int = 9, rows: int = 60) -> Interactions:
    rng = np.random.default_rng(7)
    user, item = np.divmod(rng.permutation(users * items)[:rows], items)
    return from_ids(pl.Series(user + 100), pl.Series([f"i{i}" for i in item]), rng.integers(1, 6, rows))


def paired(data: Interactions, made: Release) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Users, ratings before, ratings after: row by row of the data."""
    assert made.id_map is not None
    after = made.data.frame().join(made.id_map, left_on="user", right_on="released")
    both = data.frame().join(after, left_on=["user", "item"], right_on=["original", "item"], suffix="_after")
    assert len(both) == len(data)
    return both["user"].to_numpy(), both["rating"].to_numpy(), both["rating_after"].to_numpy()


# --- the kernels ------------------------------------------------------------------------------------------------


@pytest.mark.kernel
@pytest.mark.parametrize("floor", [-1.0, 0.2])
@pytest.mark.parametrize(("users", "items", "fill"), [(6, 5, 0.6), (4, 12, 0.2), (9, 3, 1.0), (5, 150, 0.4)])
@pytest.mark.parametrize("pairs", [0, 1000])
def test_reach_agrees_with_its_twin(
    users: int, items: int, fill: float, floor: float, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with few cells and many items, with empty rows and columns, and with ties (values are quarters)."""
    rng = np.random.default_rng(users)
    dense = rng.integers(-2, 3, (users, items)) / 4 * (rng.random((users, items)) < fill)
    column, row = np.nonzero(dense.T)
    starts, column_starts = group(row, users)[0], group(column, items)[0]
    monkeypatch.setattr(neighbourhoods, "PAIRS", pairs)
    for k in (1, 2, 5):
        found = neighbourhoods.reach(column_starts, row.astype(np.int32), dense[row, column], starts, k, floor)
        assert found.tolist() == naive.reach(dense.tolist(), k, floor)


@pytest.mark.kernel
@pytest.mark.parametrize("centred", [False, True])
def test_directions_agree_with_their_twin(centred: bool) -> None:
    columns = [[1.0, 4.0, 2.5], [], [3.0, 3.0], [5.0], [0.0, 0.0], [2.0, 1.0, 5.0, 5.0]]
    starts = np.cumsum([0, *map(len, columns)])
    found = neighbourhoods.directions(starts, np.concatenate(columns), centred)
    assert found.tolist() == [v for c in columns for v in naive.direction(c, centred)]


@pytest.mark.kernel
def test_shuffle_agrees_with_its_twin() -> None:
    starts, keys = np.array([0, 0, 1, 6, 14, 20]), np.array([3, 2**64 - 1, 5, 8, 9], dtype=np.uint64)
    values, fixed = np.arange(20) / 2, np.array([False, False, False, True, False])
    source = seeded(1)
    mine = shuffle_per_group(starts, keys, values, fixed, source.key())
    twin = naive.shuffle_per_group(
        starts.tolist(), keys.tolist(), values.tolist(), fixed.tolist(), source.key().tobytes()
    )
    assert mine.tolist() == twin
    assert mine[6:14].tolist() == values[6:14].tolist()
    assert mine[14:].tolist() != values[14:].tolist()


def test_every_permutation_is_equally_likely() -> None:
    n = 24_000
    values = np.tile(np.arange(4.0), n)
    keys = np.arange(n, dtype=np.uint64)
    drawn = shuffle_per_group(4 * np.arange(n + 1), keys, values, np.zeros(n, dtype=bool), seeded(5).key()).reshape(
        n, 4
    )
    counts = np.array([np.sum(np.all(drawn == order, axis=1)) for order in permutations(range(4))])
    assert np.sum((counts - n / 24) ** 2 / (n / 24)) < 49.7  # chi-square, 23 degrees of freedom, p = .001


# --- what is critical ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_similarities_are_what_they_are_called(similarity: str) -> None:
    data = world()
    rated = data.matrix(binary=True).toarray() > 0
    dense = data.matrix().toarray()
    if similarity == "binary":
        dense = rated * 1.0
    if similarity == "item-centred":
        dense = np.where(rated, dense - dense.sum(axis=0) / rated.sum(axis=0), 0)
    if similarity == "adjusted":
        dense = np.where(rated, dense - (dense.sum(axis=1) / rated.sum(axis=1))[:, None], 0)
    length = np.linalg.norm(dense, axis=0)
    unit = dense / np.where(length > 1e-9, length, np.inf)
    np.testing.assert_allclose(reaches(data, 2, similarity), naive.reach(unit.tolist(), 2, -1.0), atol=1e-11)


def test_twins_are_critical_and_a_loner_is_shuffled() -> None:
    """Items a and b were rated alike by everybody, c by a pattern of its own."""
    likes = np.array([1, 5, 2, 4, 1, 5, 3, 5])
    rows = [(u, item, r) for u in range(8) for item, r in (("a", likes[u]), ("b", likes[u]), ("c", 1 + u % 5))]
    users, items, ratings = zip(*rows, strict=True)
    data = from_ids(pl.Series(users), pl.Series(items), np.array(ratings))
    made = release(data, ShuffleNNN(theta=0.9, k=1), seed=1)
    _, before, after = paired(data, made)
    kept = data.frame()["item"].is_in(["a", "b"]).to_numpy()
    assert made.notes == {"critical items": 2, "shuffled items": 1}
    assert np.array_equal(before[kept], after[kept])
    assert not np.array_equal(before[~kept], after[~kept])


def test_a_similarity_of_exactly_theta_counts() -> None:
    """Two raters each, one in common: the binary cosine is one half, on paper and here."""
    data = from_ids(pl.Series([1, 2, 2, 3, 4]), pl.Series(["a", "a", "b", "b", "c"]), np.array([1, 2, 3, 4, 5]))
    assert reaches(data, 1, "binary").tolist() == [0.5, 0.5, -np.inf]


def test_repeated_pairs_count_once() -> None:
    data = world()
    twice = from_ids(
        *(data.frame()[name].append(data.frame()[name]) for name in ("user", "item")), np.tile(data.rating, 2)
    )  # type: ignore[arg-type]
    assert np.array_equal(reaches(data, 3, "item-centred"), reaches(twice, 3, "item-centred"))


# --- oracles: MovieLens 100K, k = 40, theta = .4 ------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.parametrize(
    ("similarity", "critical"),
    # cosine and binary: counted with integers and fractions, where ties are exact
    [("item-centred", 625), ("adjusted", 756), ("cosine", 1343), ("binary", 1353)],
)
def test_critical_items_of_movielens(ml: Interactions, similarity: str, critical: int) -> None:
    assert int(np.sum(reaches(ml, 40, similarity, 0.4) >= 0.4)) == critical


@pytest.mark.data
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_movielens_shuffled(ml: Interactions, seed: int) -> None:
    made = release(ml, parse("shuffle-nnn:theta=0.4,k=40"), seed=seed)
    user, before, after = paired(ml, made)
    assert made.notes["critical items"] == 625
    assert abs(np.mean(before != after) - 0.592) <= 0.005
    means = [np.bincount(user, r) / np.maximum(np.bincount(user), 1) for r in (before, after)]
    people = np.bincount(user) > 0
    assert abs(np.corrcoef(means[0][people], means[1][people])[0, 1] - 0.540) <= 0.02
    histogram = [f.group_by("item", "rating").len().sort("item", "rating") for f in (ml.frame(), made.data.frame())]
    assert histogram[0].equals(histogram[1])
    assert before.mean() == after.mean()
    assert before.std() == after.std()


@pytest.mark.data
@pytest.mark.parametrize(("theta", "hidden"), [(0.1, 0.000), (0.2, 0.059), (0.3, 0.391)])
def test_the_lower_theta_the_less_is_hidden(ml: Interactions, theta: float, hidden: float) -> None:
    _, before, after = paired(ml, release(ml, ShuffleNNN(theta=theta), seed=0))
    assert abs(np.mean(before != after) - hidden) <= 0.005


@pytest.mark.data
def test_the_release_betrays_its_critical_items(ml: Interactions) -> None:
    """The card says so: the same choice, made on the release, finds every one of them and few others."""
    mechanism = ShuffleNNN(theta=0.4)
    true = set(critical(ml, mechanism))
    guessed = set(critical(release(ml, mechanism, seed=0).data, mechanism))
    assert len(true & guessed) >= 0.99 * len(true)
    assert 0.9 * len(guessed) <= len(true & guessed) < len(guessed)


# --- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theta", ["1.1", "-1.01", "nan"])
def test_theta_is_a_cosine(theta: str) -> None:
    with pytest.raises(RecveilError, match=r"theta must be in \[-1, 1\]"):
        parse(f"shuffle-nnn:theta={theta}")


def test_what_cannot_be_shuffled_is_refused() -> None:
    data = world()
    mechanism = ShuffleNNN(k=3)
    with pytest.raises(RecveilError, match="needs a rating column"):
        release(replace(data, rating=None), mechanism)
    with pytest.raises(RecveilError, match="every rating is 4"):
        release(replace(data, rating=np.full(len(data), 4.0)), mechanism)
    with pytest.raises(RecveilError, match="one person only"):
        release(data.take_users(np.array([0])), mechanism)
    with pytest.raises(RecveilError, match=r"items that were rated \(9\), not 9"):
        release(data, ShuffleNNN(k=9))
    with pytest.raises(RecveilError, match="missing or infinite"):
        release(replace(data, rating=np.where(np.arange(len(data)), data.rating, np.nan)), mechanism)


def test_single_ratings_are_fine() -> None:
    data = from_ids(pl.Series([1, 2, 3, 3]), pl.Series(["a", "b", "c", "d"]), np.array([1, 2, 3, 4]))
    made = release(data, ShuffleNNN(k=1), seed=0)
    assert sorted(made.data.rating.tolist()) == [1, 2, 3, 4]  # type: ignore[union-attr]
