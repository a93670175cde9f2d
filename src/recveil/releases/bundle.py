"""The bundle: a directory with data, manifest.json and README.md, written whole or not at all; verified by hashes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from recveil.data import Interactions, concat
from recveil.errors import RecveilError
from recveil.formats import read, write
from recveil.formats.files import written
from recveil.formats.sources import one_line
from recveil.guarantee import Guarantee, from_record
from recveil.mechanisms import spec
from recveil.releases.card import DECIDED, card
from recveil.releases.claims import CLAIMS, claim
from recveil.releases.croissant import CROISSANT, croissant
from recveil.releases.places import Folder, Place, whole
from recveil.releases.release import Release
from recveil.releases.signing import Signer

Format = Literal["parquet", "csv", "inter", "itemsets"]
MANIFEST, CARD, TABLES = "manifest.json", "README.md", "tables"
SERIES, BUNDLES = "series.json", "bundles"  # an owner's series: what is settled, and beside it what is for recipients
TITLES = "items.parquet"  # public names of items, where the owner declared that they may be published
DERIVED = ("datapackage.json", "dataset-metadata.json")  # what `recveil export` adds for others, out of the manifest


@dataclass(frozen=True)
class Bundle:
    """A published release as it stands on disk."""

    data: Interactions
    manifest: dict[str, Any]
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    titles: pl.DataFrame | None = None

    @property
    def guarantee(self) -> Guarantee:
        return from_record(self.manifest["guarantee"])

    def frame(self) -> pl.DataFrame:
        """The released rows."""
        return self.data.frame()

    def to_pandas(self) -> Any:
        return self.frame().to_pandas()

    def __repr__(self) -> str:
        return f"Bundle({self.data!r} by {self.manifest['spec']})\n{self.guarantee.sentence}"


class BrokenBundleError(RecveilError):
    """A bundle whose parts do not belong together."""


def save(
    release: Release,
    place: str | Path | Place,
    *,
    format: Format = "parquet",
    force: bool = False,
    licence: str | None = None,
    sign: Signer | None = None,
) -> dict[str, Any]:
    """Write a bundle and return its manifest. An existing directory is refused unless `force` is given.

    `licence` is what recipients may do with it; with `sign` the bundle carries the claim that this key released it.
    """
    rows = release.data

    def put(part: Place) -> dict[str, int]:
        with part.here() as folder:
            write(rows, folder / f"data.{format}", format=format, time="order" if release.time == "order" else "time")
            for name, table in release.tables.items():
                (folder / TABLES).mkdir(exist_ok=True)
                with one_line(f"{TABLES}/{name}.parquet of the bundle", "written"):
                    table.write_parquet(folder / TABLES / f"{name}.parquet", compression="zstd", statistics=False)
        return {"rows": len(rows), "users": rows.n_users, "items": rows.n_items}

    return save_parts(release, placed(place), put, force=force, licence=licence, sign=sign)


def save_parts(
    release: Release,
    place: Place,
    put: Callable[[Place], dict[str, int]],
    *,
    force: bool = False,
    licence: str | None = None,
    sign: Signer | None = None,
) -> dict[str, Any]:
    """A bundle whose data `put` writes into a folder, as one file or as many; it says how many rows, users and items.

    Of release.data only the columns count.
    """
    check_writable(place, force)
    with whole(place) as part:
        manifest = _manifest(release, licence) | put(part)
        if release.titles is not None:
            with part.here() as folder, one_line(f"{TITLES} of the bundle", "written"):
                release.titles.write_parquet(folder / TITLES, compression="zstd", statistics=False)
        manifest["files"] = part.entries()
        (part / CARD).write(said := card(manifest, release.mechanism))
        (part / CROISSANT).write(described := _json(croissant(manifest)))
        manifest["files"] += [_entry(CARD, said), _entry(CROISSANT, described)]
        manifest["files"].sort(key=lambda entry: _rank(entry["name"]))
        (part / MANIFEST).write(stated := _json(manifest))
        if sign is not None:
            digests = digests_of(manifest) | {MANIFEST: _entry(MANIFEST, stated)["sha256"]}
            (part / CLAIMS).write(claim("released", digests, released_facts(manifest), sign) + "\n")
    return manifest


def released_facts(manifest: dict[str, Any]) -> dict[str, Any]:
    """What the owner says in releasing: nothing that the manifest does not say."""
    return {name: manifest[name] for name in ("spec", "guarantee", "seeded", "recveil", "series") if name in manifest}


def digests_of(manifest: dict[str, Any]) -> dict[str, str]:
    """The hashes of the files that the manifest describes."""
    return {str(entry["name"]): str(entry["sha256"]) for entry in manifest["files"]}


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _entry(name: str, text: str) -> dict[str, Any]:
    content = text.encode()
    return {"name": name, "sha256": sha256(content).hexdigest(), "bytes": len(content)}


def check_writable(place: Place, force: bool) -> None:
    """Raise where something stands in the way of a bundle."""
    if not place.exists():
        return
    if not force:
        raise RecveilError(f"{place} exists already; choose another place, or --force (force=True) replaces it")
    if not (place / MANIFEST).exists():
        raise RecveilError(f"{place} is not a bundle, so --force (force=True) does not replace it")


def load(directory: str | Path) -> Bundle:
    """A bundle from disk, after verifying it."""
    manifest = verify(directory)
    text = {column["name"] for column in manifest["schema"] if column["type"] == "String"}
    types: Any = dict.fromkeys(text & {"item", "tag"}, "text")
    data = concat([read(Path(directory) / name, duplicates="all", types=types) for name in data_files(manifest)])
    check_stated(directory, manifest, len(data), data.n_users, data.n_items)
    tables = {
        file.stem: pl.read_parquet(file, glob=False) for file in sorted(Path(directory, TABLES).glob("*.parquet"))
    }
    titles = pl.read_parquet(Path(directory, TITLES), glob=False) if manifest.get("titles") else None
    return Bundle(data, manifest, tables, titles)


def verify(place: str | Path | Place) -> dict[str, Any]:
    """Prove that the files and the manifest of a bundle belong together; its manifest, or BrokenBundleError."""
    return verified_digests(place)[0]


def verified_digests(place: str | Path | Place) -> tuple[dict[str, Any], dict[str, str]]:
    """The manifest as `verify` gives it, and the hashes of all files that claims speak of."""
    place = placed(place)
    if not place.exists():
        raise RecveilError(f"{place}: there is no such directory")
    try:
        manifest = json.loads((place / MANIFEST).read())
        files = digests_of(manifest)
        from_record(manifest["guarantee"])
        for name in ("rows", "users", "items"):
            int(manifest[name])
        for name in ("recveil", "spec", "kind", "unit", "seeded", "schema"):
            manifest[name]
    except (FileNotFoundError, NotADirectoryError):
        series = f"; recveil series verify {place} looks at all of its windows" * (place / SERIES).exists()
        raise RecveilError(f"{place} is not a bundle: it has no {MANIFEST}{series}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise BrokenBundleError(f"{place}: {MANIFEST} cannot be read as a manifest") from None
    present = {entry["name"]: entry["sha256"] for entry in place.entries()}
    for name in sorted(set(present) - set(files) - {MANIFEST, CLAIMS, *DERIVED}):
        raise BrokenBundleError(f"{place}: {name} does not stand in the manifest")
    for name, digest in files.items():
        if name not in present:
            raise BrokenBundleError(f"{place}: {name} is missing")
        if present[name] != digest and not (name == CARD and _is_card(place, digest, present[name])):
            raise BrokenBundleError(f"{place}: {name} is not the file that the manifest describes")
    return dict(manifest), files | {MANIFEST: present[MANIFEST]}


def _is_card(place: Place, digest: str, whole_digest: str) -> bool:
    """Whether a card is the one that was released, with what was decided after it; governance checks that part."""
    try:
        text = (place / CARD).read()
    except (OSError, ValueError):
        return False
    own, mark, _ = text.partition(DECIDED)
    return bool(mark) and [sha256(part.encode()).hexdigest() for part in (own, text)] == [digest, whole_digest]


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
    with written(path, private=True) as file:
        id_map.write_csv(file)


def _manifest(release: Release, licence: str | None) -> dict[str, Any]:
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
        "chosen_on_data": release.chosen_on_data,
        "kind": rows.kind,
        "unit": rows.unit,
        "time": release.time,
        "schema": [{"name": name, "type": str(kind)} for name, kind in schema.items()],
        **({"schema_from": release.schema_from} if release.schema_from else {}),
        **({"series": dict(release.series)} if release.series else {}),
        "notes": dict(release.notes),
        **({"licence": licence} if licence else {}),
        **({"tables": [_table(name, table) for name, table in release.tables.items()]} if release.tables else {}),
        **({} if release.titles is None else {"titles": _table("titles", release.titles)["schema"]}),
    }


def _table(name: str, table: pl.DataFrame) -> dict[str, Any]:
    return {"name": name, "schema": [{"name": column, "type": str(kind)} for column, kind in table.schema.items()]}


def _rank(name: str) -> tuple[int, str]:
    """The order of the files in a manifest: data, card and description, tables and titles."""
    return (1 if name in (CARD, CROISSANT) else 2 if name.startswith(f"{TABLES}/") or name == TITLES else 0, name)
