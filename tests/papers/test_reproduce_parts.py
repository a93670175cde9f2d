"""A reproduction in parts: a stopped one goes on where it was, and what it writes says what every word means."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recveil.cli.reproduce import _lines
from recveil.errors import RecveilError
from recveil.evaluation.cache import Cache
from recveil.papers.claim import MEANINGS, Claim
from recveil.papers.datasets import DATASETS
from recveil.papers.papers import PAPERS, record, reproduce
from recveil.papers.parts import Kept, Part, gather, kept

ONE = Claim("table 1", "a number", 0.5, 0.51, "reproduced", 0.4, 0.6, "measured")
TWO = Claim("table <2>", "another", None, "less", "not reproduced", why="it does not")


def test_what_was_finished_is_not_made_again(tmp_path: Path) -> None:
    made: list[str] = []

    def part(name: str, claim: Claim, fails: bool = False) -> Part:
        def make(step: Callable[[], None]) -> list[Claim]:
            if fails:
                raise KeyboardInterrupt
            made.append(name)
            step()
            return [claim]

        return Part(name, make, 2)

    file = tmp_path / "ratings.parquet"
    file.write_bytes(b"rows")
    before = kept(Cache(tmp_path / "cache"), "paper", [file])
    with pytest.raises(KeyboardInterrupt):
        gather([part("one", ONE), part("two", TWO, fails=True)], before=before)
    heard: list[tuple[int, int]] = []
    parts = [part("one", ONE), part("two", TWO)]
    assert gather(parts, lambda done, of: heard.append((done, of)), before) == [ONE, TWO]
    assert made == ["one", "two"] and heard == [(2, 4), (3, 4), (4, 4)]
    file.write_bytes(b"other rows")
    gather([part("one", ONE)], before=kept(Cache(tmp_path / "cache"), "paper", [file]))
    assert made == ["one", "two", "one"]  # other data: nothing is kept of them
    gather([part("one", ONE)], before=Kept())
    assert made[-2:] == ["one", "one"]


def test_missing_data_sets_are_named_with_where_to_get_them(tmp_path: Path) -> None:
    for name, paper in PAPERS.items():
        with pytest.raises(RecveilError, match=f"{paper.needs[0]}/[a-z]+.parquet with user"):
            reproduce(name, tmp_path)
        assert {*paper.needs, *paper.may} <= set(DATASETS)


def test_the_table_fits_and_explains_its_verdicts() -> None:
    long = Claim("table 3", "word " * 40, 1.0, 2.0, "compatible", why="why " * 60)
    lines = list(_lines([ONE, TWO, long], 72))
    assert max(len(line) for line in lines) <= 72
    assert lines[-1] == "1 reproduced; 1 compatible; 1 not reproduced"
    assert any(MEANINGS["compatible"] in line for line in lines)
    assert "reproduced                 paper 0.5, ours 0.51 [0.4, 0.6]" in lines


def test_claims_are_written_as_json_and_as_a_page(
    recveil: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("recveil.papers.papers.reproduce", lambda *_: [ONE, TWO])
    for ending in ("json", "html"):
        recveil("reproduce", "mask", "--data", str(tmp_path), "-o", str(tmp_path / f"claims.{ending}"))
    document = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))
    assert document == json.loads(json.dumps(record("mask", [ONE, TWO])))
    page = (tmp_path / "claims.html").read_text(encoding="utf-8")
    assert "table &lt;2&gt;" in page and MEANINGS["not reproduced"] in page and "<script" not in page
    for bad in ("claims.pdf", "no/such/claims.json"):
        said = recveil("reproduce", "mask", "--data", str(tmp_path), "-o", str(tmp_path / bad), code=1)
        assert "claims" in said.stderr
