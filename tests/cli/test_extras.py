"""Tools of others open our bundles unchanged: mlcroissant, datasets, frictionless, offline (make test-extras)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from recveil.data import from_ids
from recveil.formats.writing import Format
from recveil.governance.export import export
from recveil.mechanisms import Pseudonymise
from recveil.mechanisms.spec import parse
from recveil.releases.bundle import save
from recveil.releases.catalogue import Catalogue
from recveil.releases.keys import load_key, new_key
from recveil.releases.release import release

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("default")]


def bundle(folder: Path, kind: str = "ratings", format: Format = "parquet") -> pl.DataFrame:
    """A signed bundle of ratings, of clicks in their order, or of texts; its rows."""
    rng = np.random.default_rng(1)
    user, item = pl.Series(rng.integers(0, 50, 400)), pl.Series(rng.integers(0, 40, 400))
    data = {
        "ratings": lambda: from_ids(user, pl.Series([f"film, no. {i}" for i in item]), rng.integers(1, 6, 400)),
        "clicks": lambda: from_ids(user, item, time=np.arange(400)),
    }[kind]()
    key = folder.with_suffix(".key")
    new_key(key)
    save(release(data, Pseudonymise()), folder, format=format, licence="CC-BY-4.0", sign=load_key(key))
    read = {"parquet": pl.read_parquet, "csv": pl.read_csv}[format]
    return read(folder / f"data.{format}")


def plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def croissant_rows(folder: Path, name: str) -> list[tuple[Any, ...]]:
    mlcroissant = pytest.importorskip("mlcroissant")
    found = mlcroissant.Dataset(folder / "croissant.json")
    assert not found.metadata.ctx.issues.errors
    return [tuple(plain(value) for value in row.values()) for row in found.records(name)]


@pytest.mark.parametrize(("kind", "format"), [("ratings", "parquet"), ("clicks", "parquet"), ("ratings", "csv")])
def test_mlcroissant_loads_the_records(tmp_path: Path, kind: str, format: Format) -> None:
    rows = bundle(tmp_path / "out", kind, format)
    assert croissant_rows(tmp_path / "out", kind) == rows.rows()


def test_mlcroissant_loads_parts_and_tables(tmp_path: Path) -> None:
    rows = bundle(tmp_path / "out")
    (tmp_path / "out" / "data").mkdir()
    for number in range(3):
        rows[number::3].write_parquet(tmp_path / "out" / "data" / f"part-{number:05d}.parquet")
    (tmp_path / "out" / "data.parquet").unlink()
    import json

    from recveil.releases.croissant import croissant
    from recveil.releases.places import Folder

    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    manifest["files"] = [e for e in Folder(tmp_path / "out").entries() if e["name"].startswith("data")]
    (tmp_path / "out" / "croissant.json").write_text(json.dumps(croissant(manifest)))
    assert sorted(croissant_rows(tmp_path / "out", "ratings")) == sorted(rows.rows())


def test_tables_beside_the_rows_are_described(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    tag = pl.Series([f"t{t}" for t in rng.integers(0, 5, 3000)])
    data = from_ids(pl.Series(rng.integers(0, 300, 3000)), pl.Series(rng.integers(0, 8, 3000)), tag=tag)
    lists = Catalogue(items=data.items, tags=data.tags, is_public=True)
    save(release(data, parse("dp-tags:epsilon=8"), catalogue=lists), tmp_path / "out")
    tables = sorted((tmp_path / "out" / "tables").glob("*.parquet"))
    assert tables
    for table in tables:
        assert len(croissant_rows(tmp_path / "out", table.stem)) == pl.read_parquet(table).height


@pytest.mark.parametrize(("kind", "format"), [("ratings", "parquet"), ("clicks", "parquet"), ("ratings", "csv")])
def test_datasets_loads_the_exported_folder_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, format: Format
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    datasets = pytest.importorskip("datasets")
    rows = bundle(tmp_path / "out", kind, format)
    export(tmp_path / "out", "huggingface", tmp_path / "hub")
    found = datasets.load_dataset(str(tmp_path / "hub"), cache_dir=str(tmp_path / "cache"))
    assert list(found) == ["train"]
    assert pl.DataFrame(found["train"].to_dict()).rows() == rows.rows()


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_frictionless_calls_the_package_valid(tmp_path: Path, format: Format) -> None:
    frictionless = pytest.importorskip("frictionless")
    rows = bundle(tmp_path / "out", format=format)
    export(tmp_path / "out", "frictionless", tmp_path / "package")
    done = frictionless.validate(str(tmp_path / "package" / "datapackage.json"))
    assert done.valid, done.flatten(["type", "message"])
    assert done.stats["tasks"] == 1 and done.tasks[0].stats["rows"] == rows.height
    if format == "csv":
        (tmp_path / "package" / "data.csv").write_text((tmp_path / "package" / "data.csv").read_text() + "x,y,z\n")
        assert not frictionless.validate(str(tmp_path / "package" / "datapackage.json")).valid
