"""The ledger: what was spent is written down before anything leaves, and adds up as dp-accounting says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from recveil.data import from_ids
from recveil.dp.budget import epsilon_of, rho_of
from recveil.errors import RecveilError
from recveil.evaluation.cache import fingerprint
from recveil.formats import read
from recveil.guarantee import NEIGHBOURS
from recveil.releases import ledger

SPEC = "dp-streams:epsilon=4,delta=1e-4"
LINE = {
    "date": "2026-01-01T00:00:00+00:00", "mechanism": SPEC, "status": "proved", "epsilon": 4.0, "delta": 1e-4,
    "rho": rho_of(4.0, 1e-4), "unit": "user", "neighbours": NEIGHBOURS["user"],
}  # fmt: skip


@pytest.fixture
def clicks(tmp_path: Path) -> str:
    rng = np.random.default_rng(1)
    item = np.concatenate([rng.choice(20, 8, replace=False) for _ in range(1500)])
    data = from_ids(pl.Series(np.repeat(np.arange(1500), 8)), pl.Series(item), time=np.arange(len(item)))
    data.frame().write_csv(tmp_path / "clicks.csv")
    return "clicks.csv"


def test_gaussian_budgets_add_up_as_dp_accounting_says() -> None:
    from dp_accounting import GaussianDpEvent
    from dp_accounting.pld import PLDAccountant

    other = LINE | {"epsilon": 1.0, "rho": rho_of(1.0, 1e-4)}
    for n in (1, 2, 5):
        (total,) = ledger.totals([LINE, *[other] * n])
        accountant = PLDAccountant().compose(GaussianDpEvent(1 / np.sqrt(2 * LINE["rho"])))
        accountant.compose(GaussianDpEvent(1 / np.sqrt(2 * other["rho"])), n)
        assert total.epsilon == pytest.approx(accountant.get_epsilon(1e-4), rel=2e-3)
        stated = epsilon_of(LINE["rho"] + n * other["rho"], 1e-4)
        assert stated < total.epsilon < 4 + n  # older lines state a little too small a rho
        assert (total.delta, total.releases) == (1e-4, 1 + n)


def test_chances_that_a_rho_fails_add_up_beside_it() -> None:
    """Half of each delta pays for a selection; the other half of one of them turns the sum of rhos into epsilon."""
    half = LINE | {"rho": rho_of(4.0, 5e-5), "rho_fails": 5e-5}
    (one,), (two,) = ledger.totals([half]), ledger.totals([half, half])
    assert (one.epsilon, one.delta) == pytest.approx((4.0, 1e-4), rel=1e-6)
    assert two.epsilon == pytest.approx(epsilon_of(2 * half["rho"], 5e-5), rel=1e-5)
    assert two.delta == pytest.approx(1.5e-4)
    (mixed,) = ledger.totals([LINE, half])
    assert mixed.delta == pytest.approx(1.5e-4)
    assert mixed.epsilon == pytest.approx(epsilon_of(LINE["rho"] + half["rho"], 1e-4), rel=1e-5)


def test_what_has_no_rho_adds_up_plainly() -> None:
    other = LINE | {"epsilon": 0.5, "delta": 1e-5, "rho": None}
    (total,) = ledger.totals([LINE, other])
    assert (total.epsilon, total.delta) == pytest.approx((4.5, 1.1e-4))
    pure = LINE | {"epsilon": 1.0, "delta": 0.0, "rho": None}
    (total,) = ledger.totals([pure, pure])
    assert (total.epsilon, total.delta) == (2.0, 0.0)
    (total,) = ledger.totals([LINE, pure])
    assert (total.epsilon, total.delta) == (5.0, 1e-4)
    (total,) = ledger.totals([LINE, LINE | {"epsilon": 0.1, "delta": 0.0, "rho": None}])  # worth epsilon^2 / 2
    assert 4 < total.epsilon < 4.09


def test_units_are_kept_apart_and_nothing_is_counted_as_nothing() -> None:
    bits = LINE | {"unit": "bit"}
    nothing = LINE | {"status": "none", "epsilon": None, "unit": None, "neighbours": None}
    entries = [LINE, bits, nothing, LINE | {"status": "experiment"}]
    assert [t.unit for t in ledger.totals(entries)] == ["user", "bit"]
    assert ledger.unpromised(entries) == 2


@pytest.mark.parametrize("status", ["proved", "claimed", "refuted", "none", "experiment"])
def test_every_release_is_in_a_total_or_among_those_that_promise_nothing(status: str) -> None:
    """Whoever guesses the seed of an experiment undoes its noise: it gave away what no total bounds."""
    entries = [LINE, LINE | {"status": status}]
    assert sum(t.releases for t in ledger.totals(entries)) + ledger.unpromised(entries) == 2


def test_lines_are_appended_and_checked(tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    assert ledger.read(file) == []
    ledger.append(file, LINE)
    ledger.append(file, LINE)
    assert [{k: e[k] for k in LINE} for e in ledger.read(file)] == [LINE, LINE]
    for bad in ("{", "[]", "3", json.dumps(LINE | {"epsilon": None}), json.dumps(LINE | {"delta": 2})):
        file.write_text(json.dumps(LINE) + "\n" + bad + "\n")
        with pytest.raises(RecveilError, match=r"ledger.jsonl, line 2: not an entry of a ledger"):
            ledger.read(file)
    with pytest.raises(RecveilError, match="cannot be written"):
        ledger.append(tmp_path / "no" / "ledger", LINE)


def test_command_enters_what_is_spent(recveil: Callable[..., Any], clicks: str, tmp_path: Path) -> None:
    options = ("--with", SPEC, "--ledger", "ledger.jsonl")
    done = recveil("release", clicks, *options, "-o", "one", "--keep-statistics", "kept")
    assert "in all: epsilon 4, delta 0.0001 for every user (1 release)" in done.stderr
    recveil("release", clicks, *options, "-o", "two")
    again = recveil("release", "kept", "--with", "dp-streams:k=30", "-o", "three", "--ledger", "ledger.jsonl")
    assert "(2 releases together)" in again.stderr
    lines = [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text().splitlines()]
    assert [line["mechanism"] for line in lines] == ["dp-streams:epsilon=4.0,delta=0.0001"] * 2
    assert lines[0]["rho"] == pytest.approx(rho_of(4.0, 5e-5), rel=1e-6)
    assert lines[0]["rho_fails"] == 5e-5
    assert set(lines[0]) == {*LINE, "rho_fails", "proof", "data", "previous"}
    assert lines[0]["data"] == lines[1]["data"] != fingerprint(read(tmp_path / clicks))
    done = recveil("release", clicks, "--with", "pseudonymise", "-o", "four", "--ledger", "ledger.jsonl")
    assert "1 release promises nothing" in done.stderr


def test_what_cannot_be_entered_is_not_released(recveil: Callable[..., Any], clicks: str, tmp_path: Path) -> None:
    (tmp_path / "broken").write_text("not a ledger\n")
    done = recveil("release", clicks, "--with", SPEC, "-o", "one", "--ledger", "broken", code=1)
    assert "broken, line 1: not an entry of a ledger" in done.stderr
    recveil("release", clicks, "--with", SPEC, "-o", "one", "--ledger", "no/ledger", code=1)
    assert not (tmp_path / "one").exists()
    done = recveil("release", clicks, "--with", SPEC, "-o", "one", "--ledger", "one/ledger", code=1)
    assert "must not lie inside the bundle" in done.stderr


def test_releases_of_people_add_up_whatever_the_mechanism(recveil: Callable[..., Any], tmp_path: Path) -> None:
    """Streams and tags at user level, epsilon 4 each: one line, at most 8."""
    rng = np.random.default_rng(1)
    item = np.concatenate([rng.choice(20, 8, replace=False) for _ in range(1500)])
    data = from_ids(
        pl.Series(np.repeat(np.arange(1500), 8)), pl.Series(item), time=np.arange(len(item)),
        tag=pl.Series([f"t{t}" for t in item % 7]),
    )  # fmt: skip
    data.frame().write_csv(tmp_path / "tags.csv")
    recveil("release", "tags.csv", "--with", SPEC, "-o", "one", "--ledger", "l")
    spec = "dp-tags:epsilon=4,delta=1e-4,unit=user"
    done = recveil("release", "tags.csv", "--with", spec, "-o", "two", "--ledger", "l")
    assert done.stderr.count("in all:") == 1
    (total,) = ledger.totals(ledger.read(tmp_path / "l"))
    assert (total.unit, total.releases) == ("user", 2)
    assert total.delta == pytest.approx(1.5e-4)  # half of each delta for selections, half of one for the noise
    assert 4 < total.epsilon < 8
    one, other = ledger.read(tmp_path / "l")
    assert total.epsilon == pytest.approx(epsilon_of(one["rho"] + other["rho"], 5e-5), rel=1e-5)


def test_one_relation_for_each_unit() -> None:
    from test_contracts import fitting, mechanism

    from recveil.mechanism import PublicInfo
    from recveil.mechanisms import MECHANISMS

    for name in MECHANISMS:
        data = fitting(name)
        promise = mechanism(name).guarantee(PublicInfo(data.kind, data.unit, data.items, data.tags, True))
        assert promise.unit is None or promise.neighbours == NEIGHBOURS[promise.unit], name


def test_former_words_for_a_relation_still_add_up() -> None:
    (total,) = ledger.totals([LINE, LINE | {"neighbours": "add or remove one person with all her tags"}])
    assert total.releases == 2


def test_other_units_are_said_to_be_uncovered(tmp_path: Path) -> None:
    file = tmp_path / "ledger"
    ledger.append(file, LINE)
    assert len(ledger.summary(file)) == 1
    ledger.append(file, LINE | {"unit": "record", "neighbours": NEIGHBOURS["record"]})
    assert "different units (user, record) do not add up; no line covers the others" in ledger.summary(file)[-1]


def test_a_refused_attempt_is_entered(recveil: Callable[..., Any], clicks: str, tmp_path: Path) -> None:
    """Whether enough items stand out of the noise is itself a noisy answer."""
    for _ in range(3):
        options = ("--with", "dp-streams:epsilon=0.01,delta=1e-6", "--ledger", "l")
        done = recveil("release", clicks, *options, "-o", "one", code=1)
        assert "stand out of the noise" in done.stderr
    assert not (tmp_path / "one").exists()
    assert [e["epsilon"] for e in ledger.read(tmp_path / "l")] == [0.01] * 3
    recveil("release", "missing.csv", "--with", SPEC, "--ledger", "l", "-o", "one", code=1)
    assert len(ledger.read(tmp_path / "l")) == 3  # what fails without noise spends nothing


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_refused_attempt_is_entered_on_spark(recveil: Callable[..., Any], clicks: str, tmp_path: Path) -> None:
    options = ("--with", "dp-streams:epsilon=0.01,delta=1e-6", "--ledger", "l", "--engine", "spark")
    recveil("release", clicks, *options, "-o", "one", code=1)
    recveil("recommend", clicks, *options, "-o", "lists", code=1)
    entries = ledger.read(tmp_path / "l")
    assert [e["epsilon"] for e in entries] == [0.01] * 2
    assert entries[0]["data"] == entries[1]["data"]


@pytest.mark.parametrize(("spec", "unit"), [("dp-streams:epsilon=4,delta=1e-4", "user"), ("mask:p=0.9", "bit")])
def test_recommend_spends(recveil: Callable[..., Any], clicks: str, tmp_path: Path, spec: str, unit: str) -> None:
    done = recveil("recommend", clicks, "--with", spec, "--top", 3, "--ledger", "l", "-o", "lists")
    assert f"for every {unit} (1 release)" in done.stderr
    assert [e["unit"] for e in ledger.read(tmp_path / "l")] == [unit]
    if unit == "user":
        recveil("release", clicks, "--with", spec, "-o", "one", "--keep-statistics", "kept", "--ledger", "l")
        recveil("recommend", clicks, "--with", "dp-streams", "--statistics", "kept", "--ledger", "l", "-o", "lists")
        assert len(ledger.read(tmp_path / "l")) == 2  # what was published before spends nothing
    recveil("recommend", clicks, "--with", "dp-streams:epsilon=0.01,delta=1e-6", "--ledger", "m", "-o", "x", code=1)
    assert len(ledger.read(tmp_path / "m")) == 1
