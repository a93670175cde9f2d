"""microaggregation and laplace-ratings: kernels against twins, k people for every profile, figures on real data."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import naive
import numpy as np
import polars as pl
import pytest

from recveil.clicks.profiles import clicks, disclosure
from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.formats import read
from recveil.kernels.draws import laplace_per_group
from recveil.kernels.mdav import mdav
from recveil.mechanism import Masking, PublicInfo
from recveil.mechanisms.laplace_ratings import LaplaceRatings
from recveil.mechanisms.microaggregation import Microaggregation
from recveil.mechanisms.spec import parse
from recveil.randomness import seeded
from recveil.releases.release import release


def ratings(users: int, items: int, rows: int, seed: int) -> Interactions:
    rng = np.random.default_rng(seed)
    user, item = np.divmod(rng.permutation(users * items)[:rows], items)
    return from_ids(pl.Series(user), pl.Series(item), rating=rng.integers(1, 6, rows))


def masked(data: Interactions, mechanism: Masking, seed: int = 0) -> Interactions:
    """Masked rows over all people and items of the data, also those who lost everything."""
    data = data.ordered()
    plan = mechanism.plan(mechanism.count(data), seeded(seed).derive("plan"))
    return mechanism.mask(data, plan, seeded(seed)).rows


def profiles_of(data: Interactions) -> dict[int, tuple[tuple[object, ...], ...]]:
    found: dict[int, list[tuple[object, ...]]] = {}
    for user, *rest in sorted(data.frame().rows()):
        found.setdefault(user, []).append(tuple(rest))
    return {user: tuple(rows) for user, rows in found.items()}


@pytest.mark.kernel
@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 20])
@pytest.mark.parametrize(("items", "filled"), [(5, 0.6), (150, 0.02)])  # the centre summed again, or changed
@pytest.mark.parametrize("seed", range(3))
def test_mdav_equals_its_twin(k: int, items: int, filled: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    people = 13 if items == 5 else 40
    table = rng.integers(-1, 2, (people, items)) * (rng.random((people, items)) < filled)
    table[5] = table[2]  # equals must not confuse it
    user, item = np.nonzero(table)
    starts = np.concatenate([[0], np.cumsum(np.count_nonzero(table, axis=1))]).astype(np.int64)
    found = mdav(starts, item.astype(np.int32), table[user, item].astype(np.int64), items, k)
    assert found.tolist() == naive.mdav(table.tolist(), k)
    assert np.bincount(found).min() >= min(k, people)


@pytest.mark.kernel
def test_mdav_among_equals() -> None:
    starts = np.arange(0, 11, dtype=np.int64)
    found = mdav(starts, np.zeros(10, dtype=np.int32), np.ones(10, dtype=np.int64), 1, 3)
    assert sorted(np.bincount(found)) == [3, 3, 4]


@pytest.mark.kernel
def test_laplace_equals_its_twin() -> None:
    key = seeded(5).key()
    found = laplace_per_group(np.array([0, 3, 3, 7]), np.array([4, 9, 2], dtype=np.uint64), key)
    assert found.tolist() == pytest.approx(naive.laplace_per_group([0, 3, 3, 7], [4, 9, 2], key.tobytes()), rel=1e-14)


@pytest.mark.parametrize("keep", ["majority", "half", "union"])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_every_released_profile_belongs_to_k(k: int, keep: str) -> None:
    data = ratings(40, 12, 240, 1)
    made = release(data, Microaggregation(k, keep), seed=1)
    assert made.guarantee.status == "none"
    shared = Counter(profiles_of(made.data).values())
    assert min(shared.values()) >= k


def test_one_each_changes_nothing() -> None:
    data = ratings(20, 8, 70, 2)
    assert masked(data, Microaggregation(1)).frame().sort("user", "item").equals(data.frame().sort("user", "item"))


def test_what_a_group_keeps() -> None:
    """Four people: three like item 1 (one of them with 5), two like item 2, one dislikes item 3."""
    data = from_ids(pl.Series([1, 2, 3, 1, 2, 4]), pl.Series([1, 1, 1, 2, 2, 3]), rating=np.array([4.0, 5, 4, 4, 3, 1]))
    kept = {k: masked(data, Microaggregation(4, k, like=3.0)) for k in ("majority", "half", "union")}
    assert profiles_of(kept["majority"]) == dict.fromkeys((1, 2, 3, 4), ((1, 4.0),))
    assert profiles_of(kept["half"]) == dict.fromkeys((1, 2, 3, 4), ((1, 4.0), (2, 3.0)))
    assert profiles_of(kept["union"]) == dict.fromkeys((1, 2, 3, 4), ((1, 4.0), (2, 3.0), (3, 1.0)))


def test_clicks_and_their_repeats() -> None:
    data = from_ids(pl.Series([1, 1, 2, 3, 3]), pl.Series([1, 1, 1, 2, 2]), time=np.arange(5))
    made = masked(data, Microaggregation(3))
    assert made.rating is None
    assert made.time is None
    assert profiles_of(made) == dict.fromkeys((1, 2, 3), ((1,),))


def test_it_speaks_of_what_the_data_have_and_of_lone_items() -> None:
    def promise(made: Microaggregation, unit: Any) -> str:
        return made.guarantee(PublicInfo("clicks", unit, pl.Series([1]), None, True)).sentence

    assert "at least 5 people" in promise(Microaggregation(), "user")
    assert "at least 5 sessions" in promise(Microaggregation(), "session")
    assert "people" not in promise(Microaggregation(), "session")
    for alone in (Microaggregation(keep="union"), Microaggregation(keep="half", k=2), Microaggregation(k=1)):
        assert "one member alone" in alone.card()
        assert "one member alone" in promise(alone, "user")
    for shared in (Microaggregation(), Microaggregation(keep="half", k=3)):
        assert "one member alone" not in shared.card() + promise(shared, "user")


def test_too_few_people_and_wrong_parameters() -> None:
    with pytest.raises(RecveilError, match="k is 50, and there are only 20 people"):
        release(ratings(20, 8, 70, 2), Microaggregation(50))
    for wrong in ("microaggregation:k=0", "microaggregation:keep=some", "microaggregation:like=inf"):
        with pytest.raises(RecveilError, match="microaggregation: parameter"):
            parse(wrong)
    for wrong in ("laplace-ratings:eps=0", "laplace-ratings:eps=-1", "laplace-ratings:outside=wrap"):
        with pytest.raises(RecveilError, match="laplace-ratings: parameter"):
            parse(wrong)


def test_laplace_keeps_to_the_scale() -> None:
    data = ratings(60, 12, 500, 3)
    clamped = masked(data, LaplaceRatings(0.5, "clamp"))
    assert clamped.rating is not None
    assert set(clamped.rating) == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert len(clamped) == len(data)
    dropped = masked(data, LaplaceRatings(0.5))
    assert 0 < len(dropped) < len(data) / 2
    assert masked(data, LaplaceRatings(1e9)).equals(data.ordered())


def test_laplace_noise_has_its_law() -> None:
    n = 200_000
    noise = laplace_per_group(np.array([0, n]), np.array([1], dtype=np.uint64), seeded(1).key())
    assert abs(noise.mean()) < 4 * np.sqrt(2 / n)
    assert np.abs(noise).mean() == pytest.approx(1, abs=4 / np.sqrt(n))
    assert np.mean(np.abs(noise) > 2) == pytest.approx(np.exp(-2), abs=0.004)


@pytest.fixture(scope="module")
def films(real_data: Path) -> Interactions:
    return read(real_data / "ml-100k" / "ratings.parquet")


@pytest.mark.data
def test_disclosure_falls_with_k_as_clicks_disappear(films: Interactions) -> None:
    made = {k: masked(films, Microaggregation(k, like=3.0)) for k in (1, 3, 5, 10, 20, 50, 100)}
    told = [disclosure(clicks(rows, 3), "10").mean() for rows in made.values()]
    assert told == pytest.approx([154.84, 69.92, 49.55, 28.39, 24.02, 17.17, 10.11], abs=5e-3)
    assert len(made[100]) == 9092


@pytest.mark.data
def test_disclosure_rises_with_noise_unless_clicks_are_dropped(films: Interactions) -> None:
    def told(eps: float, outside: str) -> float:
        return float(disclosure(clicks(masked(films, LaplaceRatings(eps, outside)), 3), "10").mean())

    assert [told(e, "clamp") for e in (0.5, 4)] == pytest.approx([167.69, 161.31], abs=0.5)
    assert [told(e, "drop") for e in (0.5, 4)] == pytest.approx([59.76, 142.59], abs=0.5)
