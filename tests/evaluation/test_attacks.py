"""What every attack of the catalogue must hold. A new one is tested by being listed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numba
import numpy as np
import polars as pl
import pytest
from attacked import grown, people, same, unrelated

from recveil.data import from_ids
from recveil.evaluation.attacks.membership import auc, membership, tpr
from recveil.evaluation.attacks.nearest import nearest
from recveil.evaluation.attacks.reconstruction import reconstruction
from recveil.evaluation.attacks.sybil import sybil
from recveil.evaluation.catalogue import ATTACKS, MEASURES
from recveil.measurement import Measurement, SkippedError, Trial, trial

every = pytest.mark.parametrize("name", sorted(ATTACKS))
# Similarity to a picked record is above that to a random one for anybody of whom items are known: see the control.
JUDGED_BY_CONTROL = {"theta-omega"}
DIFFERENCES = {"attributes-attributable"}  # of two AUCs: may be negative
CROWDS = {"attributes": 700}  # people that it takes to be sure of a difference
CLEAR = {"lists": 0.3, "differencing": 0.2}  # seen through a model, and not for all people, a member is less plain
SEEDS = 40


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Toy data are not worth a second thread."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


def attack(name: str, subject: Trial, seed: int = 0) -> list[Measurement]:
    subject = grown(subject) if name == "differencing" else subject
    return MEASURES[name].run(subject, np.random.default_rng(seed))


@every
def test_it_succeeds_where_the_data_are_released_as_they_are(name: str) -> None:
    found = attack(name, same(CROWDS.get(name, 150)))
    for m in found:
        assert m.chance is not None
        assert m.low > m.chance, m
        assert "no better" not in m.note
    assert max(m.value - (m.chance or 0) for m in found) > CLEAR.get(name, 0.4)


@every
def test_it_is_at_chance_on_a_release_that_has_nothing_to_do_with_the_data(name: str) -> None:
    rows = defaultdict(list)
    for seed in range(SEEDS):
        for m in attack(name, unrelated(seed=seed), seed):
            if m.params.get("trained_on") != "data":  # such a model has no release between it and the data
                rows[m.name, str(m.params)].append(m)
    inside, alarms = defaultdict(list), defaultdict(list)
    for (found, _), runs in rows.items():
        for m in runs:
            expected = m.chance
            if found in JUDGED_BY_CONTROL:  # known better from all runs than from one
                expected = float(np.mean([run.control for run in runs]))
            inside[found].append(m.low <= expected <= m.high)
            alarms[found].append(m.low > expected)
    for found in inside:
        assert np.mean(inside[found]) >= 0.90, (found, np.mean(inside[found]))
        assert np.mean(alarms[found]) <= 0.07, (found, np.mean(alarms[found]))


@every
def test_it_says_so_when_it_finds_nothing(name: str) -> None:
    for m in attack(name, unrelated()):
        assert m.chance is not None
        assert ("no better than chance" in m.note) == (m.low <= m.chance)


@every
def test_control_and_interval_are_there(name: str) -> None:
    for m in attack(name, same()):
        least = -1 if m.name in DIFFERENCES else 0
        assert m.control is not None and least <= m.control <= 1
        assert least <= m.low <= m.value <= m.high <= 1
        assert m.n > 0 and set(m.record()) >= {"name", "params", "value", "low", "high", "control", "chance", "n"}
        assert m.control < m.value


@every
def test_same_seed_same_numbers_whatever_the_threads(name: str) -> None:
    subject = same(60)
    once = [m.record() for m in attack(name, subject)]
    numba.set_num_threads(min(2, numba.config.NUMBA_NUM_THREADS))
    assert [m.record() for m in attack(name, subject)] == once


@every
def test_the_attacker_does_not_see_whose_record_it_is(name: str) -> None:
    """Renaming and reordering the released people changes nothing but luck."""
    subject = same(90)
    turned = np.arange(subject.released.n_users)[::-1].astype(np.int32)
    assert subject.owner is not None
    other = replace(
        subject,
        released=replace(subject.released, user=turned[subject.released.user]),
        owner=subject.owner[::-1].copy(),
    )
    for m, n in zip(attack(name, subject), attack(name, other), strict=True):
        assert m.name == n.name and m.params == n.params
        assert m.low <= n.high and n.low <= m.high, (m, n)


def test_members_and_holdout_swapped_give_no_advantage() -> None:
    subject = same()
    assert subject.holdout is not None
    swapped = Trial(subject.holdout, subject.released, holdout=subject.train)
    for m in membership(swapped, np.random.default_rng(0)):
        assert m.value <= (m.chance or 0) + 0.02, m
    for m in nearest(Trial(subject.holdout, subject.released, holdout=subject.train), np.random.default_rng(0)):
        assert m.control is not None and m.control >= m.value - 0.02


def test_auc_counts_ties_half_and_its_interval_never_collapses() -> None:
    value, low, high = auc(np.array([1.0, 2.0, 3.0]), np.array([2.0, 0.0]))
    assert value == pytest.approx((0.5 + 1 + 1 + 1 + 1.0 + 0) / 6)
    assert low < value < high
    value, low, high = auc(np.ones(20), np.zeros(20))
    assert (value, high) == (1.0, 1.0) and 0.7 < low < 0.95


def test_coverage_of_auc_and_tpr() -> None:
    rng = np.random.default_rng(0)
    shift = 0.5
    true = 0.6381632  # Phi(shift / sqrt 2)
    inside_auc, inside_tpr = [], []
    for _ in range(150):
        a, b = rng.normal(shift, 1, 120), rng.normal(0, 1, 200)
        _, low, high = auc(a, b)
        inside_auc.append(low <= true <= high)
        _, low, high = tpr(a, b, 0.1, rng)
        inside_tpr.append(low <= 0.2173 <= high)  # 1 - Phi(z(.9) - shift)
    assert 0.90 <= np.mean(inside_auc) <= 0.99
    assert 0.90 <= np.mean(inside_tpr) <= 1.0


def test_tpr_spreads_ties_over_the_allowed_rate() -> None:
    """Everybody scores the same: at 10% false positives exactly 10% of the members are named."""
    value, low, high = tpr(np.zeros(50), np.zeros(40), 0.1, np.random.default_rng(0))
    assert value == pytest.approx(0.1) and low < 0.1 < high


def test_what_is_missing_is_named() -> None:
    train = people(30, 0)
    rng = np.random.default_rng(0)
    with pytest.raises(SkippedError, match="not in the data"):
        membership(Trial(train, train), rng)
    with pytest.raises(SkippedError, match="id map"):
        reconstruction(trial(train, people(30, 9)), rng)
    with pytest.raises(SkippedError, match="more than 50 items"):
        sybil(Trial(train, train), rng, known=50)


def test_bayes_beats_belief_on_flipped_bits() -> None:
    """A fifth of all bits flipped: most released clicks are false, and the posterior knows which are likely true."""
    rng = np.random.default_rng(1)
    n, items = 300, 120
    favourite = rng.random((n, items)) < np.where(np.arange(items) < 15, 0.5, 0.01)
    favourite[:, 0] = True
    flipped = favourite ^ (rng.random((n, items)) < 0.2)
    flipped[:, 0] = True

    train, released = (from_ids(*map(pl.Series, np.nonzero(bits))) for bits in (favourite, flipped))
    subject = replace(trial(train, released), owner=np.arange(n, dtype=np.int32))
    found = {m.params["attacker"]: m for m in reconstruction(subject, rng)}
    assert found["bayes"].low > found["released"].high
    assert "probability 0.8" in found["bayes"].note


@pytest.mark.data
def test_three_in_ten_strangers_resemble_somebody(real_data: Path) -> None:
    """Yahoo sample: of people who are not in the data 30% have a cosine of .7 or more with somebody who is."""
    frame = pl.read_parquet(real_data / "yahoo-music-mbrw" / "ratings.parquet")
    data = from_ids(frame["user"], frame["item"])
    order = np.random.default_rng(0).permutation(data.n_users)
    train, held = data.take_users(order[:8999]), data.take_users(order[8999:])
    share = nearest(Trial(train, train, holdout=held), np.random.default_rng(0), targets=500)[0]
    assert share.value == 1.0 and share.control == pytest.approx(0.30, abs=0.015)
