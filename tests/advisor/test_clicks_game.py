"""The clicking game: Lemma 1, Remark 5, and Theorems 2 and 3 with the conditions under which they hold."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recveil.clicks.effects import effect
from recveil.clicks.game import (
    BASIC,
    CAREFUL,
    REWARDS,
    SMART,
    deviations,
    expected_utility,
    reachable,
    reward_of,
    step,
    utility,
)
from recveil.errors import RecveilError

rewards = pytest.mark.parametrize("reward", REWARDS)


def states(most: int) -> list[tuple[int, int, int]]:
    return [(a, b, n) for n in range(1, most + 1) for a in range(n) for b in range(n - a)]


# --- Lemma 1 and Remark 5 --------------------------------------------------------------------------------------------


def test_lemma_1_items_stay_pure_if_all_play_smart() -> None:
    """All sequences of likes and dislikes of up to 9 people, from an empty start."""
    sequences = 0
    for n in range(1, 10):
        for signs in product((1, -1), repeat=n):
            at = (0, 0)
            for sign in signs:
                at = step(*at, n, sign, SMART)
                assert 0 in at
            sequences += 1
    assert sequences == 1022


@given(st.integers(1, 60), st.data())
def test_lemma_1_on_larger_crowds(n: int, data: st.DataObject) -> None:
    at = (0, 0)
    for _ in range(n):
        at = step(*at, n, data.draw(st.sampled_from([1, -1])), SMART)
        assert 0 in at


def test_lemma_1_needs_an_empty_start_and_the_smart() -> None:
    assert any(a and b for a, b in reachable(9, SMART, start=(2, 1)))
    assert any(a and b for a, b in reachable(9, BASIC))
    assert not any(a and b for a, b in reachable(9, CAREFUL))


def test_lemma_1_needs_no_gain_to_be_bad() -> None:
    """Were an unchanged commonality a gain, three people who dislike, like and dislike would leave a mixed item."""
    assert effect(0, 1, 3, 1).signs[0] == 0
    assert effect(0, 1, 3, 1).zone == "deleterious"


@given(st.integers(2, 40), st.data())
def test_remark_5_others_never_raise_what_my_click_told(n: int, data: st.DataObject) -> None:
    """For a fixed number of people: after my click on an item, others' clicks on it never raise its part in my
    disclosure. It says nothing about items that I have not clicked."""
    column = [0] * n
    for who in data.draw(st.permutations(range(n))):
        before = naive.click_information(column)
        column[who] = data.draw(st.sampled_from([1, -1]))
        after = naive.click_information(column)
        for u in range(n):
            if column[u] != 0 and u != who:
                assert after[u] >= before[u]


def test_remark_5_fails_where_people_join_and_where_nothing_was_clicked() -> None:
    assert naive.click_information([1, 0, 0])[0] < naive.click_information([1, 0])[0]
    assert naive.click_information([1, 0])[1] < naive.click_information([0, 0])[1]


def test_safe_never_turns_bad_by_others() -> None:
    """For a fixed number of people, a pre-click that is safe stays out of the dangerous and deleterious zones."""
    seen = 0
    for a, b, n in states(20):
        if a + b + 2 > n or effect(a, b, n, 1).zone != "safe":
            continue
        seen += 1
        assert effect(a + 1, b, n, 1).zone in ("safe", "trade_off")
        assert effect(a, b + 1, n, 1).zone in ("safe", "trade_off")
    assert seen > 100


# --- Theorem 2 -------------------------------------------------------------------------------------------------------


@rewards
def test_theorem_2_smart_is_an_equilibrium_from_an_empty_start(reward: str) -> None:
    for n in range(1, 25):
        assert deviations(n, SMART, REWARDS[reward]) == []


@rewards
def test_theorem_2_basic_is_not_one(reward: str) -> None:
    found = deviations(6, BASIC, REWARDS[reward])
    assert {d.zone for d in found} >= {"dangerous", "deleterious"}
    assert {d.action for d in found if d.zone == "deleterious"} == {"cancel"}


@pytest.mark.parametrize("reward", ["larger", "steep"])
def test_theorem_2_off_the_path_fails_exactly_where_privacy_is_gained_without_utility(reward: str) -> None:
    failed, found = 0, 0
    for n in range(1, 25):
        wrong = {(d.likes, d.dislikes) for d in deviations(n, SMART, REWARDS[reward], start=None) if d.sign == 1}
        for a in range(n):
            for b in range(n - a):
                c, d, _ = effect(a, b, n, 1).signs
                found += c <= 0 and d < 0
                failed += (a, b) in wrong
                assert ((a, b) in wrong) == (c <= 0 and d < 0)
    assert (failed, found) == (358, 358)


def test_theorem_2_off_the_path_needs_a_reward_that_grows_with_privacy() -> None:
    """One that falls as privacy grows prefers the smaller group, wherever the opposite improves privacy too."""
    safe = {(n, a, b) for a, b, n in states(24) if effect(a, b, n, 1).zone == "safe"}
    wrong = {
        (n, d.likes, d.dislikes)
        for n in range(1, 25)
        for d in deviations(n, SMART, REWARDS["odd"], start=None)
        if d.sign == 1 and d.zone == "safe"
    }
    assert wrong == {(n, a, b) for n, a, b in safe if a > b and effect(a, b, n, 1).signs[2] < 0}
    assert (len(wrong), len(safe)) == (358, 864)
    assert (4, 2, 1) in wrong


@rewards
def test_theorem_2_needs_a_changed_click_to_cost_utility(reward: str) -> None:
    """With the utility of a changed click the opposite of the pre-click's, to lie pays."""
    pays = REWARDS[reward]
    bad = [(a, b, n) for a, b, n in states(24) if effect(a, b, n, 1).zone == "deleterious"]
    lie = [s for s in bad if reward_of("change", *s, 1, pays, literal=True) > 0]
    assert not [s for s in bad if reward_of("change", *s, 1, pays) > 0]
    assert len(lie) > len(bad) / 2
    assert reward_of("change", 0, 2, 5, 1, REWARDS["larger"], literal=True) == pytest.approx(0.12)


