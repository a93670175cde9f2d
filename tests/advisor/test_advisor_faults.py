"""A full disk, a database that is away: what was acknowledged is there, and nothing is there twice."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2 as httpx
import pytest
from serving import API, ME, running
from sqlalchemy import text

from recveil.advisor.applying import apply
from recveil.advisor.store import open_store, reading, recount
from recveil.advisor.writes import Stock

FAST = ("--rate", "10000", "--accounts", "100000", "--counters", "exact", "--recommend", "neighbours")
STOCK = Stock(tuple((f"i{n:03d}", f"Item {n}") for n in range(300)))


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of 32 MB, where PostgreSQL's user gets to as well."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("a small file system needs root")
    place = Path(tempfile.mkdtemp(prefix="recveil-small-"))
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32m,mode=0755", "tmpfs", str(place)], capture_output=True, check=False
    )
    if made.returncode:
        place.rmdir()
        pytest.skip(f"no small file system can be mounted here: {made.stderr.decode().strip()}")
    place.chmod(0o755)
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)
    place.rmdir()


def fill(place: Path) -> Path:
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65536, 4096, 512):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
    return filler


class Person:
    """Someone who clicks, and remembers what she was told."""

    def __init__(self, url: str) -> None:
        self.client = httpx.Client(base_url=url, timeout=20)
        token = self.client.post(f"{API}/people").json()["token"]
        self.client.headers["Authorization"] = f"Bearer {token}"
        self.sent: dict[str, str] = {}
        self.told: set[str] = set()

    def click(self, item: str) -> int:
        key = self.sent.setdefault(item, uuid4().hex)
        try:
            status = self.client.put(
                f"{ME}/clicks/{item}", json={"sign": "like"}, headers={"Idempotency-Key": key}
            ).status_code
        except httpx.HTTPError:
            return 0
        if status in (200, 201):
            self.told.add(item)
        return status

    def close(self) -> None:
        self.client.close()

    def there(self) -> list[str]:
        return [row["item"] for row in self.client.get(f"{ME}/clicks").json()["clicks"]]


def stocked(database: str) -> Any:
    engine = open_store(database)
    apply(engine, [STOCK])
    return engine


def exact(engine: Any) -> None:
    with reading(engine) as db:
        assert recount(db) == []
    engine.dispose()


def full_and_free_again(url: str, place: Path) -> None:
    with closing(Person(url)) as her:
        _full_and_free_again(her, place)


def _full_and_free_again(her: Person, place: Path) -> None:
    items = [key for key, _ in STOCK.items]
    assert her.click(items[0]) == 201
    filler = fill(place)
    refused = [item for item in items[1:] if her.click(item) != 201]
    assert refused, "the disk was not full"
    assert {her.click(item) for item in refused[:3]} <= {503}
    there = her.there()  # reading goes on
    assert sorted(there) == sorted(her.told)
    filler.unlink()
    for _ in range(100):
        if her.click(refused[0]) in (200, 201):
            break
        time.sleep(0.1)
    assert {her.click(item) for item in items} <= {200, 201}
    there = her.there()
    assert sorted(there) == items and set(there) == her.told


@pytest.mark.slow
def test_a_full_disk_under_sqlite(small_disk: Path) -> None:
    database = str(small_disk / "advisor.sqlite")
    engine = stocked(database)
    with running("--database", database, *FAST) as (_, url):
        full_and_free_again(url, small_disk)
    exact(engine)


@pytest.mark.slow
def test_a_full_disk_under_postgresql(postgresql: Any, small_disk: Path) -> None:
    account = pwd.getpwnam("postgres")
    (small_disk / "tables").mkdir()
    os.chown(small_disk / "tables", account.pw_uid, account.pw_gid)
    database = postgresql.database()
    import psycopg

    with psycopg.connect(database, autocommit=True) as db:
        db.execute(f"CREATE TABLESPACE small LOCATION '{small_disk / 'tables'}'")
        db.execute("ALTER DATABASE postgres SET default_tablespace = small")
    try:
        engine = stocked(database)
        with engine.begin() as db:  # rows that fill a page each, so that a few clicks need room
            db.execute(text("ALTER TABLE clicks SET (fillfactor = 10)"))
            db.execute(text("ALTER TABLE keys SET (fillfactor = 10)"))
        with running("--database", database, *FAST) as (_, url):
            full_and_free_again(url, small_disk)
        exact(engine)
    finally:
        postgresql.database()
        with psycopg.connect(database, autocommit=True) as db:
            db.execute("ALTER DATABASE postgres RESET default_tablespace")
            db.execute("DROP TABLESPACE small")


def test_the_database_dies_in_a_load_and_comes_back(postgresql: Any) -> None:
    database = postgresql.database()
    engine = stocked(database)
    statuses: set[int] = set()
    with running("--database", database, *FAST) as (_, url):
        people = [Person(url) for _ in range(5)]

        def visit(her: Person) -> None:
            for item, _ in STOCK.items[:120]:
                for _ in range(400):
                    status = her.click(item)
                    statuses.add(status)
                    if status in (200, 201):
                        break
                    time.sleep(0.05)

        threads = [threading.Thread(target=visit, args=(her,)) for her in people]
        for thread in threads:
            thread.start()
        while sum(len(her.told) for her in people) < 60:
            time.sleep(0.01)
        postgresql.stop()  # at once, as by kill -9
        assert httpx.get(f"{url}api/v1/ready").status_code == 503
        time.sleep(0.5)
        postgresql.start()
        for thread in threads:
            thread.join()
        assert statuses <= {200, 201, 503} and 503 in statuses
        for her in people:
            there = her.there()
            her.close()
            assert len(there) == len(set(there)) == 120 and set(there) == her.told
    exact(engine)
