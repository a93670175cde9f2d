"""What the advisor says of its promise: all years at one delta, counters and models in one total, an old database;
items that were withdrawn; rounding that does not look at the noise."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serving import ADMIN, API, ITEMS, ME, click, client_of, join, opened, profile_rows
from sqlalchemy import Engine, select

from recveil.advisor import noisy_counters, schema
from recveil.advisor.applying import apply
from recveil.advisor.item_model import ModelBudget
from recveil.advisor.noisy_counters import CounterBudget, blur, look
from recveil.advisor.publication import blurred
from recveil.advisor.running import tell_overspent
from recveil.advisor.service import Settings, open_advisor
from recveil.advisor.store import YEAR, now, open_store, reading
from recveil.advisor.writes import Click, Join, Stock, Undo, Withdraw
from recveil.dp import continual
from recveil.dp.budget import epsilon_of, rho_of
from recveil.kernels.baskets import count_items
from recveil.mechanisms.dp_streams.counting import UNIT

TOKENS = [bytes([n]) * 32 for n in range(20)]


def rows(engine: Engine, table: Any) -> list[Any]:
    with reading(engine) as db:
        return [dict(row) for row in db.execute(select(table).order_by(*table.primary_key)).mappings()]


# --- rounding -------------------------------------------------------------------------------------------------------


def test_rounding_does_not_look_at_the_noise_alone() -> None:
    halves = np.arange(-6, 7) / 2
    for count in range(4):
        np.testing.assert_array_equal(continual.whole(halves + count), continual.whole(halves) + count)
    assert any((np.rint(halves + 1) != np.rint(halves) + 1).tolist())  # as it was: halves went to the even side
    assert continual.whole(np.array([0.5, 1.5, -0.5, 2.49])).tolist() == [1, 2, 0, 2]


# --- all years, counters and models ---------------------------------------------------------------------------------


def test_years_with_other_budgets_are_told_at_one_delta(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = [1_700_000_000]
    monkeypatch.setattr(noisy_counters, "now", lambda: at[0])
    engine = open_store(str(tmp_path / "advisor.sqlite"))
    apply(engine, [Stock(ITEMS)])
    for budget, told in (
        (CounterBudget(2.0, 1e-6, looks=2), 2.0),
        (CounterBudget(2.0, 1e-4, looks=2), 2.0),  # from the next year on
        (CounterBudget(1.0, 1e-6, looks=2), None),
    ):
        look(engine, budget)
        at[0] += YEAR
        assert look(engine, budget)
        with reading(engine) as db:
            known = blur(db)
        assert known is not None and known.budget.delta == budget.delta
        if told is not None:
            assert known.budget.epsilon == told
    assert known is not None
    most = rho_of(2.0, 1e-4)  # a rho that counts for more than its epsilon says at the smaller delta
    assert known.budget.epsilon == pytest.approx(epsilon_of(most, 1e-6), abs=0.01)
    assert known.budget.epsilon > 2.2
    engine.dispose()


def test_counters_and_models_have_one_total(tmp_path: Path) -> None:
    engine = open_store(str(tmp_path / "advisor.sqlite"))
    apply(engine, [Stock(ITEMS)])
    look(engine, CounterBudget())
    rho = rho_of(2.0, 1e-6) + 2 * rho_of(4.0, 1e-6)
    table = blurred(engine, 1, ModelBudget()).table.body.decode()
    assert f'"total":{{"epsilon":{np.ceil(100 * epsilon_of(rho, 1e-6)) / 100},"delta":1e-06}}' in table
    with engine.begin() as db:  # models that were made with a larger budget count as they were
        db.execute(schema.models.insert().values(at=now(), rho=3.0, epsilon=9.0, delta=1e-6))
    assert '"total":{"epsilon":2' in blurred(engine, 1, ModelBudget()).table.body.decode()
    assert '"total":null' in blurred(engine, 1).table.body.decode()
    engine.dispose()


def test_a_person_with_and_without_an_item_is_at_most_so_far_apart() -> None:
    """Two vectors without negative entries and of norm U at most are at most sqrt(2) U apart: the total needs it."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 17, 200):
        mine = rng.permutation(300)[:n].astype(np.int32)
        one, less = (count_items(np.array([0, len(x)]), x, 300, UNIT) for x in (mine, mine[1:]))
        assert min(one.min(), less.min()) >= 0 and max((one**2).sum(), (less**2).sum()) <= UNIT**2
        assert ((one - less) ** 2).sum() <= 2 * UNIT**2


# --- a database of an earlier recveil -------------------------------------------------------------------------------


def made_old(engine: Engine) -> None:
    """As the schema was before noise followed year, item, sign and look alone."""
    with reading(engine) as db:
        shown = profile_rows(engine) if db.execute(select(schema.years)).first() else []
    with engine.begin() as db:
        for table in ("batches", "platforms", "profiles", "noise_sums"):
            db.exec_driver_sql(f"DROP TABLE {table}")
        for column in ("overspent", "shown", "base", "closing_variance", "ended"):
            db.exec_driver_sql(f"ALTER TABLE years DROP COLUMN {column}")
        db.exec_driver_sql("DROP INDEX ix_items_revision")
        for column in ("withdrawn", "revision"):
            db.exec_driver_sql(f"ALTER TABLE items DROP COLUMN {column}")
        names = ("item", "likes", "dislikes", "closed_likes", "closed_dislikes")
        db.exec_driver_sql(f"CREATE TABLE profiles ({', '.join(f'{name} INTEGER NOT NULL' for name in names)})")
        for row in shown:
            db.exec_driver_sql(f"INSERT INTO profiles VALUES ({', '.join(str(row[name]) for name in names)})")
        db.exec_driver_sql("UPDATE alembic_version SET version_num = 'fifth'")
    engine.dispose()


