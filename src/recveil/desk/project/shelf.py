"""The shelf: projects that lie side by side in one folder. They are made, renamed and deleted here, by name.

Of a deleted project its ledger stays, beside where it was: what was spent on these people is never forgotten.
"""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

from recveil.desk.project.choices import ChoiceError
from recveil.desk.project.folder import FILE, Project, open_project, sole_desk
from recveil.errors import RecveilError
from recveil.releases.places import Folder, os_errors

FIELD = "project.name"
LEDGERS = ("ledger.jsonl", "ledger.jsonl.head")
_PLAIN = re.compile(r"\w[\w .+-]{0,79}", re.UNICODE)


def projects(shelf: Path) -> list[dict[str, Any]]:
    """All projects of a folder, the one that was changed last first."""
    found = [_entry(Project(file.parent)) for file in shelf.glob(f"*/{FILE}") if not file.parent.name.startswith(".")]
    return sorted(found, key=lambda one: str(one["changed"]), reverse=True)


def _entry(project: Project) -> dict[str, Any]:
    changed = datetime.fromtimestamp(project.file.stat().st_mtime, UTC).isoformat(timespec="seconds")
    said: dict[str, Any] = {"name": project.folder.name, "changed": changed, "source": "", "chosen": "", "problem": ""}
    try:
        choices, _ = project.read()
    except RecveilError as why:
        return said | {"problem": str(why), "published": False}
    out = project.folder / "published"
    names = {"source": choices.data.source.rpartition("/")[2], "chosen": choices.candidates.chosen.partition(":")[0]}
    return said | names | {"published": out.exists() and any(out.iterdir())}


def place_of(shelf: Path, name: str) -> Path:
    """The folder of a project that is there."""
    folder = shelf / _plain(name)
    if not (folder / FILE).exists():
        raise ChoiceError(FIELD, f"there is no project {name} in {shelf}")
    return folder


def new_project(shelf: Path, name: str) -> Project:
    return open_project(_vacant(shelf, name))


def rename(shelf: Path, name: str, to: str) -> Path:
    """Another name for a project that no desk is open on; what desk.toml names inside the folder moves with it."""
    folder, target = place_of(shelf, name), _vacant(shelf, to)
    with sole_desk(Project(folder)), os_errors(Folder(target)):
        folder.rename(target)
    return target


def delete(shelf: Path, name: str) -> str:
    """Delete a project, data, keys, bundles and all; the name under which its ledger stays, or nothing."""
    folder = place_of(shelf, name)
    kept = ""
    with sole_desk(Project(folder)), os_errors(Folder(folder)):
        if (folder / LEDGERS[0]).exists():
            kept = _free(shelf, name)
            for file in LEDGERS:
                if (folder / file).exists():
                    shutil.copy2(folder / file, shelf / f"{kept}-{file}")
        gone = (
            shelf / f".{folder.name}.{token_hex(4)}.deleted"
        )  # whatever fails from here on, it is no project any more
        folder.rename(gone)
        shutil.rmtree(gone)
    return f"{kept}-{LEDGERS[0]}" if kept else ""


def _plain(name: str) -> str:
    name = " ".join(name.split())
    if not _PLAIN.fullmatch(name) or name.endswith("."):
        raise ChoiceError(FIELD, "a project has a name of letters, digits, spaces, dots and dashes, up to 80")
    return name


def _vacant(shelf: Path, name: str) -> Path:
    folder = shelf / _plain(name)
    if folder.exists():
        raise ChoiceError(FIELD, f"{folder.name} is there already: choose another name")
    return folder


def _free(shelf: Path, name: str) -> str:
    tries = [name, *(f"{name}-{n}" for n in range(2, 1000))]
    return next(one for one in tries if not (shelf / f"{one}-{LEDGERS[0]}").exists())
