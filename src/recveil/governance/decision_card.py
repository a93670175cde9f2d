"""What was decided, in the card: README.md ends with it, below a mark, since the card above was hashed at the release.

The part follows from the signed claims and the manifest alone. So it can be checked to the letter, and nobody can put
words there that nobody signed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from recveil.releases.bundle import CARD
from recveil.releases.card import DECIDED
from recveil.releases.claims import DECISIONS, Checked, SignedClaim, together
from recveil.releases.places import Place, os_errors, replace_text

OUTDATED = "README.md ends with an earlier decision than claims.jsonl; the claims count"


def put_decision(place: Place, manifest: Mapping[str, Any], checked: Checked) -> None:
    """Have the card end with the last decision of the claims."""
    with os_errors(place / CARD):
        own, _, before = (place / CARD).read().partition(DECIDED)
        now = _decided(manifest, checked.claims)
        if now != before:
            replace_text(place / CARD, own + DECIDED + now)


def check_card(place: Place, manifest: Mapping[str, Any], checked: Checked) -> tuple[list[str], list[str]]:
    """Problems and remarks: whether the card says what the claims say, or said when they were fewer."""
    _, mark, says = (place / CARD).read().partition(DECIDED)
    if not mark or says == _decided(manifest, checked.claims):
        return [], []
    fewer = (checked.claims[:n] for n in range(len(checked.claims)))
    if any(says == _decided(manifest, some) for some in fewer):
        return [], [OUTDATED]
    return [f"{place / CARD}: what it says was decided is not what {_last(checked.claims)} says"], []


def _decided(manifest: Mapping[str, Any], claims: Iterable[SignedClaim]) -> str:
    """The part of the card: who decided what, for whom, on which terms; whose the data are, and whom to ask."""
    said = [c for c in claims if c.kind in DECISIONS]
    if not said:
        return ""
    facts = said[-1].facts
    rows = [
        *(("Decision", _says(c)) for c in together(said)),
        ("Title", facts.get("title")),
        ("Recipient", facts.get("recipient")),
        ("Conditions", "; ".join(facts.get("conditions") or ())),
        ("Until", facts.get("until")),
        ("To be reviewed on", facts.get("review")),
        ("Reason", facts.get("reason")),
        ("Owner", facts.get("controller")),
        ("Contact", facts.get("contact")),
        ("Licence", manifest.get("licence")),
        ("Key of the owner", next((c.fingerprint for c in claims if c.kind == "released"), None)),
    ]
    lines = ["", "## What was decided", ""]
    lines += [f"- {name}: {_plain(text)}" for name, text in rows if text]
    lines += [
        "",
        "`recveil verify DIR --trust FILE --approved` says whether these keys count and this still holds; this",
        "page alone cannot tell what was withdrawn later, or has expired.",
        "",
    ]
    return "\n".join(lines)


def _says(c: SignedClaim) -> str:
    who = ", ".join(str(c.facts[key]) for key in ("by", "role") if c.facts.get(key))
    return f"{c.kind} on {c.date:%Y-%m-%d}" + (f" by {who}" if who else "") + f" (key {c.fingerprint})"


def _plain(text: object) -> str:
    """One line, of which no tool makes markup."""
    line = " ".join(str(text).split())
    for sign in "\\`*_<>[]#|":
        line = line.replace(sign, f"\\{sign}")
    return line


def _last(claims: tuple[SignedClaim, ...]) -> str:
    return str(claims[-1]) if claims else "any claim"
