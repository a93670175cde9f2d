from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recveil.errors import RecveilError
from recveil.evaluation.metrics.challenge import beside, challenge
from recveil.evaluation.recommenders import RATERS
from recveil.evaluation.tune import TUNERS
from recveil.evaluation.tuning.bounds import MeasuredBound, parse_bound, tune_bound
from recveil.measurement import Measurement, SkippedError, trial
from recveil.mechanisms.spec import parse
from recveil.releases.release import release
from recveil.samples import sample

bounds = importlib.import_module("recveil.evaluation.tuning.bounds")


def quiet(done: int, of: int) -> None:
    pass


def test_bounds_are_parsed() -> None:
    assert parse_bound("agreement>=0.8") == MeasuredBound("agreement", True, 0.8)
    assert parse_bound(" linkage@4 <= .1 ") == MeasuredBound("linkage", False, 0.1, 4)
    assert str(parse_bound("linkage<=0.1")) == "linkage@8<=0.1"


@pytest.mark.parametrize(
    ("bound", "says"),
    [
        ("agreement", "a bound is written as"),
        ("agreement>=x", "a bound is written as"),
        ("agreement>=0.8.1", "a bound is written as"),
        ("agrement>=0.8", "did you mean agreement"),
        ("agreement<=0.8", "agreement is bounded by >="),
        ("linkage@8>=0.8", "linkage is bounded by <="),
        ("hiding@3>=0.8", "how many items an attacker knows"),
        ("linkage@0<=0.8", "how many items an attacker knows"),
    ],
)
def test_what_is_no_bound_is_refused(bound: str, says: str) -> None:
    with pytest.raises(RecveilError, match=says):
        parse_bound(bound)


def test_a_bound_is_kept_by_the_cautious_end() -> None:
    found = Measurement("agreement", 0.85, 0.75, 0.95, n=10)
    assert not parse_bound("agreement>=0.8").kept(found)
    assert parse_bound("agreement>=0.75").kept(found)
    assert not parse_bound("linkage<=0.9").kept(found)


def test_protection_asks_for_the_weakest_masking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "challenge", lambda subject, rng: [])  # noqa: ARG005
    data = sample("films?users=120")
    found = tune_bound(data, "shuffle-nnn:k=20", "hiding>=0.3", 1, quiet)
    curve = found.found["curve"]
    hidden = [point["hiding"]["value"] for point in curve]
    assert hidden == sorted(hidden) and hidden[-1] > 0.5
    theta = next(point["theta"] for point in curve if point["hiding"]["low"] >= 0.3)
    assert parse(found.spec) == parse(f"shuffle-nnn:theta={theta},k=20")
    assert theta < curve[-1]["theta"]
    assert "not" not in found.lines[0] and "the weakest of these" in found.lines[-2]
    with pytest.raises(RecveilError, match=r"no theta of shuffle-nnn keeps linkage@8<=0.01: the best is"):
        tune_bound(data, "shuffle-nnn", "linkage@8<=0.01", 1, quiet)


def test_tuning_says_what_it_needs() -> None:
    data = sample("films?users=50")
    with pytest.raises(RecveilError, match="is tuned to a bound"):
        TUNERS["rungs"](data, "shuffle-nnn", None, 1, quiet)
    with pytest.raises(RecveilError, match="write --with mask"):
        TUNERS["ratio"](data, "mask:p=0.9", None, 1, quiet)


def test_a_challenge_is_decided_alike_where_nothing_changed_and_not_where_all_did() -> None:
    data = sample("films?users=150")
    raters = [RATERS[name] for name in ("item-average", "user-average", "slope-one")]
    found = {}
    for spec in ("pseudonymise", "random-ratings:values=uniform"):
        made = release(data, parse(spec), seed=1)
        subject = trial(data, made.data, id_map=made.id_map)
        found[spec] = challenge(subject, np.random.default_rng(0), raters, splits=2)
    same, other = found.values()
    assert same[0].name == "challenge" and same[0].value == 1.0
    values = {(m.params["referee"], m.params["trained_and_tested_on"]): m.value for m in same[1:]}
    assert all(values[r.name, "real"] == values[r.name, "release"] for r in raters)
    rmse = {(m.params["referee"], m.params["trained_and_tested_on"]): m.value for m in other if m.name != "challenge"}
    assert all(rmse[r.name, "release"] > 1.2 * rmse[r.name, "real"] for r in raters)


def test_a_challenge_needs_every_pair() -> None:
    data = sample("films?users=50")
    made = release(data, parse("pseudonymise"), seed=1)
    missing = trial(data, made.data.take(np.arange(1, len(data))), id_map=made.id_map)
    assert beside(missing) is None
    with pytest.raises(SkippedError, match="every rated pair"):
        challenge(missing, np.random.default_rng(0))


@pytest.mark.slow
def test_the_command_draws_its_curve(recveil: Callable[..., Any], tmp_path: Path) -> None:
    found = recveil(
        "tune", "sample:films?users=150", "--with", "shuffle-nnn", "--keep", "agreement>=0.8", "--seed", 1,
        "--figure", "curve.html", json_answer=True,
    )  # fmt: skip
    assert found["spec"].startswith("shuffle-nnn")
    assert {"hiding", "agreement", "rmse", "linkage"} <= set(found["curve"][0])
    assert (tmp_path / "curve.html").stat().st_size > 10_000
