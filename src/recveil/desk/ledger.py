"""The ledger: an append-only file of JSON lines that says what the releases of one data set have spent. No data in it.

One ledger belongs to one data set. Budgets of noise that is Gaussian add up as rho (zCDP, budget.py); a pure epsilon is
worth rho = epsilon^2 / 2 (Bun and Steinke 2016, proposition 1.4); anything else adds up as epsilon and delta.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recveil.desk.release import Enter
from recveil.dp.budget import epsilon_of
from recveil.errors import RecveilError
from recveil.guarantee import NEIGHBOURS, Guarantee
from recveil.mechanism import Mechanism
from recveil.mechanisms import spec

_KEYS = ("date", "mechanism", "status", "epsilon", "delta", "rho", "unit", "neighbours")
_FORMER = {  # other words that ledgers may hold for the same relations
    "add or remove one session with everything she did": NEIGHBOURS["session"],
    "add or remove one person with all her tags": NEIGHBOURS["user"],
    "add or remove one tag of one person on one item": NEIGHBOURS["record"],
    "two data sets that differ in whether one person has one item": NEIGHBOURS["bit"],
}


@dataclass(frozen=True)
class Total:
    """What all entries about one unit promise together."""

    unit: str
    neighbours: str
    releases: int
    epsilon: float
    delta: float

    def __str__(self) -> str:
        together = "1 release" if self.releases == 1 else f"{self.releases} releases together"
        return f"epsilon {self.epsilon:.3g}, delta {self.delta:.3g} for every {self.unit} ({together})"


def entry(mechanism: Mechanism, guarantee: Guarantee) -> dict[str, Any]:
    """The line of a release: what it spends, when and by which mechanism."""
    promise = guarantee.record()
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "mechanism": spec.text(mechanism),
        **{key: promise[key] for key in _KEYS[2:]},
        "rho_fails": promise["rho_fails"],
    }


def into(path: str | Path) -> Enter:
    """What enters a release in this ledger, before any of its noise is drawn: a refused attempt has spent too."""
    return lambda mechanism, guarantee: append(path, entry(mechanism, guarantee))


def summary(path: str | Path) -> list[str]:
    """What all entries promise together, in words: a line for each unit, and what no line covers."""
    entries = read(path)
    found = totals(entries)
    lines = [f"{path}, in all: {total}" for total in found]
    if len(found) > 1:
        units = ", ".join(dict.fromkeys(total.unit for total in found))
        lines.append(f"{path}: promises about different units ({units}) do not add up; no line covers the others")
    if promising_nothing := unpromised(entries):
        lines.append(f"{path}: {promising_nothing} releases promise nothing, and no total covers what they gave away")
    return lines


def append(path: str | Path, line: dict[str, Any]) -> None:
    """Add a line, in one write at the end of the file: two at a time never mix, and nothing written before changes."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            text = (json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n").encode()
            if os.write(handle, text) != len(text):
                raise OSError("the disk is full")
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise RecveilError(f"{path} cannot be written: {error.strerror or error}") from None


def read(path: str | Path) -> list[dict[str, Any]]:
    """All entries; none where there is no file yet."""
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    except (OSError, UnicodeDecodeError):
        raise RecveilError(f"{path} cannot be read as a ledger") from None
    return [_checked(path, number, line) for number, line in enumerate(lines, 1)]


def totals(entries: list[dict[str, Any]]) -> list[Total]:
    """For each unit and neighbouring relation, what the proved entries spend together: the smaller of two bounds.

    Epsilons and deltas add up. Where all have a rho, rhos add up too, and give an epsilon at the largest delta.
    """
    kinds: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for e in entries:
        if e["status"] == "proved":
            kinds.setdefault((e["unit"], _FORMER.get(e["neighbours"], e["neighbours"])), []).append(e)
    return [Total(*kind, len(group), *_composed(group)) for kind, group in kinds.items()]


def unpromised(entries: list[dict[str, Any]]) -> int:
    """Releases that promise nothing, so that no total bounds what they gave away."""
    return sum(e["status"] not in ("proved", "experiment") for e in entries)


def _composed(group: list[dict[str, Any]]) -> tuple[float, float]:
    epsilon, delta = sum(e["epsilon"] for e in group), sum(e["delta"] for e in group)
    rhos = [e["rho"] if e["rho"] is not None else e["epsilon"] ** 2 / 2 if not e["delta"] else None for e in group]
    known = [rho for rho in rhos if rho is not None]
    fails = sum(e.get("rho_fails", 0.0) for e in group)  # the chance that some rho does not hold
    largest = max(e["delta"] - e.get("rho_fails", 0.0) for e in group)
    if len(known) == len(group) and largest:
        together = epsilon_of(sum(known), largest)
        if together <= epsilon:
            return together, largest + fails
    return epsilon, delta


def _checked(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
        spent = found["status"] != "proved" or (
            found["epsilon"] >= 0
            and 0 <= found["delta"] < 1
            and (found["rho"] is None or found["rho"] >= 0)
            and isinstance(found["unit"], str)
            and isinstance(found["neighbours"], str)
        )
        if spent and all(key in found for key in _KEYS):
            return dict(found)
    except (ValueError, KeyError, TypeError):
        pass
    raise RecveilError(f"{path}, line {number}: not an entry of a ledger")
