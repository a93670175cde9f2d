"""The bundle: a directory with data, manifest.json and README.md, written whole or not at all; verified by hashes."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from recveil.data import Interactions, concat
from recveil.desk.card import card
from recveil.desk.places import Folder, Place, os_errors, whole
from recveil.desk.release import Release
from recveil.errors import RecveilError
from recveil.formats import read, write
from recveil.guarantee import Guarantee
from recveil.mechanisms import spec

Format = Literal["parquet", "csv", "inter", "itemsets"]
MANIFEST, CARD, TABLES = "manifest.json", "README.md", "tables"


@dataclass(frozen=True)
class Bundle:
    """A published release as it stands on disk."""

    data: Interactions
    manifest: dict[str, Any]
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(**self.manifest["guarantee"])


class BrokenBundleError(RecveilError):
    """A bundle whose parts do not belong together."""


def save(
    release: Release, place: str | Path | Place, *, format: Format = "parquet", force: bool = False
) -> dict[str, Any]:
    """Write a bundle and return its manifest. An existing directory is refused unless `force` is given."""
    rows = release.data

    def put(part: Place) -> dict[str, int]:
        with part.here() as folder:
            write(rows, folder / f"data.{format}", format=format, time="order" if release.time == "order" else "time")
            for name, table in release.tables.items():
                (folder / TABLES).mkdir(exist_ok=True)
                table.write_parquet(folder / TABLES / f"{name}.parquet", compression="zstd", statistics=False)
        return {"rows": len(rows), "users": rows.n_users, "items": rows.n_items}

    return save_parts(release, placed(place), put, force=force)


def save_parts(
    release: Release, place: Place, put: Callable[[Place], dict[str, int]], *, force: bool = False
) -> dict[str, Any]:
    """A bundle whose data `put` writes into a folder, as one file or as many; it says how many rows, users and items.

    Of release.data only the columns count.
    """
    check_writable(place, force)
    with whole(place) as part:
        manifest = _manifest(release) | put(part)
        (part / CARD).write(card(manifest, release.mechanism))
        manifest["files"] = sorted(part.entries(), key=lambda entry: _rank(entry["name"]))
        (part / MANIFEST).write(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    return manifest


def check_writable(place: Place, force: bool) -> None:
    """Raise where something stands in the way of a bundle."""
    if not place.exists():
        return
    if not force:
        raise RecveilError(f"{place} exists already; choose another place, or replace it with --force")
    if not (place / MANIFEST).exists():
        raise RecveilError(f"{place} is not a bundle, so --force does not replace it")


def load(directory: str | Path) -> Bundle:
    """A bundle from disk, after verifying it."""
    manifest = verify(directory)
    data = concat([read(Path(directory) / name, duplicates="all") for name in data_files(manifest)])
    check_stated(directory, manifest, len(data), data.n_users, data.n_items)
    tables = {file.stem: pl.read_parquet(file) for file in sorted(Path(directory, TABLES).glob("*.parquet"))}
    return Bundle(data, manifest, tables)


def verify(place: str | Path | Place) -> dict[str, Any]:
    """Prove that the files and the manifest of a bundle belong together; its manifest, or BrokenBundleError."""
    place = placed(place)
    if not place.exists():
        raise RecveilError(f"{place}: there is no such directory")
    try:
        manifest = json.loads((place / MANIFEST).read())
        files = {str(entry["name"]): str(entry["sha256"]) for entry in manifest["files"]}
        Guarantee(**manifest["guarantee"])
        for name in ("rows", "users", "items"):
            int(manifest[name])
    except (FileNotFoundError, NotADirectoryError):
        raise RecveilError(f"{place} is not a bundle: it has no {MANIFEST}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise BrokenBundleError(f"{place}: {MANIFEST} cannot be read as a manifest") from None
    present = {entry["name"]: entry["sha256"] for entry in place.entries()}
    for name in sorted(set(present) - set(files) - {MANIFEST}):
        raise BrokenBundleError(f"{place}: {name} does not stand in the manifest")
    for name, digest in files.items():
        if name not in present:
            raise BrokenBundleError(f"{place}: {name} is missing")
        if present[name] != digest:
            raise BrokenBundleError(f"{place}: {name} is not the file that the manifest describes")
    return dict(manifest)


def check_stated(bundle: object, manifest: dict[str, Any], *found: int) -> None:
    """Raise where there are not as many rows, users and items as the manifest states."""
    if found != (manifest["rows"], manifest["users"], manifest["items"]):
        raise BrokenBundleError(f"{bundle}: the data do not have the rows, users and items that the manifest states")


def data_files(manifest: dict[str, Any]) -> list[str]:
    """The names of the files that hold the released rows."""
    return [entry["name"] for entry in manifest["files"] if _rank(entry["name"])[0] == 0]


def placed(place: str | Path | Place) -> Place:
    """A path as a place of this machine; any other place as it is."""
    return Folder(Path(place)) if isinstance(place, str | Path) else place


def save_map(id_map: pl.DataFrame, path: str | Path) -> None:
    """The private map from original to released users, readable by its owner alone."""
    path = Path(path)
    with os_errors(path):
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                id_map.write_csv(file)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def _manifest(release: Release) -> dict[str, Any]:
    from recveil import __version__

    rows = release.data
    time = "order" if release.time == "order" else "time"
    schema = (
        rows.take(np.zeros(0, dtype=np.int64)).frame().rename({"user": rows.unit, "time": time}, strict=False).schema
    )
    return {
        "recveil": __version__,
        "mechanism": release.mechanism.name,
        "parameters": asdict(release.mechanism),
        "spec": spec.text(release.mechanism),
        "guarantee": release.guarantee.record(),
        "seeded": release.seeded,
        "kind": rows.kind,
        "unit": rows.unit,
        "time": release.time,
        "schema": [{"name": name, "type": str(kind)} for name, kind in schema.items()],
        "notes": dict(release.notes),
    }


def _rank(name: str) -> tuple[int, str]:
    """The order of the files in a manifest: data, card, tables."""
    return (1 if name == CARD else 2 if name.startswith(f"{TABLES}/") else 0, name)
