"""Platforms: who may speak, server to server, for people of their own.

A platform has a key, which the server keeps as a hash, and calls its people by ids of its own choice. An id becomes the
secret of an account through a salt that belongs to the platform: two platforms never mean the same person, and no id
stands in the database. A new key takes the old one's place at once, and the people stay; so they do where a key is
revoked, until a year after their last visit.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from time import monotonic

from sqlalchemy import Engine, insert, select, update

from recveil.advisor.limits import RateLimit
from recveil.advisor.problems import Problem
from recveil.advisor.schema import platforms
from recveil.advisor.store import now, reading

NAME = r"[a-z0-9][a-z0-9-]{0,39}"
KEY_AGE = 1.0  # seconds for which a key is taken for good without a look: as long as a revoked one lives
PERSON = re.compile(r"[!-~]{1,200}")  # printable ASCII without spaces: it stands in a header


@dataclass(frozen=True)
class Platform:
    """Whose key was good a moment ago."""

    id: int
    name: str
    salt: bytes = field(repr=False)

    def secret(self, person: str) -> str:
        return secret_of(self.salt, person)


def secret_of(salt: bytes, person: str) -> str:
    """What stands for this person where a token stands for others."""
    return hmac.digest(salt, person.encode(), "sha256").hex()


def give_key(engine: Engine, name: str) -> str:
    """A new key for a platform, which is entered where it is new; an older key is good for nothing from now on."""
    key = f"{name}.{secrets.token_urlsafe(32)}"
    access = sha256(key.encode()).digest()
    with engine.begin() as db:
        changed = db.execute(update(platforms).where(platforms.c.name == name).values(access=access, at=now()))
        if not changed.rowcount:
            entry = {"name": name, "access": access, "salt": secrets.token_bytes(32), "at": now()}
            db.execute(insert(platforms).values(**entry))
    return key


def revoke(engine: Engine, name: str) -> bool:
    """Whether there was a key to revoke."""
    there = (platforms.c.name == name) & platforms.c.access.is_not(None)
    with engine.begin() as db:
        return db.execute(update(platforms).where(there).values(access=None, at=now())).rowcount == 1


def find(engine: Engine, key: str) -> Platform | None:
    """Whose key this is."""
    access = sha256(key.encode("utf-8", "surrogateescape")).digest()
    columns = (platforms.c.id, platforms.c.name, platforms.c.salt)
    with reading(engine) as db:
        row = db.execute(select(*columns).where(platforms.c.access == access)).first()
    return None if row is None else Platform(*row)


@dataclass
class KnownPlatforms:
    """Keys that were good a moment ago; guesses of keys are counted like those of tokens."""

    engine: Engine
    strangers: RateLimit
    kept: dict[str, tuple[float, Platform]] = field(default_factory=dict)  # by key: until when, and whose

    async def of(self, key: str, whose: str) -> Platform:
        """Whose key this is; asked from this network."""
        until, known = self.kept.get(key, (0.0, None))
        if known is not None and monotonic() < until:
            return known
        self.kept.pop(key, None)
        self.strangers.check(whose)
        found = await asyncio.to_thread(find, self.engine, key) if "." in key else None
        if found is None:
            self.strangers.spend(whose)
            raise Problem(401, "this needs the key of a platform", {"WWW-Authenticate": "Bearer"})
        self.kept[key] = (monotonic() + KEY_AGE, found)
        return found
