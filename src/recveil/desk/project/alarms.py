"""Alarms: what happened after an approval that it did not know of. Each is a line that asks for a new look."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from recveil.desk.project.bundles import bundle_place, decisions
from recveil.desk.project.folder import Project
from recveil.governance import evidence, owner
from recveil.governance.context import from_record
from recveil.governance.standing import standing
from recveil.releases.bundle import verified_digests
from recveil.releases.claims import APPROVED


def alarms(project: Project, name: str, releases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of a bundle that is approved: later attacks above their limits, later releases, a review that is due."""
    found = standing(decisions(project, name))
    if found.outcome != APPROVED or found.claim is None:
        return []
    claim = found.claim
    said: list[dict[str, Any]] = [{"kind": "attack", "attack": attack} for attack in _above(project, name)]
    later = [one for one in releases if datetime.fromisoformat(one["date"]) > claim.date]
    if later:
        said.append({"kind": "release", "n": len(later)})
    review = claim.facts.get("review")
    if review and date.fromisoformat(review) <= datetime.now(UTC).date():
        said.append({"kind": "review", "date": review})
    return said


def _above(project: Project, name: str) -> list[str]:
    """Attacks that were not above the limits of the approved sheet, and are now, by what was measured last."""
    place = bundle_place(project, name)
    aside = owner.owner_folder(place)
    measured = owner.measurements(aside, verified_digests(place)[1])
    last = owner.last_decision(aside)
    if measured is None or last is None or "asked" not in last:
        return []
    before = {f["attack"] for f in last["attacks"]["findings"] if f["verdict"] == evidence.ABOVE}
    now = evidence.findings(measured["measurements"], from_record(last["asked"]).to)
    return [f.attack for f in now if f.verdict == evidence.ABOVE and f.attack not in before]
