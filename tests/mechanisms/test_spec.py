from __future__ import annotations

import pytest

from recveil.errors import RecveilError
from recveil.mechanisms import MECHANISMS
from recveil.mechanisms.random_ratings import RandomRatings
from recveil.mechanisms.spec import parse, text


def test_a_spec_and_back() -> None:
    assert parse("random-ratings:values=uniform") == RandomRatings("uniform")
    assert text(RandomRatings("uniform")) == "random-ratings:values=uniform"
    assert text(parse("random-ratings")) == "random-ratings"


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("pseudonymize", "did you mean pseudonymise"),
        ("", "unknown mechanism"),
        ("random-ratings:value=uniform", "did you mean values"),
        ("random-ratings:values", "name=value"),
        ("random-ratings:values=", "name=value"),
        ("random-ratings:values=none", "must be one of empirical, uniform, not none"),
        ("random-ratings:values=uniform,values=uniform", "twice"),
        ("pseudonymise:x=1", "takes no parameters"),
    ],
)
def test_a_wrong_spec_gets_one_clear_line(spec: str, says: str) -> None:
    with pytest.raises(RecveilError, match=says) as error:
        parse(spec)
    assert "\n" not in str(error.value)


def test_names_are_those_of_the_catalogue() -> None:
    assert all(m.name == name for name, m in MECHANISMS.items())
