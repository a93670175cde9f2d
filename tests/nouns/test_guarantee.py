from __future__ import annotations

import math
from dataclasses import replace

import pytest

from recveil.errors import RecveilError
from recveil.guarantee import Guarantee, compose, from_record, nothing, strength
from recveil.measurement import skipped_in

proved = Guarantee(
    "Nobody learns much.", "proved", 1.0, 1e-6, "user", "add or remove one user", "the catalogue", "docs/x.md"
)


@pytest.mark.parametrize(
    "wrong",
    [
        {"sentence": " "},
        {"sentence": "x", "status": "none", "epsilon": 1.0},
        {"sentence": "x", "status": "proved"},
        {"sentence": "x", "status": "claimed", "epsilon": 1.0, "unit": "user"},
        {"sentence": "x", "status": "proved", "epsilon": math.inf, "unit": "u", "neighbours": "n"},
        {"sentence": "x", "status": "proved", "epsilon": -1, "unit": "u", "neighbours": "n"},
        {"sentence": "x", "delta": 1.0},
    ],
)
def test_a_guarantee_is_complete_or_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"guarantee|epsilon|delta"):
        Guarantee(**wrong)  # type: ignore[arg-type]


def test_a_seed_turns_a_proof_into_an_experiment() -> None:
    seeded = proved.as_experiment()
    assert seeded.status == "experiment"
    assert "not for publication" in seeded.sentence
    assert nothing("x").as_experiment() == nothing("x")


def test_composition_adds_up_or_says_why_not() -> None:
    both = compose(proved, proved)
    assert (both.epsilon, both.delta, both.status) == (2.0, 2e-6, "proved")
    assert compose(proved, nothing("ids only")).status == "none"
    other = Guarantee("Per record.", "proved", 1.0, 0.0, "record", "add or remove one record")
    with pytest.raises(RecveilError, match="different units"):
        compose(proved, other)


def test_record_and_back() -> None:
    assert Guarantee(**proved.record()) == proved


@pytest.mark.parametrize(
    ("epsilon", "delta", "says"),
    [
        (4.0, None, "epsilon 4: an attacker's odds grow at most 55 times"),
        (1.0, 1e-6, "epsilon 1, delta 1e-06: but for delta, an attacker's odds grow at most 2.72 times"),
        (0.1, 0.0, "epsilon 0.1: an attacker's odds grow at most 1.11 times"),
        (60.0, None, "epsilon 60: an attacker's odds grow at most 10^27 times"),
    ],
)
def test_an_epsilon_says_what_it_bounds_rounded_up(epsilon: float, delta: float | None, says: str) -> None:
    assert strength(epsilon, delta) == says


def test_a_promise_that_means_little_says_so_first() -> None:
    assert proved.weighed(999_999) == proved
    many = proved.weighed(1_000_000)
    assert many.sentence.startswith("This promise means little: delta 1e-06 would let it fail for one of 1,000,000")
    assert replace(proved, epsilon=10.0).weighed().weakness is None
    large = replace(proved, epsilon=10.1).as_experiment().weighed()
    assert large.sentence.startswith(
        "This promise means little: epsilon 10.1 lets an attacker's odds grow 24,344 times"
    )
    assert large.status == "experiment"
    assert Guarantee(**large.record()) == large
    assert nothing("x").weighed(5).weakness is None
    assert nothing("x", "k = 1").weighed().sentence == "This promise means little: k = 1. x"
    assert compose(replace(proved, weakness="a"), replace(proved, weakness="b")).weakness == "a; b"


def test_what_was_kept_under_an_old_name_is_read() -> None:
    large = replace(proved, epsilon=10.1).weighed()
    old = {("little" if name == "weakness" else name): value for name, value in large.record().items()}
    assert from_record(old) == from_record(large.record()) == large
    assert skipped_in({"left_out": ["x"]}) == skipped_in({"skipped": ["x"]}) == ["x"]
