"""The reproduction of the MASK paper: its algebra at once, its claims on real data in minutes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recveil.cli.reproduce import _lines
from recveil.papers import mask


def test_the_algebra_holds_and_lost_data_are_said_to_be_lost() -> None:
    algebra, gone = mask._algebra(), mask._gone()
    assert [c.verdict for c in algebra] == ["reproduced", "reproduced"]
    assert {c.verdict for c in gone} == {"not available"}
    assert all(c.ours is None for c in gone)
    lines = list(_lines([*algebra, *gone]))
    assert lines[-1] == "2 reproduced; 4 not available"
    assert any("0.921" in line for line in lines)


def test_the_command_answers_with_claims(recveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recveil.papers.papers.reproduce", lambda *_: mask._gone())
    answer = recveil("reproduce", "mask", "--data", ".", json_answer=True)
    assert answer["paper"] == "mask"
    assert set(answer["claims"][0]) >= {"where", "claim", "paper", "ours", "low", "high", "verdict", "why"}


@pytest.mark.slow
@pytest.mark.data
def test_claims_on_real_data(real_data: Path) -> None:
    claims = mask.reproduce(real_data)
    ours = {(c.where, c.claim): c for c in claims}
    chosen = ours["figure 3, MovieLens 100K", "the p that maximises P(P) / MAE(P)"]
    assert isinstance(chosen.ours, float) and abs(chosen.ours - 0.936) <= 0.004
    assert chosen.verdict == "compatible"
    spans = {"max": (85.6, 86.7), "sum": (91.1, 91.8)}
    for score, (low, high) in spans.items():
        reading = mask.Reading("reconstructed", score, "true", 47)  # type: ignore[arg-type]
        claim = ours[
            "eq. 12, MovieLens 100K", f"almost 24 of 30 items or more (80%) as without perturbation: {reading}"
        ]
        assert isinstance(claim.ours, float) and low <= claim.ours <= high
    highest = [c for c in claims if c.claim.endswith("higher overlap than p = 0.95") and "100K" in c.where]
    assert [c.verdict for c in highest] == ["not reproduced"]
