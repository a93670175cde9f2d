"""A copy of the database in one file, and a database from such a copy.

The copy is a SQLite file, whatever it was taken from. It has no key: a database that goes back to an earlier day must
not draw the noise of looks again that were shown already, so the year of the copy is closed in it
(`noisy_counters.seal`), and item models that may have been made since are entered as spent (`item_model`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Engine, func, insert, select

from recveil.advisor.noisy_counters import seal
from recveil.advisor.schema import allowances, alone, backups, clicks, items, metadata, noise_sums, people, years
from recveil.advisor.store import iso, now, open_store, reading, recount, steady
from recveil.errors import RecveilError

ROWS = 20_000  # that are copied at once
TABLES = [
    table for table in metadata.sorted_tables if table not in (allowances, noise_sums)
]  # the latter is as the key


def backup(database: str, file: str) -> dict[str, Any]:
    """Copy a database, while it is served or not, into a new file: what is in it."""
    path, part = Path(file), Path(f"{file}.part")
    if path.exists():
        raise RecveilError(f"{file} exists already; name a new file")
    try:
        part.unlink(missing_ok=True)
        with _opened(database, existing=True) as source, _opened(str(part)) as target:
            with steady(source) as read, target.begin() as write:
                _copy(read, write)
                seal(write)
                write.execute(sa.delete(backups))
                write.execute(insert(backups).values(at=now()))
            found = check(target)
        if found["problems"]:
            raise RecveilError(f"the database has a fault, and so would the copy: {found['problems'][0]}")
        with part.open("rb") as written:
            os.fsync(written.fileno())
        part.rename(path)
    except OSError as error:
        raise RecveilError(f"{file}: cannot be written ({error.strerror})") from None
    finally:
        for rest in (part, Path(f"{part}-wal"), Path(f"{part}-shm")):
            rest.unlink(missing_ok=True)
    return found


def restore(file: str, database: str) -> dict[str, Any]:
    """Fill an empty database from a backup: what is in it, and when it was taken."""
    with _opened(file, existing=True) as source, _opened(database) as target:
        with reading(source) as read:
            at = read.execute(select(func.max(backups.c.at))).scalar_one()
            if at is None:
                raise RecveilError(f"{file} is no backup; recveil store backup makes one")
            with target.begin() as write:
                alone(write)
                if any(write.execute(select(table).limit(1)).first() for table in (people, items, years)):
                    raise RecveilError("the database is not empty; name a new one with --database")
                _copy(read, write)
                _number(write)
        return {**check(target), "taken": iso(at)}


def check(engine: Engine) -> dict[str, Any]:
    """Whether a database holds together: counters, references, its ledger. An empty list of problems is right."""
    problems = []
    with reading(engine) as db:
        if engine.dialect.name == "sqlite":
            problems += [f"SQLite: {row[0]}" for row in db.exec_driver_sql("PRAGMA integrity_check") if row[0] != "ok"]
            torn = db.exec_driver_sql("PRAGMA foreign_key_check").all()
            problems += [f"{len(torn)} rows belong to nobody"] if torn else []
        else:
            db.exec_driver_sql("SET statement_timeout = 0")  # counting everything takes as long as it takes
        wrong = recount(db)
        problems += [f"{len(wrong)} counters differ from a count of the clicks"] if wrong else []
        ledger = db.execute(select(years).order_by(years.c.id)).mappings().all()
        problems += [
            f"year {year['id']} has taken more looks than it may" for year in ledger if year["done"] > year["looks"]
        ]
        problems += [
            f"year {year['id']} is closed and has its key" for year in ledger if year["closed"] and year["key"]
        ]
        problems += ["an earlier year is open"] if any(not year["closed"] for year in ledger[:-1]) else []
        counts = {
            table.name: db.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (people, items, clicks)
        }
        copied = db.execute(select(func.max(backups.c.at))).scalar_one()
    looks = ledger[-1]["done"] if ledger and not ledger[-1]["closed"] else 0
    return {"problems": problems, **counts, "looks": looks, "backup": None if copied is None else iso(copied)}


def check_database(database: str) -> dict[str, Any]:
    with _opened(database, existing=True) as engine:
        return check(engine)


@contextmanager
def _opened(database: str, existing: bool = False) -> Iterator[Engine]:
    if existing and "://" not in database and not Path(database).is_file():
        raise RecveilError(f"{database}: there is no such file")
    engine = open_store(database)
    try:
        yield engine
    except sa.exc.DatabaseError as error:
        raise RecveilError(f"the database: {str(error.orig).strip().partition(chr(10))[0]}") from None
    finally:
        engine.dispose()


def _copy(read: sa.Connection, write: sa.Connection) -> None:
    for table in TABLES:
        rows = read.execution_options(yield_per=ROWS).execute(select(table))
        for part in rows.mappings().partitions():
            left_out = {"key": None} if table is years else {}
            write.execute(insert(table), [{**row, **left_out} for row in part])


def _number(db: sa.Connection) -> None:
    """PostgreSQL: new rows get numbers that no old one has."""
    if db.dialect.name != "postgresql":
        return
    for table in TABLES:
        if "id" in table.c:
            last = db.execute(select(func.max(table.c.id))).scalar_one()
            if last is not None:
                db.execute(select(func.setval(func.pg_get_serial_sequence(table.name, "id"), last)))
