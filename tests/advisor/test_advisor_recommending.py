"""Recommendations: neighbours in the space of the first factors, nothing that is not public, popular things else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from serving import API, ME, click, client_of, join, opened

from recveil.advisor import recommending
from recveil.advisor.loading import load
from recveil.advisor.recommending import NEIGHBOURS, RANK, Neighbourhoods, fit, recommend
from recveil.advisor.service import Settings, open_advisor
from recveil.advisor.store import open_store
from recveil.clicks.profiles import Clicks, clicks
from recveil.data import from_ids


def two_tastes(people: int = 80, items: int = 60, seed: int = 1) -> Clicks:
    """Half of the people like even items and dislike odd ones, the others the other way round."""
    rng = np.random.default_rng(seed)
    user, item = np.nonzero(rng.random((people, items)) < 0.3)
    agrees = (user + item) % 2 == 0
    rating = np.where(agrees ^ (rng.random(len(user)) < 0.1), 5.0, 1.0)
    return clicks(from_ids(pl.Series(user), pl.Series([f"i{n:02d}" for n in item]), rating=rating), 3)


@pytest.fixture
def model(tmp_path: Path) -> Neighbourhoods:
    engine = open_store(str(tmp_path / "advisor.sqlite"))
    load(engine, two_tastes(), {})
    found = fit(engine)
    engine.dispose()
    assert found is not None
    return found


def test_scores_are_those_of_a_dense_computation(model: Neighbourhoods) -> None:
    log = two_tastes()
    signs = np.zeros((80, 60))
    signs[log.data.user, log.data.item] = log.sign
    _, _, factors = np.linalg.svd(signs)
    own = {"i00": 1, "i01": -1, "i07": 1}
    mine = np.zeros(60)
    mine[[0, 1, 7]] = 1, -1, 1
    space = signs @ factors[:RANK].T
    taste = factors[:RANK] @ mine
    closeness = space @ taste / np.linalg.norm(space, axis=1) / np.linalg.norm(taste)
    near = np.argsort(-closeness)[:NEIGHBOURS]
    expected = sum(closeness[n] * signs[n] for n in near if closeness[n] > 0)
    np.testing.assert_allclose(model.scores(own), expected, atol=1e-9)


def test_people_get_what_those_of_their_taste_like(model: Neighbourhoods) -> None:
    public = dict.fromkeys(model.keys, (10, 10))
    for parity in (0, 1):
        own = {f"i{n:02d}": 1 if n % 2 == parity else -1 for n in range(12)}
        items, basis = recommend(model, own, public, 10)
        assert basis == "neighbourhood"
        assert not set(items) & set(own)
        assert all(int(key[1:]) % 2 == parity for key in items)


def test_what_is_not_public_is_never_recommended_by_neighbours(model: Neighbourhoods) -> None:
    own = {"i00": 1, "i02": 1, "i01": -1}
    public = {key: (9, 1) if n % 3 else None for n, key in enumerate(model.keys)}
    items, basis = recommend(model, own, public, 8)
    assert basis == "neighbourhood"
    assert all(public[key] is not None for key in items)


def test_else_what_most_people_like() -> None:
    public = {"a": (3, 9), "b": (8, 1), "c": None, "d": (5, 0), "e": (9, 9)}
    assert recommend(None, {}, public, 3) == (["e", "b", "d"], "popular")
    assert recommend(None, {"e": 1}, public, 10) == (["b", "d", "a", "c"], "popular")


def test_someone_without_known_clicks_has_no_neighbours(model: Neighbourhoods) -> None:
    assert model.scores({}) is None
    assert model.scores({"of another catalogue": 1}) is None


def test_too_few_people_have_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_store(str(tmp_path / "advisor.sqlite"))
    assert fit(engine) is None
    load(engine, two_tastes(people=30), {})
    assert fit(engine) is None
    monkeypatch.setattr(recommending, "LEAST", 20)
    assert fit(engine) is not None
    monkeypatch.setattr(recommending, "NEWEST", 450)  # work is bounded: the newest clicks alone
    few = fit(engine)
    assert few is not None and few.signs.nnz == 450
    engine.dispose()


def test_the_model_follows_the_clicks_of_a_running_server(tmp_path: Path) -> None:
    engine = open_store(str(tmp_path / "advisor.sqlite"))
    load(engine, two_tastes(), {})
    advisor = open_advisor(
        engine,
        Settings(
            counters="exact", recommend="neighbours", min_people=5, publish_every=3600, rate=1e5, sites=("testserver",)
        ),
    )
    with client_of(advisor) as server:
        who = join(server)
        assert server.get(f"{ME}/recommendations", headers=who).json()["basis"] == "popular"
        for n in range(6):
            click(server, who, f"i{n:02d}", "like" if n % 2 else "dislike")
        assert server.portal is not None
        advisor.stale = True
        server.portal.call(advisor.relearn)
        found = server.get(f"{ME}/recommendations?limit=5", headers=who).json()
        assert found["basis"] == "neighbourhood"
        assert all(int(key[1:]) % 2 for key in found["items"])
        assert not advisor.stale
        click(server, who, "i50")
        assert advisor.stale
    engine.dispose()


def test_an_empty_catalogue_recommends_nothing(tmp_path: Path) -> None:
    with opened(str(tmp_path / "advisor.sqlite")) as advisor, client_of(advisor) as server:
        found = server.get(f"{ME}/recommendations?limit=3", headers=join(server)).json()
        assert found == {"items": ["item-0", "item-1", "item-2"], "basis": "popular"}
        assert server.get(f"{API}/items").json()["people"] == 0
