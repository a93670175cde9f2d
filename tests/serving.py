"""An advisor for tests, on SQLite and on a real PostgreSQL server: in this process, or as `recveil advisor serve`."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra `serve` is not installed: no tests of the advisor")
from fastapi.testclient import TestClient
from sqlalchemy import Engine, select

from recveil.advisor import profile_parts
from recveil.advisor.app import create_app
from recveil.advisor.applying import apply
from recveil.advisor.identity import digest
from recveil.advisor.schema import items, years
from recveil.advisor.service import Advisor, Settings, open_advisor
from recveil.advisor.store import open_store, reading
from recveil.advisor.writes import Stock

API = "/api/v1"
ME = f"{API}/people/me"
ADMIN = "an admin token that only the tests know"
ITEMS = tuple((f"item-{n}", f"Title {n}") for n in range(8))


@contextmanager
def opened(database: str, **settings: Any) -> Iterator[Advisor]:
    engine = open_store(database)
    apply(engine, [Stock(ITEMS)])
    chosen = {
        "counters": "exact",
        "min_people": 1,
        "publish_every": 3600.0,
        "rate": 1e5,
        "accounts": 10**5,
        "reads": 10**5,
        **settings,
    }
    try:
        yield open_advisor(engine, Settings(**chosen, admin=digest(ADMIN), sites=("testserver",)))
    finally:
        engine.dispose()


def client_of(advisor: Advisor) -> TestClient:
    """A client of its server, in this process; errors of the server are answers."""
    return TestClient(create_app(advisor), raise_server_exceptions=False)


def join(server: TestClient) -> dict[str, str]:
    """The headers of a new person."""
    return {"Authorization": f"Bearer {server.post(f'{API}/people').json()['token']}"}


def click(server: TestClient, who: dict[str, str], item: str, sign: str = "like", key: str | None = None) -> Any:
    headers = {**who, "Idempotency-Key": key or uuid4().hex}
    return server.put(f"{ME}/clicks/{item}", json={"sign": sign}, headers=headers)


@contextmanager
def running(*arguments: str, environment: dict[str, str] | None = None, pid: bool = False) -> Iterator[Any]:
    """`recveil advisor serve ARGUMENTS` as a process of its own: how to kill it, its address, its number if wanted."""
    command = [sys.executable, "-m", "recveil", "advisor", "serve", *arguments, "--port", "0", "--json"]
    env = {**os.environ, **(environment or {})}
    with (  # a file for its log: a pipe that nobody reads is full after some hundred clicks, and then the server waits
        TemporaryFile("a+") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=env) as process,
    ):
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            log.seek(0)
            assert line, log.read()
            url = json.loads(line)["url"]
            yield (process.kill, url, process.pid) if pid else (process.kill, url)
        finally:
            process.terminate()
            process.communicate(timeout=20)


def alone(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run it in a thread of its own: a browser that other tests keep open has a loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def profile_rows(engine: Engine) -> list[dict[str, int]]:
    """What the last look shows of each item, and what it has from closed years."""
    with reading(engine) as db:
        year = db.execute(select(years).order_by(years.c.id.desc()).limit(1)).mappings().one()
        shown, base = (profile_parts.read(db, year[name]) for name in ("shown", "base"))
        known = db.execute(select(items.c.id).where(items.c.id < shown.shape[1]).order_by(items.c.id)).scalars().all()
    ended = np.zeros_like(shown)
    ended[:, : base.shape[1]] = base
    names = ("likes", "dislikes", "closed_likes", "closed_dislikes")
    return [{"item": n, **dict(zip(names, [*shown[:, n].tolist(), *ended[:, n].tolist()], strict=True))} for n in known]
