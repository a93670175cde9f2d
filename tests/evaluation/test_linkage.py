"""Linkage: kernels against their twins, the oracles on real data, what is known and what is hers, bad input."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import naive
import numpy as np
import polars as pl
import pytest
from attacked import people, published

from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.evaluation.attacks.knowledge import learn
from recveil.evaluation.attacks.linkage import Facts, exposure, linkage, rarest_first
from recveil.evaluation.attacks.truth import truth
from recveil.kernels import linkage as kernel
from recveil.measurement import Trial, trial
from recveil.views.records import postings, records


def profiles(data: Interactions) -> list[naive.Profile]:
    of = records(data)
    return [
        {int(i): float(v) for i, v in zip(of.items[a:b], of.ratings[a:b], strict=True)}
        for a, b in zip(of.starts[:-1], of.starts[1:], strict=True)
    ]


@pytest.mark.kernel
@pytest.mark.parametrize("tolerance", [0.0, 1.0])
@pytest.mark.parametrize("rated", [True, False])
def test_kernels_equal_their_twins(rated: bool, tolerance: float) -> None:
    data = people(14, 0, items=16, size=5)
    of, rng = records(data), np.random.default_rng(1)
    index = postings(of)
    targets = rng.permutation(14)[:6]
    known, ratings = learn(data, of, targets, 4, "random", rng)
    known[0, 2:], ratings[0, 2:] = -1, np.nan
    if not rated:
        ratings = np.full_like(ratings, np.nan)
    weights = 1.0 / np.log(1.0 + np.arange(1, of.n_items + 1))
    hers = np.arange(7), targets.astype(np.int64)
    luck = rng.random(known.shape)
    sizes, hits, picks = kernel.intersect(*index, known, ratings, tolerance, *hers, luck)
    kinds = np.arange(14) % 3
    gains = weights[:, None] * np.array([1.0, 0.7, 1.3])
    misses, scale = rng.random((of.n_items, 3)) / 10, 1 / np.sqrt(1.0 + np.arange(14))
    asked, every = np.array([True, False, True, True]), np.ones(4, dtype=bool)
    scoring = (gains, misses, kinds, scale)
    some = kernel.score(index, scoring, known, ratings, 1.5, *hers, luck, asked)
    best, top, chosen, far = kernel.score(index, scoring, known, ratings, 1.5, *hers, luck, every)
    for part, whole in zip(some, (best, top, chosen, far), strict=True):
        assert np.array_equal(part[:, asked], whole[:, asked])
    assert np.all(some[0][:, ~asked] == -1)
    for t, target in enumerate(targets):
        for r in range(4):
            if known[t, r] < 0:
                assert sizes[t, r] == best[t, r] == -1
                continue
            facts = [(int(i), float(v)) for i, v in zip(known[t, : r + 1], ratings[t, : r + 1], strict=True)]
            left = naive.intersect(profiles(data), facts, tolerance)
            assert sizes[t, r] == len(left) and hits[t, r] == (target in left) and picks[t, r] in left
            scores = naive.score(profiles(data), facts, gains.tolist(), misses.tolist(), kinds, scale, 1.5)
            winners = [k for k, s in enumerate(scores) if math.isclose(s, max(scores), rel_tol=1e-12)]
            assert best[t, r] == len(winners) and top[t, r] == (target in winners) and chosen[t, r] in winners
            assert far[t, r] == pytest.approx(naive.eccentricity(scores), abs=1e-9)


def test_the_rarest_first_leaves_the_same_candidates() -> None:
    data = people(200, 0, items=60, size=8)
    of, rng = records(data), np.random.default_rng(2)
    index, everyone = postings(of), np.arange(200)
    facts = Facts(*learn(data, of, everyone, 4, "random", rng), np.ones(4, dtype=bool))
    facts.known[0, 2:], facts.ratings[0, 2:] = -1, np.nan
    hers, luck = (np.arange(201), everyone), rng.random((200, 4))
    plain = kernel.intersect(*index, *facts[:2], 0.0, *hers, luck)
    sorted_ = rarest_first(facts, index)
    again = kernel.intersect(*index, *sorted_[:2], 0.0, *hers, luck)
    assert not np.array_equal(sorted_.known, facts.known)
    for column in (0, 1):  # sizes and hits
        assert np.array_equal(plain[column][1:, -1], again[column][1:, -1])
        assert plain[column][0, 1] == again[column][0, 1]


def test_the_riskiest_are_among_those_whose_items_are_rarest() -> None:
    """On a third of the people, chosen by how rare their items are, stand those who are found most surely of all."""
    rng = np.random.default_rng(5)
    size = rng.integers(4, 12, 600)
    item = np.exp(rng.random(size.sum()) * np.log(300)).astype(int)
    data = from_ids(pl.Series(np.repeat(np.arange(600), size)), pl.Series(item))
    subject = Trial(data, data, owner=np.arange(600, dtype=np.int32))
    who, success = exposure(subject, np.random.default_rng(0), known=2, draws=60)
    some, found = exposure(subject, np.random.default_rng(0), known=2, draws=60, most=200)
    assert len(some) == 200 and set(some) <= set(who)
    assert np.sort(found)[-10:] == pytest.approx(np.sort(success)[-10:], abs=0.1)
    others = success[~np.isin(who, some)]
    assert success[np.isin(who, some)].mean() > 1.5 * others.mean()


@pytest.mark.data
def test_oracles_on_movielens(real_data: Path) -> None:
    """Users uniform, r random items each, 25 draws of 943 users, only the ids replaced."""
    frame = pl.read_parquet(real_data / "ml-100k" / "ratings.parquet")
    data = from_ids(frame["user"], frame["item"], rating=frame["rating"].to_numpy())
    released, id_map = published(data)
    found = linkage(
        trial(data, released, id_map=id_map),
        np.random.default_rng(0),
        known=(2, 4, 8, 16),
        draws=25,
        attackers=("intersection",),
    )
    value = {(m.params["ratings"], m.params["known"]): m.value for m in found if m.name == "linkage"}
    expected = {(True, 2): 0.388, (True, 4): 0.936, (True, 8): 0.999}
    expected |= {(False, 2): 0.055, (False, 4): 0.222, (False, 8): 0.581, (False, 16): 0.881}
    for row, oracle in expected.items():
        assert value[row] == pytest.approx(oracle, abs=0.01), row


@pytest.mark.data
def test_without_a_map_equal_item_sets_tell_the_truth(real_data: Path) -> None:
    frame = pl.read_parquet(real_data / "ml-100k" / "ratings.parquet")
    data = from_ids(frame["user"], frame["item"], rating=frame["rating"].to_numpy())
    released, id_map = published(data)
    mapped, guessed = (
        linkage(t, np.random.default_rng(0), known=(4,), ratings=False)
        for t in (trial(data, released, id_map=id_map), trial(data, released))
    )
    assert [m.value for m in mapped] == [m.value for m in guessed]
    assert all("unchanged" in m.note for m in guessed if m.name == "linkage")


def test_candidates_by_hand() -> None:
    """Three people: item 0 is everybody's, item 1 is shared by two, item 2 is one person's own."""
    data = from_ids(pl.Series([1, 1, 1, 2, 2, 3]), pl.Series([0, 1, 2, 0, 1, 0]))
    subject = Trial(data, data, owner=np.arange(3, dtype=np.int32))
    for m in linkage(subject, np.random.default_rng(0), known=(1,), items="rare"):
        if m.name == "linkage" and m.params["attacker"] in ("intersection", "score"):
            assert m.value == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
            assert m.chance == pytest.approx(1 / 3) and m.n == 3
        if m.name == "linkage" and m.params["attacker"] == "normalised":
            assert m.value == 1.0  # the shortest record that holds the item is hers


def test_what_is_known() -> None:
    data = from_ids(
        pl.Series([7] * 6 + [8] * 2), pl.Series([5, 3, 1, 0, 2, 4, 5, 3]), time=np.array([1, 2, 3, 4, 5, 6, 1, 2])
    )
    of, rng = records(data), np.random.default_rng(0)
    order = [5, 3, 1, 0, 2, 4]
    for _ in range(30):
        known, _ = learn(data, of, np.array([0, 1]), 3, "consecutive", rng)
        places = sorted(order.index(i) for i in known[0])
        assert places == list(range(places[0], places[0] + 3))
        assert known[1].tolist()[2] == -1
    rare, _ = learn(data, of, np.array([0]), 6, "rare", rng)
    assert set(rare[0, 4:]) == {3, 5}  # two people have these, one the others
    rows = [tuple(sorted(learn(data, of, np.array([0]), 2, "random", rng)[0][0])) for _ in range(300)]
    assert len(set(rows)) == 15  # every pair comes up


def test_repeated_pairs_count_once_with_their_last_rating() -> None:
    data = from_ids(
        pl.Series([1, 1, 1]), pl.Series([4, 4, 9]), rating=np.array([1.0, 5.0, 2.0]), time=np.array([2, 1, 3])
    )
    of = records(data)
    assert of.items.tolist() == [0, 1] and of.ratings.tolist() == [1.0, 2.0]


def test_records_of_several_seeds_and_of_nobody() -> None:
    """Two released records stem from person 1, one from person 2, one from nobody."""
    train = from_ids(pl.Series([1, 1, 2, 2]), pl.Series([0, 1, 2, 3]))
    released = from_ids(pl.Series([10, 10, 11, 12, 12, 13]), pl.Series([0, 1, 1, 2, 3, 3]))
    subject = Trial(train, released, owner=np.array([0, 0, 1, -1], dtype=np.int32))
    whose = truth(records(train), records(released), subject.owner)
    assert whose.people.tolist() == [0, 1] and whose.records.tolist() == [0, 1, 2]
    row = next(m for m in linkage(subject, np.random.default_rng(0), known=(1,)) if m.name == "linkage")
    assert row.chance == pytest.approx((2 / 4 + 1 / 4) / 2)


def test_twins_share_a_hit() -> None:
    """Two people with the same items: nobody can tell their records apart, so each is found half the time."""
    train = from_ids(pl.Series([1, 1, 2, 2, 3]), pl.Series([0, 1, 0, 1, 2]))
    for owner in (None, np.arange(3, dtype=np.int32)):
        people_, success = exposure(Trial(train, train, owner=owner), np.random.default_rng(0), known=1)
        assert people_.tolist() == [0, 1, 2] and success.tolist() == [0.5, 0.5, 1.0]


def test_a_synthetic_release_is_scored_against_the_closest_record() -> None:
    train, held = people(400, 0), people(400, 1, first=400)
    found = linkage(trial(train, people(100, 2, first=900), holdout=held), np.random.default_rng(0), known=(4,))
    for m in found:
        if m.name == "linkage":
            assert "closest" in m.note
            assert m.control == pytest.approx(m.value, abs=0.06)  # no more than on people who are not in the data


def test_tolerance_and_trusted_items() -> None:
    data = people(120, 0)
    released, id_map = published(data)
    noisy = replace(released, rating=released.rating + np.where(released.item % 2, 1.0, 0.0))  # type: ignore[operator]
    subject = trial(data, noisy, id_map=id_map)

    def value(**options: object) -> float:
        rng = np.random.default_rng(0)
        options |= {"known": (4,), "ratings": True, "attackers": ("intersection",)}
        return linkage(subject, rng, **options)[0].value  # type: ignore[arg-type]

    assert value() < 0.3
    assert value(tolerance=1.0) > 0.7
    assert value(trusted=data.items.filter(data.items % 2 == 0)) > 0.7


def test_the_strongest_who_knows_ratings_uses_them() -> None:
    """Everybody has the same items: only ratings tell them apart."""
    rng = np.random.default_rng(1)
    user, item = np.repeat(np.arange(200), 12), np.tile(np.arange(12), 200)
    data = from_ids(pl.Series(user), pl.Series(item), rng.integers(1, 6, len(user)))
    found = linkage(Trial(data, data, owner=np.arange(200, dtype=np.int32)), rng, known=(8,))
    best = {m.params["ratings"]: m.value for m in found if m.params["attacker"] == "strongest"}
    assert best[False] < 0.05 and best[True] > 0.9


def test_bad_requests_are_one_clear_line() -> None:
    data = people(20, 0)
    plain = replace(data, rating=None)
    rng = np.random.default_rng(0)
    with pytest.raises(RecveilError, match="nobody has 99 items to be known: the longest profile has 12"):
        linkage(Trial(data, data), rng, known=(99,))
    with pytest.raises(RecveilError, match="at least 1"):
        linkage(Trial(data, data), rng, known=(0,))
    with pytest.raises(RecveilError, match="know ratings, and the data have none"):
        linkage(Trial(plain, plain), rng, ratings=True)
    with pytest.raises(RecveilError, match="know ratings, and the release has none"):
        linkage(Trial(data, plain), rng, ratings=True)
    with pytest.raises(RecveilError, match="unknown choice of items 'rarest'"):
        linkage(Trial(data, data), rng, items="rarest")  # type: ignore[arg-type]
    with pytest.raises(RecveilError, match="time"):
        linkage(Trial(replace(data, time=None), data), rng, items="consecutive")
    with pytest.raises(RecveilError, match="no item in common"):
        trial(data, from_ids(pl.Series([1]), pl.Series([777])))
    with pytest.raises(RecveilError, match="no item in common"):
        trial(data, from_ids(pl.Series([1]), pl.Series(["one"])))
