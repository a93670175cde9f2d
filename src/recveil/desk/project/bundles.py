"""The bundles of a project: where they lie, who signs, who has decided what. Nothing here makes or measures one."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from recveil.desk.project.choices import ChoiceError, Choices
from recveil.desk.project.folder import Project
from recveil.errors import RecveilError
from recveil.formats.files import written
from recveil.governance import owner
from recveil.governance.recipients import read_recipient
from recveil.governance.standing import UNDECIDED, Decided, standing
from recveil.governance.trust import Trust, read_trust
from recveil.governance.verification import verify_bundle
from recveil.releases.bundle import MANIFEST, verified_digests
from recveil.releases.claims import CLAIMS, OFFICER, OWNER, Checked, Known, check, text_of
from recveil.releases.keys import load_key, new_key
from recveil.releases.places import Folder
from recveil.releases.signing import Ask, Signer

TRUST = "trust.toml"


def bundle_place(project: Project, name: str) -> Path:
    return project.room("bundles") / name


def published_place(project: Project, name: str) -> Path:
    """What goes out is named by what it says of itself: a bundle's own name is made of its data's size and date."""
    manifest = bundle_place(project, name) / MANIFEST
    mark = sha256(manifest.read_bytes()).hexdigest()[:12] if manifest.exists() else "none"
    return project.folder / "published" / f"release-{mark}"


def signer(project: Project, who: str, given: str, ask: Ask = lambda: None) -> Signer:
    """A key of the owner's; where none is named, one of the project's own, made when first needed."""
    path = project.path(given) if given else project.room("keys") / f"{who}.key"
    if not given and not path.exists():
        new_key(path)
    opened = load_key(path, ask)
    with written(
        project.room("keys") / f"{who}.fingerprint", private=True
    ) as file:  # for those who cannot open a locked key
        file.write(opened.fingerprint.encode())
    return opened


def project_trust(project: Project) -> Trust | None:
    """Whose keys count here: trust.toml beside desk.toml, where there is one."""
    file = project.folder / TRUST
    return read_trust(file) if file.exists() else None


def put_aside(project: Project, name: str) -> None:
    """Take what was published of a bundle from where it goes out, into withdrawn/."""
    place, aside = published_place(project, name), project.folder / "withdrawn"
    if place.exists():
        aside.mkdir(exist_ok=True)
        place.rename(aside / f"{name}-{len(list(aside.glob(f'{name}-*'))) + 1}")


def ledger_file(project: Project, choices: Choices) -> str | None:
    """The ledger of the people whom this project is about."""
    return str(project.path(choices.release.ledger)) if choices.release.ledger else None


def recipient(project: Project, name: str) -> Any:
    """A recipient by name, or from a file beside desk.toml."""
    file = project.path(name)
    try:
        return read_recipient(str(file) if file.is_file() else name)
    except RecveilError as why:
        raise ChoiceError("recipient.name", str(why)) from None


def decisions(project: Project, name: str) -> Checked:
    """Who said what about a bundle."""
    place = bundle_place(project, name)
    return check(text_of(Folder(place) / CLAIMS), verified_digests(place)[1])


def decided(project: Project, name: str) -> str:
    """How the bundle stands for the recipient who is chosen now; nothing where nobody has decided on that."""
    place = bundle_place(project, name)
    try:
        said = _checked(project, name, *((place / file).stat().st_mtime_ns for file in (MANIFEST, CLAIMS)))
    except FileNotFoundError:
        return ""
    trust = project_trust(project)
    found = standing(replace(said, known=trust or {}), trust.approvers if trust else 1)
    to = project.read()[0].recipient.name
    meant = found.claim.facts.get("to") if found.claim else None
    return (
        "" if found.outcome == UNDECIDED or (meant and to and meant != recipient(project, to).name) else found.outcome
    )


def standing_of(project: Project, name: str) -> Decided:
    """How the bundle stands, by the trust file of the project where there is one."""
    trust = project_trust(project)
    return standing(replace(decisions(project, name), known=trust or {}), trust.approvers if trust else 1)


@lru_cache(maxsize=64)
def _checked(project: Project, name: str, *changed: int) -> Checked:  # noqa: ARG001
    return decisions(project, name)


def verification(project: Project, choices: Choices, name: str) -> dict[str, Any]:
    """What recveil verify says, by the trust file of the project, else with the keys that signed here."""
    place = bundle_place(project, name)
    said = decisions(project, name)
    keys = {OWNER if c.kind == "released" else OFFICER: c.fingerprint for c in said.claims}
    trust = project_trust(project)
    to = choices.recipient.name or None
    known = trust or Trust({print_: Known(who, f"the {who}") for who, print_ in keys.items()})
    found = verify_bundle(place, known, owner.owner_folder(place), approved=True, recipient=to)
    return found.record() | {"keys": keys, "trusted": trust is not None}
