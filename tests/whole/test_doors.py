"""Nothing outside the budget looks at the data, whatever door they come through and wherever somebody stands."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from doors import DOORS, PROVED, SEAMS, Cell, House, Instrument, table
from oddities import ODDITIES, POSITIONS

from recveil.errors import RecveilError
from recveil.mechanism import Synthesis
from recveil.mechanisms.mask import perturb
from recveil.mechanisms.spec import parse
from recveil.splits import hold_out

WHOLE = table()
HERE = [name for name, door in DOORS.items() if not door.on_spark]  # the others are in test_spark_interference


def thinned(whole: list[Cell]) -> list[Cell]:
    """Of every mechanism, door and form one cell, of the oddity and then the position that came least so far."""
    found: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in whole:
        found.setdefault((cell.spec, cell.door, cell.form), []).append(cell)
    came: Counter[str] = Counter()
    thin = []
    for cells in found.values():
        cell = min(cells, key=lambda c: (came[c.odd], came[c.position]))
        came.update((cell.odd, cell.position))
        thin.append(cell)
    return thin


THIN = thinned(WHOLE)


@pytest.fixture
def instrument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Instrument:
    # no broken row is tolerated where there is no proof: whoever forgets the proof's own rule refuses at the first one
    for reader in ("checking", "text", "json_lines"):
        monkeypatch.setattr(f"recveil.formats.{reader}.TOLERATED", 0.0)
    return Instrument(House(tmp_path, monkeypatch, capfd))


def faults(instrument: Instrument, cells: list[Cell]) -> list[str]:
    found = []
    for cell in cells:
        try:
            instrument.look(cell)
        except Exception as fault:  # a crash is a difference, too
            found.append(f"{cell}: {type(fault).__name__} {str(fault)[:600]}")
    return found


def test_what_is_listed_is_covered() -> None:
    for spec in PROVED:
        made = parse(spec)
        assert isinstance(made, Synthesis) or made.name in SEAMS, f"{made.name}: say where its answers are randomised"
    cells = {(c.spec, c.door, c.form) for c in WHOLE}
    assert cells == {(c.spec, c.door, c.form) for c in THIN}
    assert {c.odd for c in WHOLE} == set(ODDITIES) and {c.position for c in WHOLE} == set(POSITIONS)
    assert {c.odd for c in THIN} == set(ODDITIES) and {c.position for c in THIN} == set(POSITIONS)
    assert set(PLANTED) == set(HERE), "plant a leak in every door"
    assert {c.door for c in WHOLE} == set(HERE) and {c.spec for c in WHOLE} == set(PROVED)
    assert len(WHOLE) > 4000, len(WHOLE)


@pytest.mark.parametrize("spec", PROVED)
def test_nobody_is_seen_through_any_door(spec: str, instrument: Instrument) -> None:
    assert faults(instrument, [cell for cell in THIN if cell.spec == spec]) == []


@pytest.mark.slow
@pytest.mark.parametrize(("door", "spec"), sorted({(cell.door, cell.spec) for cell in WHOLE}))
def test_the_whole_table_has_no_difference(
    door: str, spec: str, instrument: Instrument, record_property: Any
) -> None:  # make doors runs it in turns
    cells = [cell for cell in WHOLE if (cell.spec, cell.door) == (spec, door)]
    record_property("cells", len(cells))
    assert faults(instrument, cells) == []


def _schema_of_rows(series: Any, state: Any, rows: Any) -> Any:  # noqa: ARG001
    found = (("item", str(rows.items.dtype)),)
    if state.schema and found != state.schema:
        raise RecveilError("another schema than before; nothing was done")
    return found


STREAMS = "dp-streams:epsilon=90,delta=0.01,k=40"
# A leak for each door: what is put in whose place, and a cell in which it shows.
PLANTED: dict[str, tuple[str, Any, Cell]] = {
    "command line": (
        "recveil.releases.inputs.Input.under", lambda self, mechanism: self,  # noqa: ARG005
        Cell(STREAMS, "command line", "csv", "last", "null"),
    ),
    "out of core": (  # as it was: its plan, which is no warning, told the size of the log
        "recveil.releases.disk.WARNING", "",
        Cell(STREAMS, "out of core", "csv", "last", "everything"),
    ),
    "facts of items": (
        "recveil.actions.publish.doubts", lambda mechanism, rows, lists: (print(len(rows)), [])[1],  # noqa: ARG005
        Cell(STREAMS, "facts of items", "csv", "first", "everything"),
    ),
    "people held out": (
        "recveil.actions.publish.hold_out", lambda rows, *how: (print(len(rows)), hold_out(rows, *how))[1],
        Cell(STREAMS, "people held out", "csv", "last", "a new item"),
    ),
    "Python": (
        "recveil.formats.frames._texts", lambda column, role: pl.Series(column),  # noqa: ARG005
        Cell(STREAMS, "Python", "pandas", "first", "text among numbers"),
    ),
    "recommend": (
        "recveil.evaluation.learning.perturb", lambda data, mask, seed, everyone: perturb(data, mask, seed),  # noqa: ARG005
        Cell("mask:p=0.8", "recommend", "csv", "middle", "everything"),
    ),
    "tune": (
        "recveil.evaluation.tune.replace", lambda data, **how: data,  # noqa: ARG005
        Cell(STREAMS, "tune", "csv", "middle", "null"),
    ),
    "audit": (
        "recveil.releases.inputs.Input.under", lambda self, mechanism: self,  # noqa: ARG005
        Cell(STREAMS, "audit", "polars", "first", "null"),
    ),
    "desk": (
        "recveil.desk.project.bundles.published_place", lambda project, name: project.folder / name,
        Cell(STREAMS, "desk", "csv", "last", "a new item"),
    ),
    "judge": (
        "recveil.releases.inputs.Input.without_refusals", lambda self: self,
        Cell(STREAMS, "judge", "csv", "last", "null"),
    ),
    "choice": (
        "recveil.releases.inputs.Input.without_refusals", lambda self: self,
        Cell(STREAMS, "choice", "csv", "first", "null"),
    ),
    "series": (  # as it was: the type of a column, which one row of a csv changes, was compared with that of before
        "recveil.series.releasing._checked_schema", _schema_of_rows,
        Cell(STREAMS, "series", "csv", "last", "text among numbers"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("door", HERE)
def test_a_planted_leak_is_found(door: str, instrument: Instrument, monkeypatch: pytest.MonkeyPatch) -> None:
    name, leak, cell = PLANTED[door]
    assert cell.door == door and faults(instrument, [cell]) == []  # without the leak
    instrument.without.clear()
    monkeypatch.setattr(name, leak)
    assert faults(instrument, [cell])
