"""People set aside: they are judged on later, and are in no release that is made under the same ledger.

Each is chosen by a keyed hash of her own id: who else is in the data changes nothing, and nobody without the ledger's
key can tell who it is. The hash is a place in [0, 1), and a line of the ledger says of which places it speaks: what is
spent on those set aside and on the others does not add up (docs/guarantees/judge.md).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.randomness import Source
from recveil.releases import hash_chain
from recveil.splits import Split, hold_out


def set_aside(path: str | Path, share: float) -> None:
    """Enter in a ledger that the people below this place are kept out of the releases to come."""
    if not 0 < share < 1:
        raise RecveilError(f"--people is a share strictly between 0 and 1, such as 20%, not {share:g}")
    with hash_chain.locked(path) as chain:
        if share > share_aside(chain.entries):
            chain.add({"date": datetime.now(UTC).isoformat(timespec="seconds"), "aside": {"share": share}})


def chance(path: str | Path) -> Source:
    """What gives every id its place: the ledger's key, for this purpose."""
    return Source(bytes.fromhex(hash_chain.keyed(path, "people set aside")), seeded=False)


def parted(path: str | Path, rows: Interactions, share: float) -> Split:
    """The people at this place and above it, and those below, who are set aside."""
    return hold_out(rows, share, chance(path).names(rows.users.to_list()))


def left_in(path: str | Path, rows: Interactions) -> tuple[Interactions, float]:
    """The rows that a release under this ledger may be about, and the share of people that it leaves out."""
    share = share_aside(hash_chain.read(path))
    return (parted(path, rows, share).train, share) if share else (rows, 0.0)


def chooser(path: str | Path) -> tuple[Callable[[Interactions], Interactions], float]:
    """What leaves of some rows those that a release under this ledger may be about, however few they are."""
    share = share_aside(hash_chain.read(path))
    return (lambda rows: parted(path, rows, share).train) if share else (lambda rows: rows), share


def parts(group: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The lines that speak of the same people: one part for each stretch of places between two borders."""
    borders = sorted({place for e in group for place in _places(e)})
    found = [[e for e in group if _places(e)[0] <= low < _places(e)[1]] for low in borders[:-1]]
    return [part for part in found if part]


def share_aside(entries: list[dict[str, Any]]) -> float:
    """Below which place people are set aside; 0 where nobody is."""
    return max((float(e["aside"]["share"]) for e in entries if "aside" in e), default=0.0)


def _places(line: dict[str, Any]) -> tuple[float, float]:
    low, high = line.get("people", (0.0, 1.0))
    return float(low), float(high)
