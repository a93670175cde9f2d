"""Several workers on one PostgreSQL: nothing lost, nothing twice, one budget, one set of limits."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2 as httpx
import pytest
from serving import API, ITEMS, ME, alone, opened, running
from sqlalchemy import func, select

from recveil.advisor import item_model, schema
from recveil.advisor.applying import apply
from recveil.advisor.item_model import ModelBudget
from recveil.advisor.limits import RateLimit
from recveil.advisor.problems import Problem
from recveil.advisor.sharing import Sharing
from recveil.advisor.store import open_store, reading, recount
from recveil.advisor.writes import Stock

FAST = ("--rate", "10000", "--accounts", "100000", "--publish-every", "0.5")


def test_sqlite_has_one_worker(recveil: Callable[..., Any]) -> None:
    said = recveil("advisor", "serve", "--workers", "2", "--database", "x.sqlite", code=1).stderr
    assert "--workers: SQLite has one writer; several workers need --database postgresql" in said


def asked(url: str, method: str, path: str, tries: int = 60, **options: Any) -> httpx.Response:
    """With a connection of its own, so that any worker may answer; once more where one was killed meanwhile."""
    for _ in range(tries):
        try:
            answer = httpx.request(method, url.rstrip("/") + path, timeout=20, **options)
        except httpx.HTTPError:
            time.sleep(0.1)
            continue
        if answer.status_code != 503:
            return answer
        time.sleep(0.1)
    raise AssertionError("no answer")


def children(parent: int) -> list[int]:
    """Workers of a server: processes of python that it started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            line = (stat.parent / "cmdline").read_text()
        except OSError:
            continue
        if int(fields[1]) == parent and "spawn_main" in line:
            found.append(int(stat.parent.name))
    return found


def test_people_click_and_erase_while_workers_are_killed(postgresql: Any) -> None:
    database = postgresql.database()
    stocked = open_store(database)
    apply(stocked, [Stock(tuple((f"i{n:02d}", f"Item {n}") for n in range(20)))])
    wrong: list[object] = []
    kept: dict[str, set[str]] = {}
    erased: list[str] = []
    with running("--database", database, "--workers", "2", *FAST, pid=True) as (_, url, pid):

        def visit(n: int) -> None:
            token = asked(url, "POST", f"{API}/people").json()["token"]
            who = {"Authorization": f"Bearer {token}"}
            there = set()
            for k in range(20):
                item, key = f"i{(k * 7 + n) % 20:02d}", uuid4().hex
                done = asked(
                    url, "PUT", f"{ME}/clicks/{item}", json={"sign": "like"}, headers={**who, "Idempotency-Key": key}
                )
                if done.status_code not in (200, 201):
                    wrong.append(done.text)
                there.add(item)
                if k % 5 == 4:
                    asked(url, "DELETE", f"{ME}/clicks/{item}", headers=who)  # 204, or 404 where it was done twice
                    there.discard(item)
            if n % 2:
                gone = asked(url, "DELETE", ME, headers=who)
                if gone.status_code not in (204, 401):  # 401: done by the worker that was killed before it said so
                    wrong.append(gone.text)
                erased.append(token)
            else:
                kept[token] = there

        threads = [threading.Thread(target=visit, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        before = _wait_for(lambda: children(pid), 2)
        time.sleep(1.0)
        os.kill(before[0], signal.SIGKILL)
        for thread in threads:
            thread.join()
        assert wrong == [] and len(kept) == len(erased) == 4
        assert len(_wait_for(lambda: [one for one in children(pid) if one != before[0]], 2)) == 2  # another began
        for token, there in kept.items():
            mine = asked(url, "GET", f"{ME}/clicks", headers={"Authorization": f"Bearer {token}"}).json()["clicks"]
            assert sorted(row["item"] for row in mine) == sorted(there)
        for token in erased:
            assert asked(url, "GET", ME, headers={"Authorization": f"Bearer {token}"}).status_code == 401
    with reading(stocked) as db:
        assert recount(db) == []
        named = select(func.count()).select_from(schema.people).where(schema.people.c.token.is_not(None))
        assert db.execute(named).scalar_one() >= 4  # an answer that was lost may leave an account that nobody holds
        assert db.execute(select(schema.years.c.done)).scalars().all() == [1]  # one look, whoever took it
    stocked.dispose()
    _wait_for(lambda: [0] if not children(pid) else [], 1)


def _wait_for(look: Callable[[], list[int]], n: int) -> list[int]:
    for _ in range(300):
        if len(found := look()) >= n:
            return found
        time.sleep(0.1)
    raise AssertionError(f"never {n}")


def test_accounts_are_counted_by_all_workers_together(postgresql: Any) -> None:
    database = postgresql.database()
    engine = open_store(database)
    sides = [(Sharing(engine, b"salt"), RateLimit(5 / 3600, 5)) for _ in range(2)]
    for n in range(12):
        sharing, limit = sides[n % 2]
        if n < 5:
            sharing.take("accounts", limit, "192.0.2.1")
            continue
        with pytest.raises(Problem) as refused:
            sharing.take("accounts", limit, "192.0.2.1")
        assert refused.value.status == 429 and 600 < int((refused.value.headers or {})["Retry-After"]) <= 721
    sides[0][0].take("accounts", sides[0][1], "192.0.2.2")
    with reading(engine) as db:
        stored = db.execute(select(schema.allowances.c.who)).scalars().all()
    assert len(stored) == 2 and not any(b"192" in bytes(who) for who in stored)
    engine.dispose()


def test_what_a_caller_does_at_one_worker_counts_at_the_other(postgresql: Any) -> None:
    database = postgresql.database()
    engine = open_store(database)
    sharing = Sharing(engine, b"salt")
    one, other = RateLimit(0.01, 10), RateLimit(0.01, 10)
    for _ in range(7):
        one.spend("her")
    sharing.exchange({"requests": one})
    other.spend("her")
    assert other.left("her") == pytest.approx(9, abs=0.1)
    sharing.exchange({"requests": other})
    assert other.left("her") == pytest.approx(2, abs=0.1)
    sharing.exchange({"requests": other})  # nothing new: nothing is counted twice
    one.spend("her")
    sharing.exchange({"requests": one})
    assert one.left("her") == pytest.approx(1, abs=0.1)
    sharing.clear()
    sharing.forget()
    engine.dispose()


def test_a_new_model_and_a_new_look_reach_every_worker(postgresql: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    database = postgresql.database()
    model = {"items": ["item-0"], "popular": [1.0], "starts": [0, 0], "alike": [], "weight": []}
    monkeypatch.setattr(item_model, "_learn", lambda *_: model)
    monkeypatch.setattr(item_model, "LEAST", len(ITEMS))
    chosen = {"counters": "private", "models": ModelBudget(people=1)}
    with opened(database, **chosen) as one, opened(database, **chosen) as other:
        assert one.items is None and other.items is None
        alone(one.relearn())
        assert one.items is not None and other.items is None
        alone(other.relearn())
        assert other.items == one.items and other.model_sheet == one.model_sheet
        assert one.snapshot.table == other.snapshot.table
