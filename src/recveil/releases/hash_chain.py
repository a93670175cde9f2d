"""The lines of a ledger: appended under a lock, each with the hash of the one before it, the head in a second file.

LEDGER.head says how many lines there are and the hash of the last one: a tail that was cut shows. Its owner may keep
it in another folder (the environment variable RECVEIL_LEDGER_HEADS). Lines that older versions wrote have no hash; they
are read, and the next line chains to them. LEDGER.key, for its owner alone, keys the fingerprints of data in the lines.

A line is on the disk before the head is: whoever is killed between the two leaves a line too many, never one too few.
"""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from recveil.errors import RecveilError

HEADS = "RECVEIL_LEDGER_HEADS"
_KEYS = ("date", "mechanism", "status", "epsilon", "delta", "rho", "unit", "neighbours")


class BrokenLedgerError(RecveilError):
    """A ledger that somebody changed."""


@dataclass
class HashChain:
    """An open ledger that nobody else writes."""

    path: Path
    handle: int
    lines: list[str]

    @property
    def entries(self) -> list[dict[str, Any]]:
        return [_entry(self.path, number, line) for number, line in enumerate(self.lines, 1)]

    def add(self, line: dict[str, Any]) -> None:
        """A line at the end, on the disk before anything else happens."""
        chained = {**line, "previous": _hash(self.lines[-1]) if self.lines else None}
        text = json.dumps(chained, ensure_ascii=False, allow_nan=False)
        content = (text + "\n").encode()
        end = sum(len(above.encode()) + 1 for above in self.lines)
        try:
            if os.fstat(self.handle).st_size < end:  # an older ledger whose last line was never ended
                end, content = end - 1, b"\n" + content
            os.ftruncate(self.handle, end)  # half a line, of one who was killed before any noise, goes
            os.lseek(self.handle, end, os.SEEK_SET)
            if os.write(self.handle, content) != len(content):
                os.ftruncate(self.handle, end)
                raise OSError("the disk is full")
            os.fsync(self.handle)
            self.lines.append(text)
            _put_head(self.path, self.lines)
        except OSError as error:
            raise RecveilError(f"{self.path} cannot be written: {error.strerror or error}") from None


