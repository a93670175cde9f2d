"""The question that a project puts to its officer, her signature under the answer, and what an answer does here."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from recveil.desk.project.bundles import bundle_place, decided, project_trust, put_aside, recipient, signer
from recveil.desk.project.choices import ChoiceError, Choices, day_of, last_day
from recveil.desk.project.folder import Project
from recveil.desk.project.limits import limits_of
from recveil.desk.project.solving import BOUNDS
from recveil.governance import dossier, owner
from recveil.governance.context import Context, Declared, context_file
from recveil.governance.decision import Decider, NoReasonError, decide, withdraw
from recveil.releases.claims import APPROVED, OWNER
from recveil.releases.keys import load_key
from recveil.releases.places import Folder
from recveil.releases.signing import Ask


def write_sheet(project: Project, choices: Choices, name: str) -> dict[str, Any]:
    """The decision sheet as it stands now, without a decision; its terms are kept for the command beside the page."""
    context = question(project, choices)
    owner.put(Folder(project.room("private")), terms_file(name), context_file(context))
    return dict(decide(bundle_place(project, name), context)["sheet"])


def terms_file(name: str) -> str:
    """What the question about a bundle says in words, in the room of what is private."""
    return f"{name}-context.toml"


def sign_decision(
    project: Project, choices: Choices, name: str, ask: Ask = lambda: None, seen: str = ""
) -> dict[str, Any]:
    """The officer's decision, signed into the bundle's claims, on the sheet that she saw (its digest), if that stands.

    Her key is never the project's: what was made without her proves nothing.
    """
    officer = choices.officer
    for key in ("name", "role", "decision", "key"):
        if not getattr(officer, key):
            raise ChoiceError(f"officer.{key}", f"a decision needs the officer's {key}")
    where = officer.key if ":" in officer.key else str(project.path(officer.key))
    signs = load_key(where, ask)
    if signs.source is not None and signs.source.resolve().is_relative_to(project.folder.resolve()):
        raise ChoiceError(
            "officer.key", "the officer's key lies in the owner's folder: she keeps it where she alone is"
        )
    trust = project_trust(project)
    decider = Decider(
        officer.name, officer.role, officer.decision, signs, officer.reason, seen, officer.opinion, trust
    )  # fmt: skip
    try:
        made = dict(decide(bundle_place(project, name), question(project, choices), decider))
    except NoReasonError as why:
        raise ChoiceError("officer.reason", str(why)) from None
    after_decision(project, name)
    return made


def take_answer(project: Project, name: str, file: Path) -> list[str]:
    """The officer's answer that came as a file; it is not kept beside what it says."""
    said = dossier.take_back(bundle_place(project, name), file)
    after_decision(project, name)
    return said


def pack_dossier(project: Project, choices: Choices, name: str) -> Path:
    """One file for the officer."""
    write_sheet(project, choices, name)
    target = project.room("handover") / "dossier.zip"
    dossier.pack(bundle_place(project, name), target, ledger=question(project, choices).ledger)
    return target


def withdraw_bundle(project: Project, choices: Choices, name: str, who: tuple[str, str], reason: str) -> None:
    """The owner takes a release back: signed, and no longer where it goes out from."""
    if not all(who):
        raise ChoiceError("officer.name", "a withdrawal has a name and a role")
    withdraw(bundle_place(project, name), *who, reason, signer(project, OWNER, choices.owner.key))
    after_decision(project, name)


def after_decision(project: Project, name: str) -> None:
    """What does not stand no longer lies where it goes out from."""
    if decided(project, name) != APPROVED:
        put_aside(project, name)


def question(project: Project, choices: Choices) -> Context:
    """What is to be decided on, as the choices have it."""
    to = choices.recipient
    if not to.name:
        raise ChoiceError("recipient.name", "nobody receives it yet: choose a recipient")
    ledger = project.path(choices.release.ledger) if choices.release.ledger else None
    wish = {BOUNDS[choices.use.what]: float(choices.use.keep)} if choices.use.what else {}
    return Context(
        recipient(project, to.name),
        to.purpose,
        to.contract,
        last_day(choices),
        choices.officer.conditions,
        str(ledger) if ledger and ledger.exists() else None,
        day_of("recipient.review", to.review),
        wish,
        Declared(**{one.name: getattr(to, one.name) for one in fields(Declared)}),
        limits_of(to.limits),
    )
