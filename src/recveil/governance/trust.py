"""The trust file: whose keys count, in which role and since when. Whoever verifies keeps her own.

trust.toml has a table for each key:

    [keys.FINGERPRINT]
    name = "Jane Roe"
    role = "officer"        # or owner
    since = 2026-01-01      # and until: the days on which it could sign; both may be left out

and, before them, `approvers = 2` where two officers must approve, and `until`, the last day of the file itself. A file
of lines with fingerprint, role and name is read too.
"""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from datetime import date as day
from pathlib import Path
from typing import Any

from recveil.errors import RecveilError, unknown
from recveil.releases.claims import OFFICER, OWNER, Known

ROLES = (OWNER, OFFICER)


class Trust(dict[str, Known]):
    """Keys by fingerprint; `approvers`: how many officers must approve."""

    approvers: int = 1


def read_trust(path: str | Path) -> Trust:
    """The keys of a trust file; one line says what is wrong with it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise RecveilError(f"{path} cannot be read as a trust file") from None
    trust = _tables(path, text) if Path(path).suffix == ".toml" else _lines(path, text)
    if not trust:
        raise RecveilError(f"{path} names no key; a line has a fingerprint, a role and a name")
    return trust


def _tables(path: str | Path, text: str) -> Trust:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as why:
        raise RecveilError(f"{path} cannot be read as a trust file: {why}") from None
    for name in set(found) - {"keys", "approvers", "until"}:
        raise unknown(f"{path}: line", name, ("keys", "approvers", "until"))
    until, approvers, keys = found.get("until"), found.get("approvers", 1), found.get("keys", {})
    if until is not None and (not _is_day(until) or until < datetime.now(UTC).date()):
        raise RecveilError(f"{path} ended on {until}: ask for a new trust file, or check this machine's clock")
    if not isinstance(approvers, int) or isinstance(approvers, bool) or approvers < 1:
        raise RecveilError(f"{path}: approvers is a whole number from 1 on, not {approvers!r}")
    trust = Trust({_print(path, print_): _known(path, print_, given) for print_, given in keys.items()})
    trust.approvers = approvers
    return trust


def _known(path: str | Path, print_: str, given: Any) -> Known:
    where = f"{path}, key {print_[:12]}"
    if not isinstance(given, dict) or not {"name", "role"} <= set(given) <= {"name", "role", "since", "until"}:
        raise RecveilError(f"{where}: a key has a name and a role, and perhaps since and until")
    if given["role"] not in ROLES:
        raise unknown(f"{where}: role", str(given["role"]), ROLES)
    for side in ("since", "until"):
        if side in given and not _is_day(given[side]):
            raise RecveilError(f"{where}: {side} is a day such as 2027-11-15, not {given[side]!r}")
    return Known(given["role"], str(given["name"]), given.get("since"), given.get("until"))


def _lines(path: str | Path, text: str) -> Trust:
    trust = Trust()
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split(maxsplit=2)
        if not words:
            continue
        if len(words) < 3:
            raise RecveilError(f"{path}, line {number}: a line has a fingerprint (64 digits), a role and a name")
        print_ = _print(f"{path}, line {number}", words[0])
        if words[1] not in ROLES:
            raise unknown(f"{path}, line {number}: role", words[1], ROLES)
        if trust.get(print_, Known(words[1], "")).role != words[1]:
            raise RecveilError(f"{path}, line {number}: this key has another role above; a key has one role")
        trust[print_] = Known(words[1], words[2].strip())
    return trust


def _print(where: object, text: str) -> str:
    if len(text) != 64 or set(text.lower()) - set("0123456789abcdef"):
        raise RecveilError(f"{where}: a line has a fingerprint (64 digits), a role and a name")
    return text.lower()


def _is_day(value: object) -> bool:
    return isinstance(value, day) and not isinstance(value, datetime)
