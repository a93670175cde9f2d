"""Numbers that were measured once and are kept in the project as JSON: claims of papers, the atlas, the benchmark.

A file that another version of recveil made is marked as such on its page. One that lacks what a page needs is named
with the command that makes it anew, and the build goes on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recveil import __version__

KEPT = Path(__file__).parent.parent / "kept"
VERDICTS = (
    "reproduced",
    "compatible",
    "not reproduced",
    "contradicted by the paper",
    "not available",
    "beside the paper",
)
NEEDED = {
    "claims": ("paper", "title", "version", "claims", "verdicts"),
    "atlas": ("data", "title", "version", "kind", "people", "exposure", "assessed"),
    "open": ("data", "title", "version", "protocol", "hits", "n", "files", "cells", "code"),
}
REMEDY = {"claims": "make ledger", "atlas": "make atlas", "open": "make open-benchmark"}


@dataclass(frozen=True)
class Document:
    """A kept file: what stands in it, and why it cannot be used, if so."""

    name: str
    content: dict[str, Any]
    fault: str = ""

    @property
    def stale(self) -> str:
        """A sentence where another version made it."""
        made = self.content.get("version")
        return "" if made == __version__ else f"Made by version {made}; this is version {__version__}."


def documents(room: str, kept: Path = KEPT) -> list[Document]:
    """Every kept file of a room, by name."""
    return [_read(path, room) for path in sorted((kept / room).glob("*.json"))]


def usable(room: str, kept: Path = KEPT) -> list[Document]:
    return [d for d in documents(room, kept) if not d.fault]


def faults(room: str, kept: Path = KEPT) -> list[str]:
    """A line for each file that no page can be made of."""
    return [d.fault for d in documents(room, kept) if d.fault]


def _read(path: Path, room: str) -> Document:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        content = None
    if not isinstance(content, dict):
        return Document(path.stem, {}, f"{path.name} is not a JSON document; {REMEDY[room]} writes it anew")
    if lacking := [name for name in NEEDED[room] if name not in content]:
        old = f"{path.name} lacks {', '.join(lacking)}: an older version made it; {REMEDY[room]} writes it anew"
        return Document(path.stem, content, old)
    return Document(path.stem, content)


def counts(claims: list[dict[str, Any]]) -> dict[str, int]:
    """How many claims have each verdict, the best first."""
    number = {v: sum(c["verdict"] == v for c in claims) for v in VERDICTS}
    return {v: n for v, n in number.items() if n}


def all_claims(kept: Path = KEPT) -> list[dict[str, Any]]:
    return [claim for d in usable("claims", kept) for claim in d.content["claims"]]


def published(claims: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that a paper makes: our own figures beside it do not count."""
    return [c for c in claims if c["verdict"] != "beside the paper"]


def facts(kept: Path = KEPT) -> dict[str, str]:
    """Numbers for the front page and README, by name, as they are printed."""
    papers = usable("claims", kept)
    found = published(all_claims(kept))
    sets = usable("atlas", kept)
    reached = [level["value"] for d in sets if (level := at(d.content["exposure"], 8))]
    number = counts(found)
    return {
        "papers": str(len(papers)),
        "papers_in_part": str(sum(bool(d.content.get("not_run")) for d in papers)),
        "claims": str(len(found)),
        **{v.replace(" ", "_"): str(number.get(v, 0)) for v in VERDICTS[:5]},
        "data_sets": str(len(sets)),
        "found_by_8_least": share(min(reached)) if reached else "-",
        "found_by_8_most": share(max(reached)) if reached else "-",
        "found_by_8_over_half": str(sum(value > 0.5 for value in reached)),
    }


def at(exposure: list[dict[str, Any]], known: int) -> dict[str, Any] | None:
    """What somebody achieves who knows so many items and no rating."""
    return next((level for level in exposure if level["known"] == known and not level["ratings"]), None)


def share(value: float) -> str:
    """As per cent: two digits of what lies near either end. Nearly all are not all: 99.97 are 99.9."""
    percent = 100 * value
    if 99 < percent < 100:
        return f"{min(percent, 99.9):.1f}%"
    return f"{percent:.2g}%" if percent < 1 else f"{percent:.0f}%"


def span(level: dict[str, Any]) -> str:
    """A share with its interval."""
    return f"{share(level['value'])} [{share(level['low'])}, {share(level['high'])}]"
