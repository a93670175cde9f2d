"""Bundles as others open them: what can be checked without their tools. test_extras.py has the tools themselves."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from test_contracts import fitting, mechanism

from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.formats.writing import FORMATS, Format
from recveil.governance.export import TARGETS, export
from recveil.mechanism import PublicInfo
from recveil.mechanisms import MECHANISMS, Pseudonymise
from recveil.mechanisms.spec import text
from recveil.releases.bundle import load, save, verify
from recveil.releases.card import head
from recveil.releases.release import release

Run = Callable[..., Any]


def ratings() -> Interactions:
    rng = np.random.default_rng(0)
    item = pl.Series([f'film "{i}", cut' for i in rng.integers(0, 40, 500)])
    return from_ids(pl.Series(rng.integers(0, 60, 500)), item, rng.integers(1, 6, 500))


@pytest.mark.parametrize("format", ["parquet", "csv", "inter"])
def test_a_reader_in_the_manner_of_recbole_reads_the_rows(tmp_path: Path, format: Format) -> None:
    save(release(ratings(), Pseudonymise()), tmp_path / "out", format=format)
    made = export(tmp_path / "out", "recbole", tmp_path / "films")
    assert "films.inter" in made["files"]
    table = pd.read_csv(tmp_path / "films" / "films.inter", delimiter="\t")
    kinds = dict(column.split(":") for column in table.columns)
    assert kinds == {"user_id": "token", "item_id": "token", "rating": "float"}
    frame = load(tmp_path / "out").data.frame()
    assert table["item_id:token"].to_list() == frame["item"].to_list()
    assert table["user_id:token"].to_list() == frame["user"].to_list()
    assert table["rating:float"].to_list() == frame["rating"].to_list()


@pytest.mark.parametrize("to", [to for to in TARGETS if to not in ("csv", "recbole", "zip")])
def test_an_exported_bundle_is_still_the_bundle(tmp_path: Path, to: str) -> None:
    save(release(ratings(), Pseudonymise()), tmp_path / "out", licence="CC-BY-4.0")
    export(tmp_path / "out", to, tmp_path / "there")
    assert verify(tmp_path / "there") == verify(tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        assert (tmp_path / "there" / file.name).read_bytes() == file.read_bytes()


def test_a_name_that_looks_like_a_pattern_is_a_name(tmp_path: Path, recveil: Run) -> None:
    out = tmp_path / "log [1] {a,b}*"
    titles = pl.DataFrame({"item": ratings().items, "title": ratings().items})
    save(replace(release(ratings(), Pseudonymise()), titles=titles), out)
    assert recveil("verify", str(out), json_answer=True)["verified"]
    assert load(out).titles is not None
    for to in ("csv", "recbole"):
        assert export(out, to, tmp_path / to)["files"]


@pytest.mark.parametrize("format", ["parquet", "csv", "inter"])
def test_a_csv_has_the_rows_whatever_the_bundle_is_kept_as(tmp_path: Path, format: Format) -> None:
    save(release(ratings(), Pseudonymise()), tmp_path / "out", format=format)
    made = export(tmp_path / "out", "csv", tmp_path / "films")
    assert sorted(made["files"]) == ["README.md", "films.csv", "manifest.json"]
    frame, table = load(tmp_path / "out").frame(), pl.read_csv(tmp_path / "films" / "films.csv", infer_schema=False)
    for column in [name for name in ("item", "rating") if name in frame.columns]:
        assert sorted(table[column]) == sorted(frame[column].cast(pl.Float64 if column == "rating" else pl.String)
                                               .cast(pl.String)), column  # fmt: skip
    assert len(table) == len(frame) and any("rows alone" in line for line in made["remarks"])


def test_titles_travel_beside_a_csv(tmp_path: Path, recveil: Run) -> None:
    (tmp_path / "shop.csv").write_text(
        "user,item\n" + "".join(f"u{u},i{(u + k) % 9}\n" for u in range(30) for k in range(4))
    )
    (tmp_path / "items.csv").write_text("item,title\n" + "".join(f'i{i},"Thing, {i}"\n' for i in range(9)))
    recveil("release", "shop.csv", "--with", "pseudonymise", "-o", "out", "--items", "items.csv", "--publish-titles",
            "--catalogue-is-public")  # fmt: skip
    assert "items.csv" in export(tmp_path / "out", "csv", tmp_path / "shop")["files"]
    assert "Thing, 3" in set(pl.read_csv(tmp_path / "shop" / "items.csv")["title"])


def test_kaggle_and_frictionless_have_their_descriptions(tmp_path: Path) -> None:
    save(release(ratings(), Pseudonymise()), tmp_path / "out", licence="CC-BY-4.0", format="csv")
    export(tmp_path / "out", "kaggle", tmp_path / "my films")
    found = json.loads((tmp_path / "my films" / "dataset-metadata.json").read_text())
    assert found["licenses"] == [{"name": "CC-BY-4.0"}] and found["id"].endswith("/my-films")
    assert [field["type"] for field in found["resources"][0]["schema"]["fields"]] == ["integer", "string", "number"]
    export(tmp_path / "out", "frictionless", tmp_path / "package")
    package = json.loads((tmp_path / "package" / "datapackage.json").read_text())
    entry = next(e for e in verify(tmp_path / "out")["files"] if e["name"] == "data.csv")
    assert package["resources"][0]["hash"] == f"sha256:{entry['sha256']}"


def test_the_same_bundle_is_the_same_zip(tmp_path: Path) -> None:
    save(release(ratings(), Pseudonymise()), tmp_path / "out")
    export(tmp_path / "out", "zip", tmp_path / "one.zip")
    export(tmp_path / "out", "zip", tmp_path / "deep" / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "deep" / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        archive.extractall(tmp_path / "unpacked")
    assert verify(tmp_path / "unpacked") == verify(tmp_path / "out")


def test_what_cannot_be_exported_is_said(recveil: Run, tmp_path: Path) -> None:
    save(release(ratings(), Pseudonymise(), seed=1), tmp_path / "seeded")
    assert "not exported" in recveil("export", "seeded", "--to", "zip", "-o", "x.zip", code=1).stderr
    save(release(ratings(), Pseudonymise()), tmp_path / "out", format="inter")
    assert "only parquet and csv" in recveil("export", "out", "--to", "kaggle", "-o", "x", code=1).stderr
    assert "unknown --to" in recveil("export", "out", "--to", "moon", "-o", "x", code=1).stderr
    assert not (tmp_path / "x").exists()
    done = recveil("export", "out", "--to", "recbole", "-o", "x")
    assert "no proved promise" in done.stderr
    assert "exists already" in recveil("export", "out", "--to", "recbole", "-o", "x", code=1).stderr
    (tmp_path / "out" / "data.inter").write_text("changed")
    with pytest.raises(RecveilError, match="is not the file"):
        export(tmp_path / "out", "recbole", tmp_path / "y")


@pytest.mark.parametrize("format", FORMATS)
def test_croissant_describes_every_format(tmp_path: Path, format: Format) -> None:
    data = from_ids(pl.Series([1, 1, 2]), pl.Series([1, 2, 2])) if format == "itemsets" else ratings()
    manifest = save(release(data, Pseudonymise()), tmp_path / "out", format=format, licence="Ask us")
    found = json.loads((tmp_path / "out" / "croissant.json").read_text())
    data = next(e for e in manifest["files"] if e["name"].startswith("data"))
    assert [(o["@id"], o["sha256"]) for o in found["distribution"]] == [(data["name"], data["sha256"])]
    columns = [f["source"]["extract"]["column"] for r in found["recordSet"] for f in r["field"]]
    with (tmp_path / "out" / data["name"]).open("rb") as file:
        start = file.readline().decode(errors="replace").strip()
    expected = {"csv": start.split(","), "inter": start.split("\t"), "itemsets": []}
    assert columns == expected.get(format, ["user", "item", "rating"])
    assert found["license"] == "Ask us"
    assert found["rv:guarantee"]["rv:status"] == "none"


def test_the_head_of_the_card(tmp_path: Path) -> None:
    manifest = save(release(ratings(), Pseudonymise()), tmp_path / "out", licence="CC-BY-4.0")
    lines = head(manifest)
    assert (tmp_path / "out" / "README.md").read_text().startswith("\n".join(lines))
    assert "license: cc-by-4.0" in lines and 'size_categories: ["n<1K"]' in lines
    for rows, words in ((999, "n<1K"), (1000, "1K<n<10K"), (10**6, "1M<n<10M"), (10**12, "n>1T")):
        assert f'size_categories: ["{words}"]' in head(manifest | {"rows": rows})
    assert "license: other" in head(manifest | {"licence": "Ask us"})


# --- nothing of the private data in what is published ---------------------------------------------------------------


def proved() -> list[str]:
    """The mechanisms of the catalogue that prove something, as the contract tests take them."""

    def promise(name: str) -> str:
        data = fitting(name)
        return mechanism(name).guarantee(PublicInfo(data.kind, data.unit, data.items, data.tags, True)).status

    return [name for name in sorted(MECHANISMS) if promise(name) == "proved"]


@pytest.mark.parametrize("name", proved())
def test_what_is_written_about_a_release_follows_from_the_release(tmp_path: Path, name: str) -> None:
    """Card, croissant.json and manifest say the same again, if the released rows and the promise are the same.

    So no figure in them can come from anywhere else: not from the data, and not from any measurement of them.
    """
    made = release(fitting(name), mechanism(name), seed=1)
    bare = replace(made, id_map=None, published=None)
    one, other = (save(bare, tmp_path / place) for place in ("one", "other"))
    assert one == other
    allowed = {
        "recveil", "mechanism", "parameters", "spec", "guarantee", "seeded", "kind", "unit", "time", "schema", "notes",
        "rows", "users", "items", "files", "tables", "chosen_on_data",
    }  # fmt: skip
    assert set(one) <= allowed
    # of a promise there is one note: dp-ratings says where people are few, by its noisy table of lengths alone
    assert set(one["notes"]) <= {"few people"} and (not one["notes"] or name == "dp-ratings"), "outside the budget"
    assert one["spec"] == text(mechanism(name)), "a parameter that the data chose would be a figure outside the budget"
    assert {p.name for p in (tmp_path / "one").iterdir()} <= {
        "README.md", "croissant.json", "data.parquet", "manifest.json", "tables",
    }  # fmt: skip
