from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.mechanisms import Pseudonymise
from recveil.mechanisms.random_ratings import RandomRatings
from recveil.releases import bundle
from recveil.releases.bundle import BrokenBundleError, load, save, save_map, verify
from recveil.releases.release import Release, release


def ratings() -> Interactions:
    rng = np.random.default_rng(0)
    pairs = rng.permutation(3000)[:800]
    return from_ids(
        pl.Series([f"secret-person-{u}" for u in pairs // 50]), pl.Series(pairs % 50), rng.integers(1, 6, 800)
    )


@pytest.fixture
def made() -> Release:
    return release(ratings(), RandomRatings(), seed=987654321987)


@pytest.mark.parametrize("format", ["parquet", "csv", "inter"])
def test_what_was_saved_is_loaded(made: Release, tmp_path: Path, format: str) -> None:
    manifest = save(made, tmp_path / "out", format=format)  # type: ignore[arg-type]
    found = load(tmp_path / "out")
    assert found.data.frame().equals(made.data.compact().frame())
    assert found.manifest == manifest
    assert found.guarantee == made.guarantee
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "README.md", "croissant.json", f"data.{format}", "manifest.json",
    ]  # fmt: skip


def test_order_has_an_honest_name(tmp_path: Path) -> None:
    clicks = from_ids(pl.Series([1, 1, 2]), pl.Series([1, 2, 2]), time=np.array([10, 20, 30]))
    save(release(clicks, Pseudonymise()), tmp_path / "out")
    assert pl.read_parquet(tmp_path / "out" / "data.parquet").columns == ["user", "item", "order"]


def test_nothing_private_is_in_a_bundle(made: Release, tmp_path: Path) -> None:
    save(made, tmp_path / "out", format="csv")
    everything = b"".join(p.read_bytes() for p in (tmp_path / "out").iterdir())
    for secret in (b"secret-person", b"987654321987", str(tmp_path).encode(), os.uname().nodename.encode()):
        assert secret not in everything


@pytest.mark.parametrize("name", ["data.parquet", "README.md", "manifest.json"])
def test_one_flipped_byte_is_found(made: Release, tmp_path: Path, name: str) -> None:
    save(made, tmp_path / "out")
    path = tmp_path / "out" / name
    content = bytearray(path.read_bytes())
    content[0 if name == "manifest.json" else len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(BrokenBundleError):
        verify(tmp_path / "out")


def test_missing_added_and_false_parts_are_found(made: Release, tmp_path: Path) -> None:
    save(made, tmp_path / "out")
    (tmp_path / "out" / "more.csv").write_text("x")
    with pytest.raises(BrokenBundleError, match=r"more\.csv does not stand"):
        verify(tmp_path / "out")
    (tmp_path / "out" / "more.csv").unlink()
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    manifest["rows"] += 1
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(BrokenBundleError, match="rows, users and items"):
        load(tmp_path / "out")
    (tmp_path / "out" / "data.parquet").unlink()
    with pytest.raises(BrokenBundleError, match="missing"):
        verify(tmp_path / "out")
    with pytest.raises(RecveilError, match="no such directory"):
        verify(tmp_path / "elsewhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecveilError, match="not a bundle"):
        verify(tmp_path / "empty")


def test_an_existing_directory_is_refused(made: Release, tmp_path: Path) -> None:
    save(made, tmp_path / "out")
    with pytest.raises(RecveilError, match="exists already"):
        save(made, tmp_path / "out")
    save(release(ratings(), Pseudonymise()), tmp_path / "out", force=True)
    assert load(tmp_path / "out").manifest["mechanism"] == "pseudonymise"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(RecveilError, match="not a bundle"):
        save(made, tmp_path / "mine", force=True)
    assert (tmp_path / "mine" / "thesis.txt").exists()


@pytest.mark.parametrize("force", [False, True])
def test_a_failed_write_leaves_nothing(
    made: Release, tmp_path: Path, force: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if force:
        save(made, tmp_path / "out")
        before = (tmp_path / "out" / "manifest.json").read_bytes()

    def full(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundle, "card", full)
    with pytest.raises(RecveilError, match="No space left on device"):
        save(made, tmp_path / "out", force=force)
    assert [p.name for p in tmp_path.iterdir()] == (["out"] if force else [])
    if force:
        assert (tmp_path / "out" / "manifest.json").read_bytes() == before


def test_an_interrupted_write_leaves_nothing(made: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(bundle, "card", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(made, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_unwritable_places_get_one_line(made: Release) -> None:
    with pytest.raises(RecveilError, match="cannot be written"):
        save(made, "/proc/none/out")


def test_the_map_is_for_its_owner_alone(made: Release, tmp_path: Path) -> None:
    assert made.id_map is not None
    save_map(made.id_map, tmp_path / "map.csv")
    assert stat.S_IMODE((tmp_path / "map.csv").stat().st_mode) == 0o600
    assert (tmp_path / "map.csv").read_text().splitlines()[0] == "original,released"
    assert [p.name for p in tmp_path.iterdir()] == ["map.csv"]


def test_the_card_says_what_the_manifest_says(made: Release, tmp_path: Path) -> None:
    save(made, tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    assert "Not for publication" in card
    assert made.guarantee.sentence in card
    save(release(ratings(), Pseudonymise()), tmp_path / "real")
    assert "Not for publication" not in (tmp_path / "real" / "README.md").read_text()
