"""Tuning to a lift that must remain: the strongest value that keeps it, and never on private data unasked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

from recveil.actions.next_steps import next_steps, starters
from recveil.data import Interactions, from_ids
from recveil.desk.project.choices import Choices, Data
from recveil.desk.project.folder import open_project
from recveil.desk.project.jobs import Job, job
from recveil.desk.project.stages import perform
from recveil.errors import RecveilError
from recveil.evaluation.tune import noisy_count
from recveil.evaluation.tuning import usefulness
from recveil.evaluation.tuning.usefulness import UseBound, tune_usefulness, usefulness_bound
from recveil.guarantee import Guarantee
from recveil.measurement import Measurement
from recveil.mechanism import Masked, PublicInfo, parameter
from recveil.mechanisms import MECHANISMS
from recveil.mechanisms.mask import Mask
from recveil.mechanisms.pseudonymise import Pseudonymise
from recveil.mechanisms.spec import parse
from recveil.releases import ledger
from recveil.releases.progress import SILENT
from recveil.samples import sample

BOUND = "--keep", "lift>=0.6"


def quiet(done: int, of: int) -> None:
    pass


@pytest.fixture
def curve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lift as a known function of epsilon, read off the release that is measured."""

    def made(_: Interactions, mechanism: Any, seed: int, catalogue: Any) -> Any:  # noqa: ARG001
        if mechanism.epsilon < 0.4:
            raise RecveilError("only 3 items stand out of the noise")
        return mechanism

    def lift(subject: Any, seed: int) -> Measurement:  # noqa: ARG001
        value = subject.epsilon / (subject.epsilon + 1)
        return Measurement("lift", value, value - 0.02, value + 0.02, 100)

    monkeypatch.setattr(usefulness, "release", made)
    monkeypatch.setitem(usefulness.MEASURES, "lift", lift)
    monkeypatch.setattr("recveil.evaluation.design.HeldOut.trial", lambda self, made: made)  # noqa: ARG005


@pytest.mark.usefixtures("curve")
def test_the_strongest_value_that_keeps_the_lift_is_found() -> None:
    found = tune_usefulness(sample("films?users=60"), "dp-streams:delta=1e-6", UseBound("lift", 0.7), None, quiet)
    epsilon = parse(found.spec).epsilon  # type: ignore[attr-defined]
    assert 2 < epsilon <= 4 and epsilon / (epsilon + 1) - 0.02 >= 0.7  # exactly: .72 / .28 = 2.57
    assert any("refused" in line for line in found.lines)  # epsilon .25: a refusal is an answer
    assert f"epsilon {epsilon:g} keeps" in found.lines[-1] and "it would be" in found.lines[-1]
    assert found.found["bound"] == "lift>=0.7" and len(found.found["curve"]) == 7
    with pytest.raises(RecveilError, match=r"up to 8 keeps a lift of 0\.95: the best is 0\.889"):
        tune_usefulness(sample("films?users=60"), "dp-streams:delta=1e-6", UseBound("lift", 0.95), None, quiet)


@pytest.mark.usefixtures("curve")
def test_a_skill_that_a_persons_own_mean_has_is_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def skill(subject: Any, seed: int) -> Measurement:  # noqa: ARG001
        value = subject.epsilon / (subject.epsilon + 1)
        return Measurement("rating skill", value, value - 0.02, value + 0.02, 100, chance=0.4)

    monkeypatch.setitem(usefulness.MEASURES, "skill", skill)
    asked = sample("films?users=60"), "dp-ratings:delta=1e-6,scale=1..5"
    found = tune_usefulness(*asked, UseBound("skill", 0.7), None, quiet)
    assert found.found["bound"] == "skill>=0.7" and "skill" in found.found["curve"][-1]
    assert "of the skill; at 2.4 it would be 71%; a person's own mean, without any release, has 40%" in found.lines[-1]
    with pytest.raises(RecveilError, match=r"skill>=0\.35 asks for no release at all.* skill of 0\.40; ask for more"):
        tune_usefulness(*asked, UseBound("skill", 0.35), None, quiet)


def test_rating_skill_is_tuned_on_a_sample(recveil: Callable[..., Any]) -> None:
    asked = "tune", "sample:films?users=1500,items=80", "--with", "microaggregation", "--seed", 1
    found = recveil(*asked, "--keep", "skill>=0.3", json_answer=True)
    kept = {point["k"]: point["skill"] for point in found["curve"]}
    k = found["value"]
    assert kept[k]["low"] >= 0.3 > kept[k]["chance"]
    assert all(point["low"] < 0.3 for value, point in kept.items() if value > k)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("lift>=0.7", UseBound("lift", 0.7)),
        ("lift >= 70%", UseBound("lift", 0.7)),
        ("skill>=0.8", UseBound("skill", 0.8)),
        ("hiding>=0.5", None),
        (None, None),
    ],
)
def test_what_must_still_work_is_read(text: str | None, bound: UseBound | None) -> None:
    assert usefulness_bound(text) == bound


