"""dp-streams on the Yahoo sample: recall of recommenders trained on it, against those trained on real data."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse, stats

from recveil.data import Interactions, from_ids
from recveil.mechanisms.dp_streams import DpStreams
from recveil.releases.release import release

pytestmark = [pytest.mark.data, pytest.mark.slow]
CATALOGUE = pl.Series(np.arange(5000))


@lru_cache
def yahoo(folder: Path) -> Interactions:
    rows = pl.read_parquet(folder / "yahoo-music-mbrw" / "ratings.parquet")
    return from_ids(rows["user"], rows["item"], time=rows["order"].to_numpy()).over_items(CATALOGUE)


def split(data: Interactions, seed: int) -> tuple[Interactions, sparse.csr_array, sparse.csr_array]:
    """Nine tenths of the people to train on; of the others the first half of their items and the rest."""
    people = np.random.default_rng(seed).permutation(data.n_users)
    cut = int(0.9 * data.n_users)
    test = data.take_users(people[cut:]).ordered()
    starts = test.starts()
    early = np.arange(len(test)) - starts[test.user] < np.diff(starts)[test.user] // 2
    query, result = test.take(early).matrix(True), test.take(~early).matrix(True)
    used = (query.sum(1) > 0) & (result.sum(1) > 0)
    return data.take_users(people[:cut]), query[used], result[used]


def item_knn(X: sparse.csr_array, k: int = 15) -> np.ndarray:
    G = (X.T @ X).toarray()
    norm = np.sqrt(np.maximum(np.diag(G), 1e-9))
    S = G / norm / norm[:, None]
    np.fill_diagonal(S, 0)
    S[np.partition(S, -k, axis=1)[:, [-k]] > S] = 0
    return S


def ease(X: sparse.csr_array, weight: float = 300.0, top: int = 1000) -> np.ndarray:
    kept = np.argsort(-X.sum(0))[:top]
    P = np.linalg.inv((X[:, kept].T @ X[:, kept]).toarray() + weight * np.eye(top))
    B = -P / np.diag(P)
    np.fill_diagonal(B, 0)
    S = np.zeros((X.shape[1], X.shape[1]))
    S[np.ix_(kept, kept)] = B
    return S


def recall(S: np.ndarray, X: sparse.csr_array, query: sparse.csr_array, result: sparse.csr_array) -> float:
    scores = query @ S + 1e-9 * X.sum(0)
    scores[query.toarray() > 0] = -np.inf
    top = np.argpartition(-scores, 5, axis=1)[:, :5]
    return float((np.take_along_axis(result.toarray(), top, 1).sum(1) / result.sum(1)).mean())


def trained(data: Interactions, epsilon: float, catalogue: pl.Series | None = CATALOGUE, seeds: int = 2) -> np.ndarray:
    """Recall@5 of ItemKNN and EASE, mean over 4 splits x 2 noise seeds."""
    found = []
    for seed in range(4):
        train, query, result = split(data, seed)
        mechanism = DpStreams(epsilon=epsilon, delta=1e-5, k=len(np.unique(train.user)))
        for noise in range(seeds):
            X = release(train, mechanism, seed=noise, catalogue=catalogue).data.over_items(CATALOGUE).matrix(True)
            found.append([recall(model(X), X, query, result) for model in (item_knn, ease)])
    return np.mean(found, axis=0)


@pytest.mark.parametrize(("epsilon", "knn", "strong"), [(1.0, 0.167, 0.177), (4.0, 0.171, 0.185)])
def test_recommenders_learn_from_the_release(real_data: Path, epsilon: float, knn: float, strong: float) -> None:
    ours = trained(yahoo(real_data), epsilon)
    assert ours == pytest.approx([knn, strong], abs=0.004)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_items_selected_within_the_budget_serve_nearly_as_well(real_data: Path, epsilon: float) -> None:
    listed, selected = (trained(yahoo(real_data), epsilon, items, seeds=1) for items in (CATALOGUE, None))
    print(f"epsilon {epsilon:g}: listed {listed.round(4)}, selected {selected.round(4)}")
    assert np.all(selected >= 0.96 * listed)


def test_nothing_is_invented_where_there_is_nothing(real_data: Path) -> None:
    """Pairs destroyed, popularity and lengths kept: hardly more than most popular, restricted to the same items."""
    train, query, result = split(yahoo(real_data), 0)
    null = Interactions(
        train.user, np.random.default_rng(1).permutation(train.item), train.users, train.items, time=train.time
    )  # fmt: skip
    for epsilon in (1.0, 4.0):
        made = release(null, DpStreams(epsilon=epsilon, delta=1e-5), seed=1, catalogue=CATALOGUE)
        X, real = made.data.over_items(CATALOGUE).matrix(True), train.matrix(True)
        popular = recall(np.zeros((5000, 5000)), X, query, result)
        knn, best = (recall(item_knn(Y), Y, query, result) for Y in (X, real))
        assert (knn - popular) / (best - popular) < 0.2
        assert 0.12 < knn < 0.138


def test_membership_stays_near_its_control(real_data: Path) -> None:
    """AUC of the largest cosine to a released record: people of the data against others, and without those people."""
    data = yahoo(real_data)
    train, _, _ = split(data, 0)
    others = data.take_users(np.setdiff1d(np.arange(data.n_users), train.user))
    present = np.unique(train.user)
    members = np.random.default_rng(1).choice(present, 1000, replace=False)
    found = []
    for rows in (train, train.take_users(np.setdiff1d(present, members))):
        made = release(rows, DpStreams(epsilon=4.0, delta=1e-5, k=9000), seed=1, catalogue=CATALOGUE)
        X = unit(made.data.over_items(CATALOGUE).matrix(True))
        near = [(unit(who.compact().over_items(CATALOGUE).matrix(True)) @ X.T).max(axis=1).toarray().ravel()
                for who in (train.take_users(members), others)]  # fmt: skip
        found.append(np.mean(near[0][:, None] > near[1]) + np.mean(near[0][:, None] == near[1]) / 2)
    assert abs(found[0] - found[1]) < 0.02


def unit(X: sparse.csr_array) -> sparse.csr_array:
    return sparse.diags_array(1 / np.sqrt(np.maximum(X.sum(1), 1))) @ X


def one_session_each(rows: Interactions) -> Interactions:
    """The same streams as sessions, one of each person."""
    session = pl.Series(np.zeros(len(rows), dtype=np.int64))
    made = from_ids(rows.users.gather(rows.user), rows.items.gather(rows.item), time=rows.time, session=session)
    return made.over_items(rows.items)


def test_where_everybody_has_one_session_it_serves_as_a_release_by_user_does(real_data: Path) -> None:
    """Recall@5 of ItemKNN and EASE, mean over 4 splits x 2 seeds, within the 95% interval of the release by user."""
    data, found = yahoo(real_data), {"user": [], "session": []}
    for seed in range(4):
        train, query, result = split(data, seed)
        mechanism = DpStreams(epsilon=4.0, delta=1e-5, k=len(np.unique(train.user)))
        for noise in range(2):
            for name, rows in (("user", train), ("session", one_session_each(train))):
                X = release(rows, mechanism, seed=noise, catalogue=CATALOGUE).data.over_items(CATALOGUE).matrix(True)
                found[name].append([recall(model(X), X, query, result) for model in (item_knn, ease)])
    users, sessions = (np.array(found[name]) for name in ("user", "session"))
    half = stats.t.ppf(0.975, len(users) - 1) * users.std(axis=0, ddof=1) / np.sqrt(len(users))
    print(f"by user {users.mean(0).round(4)} +- {half.round(4)}, by session {sessions.mean(0).round(4)}")
    assert np.all(np.abs(sessions.mean(axis=0) - users.mean(axis=0)) < half)
