"""DECISION.md: the card's second sheet, with what was decided after the bundle was made and its card was hashed."""

from __future__ import annotations

from pathlib import Path

from recveil.governance.verification import verify_bundle
from recveil.releases.bundle import DECISION

_NONE = "not stated"
__all__ = ["DECISION", "decision_card"]


def decision_card(bundle: str | Path, owner: str = "", contact: str = "") -> str:
    """Who approved it, for whom, on which conditions and until when; whose it is, and whom to ask."""
    found = verify_bundle(bundle)
    said, manifest = found.standing.record(), found.manifest or {}
    rows = {
        "Decision": said["outcome"],
        "Recipient": said["recipient"],
        "Conditions": "; ".join(said["conditions"] or ()),
        "Until": said["until"],
        "To be reviewed on": said["review"],
        "By": ", ".join(str(part) for part in (said["by"], said["role"]) if part),
        "Reason": said["reason"],
        "Owner": owner,
        "Contact": contact,
        "Licence": manifest.get("licence"),
        "Key of the owner": _key(found.claims.record(), "released"),
        "Key of the officer": _key(found.claims.record(), "approved"),
    }
    lines = ["# What was decided about this release", ""]
    lines += [f"- {name}: {' '.join(str(text or _NONE).split())}" for name, text in rows.items()]
    lines += [
        "",
        "The signed words stand in claims.jsonl; `recveil verify DIR --trust FILE --approved` checks them. This page",
        "only repeats them and proves nothing by itself.",
        "",
    ]
    return "\n".join(lines)


def _key(claims: list[dict[str, str]], kind: str) -> str:
    return next((claim["key"] for claim in reversed(claims) if claim["kind"] == kind), "")