@pytest.mark.parametrize("name", [n for n, m in MECHANISMS.items() if m.strength])
def test_every_strength_runs_from_the_strongest_to_the_weakest(name: str) -> None:
    parameter, values = MECHANISMS[name].strength or ("", ())
    more = ",delta=1e-6" if "delta" in MECHANISMS[name].__dataclass_fields__ else ""
    assert all(parse(f"{name}:{parameter}={value:g}{more}") for value in values)
    assert list(values) in (sorted(values), sorted(values, reverse=True))


def test_a_promise_is_not_tuned_on_private_data_unasked(recveil: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "clicks.csv").write_text("user,item\n1,2\n", encoding="utf-8")
    spec = "--with", "dp-streams:delta=1e-6"
    assert "--people 100000" in recveil("tune", "clicks.csv", *spec, *BOUND, code=1).stderr
    assert "say with --people" in recveil("tune", "clicks.csv", *spec, *BOUND, "--items", 50, code=1).stderr
    assert "leave it out" in recveil("tune", "sample:films", "--with", "mask:p=0.9", *BOUND, code=1).stderr
    assert "give a bound" in recveil("tune", "sample:films", *spec, code=1).stderr
    assert "between 0 and 1" in recveil("tune", "sample:films", *spec, "--keep", "lift>=2", code=1).stderr


@dataclass(frozen=True)
class Veil(Pseudonymise):
    """A proved mechanism whose name says nothing of it; it remembers how many rows it was handed."""

    name = "veil"
    strength = ("p", (0.6, 0.9))
    p: float = parameter(0.6, about="what protects")
    handed: ClassVar[list[int]] = []

    def guarantee(self, public: PublicInfo) -> Guarantee:
        return replace(Mask(self.p).guarantee(public), proof="docs/guarantees/mask.md")

    def mask(self, chunk: Interactions, plan: Any, source: Any) -> Masked:
        self.handed.append(len(chunk))
        return super().mask(chunk, plan, source)


def test_what_is_proved_is_told_by_no_name(
    recveil: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MECHANISMS, "veil", Veil)
    monkeypatch.setattr(Veil, "handed", [])
    rows = sample("sessions?users=60,items=50")
    rows.frame().write_csv(tmp_path / "clicks.csv")
    for spec in ("veil", "mask"):
        assert "--people" in recveil("tune", "clicks.csv", "--with", spec, *BOUND, code=1).stderr
    assert not Veil.handed, "rows of the data reached a proved mechanism that was tuned"
    recveil("tune", "clicks.csv", "--with", "veil", *BOUND, "--on-data", code=1)  # so few people teach no lift
    assert Veil.handed, "or this test sees nothing"
    assert "veil" in starters(rows) and "veil" in next_steps("clicks.csv", rows).commands[2]
    found = perform(open_project(tmp_path / "desk"), overview_of(tmp_path / "clicks.csv"), SILENT)
    promises = {one["mechanism"]: one["promise"] for one in found["fitting"]}
    assert promises["veil"] and promises["dp-streams"] and not promises["pseudonymise"] and not promises["mask"]


def overview_of(file: Path) -> Job:
    return job("overview", "what the data are", replace(Choices(), data=Data(source=str(file))), [])


def test_microaggregation_is_tuned_on_a_twin(recveil: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("user,item,rating\n1,2,3\n", encoding="utf-8")
    asked = "tune", "ratings.csv", "--with", "microaggregation", "--keep", "lift>=0.2", "--people", 400
    found = recveil(*asked, json_answer=True)
    assert found["spec"].startswith("microaggregation:k=") and "generated twin" in found["measured_on"]
    assert recveil(*asked, json_answer=True) == found


def test_people_are_counted_with_noise_that_is_entered(recveil: Callable[..., Any], tmp_path: Path) -> None:
    rows = from_ids(pl.Series(np.repeat(np.arange(5000), 2)), pl.Series(np.arange(10000) % 50))
    counts = {noisy_count(rows, 0.001, None, None) for _ in range(12)}
    assert len(counts) > 6 and 1000 < np.median(list(counts)) < 9000, "noise of scale 1000, drawn afresh"
    assert noisy_count(rows, 1.0, 1, None) == 5000 and noisy_count(rows.take(np.arange(4)), 1.0, 1, None) == 100
    rows.frame().write_csv(tmp_path / "clicks.csv")
    asked = "tune", "clicks.csv", "--with", "microaggregation", "--keep", "lift>=0.99", "--count", "0.5"
    recveil(*asked, "--ledger", "spent.jsonl", code=1)  # no k keeps so much: what was counted is spent all the same
    assert [line["mechanism"] for line in ledger.read(tmp_path / "spent.jsonl")] == ["count"]
    assert ledger.totals(ledger.read(tmp_path / "spent.jsonl"))[0].epsilon == pytest.approx(0.5)
    assert "give one of the two" in recveil(*asked, "--people", 500, code=1).stderr
    assert "at most 1" in recveil(*asked[:-1], "3", code=1).stderr
