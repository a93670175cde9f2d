"""The dossier: what goes to the officer as one file, and her answer, which is such a file again without the data.

It holds the bundle, the owner's folder with sheet and evidence, and the ledger. Whoever takes an answer back keeps her
own claims as they are: the answer only adds lines after them, and places that were not there.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from contextlib import suppress
from pathlib import Path, PurePosixPath

from recveil.errors import RecveilError
from recveil.formats.files import written
from recveil.governance import owner
from recveil.governance.context import Context, from_record
from recveil.governance.decision import SHEET
from recveil.governance.decision_card import put_decision
from recveil.releases import claims
from recveil.releases.bundle import MANIFEST, verified_digests
from recveil.releases.claims import CLAIMS
from recveil.releases.places import Folder, alone, check_vacant, os_errors, replace_text, whole

BUNDLE, ASIDE, LEDGER = "bundle", "bundle.owner", "ledger.jsonl"
MOST = 50 * 1000**3  # bytes that a dossier may unfold to


def pack(
    bundle: str | Path,
    target: str | Path,
    *,
    data: bool = True,
    folder: Folder | None = None,
    ledger: str | None = None,
) -> None:
    """One file for the officer, written whole or not at all; without `data` an answer, which has claims alone."""
    place = Folder(Path(bundle))
    verified_digests(place)
    aside = folder or owner.owner_folder(place)
    if not (aside / SHEET[0]).exists():
        raise RecveilError(f"{bundle} has no sheet yet: recveil decide {bundle}, with its recipient, writes one")
    wanted = place.names() if data else [CLAIMS, MANIFEST]
    with written(target, private=True) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name in wanted:
            made.write(place.path / name, f"{BUNDLE}/{name}")
        for name in aside.names():
            made.write(aside.path / name, f"{ASIDE}/{name}")
        for suffix in ("", ".head") if ledger else ():
            if (found := Path(f"{ledger}{suffix}")).exists():
                made.write(found, f"{LEDGER}{suffix}")


def unpack(file: str | Path, folder: str | Path) -> tuple[Path, Context]:
    """The bundle of a dossier in a new folder, and what is to be decided on."""
    there = Folder(Path(folder))
    check_vacant(there)
    with whole(there) as part:
        part.close_to_others()
        _extract(file, part.path)
        verified_digests(part / BUNDLE)
        _asked(part.path / ASIDE, None)
    return there.path / BUNDLE, opened(there.path)[1]


def opened(folder: str | Path) -> tuple[Path, Context]:
    """The bundle and the question of a dossier that was unpacked before."""
    path = Path(folder)
    ledger = path / LEDGER
    return path / BUNDLE, _asked(path / ASIDE, str(ledger) if ledger.exists() else None)


def is_dossier(folder: str | Path) -> bool:
    return (Path(folder) / BUNDLE / MANIFEST).exists() and (Path(folder) / ASIDE / SHEET[0]).exists()


def take_back(bundle: str | Path, file: str | Path, folder: Folder | None = None) -> list[str]:
    """An officer's answer to a dossier: her claims after ours, and the evidence of her decisions; what was added."""
    place = Folder(Path(bundle))
    manifest, digests = verified_digests(place)
    aside = folder or owner.owner_folder(place)
    before = claims.text_of(place / CLAIMS)
    part = aside.beside("answer.part")
    shutil.rmtree(part.path, ignore_errors=True)
    try:
        with os_errors(part):
            part.path.mkdir(mode=0o700, parents=True)
        _extract(file, part.path)
        after = claims.text_of(part / BUNDLE / CLAIMS)
        if not after.startswith(before) or after == before:
            why = "it says nothing new" if after == before else "our claims are not the beginning of its claims"
            raise RecveilError(f"{file} is no answer to this bundle as it stands: {why}; hand the dossier over again")
        checked = claims.check(after, digests)
        if checked.problems:
            raise RecveilError(f"{file}: {checked.problems[0]}; nothing was taken")
        old = len(before.splitlines())
        if missing := owner.unopened(part / ASIDE, [c for c in checked.claims if c.number > old]):
            raise RecveilError(f"{file}: {missing[0].removeprefix(f'{part}/')}; nothing was taken")
        _keep_decisions(part.path / ASIDE / owner.DECISIONS, aside)
        with os_errors(place / CLAIMS), alone(place / CLAIMS):
            if claims.text_of(place / CLAIMS) != before:
                raise RecveilError(f"{place}: somebody signed meanwhile; nothing was taken")
            replace_text(place / CLAIMS, after)
        with suppress(RecveilError):  # as where she signed: what counts are the claims
            put_decision(place, manifest, checked)
    finally:
        shutil.rmtree(part.path, ignore_errors=True)
    return [line for c, line in zip(checked.claims, checked.lines(), strict=True) if c.number > old]


def _keep_decisions(there: Path, aside: Folder) -> None:
    """Decisions that we do not have; one that we have is never written again, and must be the same."""
    here = aside.path / owner.DECISIONS
    with os_errors(Folder(here)):
        here.mkdir(mode=0o700, parents=True, exist_ok=True)
        for new in sorted(path for path in there.glob("*") if path.name.isdigit()):
            if not (here / new.name).exists():
                shutil.copytree(new, here / f".{new.name}.part", dirs_exist_ok=True)
                (here / f".{new.name}.part").rename(here / new.name)
            elif any((here / new.name / file.name).read_bytes() != file.read_bytes() for file in new.iterdir()):
                raise RecveilError(
                    f"decision {new.name} is another one here: two officers decided on two copies at once"
                )


def _asked(aside: Path, ledger: str | None) -> Context:
    try:
        return from_record(json.loads((aside / SHEET[0]).read_text(encoding="utf-8"))["asked"], ledger)
    except (OSError, ValueError, KeyError, TypeError):
        raise RecveilError("this is no dossier: it has no sheet that says what is to be decided on") from None


def _extract(file: str | Path, folder: Path) -> None:
    """All members of a dossier below a folder; a name that leads elsewhere, or one too many, is refused."""
    try:
        with zipfile.ZipFile(file) as found:
            members = [one for one in found.infolist() if not one.is_dir()]
            if sum(one.file_size for one in members) > MOST:
                raise RecveilError(f"{file} would unfold to more than {MOST / 1e9:.0f} GB; it is no dossier")
            for one in members:
                parts = PurePosixPath(one.filename).parts
                if parts[0] not in (BUNDLE, ASIDE, LEDGER, f"{LEDGER}.head") or ".." in parts or "\\" in one.filename:
                    raise RecveilError(f"{file} is no dossier: it holds {one.filename[:80]!r}")
                target = folder.joinpath(*parts)
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(handle, "wb") as out, found.open(one) as source:
                    shutil.copyfileobj(source, out)
    except (zipfile.BadZipFile, EOFError, NotImplementedError):
        raise RecveilError(f"{file} is no dossier, or was cut short") from None
    except OSError as why:
        raise RecveilError(f"{file} cannot be opened: {why.strerror or why}") from None
