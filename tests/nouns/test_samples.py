"""The generated worlds are the same everywhere, look like data of people, and are worth recommending on."""

from __future__ import annotations

import numpy as np
import pytest

from recveil import splits
from recveil.data import Floats, Interactions, concat
from recveil.errors import RecveilError
from recveil.samples import WORLDS, sample

worlds = pytest.mark.parametrize("name", WORLDS)


def gini(counts: Floats) -> float:
    ranks = np.arange(1, len(counts) + 1)
    return float((2 * ranks - len(counts) - 1) @ np.sort(counts) / (len(counts) * counts.sum()))


# --- the same everywhere ------------------------------------------------------------------------------------------


@worlds
def test_a_seed_is_a_world(name: str) -> None:
    assert sample(name).equals(sample(f"{name}?seed=0"))
    assert not sample(name).equals(sample(f"{name}?seed=1"))


@worlds
def test_the_first_users_of_a_large_world_are_those_of_a_small_one(name: str) -> None:
    large = sample(f"{name}?users=1500")
    small = sample(f"{name}?users=70")
    assert large.take_users(np.arange(70)).equals(small)
    assert small.n_users == 70


@worlds
def test_parts_together_are_the_world(name: str) -> None:
    query = f"{name}?users=3100,items=120"
    parts = [sample(query, part, 6) for part in range(6)]
    assert [p.n_users for p in parts] == [1000, 1000, 1000, 100, 0, 0]
    assert concat(parts).equals(sample(query))


@worlds
def test_sizes(name: str) -> None:
    data = sample(f"{name}?users=300&items=50&seed=9223372036854775807")
    assert 45 <= data.n_items <= 50, "nearly all of so few items occur"
    assert data.items.is_sorted()
    assert data.users.to_list() == list(range(1, 301))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("film", r"unknown sample 'film'; did you mean films\?"),
        ("", "unknown sample ''; known: films, sessions, tags"),
        ("films?user=3", r"unknown parameter of sample:films 'user'; did you mean users"),
        ("films?", "unknown parameter of sample:films ''"),
        ("films?users=0", "sample:films: users must be a whole number from 1 to 10000000, not '0'"),
        ("films?users=many", "not 'many'"),
        ("films?users", "not ''"),
        ("tags?items=49", "sample:tags: items must be a whole number from 50 to 1000000, not '49'"),
        ("tags?items=1000001", "not '1000001'"),
        ("sessions?seed=-1", "seed must be a whole number"),
        ("sessions?seed=1.5", "not '1.5'"),
    ],
)
def test_bad_names_are_one_clear_line(name: str, message: str) -> None:
    with pytest.raises(RecveilError, match=message) as error:
        sample(name)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("part", "parts"), [(1, 1), (-1, 2), (0, 0)])
def test_bad_parts(part: int, parts: int) -> None:
    with pytest.raises(RecveilError, match=f"no part {part} of {parts}"):
        sample("films", part, parts)


# --- like data of people ------------------------------------------------------------------------------------------


def test_films() -> None:
    data = sample("films")
    assert (data.kind, data.unit, data.n_users) == ("ratings", "user", 1000)
    assert 590 <= data.n_items <= 600
    assert 35_000 < len(data) < 45_000
    assert data.rating is not None
    assert np.unique(data.rating).tolist() == [1, 2, 3, 4, 5]
    assert data.matrix(binary=True).nnz == len(data), "nobody rates a film twice"
    length = np.bincount(data.user)
    assert length.min() >= 10
    assert length.max() > 4 * np.median(length), "a log-normal tail"


def test_sessions() -> None:
    data = sample("sessions")
    assert (data.kind, data.unit, data.n_users) == ("sessions", "session", 4000)
    assert 20_000 < len(data) < 30_000
    assert np.bincount(data.user).min() >= 2
    assert 0.1 < 1 - data.matrix(binary=True).nnz / len(data) < 0.3, "clicks on what was clicked before"


def test_tags() -> None:
    data = sample("tags")
    assert (data.kind, data.unit, data.n_users) == ("tags", "user", 600)
    assert data.tag is not None
    assert data.tags is not None
    assert data.tags.is_sorted()
    triples = np.unique(np.stack([data.user, data.item, data.tag]), axis=1)
    assert triples.shape[1] == len(data)
    posts = data.matrix(binary=True).nnz
    assert 2 < len(data) / posts < 3
    once = np.mean(np.bincount(data.tag) == 1)
    assert 0.2 < once < 0.6, "a tail of words that only one person uses once"


