from __future__ import annotations

import math

import pytest

from recveil.errors import RecveilError
from recveil.guarantee import Guarantee, compose, nothing

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
