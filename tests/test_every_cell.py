"""Noise in every cell, bounded contributions, public sizes: over all Synthesis mechanisms of the catalogue."""

from __future__ import annotations

import promises
import pytest
from test_contracts import mechanism

from recveil.mechanism import Synthesis
from recveil.mechanisms import MECHANISMS
from recveil.mechanisms.spec import parse, text

MORE = ["dp-tags:epsilon=2,delta=0.001,unit=user", "dp-tags:epsilon=2,profiles=central", "dp-streams:epsilon=2,delta=0.001,order=none"]  # fmt: skip # noqa: E501
SPECS = [text(mechanism(name)) for name in sorted(MECHANISMS) if issubclass(MECHANISMS[name], Synthesis)] + MORE
CHECKS = [
    promises.noise_in_every_cell,
    promises.contributions_are_bounded,
    promises.repeated_rows_change_nothing,
    promises.tables_have_the_size_of_the_lists,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("spec", SPECS)
def test_every_synthesis_keeps_what_its_proof_rests_on(spec: str, check: object) -> None:
    made = parse(spec)
    assert isinstance(made, Synthesis)
    if check is promises.contributions_are_bounded and getattr(made, "unit", "user") == "record":
        pytest.skip("one record is protected, not a person")
    check(made, promises.little_world("tag" in made.needs, "rating" in made.needs))  # type: ignore[operator]