@worlds
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_popularity_has_a_tail(name: str, seed: int) -> None:
    data = sample(f"{name}?seed={seed}")
    assert 0.5 < gini(np.bincount(data.item, minlength=data.n_items)) < 0.8


@worlds
def test_time_increases_within_a_user(name: str) -> None:
    data = sample(f"{name}?users=2000")
    assert data.is_ordered()
    assert data.time is not None
    same_user, later = np.diff(data.user) == 0, np.diff(data.time) > 0
    same_post = (np.diff(data.item) == 0) & (data.tag is not None)
    assert np.all(later | ~same_user | same_post)


@worlds
def test_the_catalogue_drifts(name: str) -> None:
    data = sample(f"{name}?users=4000")
    assert data.time is not None
    quarter, half = np.quantile(data.time, [0.25, 0.75])
    early, late = data.take(data.time <= quarter), data.take(data.time > half)
    before, after = (np.bincount(d.item, minlength=data.n_items) for d in (early, late))
    assert np.mean(before[after > 0] == 0) > 0.2, "items are born"
    halves = splits.horizontal(late, 0.5, np.random.default_rng(0))
    one, other = (np.bincount(d.item, minlength=data.n_items) for d in halves)
    assert np.corrcoef(one, other)[0, 1] > 0.95, "of the same time, popularity is the same"
    assert np.corrcoef(before, after)[0, 1] < 0.6, "of another time, it is not"


# --- worth recommending on ----------------------------------------------------------------------------------------


def item_knn(train: Interactions, k: int = 30) -> Floats:
    """Cosine similarities of items, of which each item keeps its k nearest."""
    clicked = train.matrix(binary=True)
    norm = np.sqrt(np.maximum(clicked.sum(axis=0), 1))
    similarity = (clicked.T @ clicked).toarray() / np.outer(norm, norm)
    np.fill_diagonal(similarity, 0)
    nearest = -np.sort(-similarity, axis=1)[:, k - 1 : k]
    return np.where(similarity >= nearest, similarity, 0)


def recall(scores: Floats, query: Interactions, result: Interactions) -> Floats:
    """Recall@10 of each user with something new in the result."""
    known = query.matrix(binary=True).toarray() > 0
    wanted = (result.matrix(binary=True).toarray() > 0) & ~known
    top = np.argsort(np.where(known, -1, scores), axis=1, kind="stable")[:, -10:]
    some = wanted.any(axis=1)
    return np.take_along_axis(wanted, top, axis=1)[some].sum(axis=1) / wanted[some].sum(axis=1)


@worlds
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_item_knn_beats_most_popular(name: str, seed: int) -> None:
    """New users, of whom a half is seen: at least 1.3 times the recall@10, and 3 standard errors above that."""
    data = sample(f"{name}?seed={seed}")
    train, query, result = splits.both(data, 0.75, 0.5, np.random.default_rng(seed))
    seen = query.matrix(binary=True)
    knn = recall(seen @ item_knn(train), query, result)
    popularity = train.matrix(binary=True).sum(axis=0)
    popular = recall(np.tile(popularity, (data.n_users, 1)), query, result)
    gain = knn - 1.3 * popular
    print(f"{name} seed {seed}: recall@10 {knn.mean():.3f} against {popular.mean():.3f}, n={len(gain)}")
    assert gain.mean() > 3 * gain.std() / np.sqrt(len(gain))


def test_what_follows_a_click_can_be_learnt() -> None:
    """Hits@10 of the next click: successors against predecessors (the order) and most popular (the chance)."""
    data = sample("sessions")
    train, test = splits.horizontal(data, 0.9, np.random.default_rng(0))

    def steps(part: Interactions) -> tuple[Floats, Floats]:
        inside = np.diff(part.user) == 0
        return part.item[:-1][inside], part.item[1:][inside]

    follows = np.zeros((data.n_items, data.n_items))
    np.add.at(follows, steps(train), 1)
    before, after = steps(test)

    def hits(scores: Floats) -> float:
        return float(np.mean(np.argsort(scores, axis=1, kind="stable")[:, -10:] == after[:, None]) * 10)

    popular = hits(np.tile(np.bincount(train.item, minlength=data.n_items), (len(before), 1)))
    successors, predecessors = hits(follows[before]), hits(follows.T[before])
    print(f"successors {successors:.3f}, predecessors {predecessors:.3f}, popular {popular:.3f}, n={len(after)}")
    assert successors > 1.5 * popular
    assert successors > 1.2 * predecessors


