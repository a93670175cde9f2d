"""The database of the advisor: how it is opened, and everything that is read from it.

SQLite: write-ahead log with synchronous=FULL, so a commit is on the disk before its click is acknowledged, and reading
goes on meanwhile. (NORMAL would survive a killed process but could lose the last commits with the power.)
PostgreSQL: synchronous_commit stays on for the same reason, whatever the server's default is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Engine, func, select
from sqlalchemy.engine import URL, make_url

from recveil.advisor.schema import clicks, items, keys, marks, people, upgrade, years
from recveil.errors import RecveilError

ATTEMPTS = 10
FAR = 200  # days between the newest visit and the clock, beyond which the clock is asked about
BUSY = 5.0  # seconds that a writer waits for another process
LOG_PAGES = 50_000  # 200 MB: the log never grows beyond, even where `checkpoint` does not keep up
DAY = 86_400
YEAR = 365 * DAY
SIGNS = {1: "like", -1: "dislike"}


@dataclass(frozen=True)
class Person:
    """Whom a token belongs to."""

    id: int
    created: int
    seen: int
    strategy: str | None


def now() -> int:
    """Whole seconds since 1970."""
    return int(time.time())


def iso(seconds: int) -> str:
    """2026-01-31T12:00:00Z"""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def open_store(database: str) -> Engine:
    """The database at this URL (or SQLite file), with the newest schema."""
    engine = connect(database)
    for attempt in range(ATTEMPTS):
        try:
            upgrade(engine)
            return engine
        except sa.exc.DatabaseError as error:
            reason = str(error.orig).strip().partition("\n")[0]
            if "locked" not in reason or attempt == ATTEMPTS - 1:  # another server is just setting it up
                engine.dispose()
                raise RecveilError(f"the database cannot be opened: {reason}") from None
            time.sleep(0.5)
    raise RuntimeError("unreachable")


def apart(engine: Engine) -> Engine:
    """The same database by connections that end with their use: for work that may outlive everything else."""
    return connect(engine.url.render_as_string(hide_password=False), {"poolclass": sa.NullPool})


def connect(database: str, pool: dict[str, Any] | None = None) -> Engine:
    """An engine for a database URL (or SQLite file)."""
    try:
        url = make_url(database) if "://" in database else URL.create("sqlite", database=database)
    except (sa.exc.ArgumentError, ValueError):
        raise RecveilError("--database must be a file, or a URL such as postgresql://name@host/database") from None
    if url.get_backend_name() == "sqlite":
        if url.database not in (None, "", ":memory:"):
            with suppress(OSError):  # then opening it says why
                Path(url.database).touch(mode=0o600)  # people's clicks are for nobody else on this machine
        url = url.set(drivername="sqlite")
        engine = sa.create_engine(url, connect_args={"timeout": BUSY}, hide_parameters=True, **(pool or {}))
        sa.event.listen(engine, "connect", _sqlite)
        sa.event.listen(engine, "begin", _begin)
        return engine
    if url.get_backend_name() not in ("postgresql", "postgres"):
        raise RecveilError(f"databases are sqlite and postgresql, not {url.get_backend_name()}")
    settings = "-c synchronous_commit=on -c statement_timeout=10000 -c lock_timeout=5000"
    return sa.create_engine(
        url.set(drivername="postgresql+psycopg"),
        connect_args={"connect_timeout": 3, "tcp_user_timeout": 5000, "options": settings},
        hide_parameters=True,  # an error in a log must not name tokens and items
        **(pool or {"pool_pre_ping": True, "pool_size": 10, "pool_timeout": BUSY}),
    )


def _sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver must not begin transactions by itself: `_begin` does
    settings = ("journal_mode=WAL", "synchronous=FULL", "fullfsync=ON", "secure_delete=ON", "foreign_keys=ON")
    for setting in (*settings, f"wal_autocheckpoint={LOG_PAGES}"):
        connection.execute(f"PRAGMA {setting}")


def checkpoint(engine: Engine) -> None:
    """SQLite: copy the write-ahead log into the file, beside those who write. Left to itself, a commit would do it."""
    if engine.dialect.name == "sqlite":
        connection = engine.raw_connection()
        try:
            connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")
        finally:
            connection.close()


def _begin(connection: sa.Connection) -> None:
    reads = connection.get_execution_options().get("reads", False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def reading(engine: Engine) -> sa.Connection:
    """A connection to read from; on SQLite it waits for no writer and keeps none waiting."""
    return engine.connect().execution_options(reads=True)


def at_once(engine: Engine) -> Callable[[Callable[[sa.Connection], Any]], Any]:
    """A way to carry things out, each in a transaction of its own."""

    def carry_out(act: Callable[[sa.Connection], Any]) -> Any:
        with engine.begin() as db:
            return act(db)

    return carry_out


def steady(engine: Engine) -> sa.Connection:
    """A connection that sees one moment, however long it reads."""
    if engine.dialect.name == "sqlite":
        return reading(engine)
    return engine.connect().execution_options(isolation_level="REPEATABLE READ")


def check_clock(engine: Engine) -> None:
    """Refuse a clock that is far from the newest visit: a year ahead, everybody would be erased as long gone."""
    with reading(engine) as db:
        newest = db.execute(select(func.max(people.c.seen))).scalar_one()
    if newest is None:
        return
    days = (now() - newest) / DAY
    if days > FAR or days < -1:
        raise RecveilError(
            f"the clock says {iso(now())[:10]}, and the newest visit was on {iso(newest)[:10]}: set the clock, "
            "or start once with --trust-clock if it is right"
        )


# --- reading --------------------------------------------------------------------------------------------------


def person(db: sa.Connection, token: bytes) -> Person | None:
    """Whom the token with this hash belongs to; nobody where it has not been used for a year."""
    row = db.execute(
        select(people.c.id, people.c.created, people.c.seen, people.c.strategy).where(
            people.c.token == token, people.c.seen > now() - YEAR
        )
    ).first()
    return None if row is None else Person(*row)


def click_count(db: sa.Connection, of: Person) -> int:
    return db.execute(select(func.count()).select_from(clicks).where(clicks.c.person == of.id)).scalar_one()


def clicks_of(db: sa.Connection, of: Person, private: bool = False) -> list[dict[str, Any]]:
    """Her clicks in the order of clicking; whether the shown profile of the item counts it already."""
    counted = clicks.c.id <= items.c.upto
    if private:
        last = select(years.c.upto).order_by(years.c.id.desc()).limit(1).scalar_subquery()
        counted = sa.and_(clicks.c.entered == 1, clicks.c.id <= func.coalesce(last, 0))
    rows = db.execute(
        select(items.c.key, clicks.c.sign, clicks.c.at, counted)
        .join(items, items.c.id == clicks.c.item)
        .where(clicks.c.person == of.id)
        .order_by(clicks.c.id)
    )
    return [{"item": key, "sign": SIGNS[sign], "at": iso(at), "counted": bool(c)} for key, sign, at, c in rows]


def export(db: sa.Connection, of: Person, private: bool = False) -> dict[str, Any]:
    """Everything that is stored about a person."""
    remembered = db.execute(select(keys.c.key, keys.c.at).where(keys.c.person == of.id).order_by(keys.c.at))
    marked = db.execute(select(marks.c.mark, marks.c.spent).where(marks.c.person == of.id))
    return {
        "created": iso(of.created),
        "seen": iso(of.seen),
        "strategy": of.strategy,
        "clicks": clicks_of(db, of, private),
        "idempotency_keys": [{"sha256": key.hex(), "at": iso(at)} for key, at in remembered],
        "marks": [{"sha256": mark.hex(), "spent": spent} for mark, spent in marked],
    }


def recount(db: sa.Connection) -> list[tuple[str, str, int, int]]:
    """Item counters that differ from a count of the clicks: item, counter, stored, counted. Always empty."""
    like = func.coalesce(func.sum(sa.case((clicks.c.sign > 0, 1), else_=0)), 0)
    dislike = func.coalesce(func.sum(sa.case((clicks.c.sign < 0, 1), else_=0)), 0)
    rows = db.execute(
        select(items.c.key, items.c.likes, items.c.dislikes, like, dislike)
        .join_from(items, clicks, clicks.c.item == items.c.id, isouter=True)
        .group_by(items.c.id)
    )
    return [
        (key, name, stored, counted)
        for key, *pairs in ((key, ("likes", a, x), ("dislikes", b, y)) for key, a, b, x, y in rows)
        for name, stored, counted in pairs
        if stored != counted
    ]
