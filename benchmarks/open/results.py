"""Results: a JSON document for each data set in docs/kept/open, its cells, and which of them are old; signatures.

A cell knows the hashes of the files that its figures hang on: the benchmark's own, the method's, and those that the
method names in CODE. One whose files have changed since is old: it is marked on the page, and run again.
"""

from __future__ import annotations

import json
import platform
from base64 import b64decode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import recveil
from recveil.errors import RecveilError
from recveil.formats.files import write_text
from recveil.releases.keys import load_key
from recveil.releases.signing import seal, unseal

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
KEPT = PROJECT / "docs" / "kept" / "open"
SIGNATURES = "signatures.jsonl"
PUBLIC_KEY = "public_key.pem"
LEFT_OUT = "left out"  # a cell that nobody has begun: its reason stands on the page, and it is run as soon as asked for
OF_ALL = ("benchmarks/open/protocols.py", "benchmarks/open/judges.py")
OF_ATTACKS = ("benchmarks/open/protocols.py", "src/recveil/evaluation/attacks/shadow.py")
LIBRARIES = ("numpy", "scipy", "polars", "numba", "implicit", "dp-accounting", "torch", "sdv", "mostlyai-engine")

Cell = dict[str, Any]
Key = tuple[str, str, float | None, int]  # kind, method, epsilon, split


def methods() -> dict[str, Any]:
    """Every file of methods/, by its name."""
    names = sorted(p.stem for p in (HERE / "methods").glob("*.py") if not p.stem.startswith("_"))
    return {name: import_module(f"methods.{name}") for name in names}


def code_of(name: str, module: Any, kind: str) -> dict[str, str]:
    """Files that a figure hangs on, with the beginnings of their hashes."""
    files = [*(OF_ATTACKS if kind == "attack" else OF_ALL), f"benchmarks/open/methods/{name}.py"]
    for place in getattr(module, "CODE", ()):
        path = PROJECT / "src" / "recveil" / place
        found = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        files += [str(p.relative_to(PROJECT)) for p in found]
    return {file: digest(PROJECT / file) for file in files if (PROJECT / file).is_file()}


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()[:12]


def key(cell: Cell) -> Key:
    return cell["kind"], cell["method"], cell["epsilon"], cell["split"]


class Document:
    """What is known of one data set, from these files of it: cells of other files are gone."""

    def __init__(self, folder: Path, name: str, files: Mapping[str, str]) -> None:
        self.path, self.files = folder / f"{name}.json", dict(files)
        self.content: dict[str, Any] = {"data": name, "cells": [], "code": {}}
        self.about: dict[str, Any] = {}
        self.read()

    def read(self) -> None:
        """What is in the file now: another run may have added to it."""
        if not self.path.is_file():
            return
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
            usable = found["files"] == self.files and all(cell["code"] in found["code"] for cell in found["cells"])
        except (ValueError, TypeError, LookupError):
            usable = False
        if usable:
            self.content |= found
        else:
            print(f"{self.path.name} is of other files or of an older form: made anew", flush=True)
            self.path.rename(self.path.with_suffix(".old"))

    def has(self, wanted: Key, code: dict[str, str], thin: int | None) -> bool:
        """Whether the cell is there, made by this code."""
        for cell in self.content["cells"]:
            if key(cell) == wanted and cell.get("thin") == thin and cell["status"] != LEFT_OUT:
                return bool(self.content["code"].get(cell["code"]) == code)
        return False

    def put(self, cell: Cell, code: dict[str, str]) -> None:
        """A new cell in place of an old one, and the whole document written."""
        self.read()
        self._put([(cell, code)])

    def leave(self, cells: Sequence[tuple[Cell, dict[str, str]]]) -> int:
        """Why these are missing, and how many they are; where there is an older one, it stays."""
        self.read()
        known = {key(c) for c in self.content["cells"] if c["status"] != LEFT_OUT}
        missing = [(cell, code) for cell, code in cells if key(cell) not in known]
        self._put(missing)
        return len(missing)

    def _put(self, new: Sequence[tuple[Cell, dict[str, str]]]) -> None:
        replaced = {key(cell) for cell, _ in new}
        cells = [c for c in self.content["cells"] if key(c) not in replaced]
        for cell, code in new:
            name = sha256(json.dumps(code, sort_keys=True).encode()).hexdigest()[:12]
            self.content["code"][name] = code
            cells.append({**cell, "code": name})
        self.content["cells"] = sorted(cells, key=lambda c: (*key(c)[:2], key(c)[2] or 0, key(c)[3]))
        used = {cell["code"] for cell in self.content["cells"]}
        self.content["code"] = {n: files for n, files in self.content["code"].items() if n in used}
        known = self.content.get("libraries", {}) | libraries()  # those of heavy methods are not in every environment
        self.content |= {"version": recveil.__version__, "libraries": known, "python": platform.python_version()}
        write_json(self.path, {**self.content, **self.about})


def libraries() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(_short(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def _short(value: Any) -> Any:
    """Four digits are enough of every figure."""
    if isinstance(value, dict):
        return {name: _short(v) for name, v in value.items()}
    if isinstance(value, list):
        return [_short(v) for v in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def sign(folder: Path, key_file: Path) -> str:
    """An envelope for each document, by this key; the key's public half beside them; and its fingerprint."""
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    signer = load_key(key_file)
    public = Ed25519PublicKey.from_public_bytes(b64decode(signer.public))
    text = public.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo).decode()
    write_text(folder / PUBLIC_KEY, text)
    lines = []
    for path in sorted(folder.glob("*.json")):
        subject = [{"name": path.name, "digest": {"sha256": sha256(path.read_bytes()).hexdigest()}}]
        statement = {"_type": "https://in-toto.io/Statement/v1", "subject": subject}
        lines.append(seal({**statement, "predicateType": "recveil/open-benchmark", "predicate": {}}, signer))
    write_text(folder / SIGNATURES, "\n".join(lines) + "\n")
    return signer.fingerprint


def signed(folder: Path) -> dict[str, str]:
    """By file the fingerprint of the key that signed it as it is now."""
    path, found = folder / SIGNATURES, {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            opened = unseal(line)
        except RecveilError:
            continue
        (subject,) = opened.statement["subject"]
        file = folder / subject["name"]
        if file.is_file() and sha256(file.read_bytes()).hexdigest() == subject["digest"]["sha256"]:
            found[subject["name"]] = opened.fingerprint
    return found