def test_tags_belong_to_their_artists_and_users() -> None:
    """Recall@5 of the tags of a post: of the artist's and the user's own tags against the most popular."""
    data = sample("tags")
    train, test = splits.leave_one_post_out(data, np.random.default_rng(0))
    of_item, of_user = (np.zeros((n, data.n_tags)) for n in (data.n_items, data.n_users))
    np.add.at(of_item, (train.item, train.tag), 1)
    np.add.at(of_user, (train.user, train.tag), 1)
    popularity = of_item.sum(axis=0)
    share = of_item / np.maximum(of_item.sum(axis=1, keepdims=True), 1)
    habit = of_user / np.maximum(of_user.sum(axis=1, keepdims=True), 1)

    def found(scores: Floats) -> float:
        top = np.argsort(scores, axis=1, kind="stable")[:, -5:]
        return float(np.mean((top[test.user] == test.tag[:, None]).any(axis=1)))

    item = np.zeros(data.n_users, dtype=int)
    item[test.user] = test.item
    known = found(share[item] + habit + 1e-9 * popularity)
    artist = found(share[item] + 1e-9 * popularity)
    popular = found(np.tile(popularity, (data.n_users, 1)))
    print(f"artist and user {known:.3f}, artist {artist:.3f}, popular {popular:.3f}, n={len(test)}")
    assert artist > 1.5 * popular
    assert known > 1.1 * artist


def test_ratings_can_be_learnt() -> None:
    """RMSE falls from the global mean to item means, user means, both, and a factorisation on top."""
    data = sample("films")
    train, test = splits.random_rows(data, 0.8, np.random.default_rng(0))
    assert train.rating is not None
    assert test.rating is not None
    mean = train.rating.mean()

    def bias(codes: Floats, n: int, residual: Floats) -> Floats:
        return np.bincount(codes, residual, n) / (np.bincount(codes, minlength=n) + 5)

    def rmse(prediction: Floats | float) -> float:
        return float(np.sqrt(np.mean((test.rating - prediction) ** 2)))

    of_item = bias(train.item, data.n_items, train.rating - mean)
    of_user = bias(train.user, data.n_users, train.rating - mean)
    of_both = bias(train.user, data.n_users, train.rating - mean - of_item[train.item])
    residual = train.rating - mean - of_item[train.item] - of_both[train.user]
    taste, trait = factors(train, residual)
    biased = mean + of_item[test.item] + of_both[test.user]
    plain, items, users = rmse(mean), rmse(mean + of_item[test.item]), rmse(mean + of_user[test.user])
    both, factorised = rmse(biased), rmse(biased + np.sum(taste[test.user] * trait[test.item], axis=1))
    print(f"mean {plain:.3f}, item {items:.3f}, user {users:.3f}, both {both:.3f}, factors {factorised:.3f}")
    assert items < 0.96 * plain
    assert users < 0.94 * plain
    assert both < 0.95 * min(items, users)
    assert factorised < 0.97 * both
    assert np.std(np.bincount(data.user, data.rating) / np.bincount(data.user)) > 0.3, "user means vary"


def factors(train: Interactions, residual: Floats, rank: int = 4, ridge: float = 6.0) -> tuple[Floats, Floats]:
    """Alternating least squares."""

    def solve(codes: Floats, n: int, others: Floats) -> Floats:
        gram = np.tile(ridge * np.eye(rank), (n, 1, 1))
        right = np.zeros((n, rank, 1))
        np.add.at(gram, codes, others[:, :, None] * others[:, None, :])
        np.add.at(right, codes, (others * residual[:, None])[:, :, None])
        return np.linalg.solve(gram, right)[:, :, 0]

    trait = np.random.default_rng(0).normal(0, 0.1, (train.n_items, rank))
    for _ in range(10):
        taste = solve(train.user, train.n_users, trait[train.item])
        trait = solve(train.item, train.n_items, taste[train.user])
    return taste, trait