def test_the_year_of_an_old_database_is_closed_and_page_and_log_say_so(
    database: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine, budget = open_store(database), CounterBudget(epsilon=100.0, looks=10)
    apply(engine, [Stock(ITEMS), *map(Join, TOKENS), *(Click(t, "item-0", 1, "k") for t in TOKENS[:15])])
    look(engine, budget)
    shown = profile_rows(engine)
    apply(engine, [Undo(TOKENS[0], "item-0"), *(Click(t, "item-0", -1, "k") for t in TOKENS[15:])])
    made_old(engine)
    engine = open_store(database)
    (year,) = rows(engine, schema.years)
    assert (year["key"], year["overspent"]) == (None, 1) and year["closed"] is not None
    first = rows(engine, schema.items)[0]
    assert (first["entered_likes"], first["entered_dislikes"]) == (0, 5)  # what the last look did not know goes on
    advisor = open_advisor(engine, Settings(budget=budget, min_people=1, sites=("testserver",)))
    with client_of(advisor) as server:
        table = server.get(f"{API}/profiles").json()
    assert table["overspent"] is not None and table["profiles"]["item-0"] == [max(shown[0]["likes"], 0), 0]
    with caplog.at_level(logging.WARNING, "recveil.advisor"):
        tell_overspent(advisor)
    assert f"shown until {table['overspent']} gave away more" in caplog.text and "year is closed" in caplog.text
    later = now() + YEAR // 10
    monkeypatch.setattr(noisy_counters, "now", lambda: later)
    assert look(engine, budget)
    closed, running = rows(engine, schema.years)
    assert (closed["overspent"], running["overspent"], running["done"]) == (1, 0, 1) and running["key"]
    after = profile_rows(engine)[0]
    assert after["closed_likes"] == shown[0]["likes"] and abs(after["dislikes"] - 5) < 8
    engine.dispose()


def test_an_old_database_that_never_published_is_as_good_as_new(tmp_path: Path) -> None:
    file = str(tmp_path / "advisor.sqlite")
    engine = open_store(file)
    apply(engine, [Stock(ITEMS), Join(TOKENS[0]), Click(TOKENS[0], "item-0", 1, "k")])
    made_old(engine)
    engine = open_store(file)
    assert rows(engine, schema.years) == [] and rows(engine, schema.items)[0]["entered_likes"] == 1
    look(engine, CounterBudget())
    with reading(engine) as db:
        known = blur(db)
    assert known is not None and known.overspent is None
    engine.dispose()


# --- items that were withdrawn --------------------------------------------------------------------------------------


def test_an_item_is_withdrawn_for_ever_and_clicks_on_it_stay_hers(database: str) -> None:
    admin = {"Authorization": f"Bearer {ADMIN}"}
    with opened(database, counters="private") as advisor, client_of(advisor) as server:
        who, other = join(server), join(server)
        assert click(server, who, "item-1", key="first").status_code == 201
        for headers in ({}, who, {"Authorization": "Bearer wrong"}):
            assert server.delete(f"{API}/items/item-1", headers=headers).status_code == 401
        assert server.delete(f"{API}/items/item-1", headers=admin).status_code == 204
        assert server.delete(f"{API}/items/item-1", headers=admin).status_code == 404
        assert "item-1" not in server.get(f"{API}/profiles").json()["profiles"]
        assert "item-1" not in dict(server.get(f"{API}/catalogue").json()["items"])
        assert click(server, other, "item-1").status_code == 404
        assert click(server, who, "item-1", key="first").status_code == 200  # a late copy of what was accepted
        again = {"items": [{"id": "item-1", "title": "Another"}, {"id": "item-9", "title": "New"}]}
        assert server.put(f"{API}/items", json=again, headers=admin).json() == {
            "added": 1,
            "renamed": 0,
            "withdrawn": 1,
        }
        assert "item-1" not in server.get(f"{API}/profiles").json()["profiles"]
        assert [row["item"] for row in server.get(f"{ME}/clicks", headers=who).json()["clicks"]] == ["item-1"]
        assert server.delete(f"{ME}/clicks/item-1", headers=who).status_code == 204
        assert {row["id"]: row["entered_likes"] for row in rows(advisor.engine, schema.items)}[2] == 0


def test_a_withdrawn_number_never_comes_back(tmp_path: Path) -> None:
    engine = open_store(str(tmp_path / "advisor.sqlite"))
    apply(engine, [Stock(ITEMS), Withdraw("item-7"), Stock((("new", "New"), ("item-7", "x")))])
    assert [(row["id"], row["key"]) for row in rows(engine, schema.items)][-2:] == [(8, "item-7"), (9, "new")]
    engine.dispose()
