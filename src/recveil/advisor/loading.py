"""A log of clicks becomes the first people of an advisor: nameless ones, whose accounts nobody holds a token for."""

from __future__ import annotations

from hashlib import sha256
from itertools import repeat

import numpy as np
import polars as pl
import sqlalchemy as sa
from sqlalchemy import Engine, insert, select

from recveil.advisor.bulk import insert_clicks
from recveil.advisor.schema import alone, items, loads, people
from recveil.advisor.store import now, reading
from recveil.clicks.profiles import Clicks, profiles
from recveil.errors import RecveilError

KEY, TITLE = 200, 500  # characters
ROWS = 50_000  # at once
CACHE = 400_000  # KiB that SQLite may use while it loads


def valid_key(key: str) -> bool:
    """Ids that can stand in an address and in any database."""
    return 0 < len(key) <= KEY and key.isprintable() and key not in (".", "..") and valid_text(key)


def valid_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates
        return False
    return "\0" not in text


def is_empty(engine: Engine) -> bool:
    with reading(engine) as db:
        return db.execute(select(items.c.id).limit(1)).first() is None


def load(engine: Engine, log: Clicks, titles: dict[str, str]) -> bool:
    """Load a log into an empty store. The same log again changes nothing (False); another one is refused."""
    data = log.data
    names = data.items.cast(pl.String).to_list()
    for name in names:
        if not valid_key(name):
            raise RecveilError(f"item id {name[:40]!r} cannot be served: 1 to {KEY} printable characters")
    digest = sha256()
    for part in ("\n".join(names).encode(), data.user.tobytes(), data.item.tobytes(), log.sign.tobytes()):
        digest.update(part)
    with engine.begin() as db:
        alone(db)
        loaded = db.execute(select(loads.c.digest)).scalars().all()
        if digest.digest() in loaded:
            return False
        if loaded or db.execute(select(items.c.id).limit(1)).first() is not None:
            raise RecveilError("this database holds another catalogue; name a new one with --database")
        _fill(db, log, names, titles)
        db.execute(insert(loads).values(digest=digest.digest(), at=now()))
    return True


def _fill(db: sa.Connection, log: Clicks, names: list[str], titles: dict[str, str]) -> None:
    data, at, counts = log.data, now(), profiles(log)
    rows = [
        {
            "id": n,
            "key": key,
            "title": titles.get(key, key)[:TITLE],
            "likes": a,
            "dislikes": b,
            "entered_likes": a,
            "entered_dislikes": b,
        }
        for n, (key, a, b) in enumerate(zip(names, counts.likes.tolist(), counts.dislikes.tolist(), strict=True), 1)
    ]
    db.execute(insert(items), rows)
    db.execute(insert(people), [{"id": n, "created": at, "seen": at, "entered": 1} for n in range(1, log.users + 1)])
    order = np.arange(len(log)) if data.time is None else np.argsort(data.time, kind="stable")
    if db.dialect.name == "sqlite":
        db.exec_driver_sql(f"PRAGMA cache_size = -{CACHE}")  # the index of clicks is written at random places
    for first in range(0, len(log), ROWS):
        part = order[first : first + ROWS]
        columns = ((data.user[part] + 1).tolist(), (data.item[part] + 1).tolist(), log.sign[part].tolist())
        always = (repeat(value, len(part)) for value in (at, 1, 1))
        insert_clicks(db, list(zip(*columns, *always, strict=True)))
    if db.dialect.name == "postgresql":  # ids were given: numbering goes on behind them
        for table in (people, items):
            db.exec_driver_sql(
                f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), (SELECT max(id) FROM {table.name}))"
            )
