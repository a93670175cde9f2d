"""The owner's folder: what was computed on private data about a bundle, beside the bundle and never part of it.

measurements.json: what attacks and metrics found, people by ordinal. claims.jsonl: the same, signed over the bundle's
hashes. decision.html, decision.json: the sheet. salts.json: what opens the commitments by which published claims refer
to the sheet. Everything in it is readable by its owner alone.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recveil.desk import claims
from recveil.desk.bundle import placed, verified_digests
from recveil.desk.claims import CLAIMS, Checked, Known
from recveil.desk.criteria import is_attack
from recveil.desk.places import Folder, Place, os_errors
from recveil.desk.signing import Signer
from recveil.errors import RecveilError

if TYPE_CHECKING:
    from recveil.desk.measure import Findings

MEASUREMENTS, SALTS = "measurements.json", "salts.json"
PRIVATE = ("attacked", "used")


def owner_folder(bundle: str | Path | Place, chosen: str | None = None) -> Folder:
    """Where the owner's files about a bundle are: beside it, or for one in a lake here, under its name."""
    if chosen:
        return Folder(Path(chosen))
    place = placed(bundle)
    if isinstance(place, Folder):
        path = place.path.resolve() if place.path.name in ("", "..") else place.path
        return Folder(path.parent / f"{path.name}.owner")
    return Folder(Path(f"{place.uri.rstrip('/').rpartition('/')[2]}.owner"))


def put(folder: Folder, name: str, text: str) -> str:
    """Write one of the owner's files, whole or not at all, for the owner's eyes; its SHA-256."""
    with os_errors(folder / name):
        folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = folder.path / f".{name}.{secrets.token_hex(4)}"
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            part.replace(folder.path / name)
        finally:
            part.unlink(missing_ok=True)
    return sha256(text.encode()).hexdigest()


def keep_measurements(
    bundle: str | Path | Place, found: Findings, folder: Folder, signer: Signer | None = None
) -> None:
    """Keep what was measured of a bundle; signed, where there is a key."""
    manifest, digests = verified_digests(bundle)
    record = found.record()
    riskiest = [{"ordinal": k, **{n: v for n, v in r.items() if n != "user"}} for k, r in enumerate(found.riskiest, 1)]
    document = {"spec": manifest["spec"], "bundle": digests["manifest.json"], **record, "riskiest": riskiest}
    kept = put(folder, MEASUREMENTS, json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    if signer is None:
        return
    for kind, wanted in (("attacked", True), ("used", False)):
        chosen = [m for m in record["measurements"] if is_attack(m["name"]) == wanted]
        left = [gap for gap in record["left_out"] if is_attack(gap["name"]) == wanted]
        if chosen or left:
            facts = {"file": kept, "measurements": chosen, "left_out": left}
            claims.add(folder / CLAIMS, kind, digests, facts, signer)


def measurements(folder: Folder, digests: Mapping[str, str]) -> dict[str, Any] | None:
    """What was measured of this very bundle; None where nothing was."""
    file = folder / MEASUREMENTS
    if not file.exists():
        return None
    try:
        found = json.loads(file.read())
        same = found["bundle"] == digests["manifest.json"]
        if not (isinstance(found["measurements"], list) and isinstance(found["left_out"], list)):
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError):
        raise RecveilError(f"{file} cannot be read; measure the bundle again") from None
    return dict(found) if same else None


def commit(folder: Folder, names: tuple[str, ...]) -> list[dict[str, str]]:
    """Commitments to files of the owner: hashes with a salt that stays here, since figures could be guessed."""
    salts = {name: secrets.token_hex(32) for name in names}
    put(folder, SALTS, json.dumps(salts, indent=1) + "\n")
    return [{"name": name, "commitment": _commitment(salts[name], folder.path / name)} for name in names]


def check(folder: Folder, digests: Mapping[str, str], trust: Mapping[str, Known] | None, public: Checked) -> list[str]:
    """What does not hold in the owner's folder of this bundle."""
    checked = claims.check(claims.text_of(folder / CLAIMS), digests, trust, PRIVATE)
    problems = [f"{folder / CLAIMS}: {problem}" for problem in checked.problems]
    file = folder.path / MEASUREMENTS
    if checked.claims and file.exists() and sha256(file.read_bytes()).hexdigest() != checked.claims[-1].facts["file"]:
        problems.append(f"{file} is not what {checked.claims[-1]} was signed on")
    decision = next((c for c in reversed(public.claims) if c.kind in ("approved", "refused")), None)
    if decision is None or not (folder / SALTS).exists():
        return problems
    try:
        salts = json.loads((folder / SALTS).read())
        problems += [
            f"{folder / sheet['name']} is not the sheet that {decision} was made on"
            for sheet in decision.facts.get("evidence", ())
            if _commitment(salts[sheet["name"]], folder.path / sheet["name"]) != sheet["commitment"]
        ]
    except (OSError, ValueError, KeyError, TypeError):
        problems.append(f"{folder / SALTS} does not open what {decision} commits to")
    return problems


def _commitment(salt: str, path: Path) -> str:
    return sha256(bytes.fromhex(salt) + path.read_bytes()).hexdigest()
