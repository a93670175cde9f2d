"""Everything that can be asked of the database to change; `applying` carries it out."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple


def mark(token: str, item: str) -> bytes:
    """A name for what a person thinks of an item. It takes her token, which the server does not keep."""
    return sha256(f"{token}\0{item}".encode("utf-8", "surrogateescape")).digest()


@dataclass(frozen=True)
class Join:
    """An account for the token with this hash. Whom a platform speaks for may have one: then it is a visit."""

    token: bytes
    known: bool = False  # she may have one already


@dataclass(frozen=True)
class Click:
    token: bytes
    item: str
    sign: int
    key: str
    mark: bytes = b""  # of this person and item, which only she can make

    @property
    def unit(self) -> bytes:
        return self.mark or sha256(self.token + self.item.encode()).digest()

    @property
    def digest(self) -> bytes:
        return sha256(self.key.encode()).digest()

    @property
    def request(self) -> bytes:
        """What was asked. Without the key, which only the asker knows, it tells nothing."""
        return sha256(f"{self.key}\0{self.sign}\0{self.item}".encode()).digest()


@dataclass(frozen=True)
class Undo:
    token: bytes
    item: str
    mark: bytes = b""

    @property
    def unit(self) -> bytes:
        return self.mark or sha256(self.token + self.item.encode()).digest()


@dataclass(frozen=True)
class Choose:
    """A default strategy."""

    token: bytes
    strategy: str | None


@dataclass(frozen=True)
class Visit:
    """She was here: the token is good for another year."""

    token: bytes


@dataclass(frozen=True)
class Erase:
    token: bytes


@dataclass(frozen=True)
class Stock:
    """Items of the catalogue, (key, title) each: new ones are added, known ones get the title."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Withdraw:
    """An item goes from the catalogue, for ever: its id is never used again."""

    item: str


@dataclass(frozen=True)
class Forget:
    """What has had its time: accounts that nobody used for a year, idempotency keys of long ago."""


class Line(NamedTuple):
    """Of a platform's batch: what a person thinks of an item, from now on; without an item, that she was here."""

    person: str
    item: str | None = None
    sign: int = 0  # 0: nothing any more
    erase: bool = False


@dataclass(frozen=True)
class Portion:
    """Some lines of a batch, and how far it has come before them."""

    platform: int
    salt: bytes
    key: bytes
    request: bytes
    first: int
    lines: tuple[Line, ...]


Write = Join | Click | Undo | Choose | Visit | Erase | Stock | Withdraw | Forget | Portion
