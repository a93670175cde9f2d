"""export(): a verified bundle as the folder or file that somebody else's tool opens. No row, hash or claim changes.

csv: NAME.csv, and items.csv where titles travel. huggingface: the bundle itself, whose card has the head that the hub
reads. recbole: NAME/NAME.inter. kaggle: the bundle
with dataset-metadata.json. frictionless: the bundle with datapackage.json. zip: the bundle in one file.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from recveil.errors import RecveilError, unknown
from recveil.formats import read
from recveil.formats.writing import write_frame
from recveil.governance.decision_card import check_card
from recveil.releases.bundle import CARD, MANIFEST, TITLES, data_files, placed, verified_digests
from recveil.releases.card import DECIDED
from recveil.releases.claims import CLAIMS, check, text_of
from recveil.releases.croissant import ABOUT
from recveil.releases.licences import LICENCES, licence_url
from recveil.releases.places import Folder, Place, check_vacant, os_errors, whole

EPOCH = (1980, 1, 1, 0, 0, 0)  # the date of every file in a zip: the same bundle is the same zip
TYPES = {"Int": "integer", "Float": "number", "String": "string"}


def export(bundle: str | Path | Place, to: str, out: str | Path) -> dict[str, Any]:
    """Write a bundle to a new place in the form of `to`; what was written and what the owner should know."""
    if to not in TARGETS:
        raise unknown("--to", to, TARGETS)
    target = Folder(Path(out))
    check_vacant(target)
    source = placed(bundle)
    manifest, digests = verified_digests(source)
    if DECIDED in (source / CARD).read():
        stray, _ = check_card(source, manifest, check(text_of(source / CLAIMS), digests))
        if stray:
            raise RecveilError(f"{stray[0]}; nothing is exported")
    if manifest["seeded"]:
        raise RecveilError(
            f"{source} was made with a seed: an experiment is not for publication, so it is not exported"
        )
    with fetched(source) as folder:
        if to == "zip":
            with os_errors(target):
                _zip(folder, target.path)
        else:
            with whole(target) as part:
                TARGETS[to](folder, part.path, manifest, target.path.name)
    files = [target.path.name] if to == "zip" else target.names()
    return {"to": to, "out": str(out), "files": files, "remarks": _remarks(to, manifest)}


@contextmanager
def fetched(source: Place) -> Iterator[Path]:
    """The folder of a bundle on this machine: itself, or a copy of what lies in a lake."""
    if isinstance(source, Folder):
        yield source.path
        return
    with TemporaryDirectory() as copy:
        source.fetch(Path(copy))
        yield Path(copy)


def _as_it_is(folder: Path, part: Path, manifest: dict[str, Any], name: str) -> None:  # noqa: ARG001
    if not data_files(manifest)[0].endswith((".parquet", ".csv")):
        raise RecveilError("only parquet and csv are read there; release it with --format parquet, or use --to recbole")
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        copy = part / file.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)


def _recbole(folder: Path, part: Path, manifest: dict[str, Any], name: str) -> None:
    files = [folder / file for file in data_files(manifest)]
    if files[0].suffix == ".inter":
        shutil.copyfile(files[0], part / f"{name}.inter")
    elif files[0].suffix == ".parquet":
        write_frame(pl.read_parquet(files, glob=False), str(part / f"{name}.inter"), "inter")
    else:
        rows = read(files[0], duplicates="all")
        order = "order" if manifest["time"] == "order" else "time"
        frame = rows.frame().rename({"user": rows.unit, "time": order}, strict=False)
        write_frame(frame, str(part / f"{name}.inter"), "inter")
    if manifest.get("titles"):
        titles = pl.read_parquet(folder / TITLES, glob=False).with_columns(pl.col("title").str.replace_all(r"\s+", " "))
        head = {"item": "item_id:token", "title": "title:token_seq"}
        titles.rename(head).write_csv(part / f"{name}.item", separator="\t", quote_style="never")
    for file in (CARD, MANIFEST):
        shutil.copyfile(folder / file, part / file)


def _csv(folder: Path, part: Path, manifest: dict[str, Any], name: str) -> None:
    files = [folder / file for file in data_files(manifest)]
    if files[0].suffix == ".parquet":
        write_frame(pl.read_parquet(files, glob=False), str(part / f"{name}.csv"), "csv")
    elif files[0].suffix == ".csv":
        shutil.copyfile(files[0], part / f"{name}.csv")
    else:
        write_frame(read(files[0], duplicates="all").frame(), str(part / f"{name}.csv"), "csv")
    if manifest.get("titles"):
        write_frame(pl.read_parquet(folder / TITLES, glob=False), str(part / "items.csv"), "csv")
    for file in (CARD, MANIFEST):
        shutil.copyfile(folder / file, part / file)


def _kaggle(folder: Path, part: Path, manifest: dict[str, Any], name: str) -> None:
    _as_it_is(folder, part, manifest, name)
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    slug = slug if len(slug) >= 6 else f"recveil-{slug}".strip("-")  # Kaggle wants 6 to 50 letters
    licence = LICENCES.get(manifest.get("licence", ""), ("", "other"))[1]
    document = {
        "title": slug[:50].replace("-", " "),
        "id": f"INSERT_YOUR_NAME_HERE/{slug[:50].strip('-')}",
        "licenses": [{"name": licence}],
        "resources": _resources(manifest),
    }
    _put(part / "dataset-metadata.json", document)


def _frictionless(folder: Path, part: Path, manifest: dict[str, Any], name: str) -> None:
    _as_it_is(folder, part, manifest, name)
    _put(part / "datapackage.json", datapackage(manifest))


def datapackage(manifest: dict[str, Any]) -> dict[str, Any]:
    """A bundle as a Frictionless data package."""
    document: dict[str, Any] = {
        "profile": "data-package",
        "name": f"recveil-{manifest['mechanism']}-{manifest['kind']}",
        "title": f"A release of {manifest['kind']} by {manifest['mechanism']}",
        "description": manifest["guarantee"]["sentence"],
        "resources": _resources(manifest),
    }
    if licence := manifest.get("licence"):
        document["licenses"] = [{"name": licence, **({"path": licence_url(licence)} if licence in LICENCES else {})}]
    return document


def _resources(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    entries = {entry["name"]: entry for entry in manifest["files"]}
    tables = {f"tables/{table['name']}.parquet": table["schema"] for table in manifest.get("tables", ())}
    titles = {TITLES: manifest["titles"]} if manifest.get("titles") else {}
    schemas = {**dict.fromkeys(data_files(manifest), manifest["schema"]), **tables, **titles}
    return [
        {
            "name": re.sub(r"[^a-z0-9]+", "-", name.lower()),
            "path": name,
            "format": name.rpartition(".")[2],
            **(_counted(entries[name]) if name.endswith(".csv") else {}),
            "schema": {"fields": [_field(column) for column in schema]},
        }
        for name, schema in schemas.items()
    ]


def _counted(entry: dict[str, Any]) -> dict[str, Any]:
    """Frictionless counts the bytes of text alone, and calls any other file that states them invalid."""
    return {"bytes": entry["bytes"], "hash": f"sha256:{entry['sha256']}"}


def _field(column: dict[str, str]) -> dict[str, str]:
    kind = next((word for start, word in TYPES.items() if start in column["type"]), "any")
    return {"name": column["name"], "type": kind, "description": ABOUT.get(column["name"], column["name"])}


def _zip(folder: Path, target: Path) -> None:
    part = target.with_name(f".{target.name}.part")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with zipfile.ZipFile(part, "x", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(p for p in folder.rglob("*") if p.is_file()):
                name = file.relative_to(folder).as_posix()
                packed = name.endswith(".parquet")  # compressed already
                info = zipfile.ZipInfo(name, EPOCH)
                info.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
                info.external_attr = 0o644 << 16
                with file.open("rb") as content, archive.open(info, "w", force_zip64=True) as packed_file:
                    shutil.copyfileobj(content, packed_file, 1 << 20)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _put(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _remarks(to: str, manifest: dict[str, Any]) -> list[str]:
    found = []
    if manifest["guarantee"]["status"] != "proved":
        found.append(f"this release carries no proved promise: {manifest['guarantee']['sentence']}")
    if not manifest.get("licence") and to != "recbole":
        found.append("it names no licence, so nobody knows what they may do with it: release with --licence")
    if to in ("recbole", "csv"):
        found.append("it holds the rows alone: hashes and claims are about the bundle, which stays the original")
    if to == "kaggle":
        found.append("put your Kaggle name into dataset-metadata.json before you upload the folder")
    return found


TARGETS: dict[str, Callable[[Path, Path, dict[str, Any], str], None]] = {
    "huggingface": _as_it_is,
    "csv": _csv,
    "recbole": _recbole,
    "kaggle": _kaggle,
    "frictionless": _frictionless,
    "zip": _as_it_is,
}
