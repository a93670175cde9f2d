"""A platform's way to a click advisor from Python: `AdvisorClient(url, key)`, for people by the platform's own ids.

It needs the standard library alone. Every request that changes something has a key, and is sent again with the same key
where the answer was lost, so nothing counts twice. Refusals are `AdvisorRefusal`, with the server's sentence.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from http.client import HTTPException
from itertools import islice
from secrets import token_urlsafe
from typing import Any, Literal, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

Sign = Literal["like", "dislike"]
Thing = TypeVar("Thing")
LINES, BYTES = 10_000, 7 << 20  # in a batch at most; a server takes 8 MiB
ITEMS = 900  # in a request: less than 8 MiB with the longest ids and titles
PASSING = (429, 502, 503, 504)


class AdvisorRefusal(Exception):  # noqa: N818
    """The server said no, and why."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}")
        self.status, self.detail = status, detail


@dataclass(frozen=True)
class PlatformClick:
    item: str
    sign: Sign
    at: str = ""  # 2026-01-31T12:00:00Z
    counted: bool = False  # the public profile knows of it


@dataclass(frozen=True)
class BatchResult:
    """What became of lines. `problems`: (line, why) of the first that were refused; lines are counted from 1."""

    changed: int = 0
    same: int = 0
    refused: int = 0
    problems: tuple[tuple[int, str], ...] = ()

    def __add__(self, other: BatchResult) -> BatchResult:
        numbers = (self.changed + other.changed, self.same + other.same, self.refused + other.refused)
        return BatchResult(*numbers, self.problems + other.problems)


@dataclass(frozen=True)
class AdvisorClient:
    """Of one server, with a platform's key; items can be put with the admin token instead of one."""

    url: str
    key: str = field(repr=False)
    timeout: float = 60.0
    attempts: int = 8
    wait: Callable[[float], None] = time.sleep

    # --- one person -----------------------------------------------------------------------------------------------

    def visit(self, person: str) -> None:
        """She is here: an account is made where she has none, and is good for another year."""
        self._ask("POST", "/people", person)

    def click(self, person: str, item: str, sign: Sign, key: str | None = None) -> PlatformClick:
        made = self._ask("PUT", _path(item), person, {"sign": sign}, key or token_urlsafe(16))
        return PlatformClick(**made)

    def undo(self, person: str, item: str) -> None:
        self._ask("DELETE", _path(item), person)

    def clicks(self, person: str) -> list[PlatformClick]:
        return [PlatformClick(**row) for row in self._ask("GET", "/people/me/clicks", person)["clicks"]]

    def recommendations(self, person: str, limit: int = 20) -> list[str]:
        found: list[str] = self._ask("GET", f"/people/me/recommendations?limit={limit}", person)["items"]
        return found

    def export(self, person: str) -> dict[str, Any]:
        """Everything that is stored about her."""
        found: dict[str, Any] = self._ask("GET", "/people/me/export", person)
        return found

    def erase(self, person: str) -> None:
        self._ask("DELETE", "/people/me", person)

    # --- many -----------------------------------------------------------------------------------------------------

    def visits(self, people: Iterable[str]) -> BatchResult:
        """All of them are here."""
        return self.send({"person": person} for person in people)

    def opinions(self, rows: Iterable[tuple[str, str, Sign | None]]) -> BatchResult:
        """(person, item, sign): what each thinks from now on; None: nothing any more. Tell of `visits` first."""
        return self.send({"person": person, "item": item, "sign": sign} for person, item, sign in rows)

    def erase_all(self, people: Iterable[str]) -> BatchResult:
        return self.send({"person": person, "erase": True} for person in people)

    def send(self, lines: Iterable[dict[str, Any]], name: str = "") -> BatchResult:
        """Lines of a batch, in as many requests as they need. With a name, the same lines count once, whoever sends
        them, also after this program was stopped in the middle; else once a call."""
        run, result, before = name or token_urlsafe(16), BatchResult(), 0
        for part in _bodies(lines):
            key = sha256(f"{run}/{before}".encode()).hexdigest()
            told = self._ask("POST", "/platform/batches", None, b"".join(part), key)
            problems = tuple((before + row["line"], row["detail"]) for row in told["problems"])
            result += BatchResult(told["changed"], told["same"], told["refused"], problems)
            before += len(part)
        return result

    def clicks_of(self, people: Iterable[str]) -> dict[str, list[PlatformClick] | None]:
        """The clicks of many; None for who is unknown."""
        found: dict[str, list[PlatformClick] | None] = {}
        for part in _parts(people, 1000):
            for person, rows in self._ask("POST", "/platform/clicks", None, {"people": part})["people"].items():
                found[person] = None if rows is None else [PlatformClick(**row) for row in rows]
        return found

    def put_items(self, titles: Iterable[tuple[str, str]]) -> int:
        """(id, title): new ones are added, known ones get the title; with the admin token as key. How many were new."""
        added = 0
        for part in _parts(titles, ITEMS):
            body = {"items": [{"id": item, "title": title} for item, title in part]}
            added += self._ask("PUT", "/items", None, body)["added"]
        return added

    # --- the way there --------------------------------------------------------------------------------------------

    def _ask(self, method: str, path: str, person: str | None, body: Any = None, key: str | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self.key}"}
        headers |= {"X-Recveil-Person": person} if person is not None else {}
        headers |= {"Idempotency-Key": key} if key is not None else {}
        headers |= {"Content-Type": "application/x-ndjson" if isinstance(body, bytes) else "application/json"}
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
        request = Request(f"{self.url.rstrip('/')}/api/v1{path}", sent, headers, method=method)
        for attempt in range(self.attempts):
            last = attempt == self.attempts - 1
            try:
                with urlopen(request, timeout=self.timeout) as answer:
                    return json.loads(answer.read() or b"null")
            except HTTPError as error:
                if error.code not in PASSING or last:
                    raise AdvisorRefusal(error.code, _detail(error)) from None
                self.wait(float(error.headers.get("Retry-After") or 2**attempt / 10))
            except (URLError, HTTPException, ConnectionError, TimeoutError):
                if last:
                    raise
                self.wait(2**attempt / 10)
        raise RuntimeError("unreachable")


def _path(item: str) -> str:
    return f"/people/me/clicks/{quote(item, safe='')}"


def _detail(error: HTTPError) -> str:
    try:
        return str(json.load(error)["detail"])
    except (ValueError, KeyError, TypeError):
        return error.reason


def _parts(things: Iterable[Thing], size: int) -> Iterator[list[Thing]]:
    rest = iter(things)
    while part := list(islice(rest, size)):
        yield part


def _bodies(lines: Iterable[dict[str, Any]]) -> Iterator[list[bytes]]:
    """Lines as they are sent, in parts that a batch can hold."""
    part, size = list[bytes](), 0
    for line in lines:
        text = (json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
        if part and (len(part) == LINES or size + len(text) > BYTES):
            yield part
            part, size = [], 0
        part.append(text)
        size += len(text)
    if part:
        yield part
