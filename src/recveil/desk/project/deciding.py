"""The decision: the sheet as the evidence stands, and the officer's signature under what she decides."""

from __future__ import annotations

from typing import Any

from recveil.desk.project.bundles import bundle_place, put_aside, recipient, signer
from recveil.desk.project.choices import ChoiceError, Choices, last_day
from recveil.desk.project.folder import Project
from recveil.governance.context import Context
from recveil.governance.decision import Decider, NoReasonError, decide
from recveil.releases.claims import APPROVED, OFFICER
from recveil.releases.signing import Ask


def write_sheet(project: Project, choices: Choices, name: str) -> dict[str, Any]:
    """The decision sheet as it stands now, without a decision."""
    return dict(decide(bundle_place(project, name), _context(project, choices))["sheet"])


def sign_decision(
    project: Project, choices: Choices, name: str, ask: Ask = lambda: None, seen: str = ""
) -> dict[str, Any]:
    """The officer's decision, signed into the bundle's claims, on the sheet that she saw (its digest), if that stands.

    What was published before and is refused now is put aside: it no longer lies where it goes out from.
    """
    officer = choices.officer
    for field in ("name", "role", "decision"):
        if not getattr(officer, field):
            raise ChoiceError(f"officer.{field}", f"a decision needs the officer's {field}")
    key = signer(project, OFFICER, officer.key, ask)
    decider = Decider(officer.name, officer.role, officer.decision, key, officer.reason, seen)
    try:
        made = dict(decide(bundle_place(project, name), _context(project, choices), decider))
    except NoReasonError as why:
        raise ChoiceError("officer.reason", str(why)) from None
    if officer.decision != APPROVED:
        put_aside(project, name)
    return made


def _context(project: Project, choices: Choices) -> Context:
    to = choices.recipient
    if not to.name:
        raise ChoiceError("recipient.name", "nobody receives it yet: choose a recipient")
    ledger = project.path(choices.release.ledger) if choices.release.ledger else None
    return Context(
        recipient(project, to.name),
        to.purpose,
        to.contract,
        last_day(choices),
        choices.officer.conditions,
        str(ledger) if ledger and ledger.exists() else None,
    )
