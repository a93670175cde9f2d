"""compare of a log in parts on a disk: the same people in any parts, none of those held out in a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from test_out_of_core import world

from recveil.actions.compare import CompareRequest, run_compare
from recveil.actions.engine import Engine
from recveil.errors import RecveilError
from recveil.evaluation import compare_parts, measure_parts
from recveil.evaluation.design import Design
from recveil.releases import disk
from recveil.releases.inputs import Input
from recveil.report.table import Report

ONLY = ("linkage", "membership", "popularity", "ranking", "lift")


def compared(place: Path, parts: int, **design: Any) -> Report:
    place.mkdir()
    world(600).frame().write_parquet(place / "log.parquet")
    memory = f"{3 * 2400 * disk.ROW_BYTES / parts / 1000:.3f}KB"
    wishes = Design(seed=2, quick=True, only=ONLY, **design)
    specs = ("pseudonymise", "random-ratings", "mbrw")
    return run_compare(
        CompareRequest(Input(str(place / "log.parquet")), specs, design=wishes, engine=Engine(memory=memory))
    )


def test_it_is_the_same_in_any_parts_and_says_what_does_not_run(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    given: list[Any] = []
    measured = measure_parts.measure_parts
    monkeypatch.setattr(
        compare_parts, "measure_parts", lambda *some, **more: given.append(some[0]) or measured(*some, **more)
    )
    found = [compared(tmp_path / str(parts), parts, holdout=0.3) for parts in (4, 9)]
    assert found[0].measurements == found[1].measurements
    report = found[0]
    assert [entry.spec for entry in report.entries] == ["pseudonymise", "random-ratings"], report.skipped
    assert any(line.startswith("mbrw does not run out of core: ") for line in report.skipped)
    assert report.meta["held_out"] + report.meta["trained"] == 600
    assert 100 < report.meta["held_out"] < 260  # each by her own hash
    for entry in report.entries:
        assert entry.users == report.meta["trained"]
        assert entry.rows == 4 * entry.users
        assert report.found(entry) is not None, report.skipped
        assert report.algorithms(None)
    assert not list(tmp_path.glob("recveil-scratch-*"))
    for one in given:
        original = one.id_map["original"].cast(pl.String)
        assert not original.is_in(one.holdout.users.implode()).any()
        assert len(original) + report.meta["held_out"] == 600


def test_real_rows_are_told_from_chance(tmp_path: Path, monkeypatch: Any) -> None:
    """People who have the whole of one of two shelves: whoever is released as she is teaches the other's absence."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    item = np.concatenate([rng.permutation(10)[:6] + 10 * (user % 2) for user in range(800)])
    log = pl.DataFrame({"user": np.repeat(np.arange(800), 6), "item": item, "time": np.arange(4800)})
    log.write_parquet("log.parquet")
    wishes = Design(seed=2, quick=True, only=("lift", "ranking", "popularity"))
    memory = f"{4800 * disk.ROW_BYTES / 2 / 1000:.3f}KB"
    request = CompareRequest(Input("log.parquet"), ("pseudonymise",), design=wishes, engine=Engine(memory=memory))
    report = run_compare(request)
    lift = report.lift(report.entries[0])
    assert lift is not None
    assert lift.value == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(("option", "more"), [("--splits", {"splits": 2}), ("--shadows", {"shadows": 4})])
def test_what_needs_memory_is_refused_before_anything_is_read(
    option: str, more: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecveilError, match=f"{option} is for logs that memory holds"):
        compared(tmp_path / "log", 4, **more)
