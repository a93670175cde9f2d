"""Noise in every cell, bounded contributions, public sizes: over all Synthesis mechanisms of the catalogue."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
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


SELECTING = [
    "dp-streams:epsilon=2,delta=0.001", "dp-ratings:epsilon=2,delta=0.001,scale=1..5", "dp-tags:epsilon=2,delta=0.001",
    "dp-tags:epsilon=2,delta=0.001,unit=user",
]  # fmt: skip


def test_every_synthesis_that_selects_is_on_the_list() -> None:
    public = replace(promises.public_of(promises.little_world(True, True)), catalogue=False, lists=())
    found = {name for name in MECHANISMS if issubclass(MECHANISMS[name], Synthesis) and mechanism(name).selects(public)}
    assert found == {spec.partition(":")[0] for spec in SELECTING}


@pytest.mark.parametrize("sessions", [False, True])
@pytest.mark.parametrize("spec", SELECTING)
def test_ids_that_one_person_alone_has_pass_with_their_part_of_delta(spec: str, sessions: bool) -> None:
    """By calculation: exact tails at the threshold, for people with few ids and with more than the bound of 500."""
    made = parse(spec)
    assert isinstance(made, Synthesis)
    if sessions and not made.reads_sessions:
        pytest.skip("sessions of a person are one stream to it")
    data = promises.little_world("tag" in made.needs, "rating" in made.needs)
    data = replace(data, session=np.arange(len(data)) // 3) if sessions else data
    promises.selection_keeps_its_delta(made, data)
