"""How a bundle stands: undecided, approved for somebody, refused, withdrawn, superseded or expired."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from datetime import date as day
from typing import Any

from recveil.releases.claims import (
    APPROVED,
    DECISIONS,
    REFUSED,
    SAID_BY,
    SUPERSEDED,
    WITHDRAWN,
    Checked,
    SignedClaim,
    no_earlier,
    together,
)

UNDECIDED, EXPIRED = "undecided", "expired"


@dataclass(frozen=True)
class Decided:
    """The outcome, and the claim that it rests on."""

    outcome: str
    claim: SignedClaim | None = None
    missing: int = 0  # approvals by other officers that are still asked for

    def sentence(self) -> str:
        """In one line, what a recipient must know of it."""
        if self.claim is None:
            return "undecided: nobody has approved or refused it"
        facts = self.claim.facts
        words = f"{self.outcome}: {self.claim.kind} on {self.claim.date:%Y-%m-%d}"
        words += f" by {facts['by']}, {facts['role']}" if facts.get("by") else ""
        words += f", for {facts['recipient']}" if facts.get("recipient") else ""
        words += f", until {self.claim.until}" if self.claim.until else ""
        words += f"; on condition: {'; '.join(facts['conditions'])}" if facts.get("conditions") else ""
        words += f"; reason: {facts['reason']}" if facts.get("reason") else ""
        return words + (f"; {self.missing} more must approve it" if self.missing else "")

    def problems(self) -> list[str]:
        """Why it must not be used, if so."""
        c = self.claim
        if c is None or self.outcome in (APPROVED, UNDECIDED):
            return []
        why = f": {c.facts['reason']}" if c.facts.get("reason") else ""
        return [
            {
                REFUSED: f"{c}: the officer refused this release{why}",
                WITHDRAWN: f"{c}: this release was withdrawn{why}",
                SUPERSEDED: f"{c}: another bundle took its place ({(c.facts.get('successor') or '')[:16]}){why}",
                EXPIRED: f"{c} expired on {c.until}; by this clock today is {datetime.now(UTC).date()}",
            }[self.outcome]
        ]

    def not_approved(self, recipient: str | None = None) -> list[str]:
        """Why this is no standing approval (for this recipient)."""
        if self.outcome != APPROVED or self.claim is None:
            return self.problems() or [f"it is {self.sentence()}"]
        facts = self.claim.facts
        if recipient and recipient not in (facts.get("to"), facts.get("recipient")):
            return [f"it is approved for {facts.get('recipient')}, and undecided for {recipient}"]
        return []

    def record(self) -> dict[str, Any]:
        facts = self.claim.facts if self.claim else {}
        told = {
            key: facts.get(key) for key in ("recipient", "to", "conditions", "until", "review", "by", "role", "reason")
        }
        dated = {"date": self.claim and self.claim.date.isoformat(), "missing": self.missing}
        return {"outcome": self.outcome, **told, **dated, "sentence": self.sentence()}


NOBODY = Decided(UNDECIDED)


def standing(checked: Checked, approvers: int = 1) -> Decided:
    """What the decisions of a bundle come to. Where keys are known, only those of the right role count.

    A clock that was set back brings no approval back: what is dated later than the clock has passed too.
    """
    owners = {c.fingerprint for c in checked.claims if c.kind == "released"}
    said = [
        c
        for c, by in zip(checked.claims, no_earlier(checked.claims), strict=True)
        if c.kind in DECISIONS and _counts(c, checked, by) and not (c.kind == APPROVED and c.fingerprint in owners)
    ]
    if not said:
        return NOBODY
    last = said[-1]
    if last.kind != APPROVED:
        return Decided(last.kind, last)
    today = max(datetime.now(UTC), *(c.date for c in checked.claims)).date()
    if last.until and today > last.until:
        return Decided(EXPIRED, last)
    missing = approvers - len(together(said))
    return Decided(UNDECIDED, last, missing) if missing > 0 else Decided(APPROVED, last)


def _counts(c: SignedClaim, checked: Checked, by: day) -> bool:
    if not checked.known:
        return True
    known = checked.known.get(c.fingerprint)
    return known is not None and known.role in SAID_BY[c.kind] and known.signed(c.date.date(), by)
