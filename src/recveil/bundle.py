"""The bundle: a directory with data, manifest.json and README.md, written whole or not at all; verified by hashes."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from recveil import spec
from recveil.card import card
from recveil.data import Interactions, concat
from recveil.errors import RecveilError
from recveil.formats import read, write
from recveil.guarantee import Guarantee
from recveil.release import Release

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


def save(release: Release, directory: str | Path, *, format: Format = "parquet", force: bool = False) -> dict[str, Any]:
    """Write a bundle and return its manifest. An existing directory is refused unless `force` is given."""
    rows = release.data

    def put(part: Path) -> dict[str, int]:
        write(rows, part / f"data.{format}", format=format, time="order" if release.time == "order" else "time")
        for name, table in release.tables.items():
            (part / TABLES).mkdir(exist_ok=True)
            table.write_parquet(part / TABLES / f"{name}.parquet", compression="zstd", statistics=False)
        return {"rows": len(rows), "users": rows.n_users, "items": rows.n_items}

    return save_parts(release, directory, put, force=force)


def save_parts(
    release: Release, directory: str | Path, put: Callable[[Path], dict[str, int]], *, force: bool = False
) -> dict[str, Any]:
    """A bundle whose data `put` writes into a folder, as one file or as many; it says how many rows, users and items.

    Of release.data only the columns count.
    """
    directory = Path(directory)
    may_write(directory, force)
    with _whole(directory) as part:
        manifest = _manifest(release) | put(part)
        tables, data = set(part.glob(f"{TABLES}/*")), {file for file in part.rglob("*") if file.is_file()}
        (part / CARD).write_text(card(manifest, release.mechanism), encoding="utf-8")
        manifest["files"] = [_entry(file, part) for file in (*sorted(data - tables), part / CARD, *sorted(tables))]
        (part / MANIFEST).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return manifest


def may_write(directory: Path, force: bool) -> None:
    """Raise where something stands in the way of a bundle."""
    if directory.exists() and not force:
        raise RecveilError(f"{directory} exists already; choose another place, or replace it with --force")
    if directory.exists() and not (directory / MANIFEST).is_file():
        raise RecveilError(f"{directory} is not a bundle, so --force does not replace it")


def load(directory: str | Path) -> Bundle:
    """A bundle from disk, after verifying it."""
    manifest = verify(directory)
    names = [Path(entry["name"]) for entry in manifest["files"] if entry["name"] != CARD]
    files = [name for name in names if name.parts[0] != TABLES]
    data = concat([read(Path(directory) / name, duplicates="all") for name in files])
    if (len(data), data.n_users, data.n_items) != (manifest["rows"], manifest["users"], manifest["items"]):
        raise BrokenBundleError(f"{directory}: the data do not have the rows, users and items that the manifest states")
    tables = {name.stem: pl.read_parquet(Path(directory) / name) for name in names if name.parts[0] == TABLES}
    return Bundle(data, manifest, tables)


def verify(directory: str | Path) -> dict[str, Any]:
    """Prove that the files and the manifest of a bundle belong together; its manifest, or BrokenBundleError."""
    directory = Path(directory)
    if not directory.is_dir():
        raise RecveilError(f"{directory}: there is no such directory")
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        files = {str(entry["name"]): str(entry["sha256"]) for entry in manifest["files"]}
        Guarantee(**manifest["guarantee"])
        for name in ("rows", "users", "items"):
            int(manifest[name])
    except FileNotFoundError:
        raise RecveilError(f"{directory} is not a bundle: it has no {MANIFEST}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise BrokenBundleError(f"{directory}: {MANIFEST} cannot be read as a manifest") from None
    present = {str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file()}
    for name in sorted(present - set(files) - {MANIFEST}):
        raise BrokenBundleError(f"{directory}: {name} does not stand in the manifest")
    for name, digest in files.items():
        if name not in present:
            raise BrokenBundleError(f"{directory}: {name} is missing")
        if _digest(directory / name) != digest:
            raise BrokenBundleError(f"{directory}: {name} is not the file that the manifest describes")
    return dict(manifest)


def save_map(id_map: pl.DataFrame, path: str | Path) -> None:
    """The private map from original to released users, readable by its owner alone."""
    path = Path(path)
    with _os_errors(path):
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
        "publishable": not release.seeded,
        "kind": rows.kind,
        "unit": rows.unit,
        "time": release.time,
        "schema": [{"name": name, "type": str(kind)} for name, kind in schema.items()],
        "notes": dict(release.notes),
    }


def _entry(path: Path, within: Path) -> dict[str, Any]:
    return {"name": path.relative_to(within).as_posix(), "sha256": _digest(path), "bytes": path.stat().st_size}


def _digest(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


@contextmanager
def _whole(directory: Path) -> Iterator[Path]:
    """A directory to fill that takes its place only once it is complete."""
    with _os_errors(directory):
        directory.parent.mkdir(parents=True, exist_ok=True)
        part = directory.with_name(f".{directory.name}.{secrets.token_hex(4)}.part")
        try:
            part.mkdir()
            yield part
            for file in filter(Path.is_file, part.rglob("*")):
                with file.open("rb") as handle:
                    os.fsync(handle.fileno())
            if directory.exists():
                old = directory.with_name(f".{directory.name}.{secrets.token_hex(4)}.old")
                directory.rename(old)
                try:
                    part.rename(directory)
                except OSError:
                    old.rename(directory)
                    raise
                shutil.rmtree(old)
            else:
                part.rename(directory)
        finally:
            with suppress(OSError):
                shutil.rmtree(part)


@contextmanager
def _os_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RecveilError(f"{target} cannot be written: {error.strerror or error}") from None