@rewards
@given(st.integers(-200, 200), st.integers(-200, 200), st.integers(0, 200))
def test_rewards_have_the_properties_that_the_paper_asks_for(reward: str, a: float, b: float, more: float) -> None:
    f, a, b, more = REWARDS[reward], a / 100, b / 100, more / 100
    assert np.sign(f(a, b)) == np.sign(max(a, b))
    assert f(a + more, b) >= f(a, b) or f(a + more, b) == pytest.approx(f(a, b), rel=1e-12)


# --- Theorem 3 -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "likes", "dislikes", "basic", "smart"),
    [(10, 2, 1, "0.03", "7/300"), (4, 2, 1, "0.1875", "0.25"), (10, 7, 3, "1.6", "1.84"), (10, 5, 0, "1.25", "1.25")],
)
def test_theorem_3_is_false(n: int, likes: int, dislikes: int, basic: str, smart: str) -> None:
    assert utility(likes, dislikes, (likes, dislikes), n) == Fraction(basic)
    assert expected_utility(likes, dislikes, n, SMART) == Fraction(smart)
    assert expected_utility(likes, dislikes, n, BASIC) == Fraction(basic)


def test_expected_utility_is_the_mean_over_all_orders() -> None:
    for n, likes, dislikes in ((5, 2, 2), (4, 2, 1), (6, 3, 2)):
        found = []
        for order in permutations([1] * likes + [-1] * dislikes):
            at = (0, 0)
            for sign in order:
                at = step(*at, n, sign, SMART)
            found.append(utility(likes, dislikes, at, n))
        assert expected_utility(likes, dislikes, n, SMART) == sum(found, Fraction(0)) / len(found)


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 30))
def test_theorem_3_identities(likes: int, dislikes: int, more: int) -> None:
    """Basic: (L + D)(L - D)^2 / N^2. If dissent is always cancelled: times 1 - LD / (L + D)^2. If it is always changed,
    exactly basic. So equality where nobody dissents, where half do, or where all dissent is changed."""
    n = max(likes + dislikes + more, 1)
    both = likes + dislikes
    basic = Fraction(both * (likes - dislikes) ** 2, n * n)
    assert utility(likes, dislikes, (likes, dislikes), n) == basic
    shrunk = basic * (1 - Fraction(likes * dislikes, both * both)) if both else basic
    assert expected_utility(likes, dislikes, n, CAREFUL) == shrunk
    if both:
        first_likes = Fraction(likes, both)
        all_changed = first_likes * utility(likes, dislikes, (both, 0), n) + (1 - first_likes) * utility(
            likes, dislikes, (0, both), n
        )
        assert all_changed == basic
    assert (shrunk == basic) == (likes * dislikes == 0 or likes == dislikes)


def test_more_clicks_than_people() -> None:
    with pytest.raises(RecveilError, match="more clicks than 3 people"):
        expected_utility(2, 2, 3, SMART)