@contextmanager
def locked(path: str | Path) -> Iterator[HashChain]:
    """The ledger, made where there is none, for this process alone; checked before it is handed out."""
    path = Path(path)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise RecveilError(f"{path} cannot be written: {error.strerror or error}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        lines, _ = _whole(path)
        chain = HashChain(path, handle, lines)
        if problems := broken(path, lines, chain.entries):
            raise BrokenLedgerError(f"{path}: {problems[0]}; nothing is entered until its owner has looked at it")
        yield chain
    finally:
        os.close(handle)


def read(path: str | Path) -> list[dict[str, Any]]:
    """All entries; none where there is no file yet."""
    lines, _ = _whole(Path(path))
    return [_entry(Path(path), number, line) for number, line in enumerate(lines, 1)]


def check(path: str | Path) -> tuple[list[str], list[str]]:
    """What does not hold in a ledger, and what its owner should know."""
    path = Path(path)
    if not path.exists():
        raise RecveilError(f"{path}: there is no such ledger")
    lines, half = _whole(path)
    try:
        entries = [_entry(path, number, line) for number, line in enumerate(lines, 1)]
    except RecveilError as why:
        return [str(why)], []
    remarks = []
    if half:
        remarks.append("it ends in half a line, of a release that was stopped before any noise; the next one drops it")
    if lines and not any("previous" in e for e in entries):
        remarks.append("an older ledger: its lines carry no hashes; the next one begins the chain")
    stated = _head(path)
    if stated is not None and stated[0] < len(lines):
        remarks.append(f"{len(lines) - stated[0]} lines follow the head: a release was stopped, or they were added")
    return broken(path, lines, entries), remarks


def broken(path: Path, lines: list[str], entries: list[dict[str, Any]]) -> list[str]:
    """Where the chain or the head do not hold."""
    found = []
    begun = False
    for number, e in enumerate(entries):
        if "previous" in e:
            begun = True
            if e["previous"] != (_hash(lines[number - 1]) if number else None):
                found.append(f"line {number + 1} does not follow line {number}: one was changed, removed or moved")
        elif begun:
            found.append(f"line {number + 1} carries no hash, though those before it do")
    stated = _head(path)
    if stated is None:
        if begun:
            found.append(f"{_head_path(path)} is missing, so it cannot be said whether the ledger is whole")
    elif stated[0] > len(lines):
        found.append(f"it has {len(lines)} lines where its head says {stated[0]}: its end was cut off")
    elif stated[0] < 1 or _hash(lines[stated[0] - 1]) != stated[1]:
        found.append(f"line {stated[0]} is not the one that its head names")
    return found


def keyed(path: str | Path, fingerprint: str) -> str:
    """A fingerprint that says nothing to whoever has not the ledger's key."""
    place = Path(f"{path}.key")
    try:
        if not place.exists():
            handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as file:
                file.write(secrets.token_hex(32))
        key = bytes.fromhex(place.read_text().strip())
    except FileExistsError:
        return keyed(path, fingerprint)
    except (OSError, ValueError):
        raise RecveilError(f"{place} cannot be read as the key of a ledger") from None
    return hmac.new(key, fingerprint.encode(), sha256).hexdigest()


def _whole(path: Path) -> tuple[list[str], bool]:
    """The whole lines of a file, and whether it ends in half a line after those that its head names."""
    try:
        text = path.read_bytes().decode() if path.exists() else ""
    except (OSError, UnicodeDecodeError):
        raise RecveilError(f"{path} cannot be read as a ledger") from None
    *lines, rest = text.split("\n")
    if not rest:
        return lines, False
    stated = _head(path)
    if stated is not None and stated[0] <= len(lines):
        return lines, True
    return [*lines, rest], False


def _entry(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
        if "budget" in found:
            budget = found["budget"]
            fits = budget["epsilon"] > 0 and 0 <= budget["delta"] < 1 and isinstance(budget["unit"], str)
        elif "aside" in found:
            fits = 0 < found["aside"]["share"] < 1
        elif "window" in found:
            fits = isinstance(found["window"]["series"], str) and found["window"]["number"] >= 1
        elif "looked" in found:
            fits = isinstance(found["looked"], str) and isinstance(found["date"], str)
        else:
            low, high = found.get("people", (0, 1))
            fits = (
                0 <= low < high <= 1
                and all(key in found for key in _KEYS)
                and (
                    found["status"] != "proved"
                    or (
                        found["epsilon"] >= 0
                        and 0 <= found["delta"] < 1
                        and (found["rho"] is None or found["rho"] >= 0)
                        and isinstance(found["unit"], str)
                        and isinstance(found["neighbours"], str)
                    )
                )
            )
        if fits:
            return dict(found)
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise RecveilError(f"{path}, line {number}: not an entry of a ledger")


def _head_path(path: Path) -> Path:
    folder = os.environ.get(HEADS)
    return (Path(folder) if folder else path.parent) / f"{path.name}.head"


def _head(path: Path) -> tuple[int, str] | None:
    place = _head_path(path)
    if not place.exists():
        return None
    try:
        found = json.loads(place.read_text())
        return int(found["lines"]), str(found["last"])
    except (OSError, ValueError, KeyError, TypeError):
        raise BrokenLedgerError(f"{place} cannot be read as the head of a ledger") from None


def _put_head(path: Path, lines: list[str]) -> None:
    place = _head_path(path)
    part = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    try:
        with part.open("x") as file:
            file.write(json.dumps({"lines": len(lines), "last": _hash(lines[-1])}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)


def _hash(line: str) -> str:
    return sha256(line.encode()).hexdigest()
