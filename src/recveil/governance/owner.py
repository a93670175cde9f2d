"""The owner's folder: what was computed on private data about a bundle, beside the bundle and never part of it.

measurements.json: what attacks and metrics found, people by ordinal. claims.jsonl: the same, signed over the bundle's
hashes. decision.html, decision.json: the sheet as it stands. decisions/0001 and so on: each sheet that was decided on,
with what was measured, and salts.json, which opens the commitments by which the published claim refers to them; nothing
in there is written again. Everything is readable by its owner alone.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recveil.errors import RecveilError
from recveil.evaluation.catalogue import ATTACKS
from recveil.measurement import skipped_in
from recveil.releases import claims
from recveil.releases.bundle import BUNDLES, SERIES, placed, verified_digests
from recveil.releases.claims import CLAIMS, Checked, Known, SignedClaim
from recveil.releases.places import Folder, Place, os_errors
from recveil.releases.signing import Signer

if TYPE_CHECKING:
    from recveil.evaluation.measure import Findings

MEASUREMENTS, SALTS, DECISIONS, SHEET = "measurements.json", "salts.json", "decisions", "sheet"
PRIVATE = ("attacked", "used")


def owner_folder(bundle: str | Path | Place, chosen: str | None = None) -> Folder:
    """Where the owner's files about a bundle are: beside it, or for one in a lake here, under its name."""
    if chosen:
        return Folder(Path(chosen))
    place = placed(bundle)
    if isinstance(place, Folder):
        path = place.path.resolve() if place.path.name in ("", "..") else place.path
        if path.absolute().parent.name == BUNDLES and (path.absolute().parents[1] / SERIES).exists():
            return Folder(path.absolute().parents[1] / "owner" / path.name)  # the folder it is in is for recipients
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
        chosen = [m for m in record["measurements"] if (m["measure"] in ATTACKS) == wanted]
        left = [gap for gap in record["skipped"] if (gap["name"] in ATTACKS) == wanted]
        if chosen or left:
            facts = {"file": kept, "measurements": chosen, "skipped": left}
            claims.add(folder / CLAIMS, kind, digests, facts, signer)


def measurements(folder: Folder, digests: Mapping[str, str]) -> dict[str, Any] | None:
    """What was measured of this very bundle; None where nothing was."""
    file = folder / MEASUREMENTS
    if not file.exists():
        return None
    try:
        found = json.loads(file.read())
        same = found["bundle"] == digests["manifest.json"]
        if not (isinstance(found["measurements"], list) and isinstance(skipped := skipped_in(found), list)):
            raise TypeError
    except (OSError, ValueError, KeyError, TypeError):
        raise RecveilError(f"{file} cannot be read; measure the bundle again") from None
    return {**found, "skipped": skipped} if same else None


@contextmanager
def new_decision(folder: Folder) -> Iterator[Folder]:
    """A place of its own for what a decision rests on: decisions/0001 and so on, never written again.

    Nobody else decides meanwhile; where it fails, the place is gone, and nothing is half decided.
    """
    with os_errors(folder / DECISIONS):
        (folder.path / DECISIONS).mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(folder.path / DECISIONS, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RecveilError(f"{folder}: somebody decides on this bundle just now; look again afterwards") from None
        before = [int(path.name) for path in (folder.path / DECISIONS).iterdir() if path.name.isdigit()]
        new = folder.path / DECISIONS / f"{max(before, default=0) + 1:04}"
        with os_errors(Folder(new)):
            new.mkdir(mode=0o700)
        try:
            yield Folder(new)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
    finally:
        os.close(handle)


def last_decision(folder: Folder) -> dict[str, Any] | None:
    """The sheet of the last decision; None where there is none."""
    kept = sorted(path for path in (folder.path / DECISIONS).glob("*/decision.json") if path.parent.name.isdigit())
    try:
        found = json.loads(kept[-1].read_text(encoding="utf-8")) if kept else None
        if found and not all(isinstance(found["decision"][name], str) for name in ("kind", "by", "role")):
            raise TypeError
        return found
    except (OSError, ValueError, KeyError, TypeError):
        raise RecveilError(f"{kept[-1]} cannot be read; put it back from a copy") from None


def commit(folder: Folder, kept: Folder, digest: str) -> dict[str, Any]:
    """Commitments to the files of a decision: hashes with a salt that stays here, since figures could be guessed.

    That to the digest of the sheet is the same for two who decide on the same one.
    """
    files = sorted(path.name for path in kept.path.iterdir())
    salts = {name: secrets.token_hex(32) for name in files} | {SHEET: _salt_of(kept.path, digest)}
    put(kept, SALTS, json.dumps(salts, indent=1) + "\n")
    where = kept.path.relative_to(folder.path).as_posix()
    evidence = [
        {"name": f"{where}/{name}", "commitment": _commitment(salts[name], (kept.path / name).read_bytes())}
        for name in files
    ]
    return {SHEET: _commitment(salts[SHEET], digest.encode()), "evidence": evidence}


def _salt_of(kept: Path, digest: str) -> str:
    """The salt of whoever decided on this sheet before, else a new one."""
    for one in kept.parent.glob("[0-9]*"):
        try:
            before = json.loads((one / "decision.json").read_text(encoding="utf-8"))["digest"]
            salts = json.loads((one / SALTS).read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if one != kept and before == digest and SHEET in salts:
            return str(salts[SHEET])
    return secrets.token_hex(32)


def check(folder: Folder, digests: Mapping[str, str], trust: Mapping[str, Known] | None, public: Checked) -> list[str]:
    """What does not hold in the owner's folder of this bundle."""
    problems = unsigned(folder, digests, trust)
    decided = [c for c in public.claims if c.facts.get("evidence")]
    # Older versions kept the last sheet alone, at the top: there what earlier ones commit to is gone.
    older = [c for c in decided if not all("/" in str(sheet.get("name")) for sheet in c.facts["evidence"])]
    closed = older if not (folder / SALTS).exists() else older[:-1]
    return problems + unopened(folder, [c for c in decided if c not in closed])


def unsigned(folder: Folder, digests: Mapping[str, str], trust: Mapping[str, Known] | None = None) -> list[str]:
    """Why what was measured is not what was signed as such; nothing where nobody signed any."""
    checked = claims.check(claims.text_of(folder / CLAIMS), digests, trust, PRIVATE)
    problems = [f"{folder / CLAIMS}: {problem}" for problem in checked.problems]
    file = folder.path / MEASUREMENTS
    if checked.claims and file.exists() and sha256(file.read_bytes()).hexdigest() != checked.claims[-1].facts["file"]:
        problems.append(f"{file} is not what {checked.claims[-1]} was signed on")
    return problems


def unopened(folder: Folder, said: Iterable[SignedClaim]) -> list[str]:
    """What claims commit to and this folder does not hold."""
    return [line for c in said for sheet in c.facts.get("evidence") or () for line in _opened(folder, sheet, c)]


def _opened(folder: Folder, sheet: Mapping[str, str], claim: SignedClaim) -> list[str]:
    """Whether a file is what a claim commits to."""
    try:
        path = folder.path / sheet["name"]
        salts = json.loads((path.parent / SALTS).read_text(encoding="utf-8"))
        if _commitment(salts[path.name], path.read_bytes()) == sheet["commitment"]:
            return []
        return [f"{path} is not the sheet that {claim} was made on"]
    except (OSError, ValueError, KeyError, TypeError):
        return [f"{folder / sheet['name']} or its salt is missing: what {claim} was made on cannot be opened"]


def _commitment(salt: str, data: bytes) -> str:
    return sha256(bytes.fromhex(salt) + data).hexdigest()
