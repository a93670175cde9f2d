"""Backups of the advisor's database: whole, from either kind into either, and without noise that was shown already."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from serving import ITEMS, profile_rows
from sqlalchemy import Engine, select

from recveil.advisor import backup as copying
from recveil.advisor import item_model, noisy_counters, schema
from recveil.advisor.applying import apply
from recveil.advisor.backup import TABLES, backup, check, restore
from recveil.advisor.item_model import ModelBudget, make_due
from recveil.advisor.noisy_counters import CounterBudget, look
from recveil.advisor.store import DAY, YEAR, clicks_of, open_store, person, reading, recount
from recveil.advisor.writes import Click, Erase, Join, Stock, Undo
from recveil.dp.budget import rho_of
from recveil.errors import RecveilError

BUDGET = CounterBudget(looks=10)
TOKENS = [n.to_bytes(2, "big") * 16 for n in range(60)]


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = 1_700_000_000
        for module in (noisy_counters, item_model, copying):
            monkeypatch.setattr(module, "now", lambda: self.at)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def rows(engine: Engine, table: sa.Table) -> list[Any]:
    with reading(engine) as db:
        return [dict(row) for row in db.execute(select(table).order_by(*table.primary_key)).mappings()]


def world(database: str) -> Engine:
    """Forty people who like an item; a look; some more who came after it."""
    engine = open_store(database)
    apply(engine, [Stock(ITEMS), *map(Join, TOKENS), *(Click(t, "item-0", 1, "k") for t in TOKENS[:40])])
    look(engine, BUDGET)
    apply(engine, [Click(t, "item-0", 1, "k") for t in TOKENS[40:50]])
    apply(engine, [Undo(TOKENS[0], "item-0"), Click(TOKENS[1], "item-1", -1, "j"), Erase(TOKENS[2])])
    return engine


def test_a_backup_brings_everything_back_but_the_key(database: str, tmp_path: Path, clock: Clock) -> None:
    engine = world(database)
    file = str(tmp_path / "monday.backup")
    found = backup(database, file)
    assert found["problems"] == [] and (found["people"], found["items"], found["clicks"]) == (59, 8, 49)
    assert Path(file).stat().st_mode & 0o077 == 0 and not list(tmp_path.glob("monday.backup?*"))
    again = str(tmp_path / "again.sqlite")
    assert restore(file, again)["problems"] == []
    new = open_store(again)
    for table in TABLES:
        if table not in (schema.years, schema.backups, schema.items, schema.clicks, schema.profiles):
            assert rows(new, table) == rows(engine, table)
    same = ("id", "person", "item", "sign", "at", "spent")
    assert [[row[c] for c in same] for row in rows(new, schema.clicks)] == [
        [row[c] for c in same] for row in rows(engine, schema.clicks)
    ]
    (year,) = rows(new, schema.years)
    assert year["key"] is None and year["closed"] == clock.at
    key = rows(engine, schema.years)[0]["key"]
    assert key is not None and key not in Path(file).read_bytes() and key not in Path(again).read_bytes()
    apply(new, [Join(b"n" * 32), Click(b"n" * 32, "item-1", 1, "n"), Click(TOKENS[5], "item-2", 1, "n")])
    with reading(new) as db:
        assert recount(db) == []
        her = person(db, TOKENS[45])
        assert her is not None and not clicks_of(db, her, private=True)[0]["counted"]
    for one in (engine, new):
        one.dispose()


@pytest.mark.usefixtures("clock")
def test_a_backup_can_go_to_the_other_kind_of_database(postgresql: Any, tmp_path: Path) -> None:
    engine = world(str(tmp_path / "advisor.sqlite"))
    backup(str(tmp_path / "advisor.sqlite"), str(tmp_path / "b"))
    url = postgresql.database()
    restore(str(tmp_path / "b"), url)
    new = open_store(url)
    apply(new, [Join(b"n" * 32), Stock((("more", "More"),)), Click(b"n" * 32, "more", 1, "n")])  # numbers go on
    assert look(new, BUDGET) is False and check(new)["problems"] == []  # a year began with the first look that was due
    assert rows(new, schema.years)[-1]["closed"] is None
    with pytest.raises(RecveilError, match="not empty"):
        restore(str(tmp_path / "b"), url)
    for one in (engine, new):
        one.dispose()


def shown(engine: Engine, item: int = 1) -> int:
    return next(row["likes"] for row in profile_rows(engine) if row["item"] == item)


def test_noise_that_was_shown_never_meets_other_counts(tmp_path: Path, clock: Clock) -> None:
    """Two looks with one noise would give the exact difference away; a plain copy of the file does so."""
    original, plain = str(tmp_path / "advisor.sqlite"), str(tmp_path / "plain.sqlite")
    engine = world(original)
    exact = rows(engine, schema.items)[0]["entered_likes"]
    backup(original, str(tmp_path / "b"))
    engine.dispose()
    shutil.copy(original, plain)
    shutil.copy(tmp_path / "b", tmp_path / "copied.sqlite")  # somebody who copies the backup instead of restoring it
    restore(str(tmp_path / "b"), str(tmp_path / "restored.sqlite"))
    restore(str(tmp_path / "b"), str(tmp_path / "twice.sqlite"))
    clock.at += YEAR // 10
    engine = open_store(original)
    assert look(engine, BUDGET)
    told = shown(engine)
    apply(engine, [Click(TOKENS[55], "item-0", 1, "late")])
    differences = {}
    for name in ("plain", "copied", "restored", "twice"):
        other = open_store(str(tmp_path / f"{name}.sqlite"))
        if name != "plain":
            assert not look(other, BUDGET)  # opens the year
            clock.at += YEAR // 10
        apply(other, [Click(t, "item-0", 1, "late") for t in TOKENS[50:57]])
        assert look(other, BUDGET)
        differences[name] = shown(other) - told
        assert rows(other, schema.years)[-1]["key"] != rows(engine, schema.years)[0]["key"] or name == "plain"
        other.dispose()
    assert differences["plain"] == 7  # the attack works where it should: exactly the seven that came
    assert exact == 48
    keys = set()
    for name in ("copied", "restored", "twice"):
        other = open_store(str(tmp_path / f"{name}.sqlite"))
        closed, running = rows(other, schema.years)
        assert closed["key"] is None and running["done"] == 1
        entered = next(row for row in rows(other, schema.items) if row["id"] == 1)["entered_likes"]
        assert entered == 7  # what had not been looked at when the copy was taken is stored, and not counted
        keys.add(running["key"])
        other.dispose()
    assert len(keys) == 3
    engine.dispose()


@pytest.mark.parametrize(("away", "lost"), [(1, 0), (91.24, 0), (91.25, 1), (182.5, 2), (1000, 4)])
def test_models_that_a_backup_does_not_know_of_are_spent(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, away: float, lost: int
) -> None:
    monkeypatch.setattr(item_model, "_learn", lambda *_: {})
    engine = open_store(str(tmp_path / "advisor.sqlite"))
    apply(engine, [Stock(tuple((f"i{n}", f"i{n}") for n in range(12)))])
    budget = ModelBudget(epsilon=8.0)
    assert make_due(engine, budget)
    engine.dispose()
    backup(str(tmp_path / "advisor.sqlite"), str(tmp_path / "b"))
    restore(str(tmp_path / "b"), str(tmp_path / "new.sqlite"))
    clock.at += int(away * DAY)
    new = open_store(str(tmp_path / "new.sqlite"))
    assert not make_due(new, budget)
    total = rho_of(8.0, 1e-6)
    assert [row["rho"] for row in rows(new, schema.models)[1:]] == pytest.approx(
        [lost * total / 4] if lost else [], rel=1e-3
    )
    assert rows(new, schema.backups) == []
    clock.at += YEAR // 4
    made = make_due(new, budget)
    assert made == (lost < 4)
    new.dispose()


@pytest.mark.usefixtures("clock")
def test_the_commands(recveil: Callable[..., Any], tmp_path: Path) -> None:
    world("recveil.sqlite").dispose()
    assert "59 people, 8 items, 49 clicks" in recveil("store", "backup", "b").stdout
    assert "exists already" in recveil("store", "backup", "b", code=1).stderr
    assert recveil("store", "check", json_answer=True)["problems"] == []
    assert recveil("store", "check", "--database", "b", json_answer=True)["backup"] is not None
    said = recveil("store", "restore", "b", "--database", "new.sqlite").stdout
    assert "59 people" in said and "whoever erased herself" in said
    assert "is no backup" in recveil("store", "restore", "recveil.sqlite", "--database", "x.sqlite", code=1).stderr
    assert "no such file" in recveil("store", "restore", "none", "--database", "y.sqlite", code=1).stderr
    assert "no such file" in recveil("store", "check", "--database", "none", code=1).stderr
    with sqlite3.connect("recveil.sqlite") as db:
        db.execute("UPDATE items SET likes = likes + 1 WHERE id = 1")
        db.execute("UPDATE years SET done = 99")
    found = recveil("store", "check", json_answer=True, code=3)["problems"]
    assert found == ["1 counters differ from a count of the clicks", "year 1 has taken more looks than it may"]
    assert "has a fault" in recveil("store", "backup", "c", code=1).stderr and not (tmp_path / "c").exists()
