"""The bundles of a project: where they lie, who signs, who has decided what. Nothing here makes or measures one."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from recveil.desk import owner
from recveil.desk.bundle import MANIFEST, verified_digests
from recveil.desk.claims import CLAIMS, OFFICER, OWNER, Checked, Known, check, text_of
from recveil.desk.places import Folder
from recveil.desk.project.choices import ChoiceError, Choices
from recveil.desk.project.folder import Project
from recveil.desk.recipients import read_recipient
from recveil.desk.signing import Ask, Signer, load_key, new_key
from recveil.desk.verification import verify_bundle
from recveil.errors import RecveilError
from recveil.formats.files import written


def bundle_place(project: Project, name: str) -> Path:
    return project.room("bundles") / name


def published_place(project: Project, name: str) -> Path:
    return project.folder / "published" / name


def signer(project: Project, who: str, given: str, ask: Ask = lambda: None) -> Signer:
    """A key of the owner's or the officer's; where none is named, one of the project's own, made when first needed."""
    path = project.path(given) if given else project.room("keys") / f"{who}.key"
    if not given and not path.exists():
        new_key(path)
    opened = load_key(path, ask)
    with written(
        project.room("keys") / f"{who}.fingerprint", private=True
    ) as file:  # for those who cannot open a locked key
        file.write(opened.fingerprint.encode())
    return opened


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
    """approved, refused, or nothing yet: the last decision counts."""
    place = bundle_place(project, name)
    try:
        return _decided(project, name, *((place / file).stat().st_mtime_ns for file in (MANIFEST, CLAIMS)))
    except FileNotFoundError:
        return ""


@lru_cache(maxsize=64)
def _decided(project: Project, name: str, *changed: int) -> str:  # noqa: ARG001
    kinds = [c.kind for c in decisions(project, name).claims if c.kind in ("approved", "refused")]
    return kinds[-1] if kinds else ""


def verification(project: Project, choices: Choices, name: str) -> dict[str, Any]:
    """What recveil verify says, trusting the two keys of this project."""
    keys = fingerprints(project)
    names = {OWNER: "the owner", OFFICER: choices.officer.name or "the officer"}
    trust = {print_: Known(who, names[who]) for who, print_ in keys.items()}
    place = bundle_place(project, name)
    return verify_bundle(place, trust, owner.owner_folder(place)).record() | {"keys": keys}


def fingerprints(project: Project) -> dict[str, str]:
    """Of the keys that have signed here."""
    files = {who: project.room("keys") / f"{who}.fingerprint" for who in (OWNER, OFFICER)}
    return {who: file.read_text(encoding="utf-8") for who, file in files.items() if file.exists()}
