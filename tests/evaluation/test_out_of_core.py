"""inspect and assess of a log in parts on a disk: what memory says, whatever the parts; a sample names its size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from recveil.data import Interactions, from_ids
from recveil.evaluation import assess_parts as out_of_core
from recveil.evaluation import crowd
from recveil.evaluation.assess import assess
from recveil.evaluation.facts import facts_of_parts
from recveil.evaluation.inspect import described, inspect
from recveil.releases.disk import DiskTable, read_disk
from recveil.releases.inputs import Input
from recveil.releases.progress import SILENT

KNOWN = 4


def on_disk(data: Interactions, place: Path, parts: int) -> DiskTable:
    place.mkdir()
    data.frame().rename({"user": data.unit}).write_parquet(place / "log.parquet")
    folder = place / "scratch"
    folder.mkdir()
    return read_disk(Input(str(place / "log.parquet"), duplicates="all"), folder, parts, SILENT)


def world(people: int = 300) -> Interactions:
    """Everybody has KNOWN of a dozen items, with ratings and times: who knows so many knows all there is."""
    rng = np.random.default_rng(5)
    item = np.concatenate([rng.choice(12, KNOWN, replace=False, p=np.arange(12, 0, -1) / 78) for _ in range(people)])
    n = len(item)
    user = pl.Series([f"p{u}" for u in np.repeat(rng.permutation(people), KNOWN)])
    return from_ids(user, pl.Series(item), rng.integers(1, 6, n), rng.permutation(n))


def odd() -> Interactions:
    """Rows that repeat, tags, ratings, sessions and rows without a time."""
    rng = np.random.default_rng(2)
    n = 700
    time = rng.integers(0, 50, n).astype(float)
    time[:40] = np.nan
    tag, session = (pl.Series(rng.integers(0, k, n)) for k in (3, 4))
    user, item = pl.Series(rng.integers(0, 40, n)), pl.Series(rng.integers(0, 9, n))
    return from_ids(user, item, rng.integers(1, 6, n), time, tag, session=session)


@pytest.mark.parametrize("data", [world(), odd()], ids=["ratings", "repeats"])
def test_inspect_says_what_memory_says(data: Interactions, tmp_path: Path) -> None:
    wanted = inspect(data)
    for parts in (1, 5):
        found = described(*facts_of_parts(on_disk(data, tmp_path / str(parts), parts).parts()))
        for name in ("mean", "std"):
            assert found["rating"].pop(name) == pytest.approx(inspect(data)["rating"][name])
        assert found == wanted | {"rating": {name: wanted["rating"][name] for name in ("min", "max")}}


def test_assess_says_what_memory_says_where_nothing_is_drawn(tmp_path: Path) -> None:
    data = world()
    wanted = assess(data, known=(KNOWN,))
    facts, found = out_of_core.assess_parts(on_disk(data, tmp_path / "log", 3).parts, 7, (KNOWN,))
    same = wanted.keys() - {"measurements", "words"}
    assert {name: found[name] for name in same} == {name: wanted[name] for name in same}
    assert facts.rows == len(data)
    for rated in (True, False):
        one, other = (_intersection(some, rated) for some in (found, wanted))
        assert one["value"] == pytest.approx(other["value"])
        assert (one["n"], one["chance"]) == (other["n"], pytest.approx(other["chance"]))
    sets = data.frame().group_by("user").agg(pl.col("item").sort()).group_by("item").len()["len"].to_numpy()
    value = _intersection(found, False)
    assert value["value"] == pytest.approx(len(sets) / data.n_users)
    assert value["control"] == pytest.approx(2 * np.sum(sets == 2) / data.n_users)  # one other fits who is not there


def test_assess_is_the_same_in_any_parts_and_names_the_crowd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowd, "CROWD", 90)
    monkeypatch.setattr(crowd, "TARGETS", 50)
    monkeypatch.setattr(crowd, "SCREENED", 40)
    found = [
        out_of_core.assess_parts(on_disk(world(), tmp_path / str(parts), parts).parts, 7, (2, KNOWN))[1]
        for parts in (1, 6)
    ]
    assert found[0] == found[1]
    drawn = {m["params"]["attacker"] for m in found[0]["measurements"] if m["params"].get("crowd") == 90}
    assert {"intersection", "score", "strongest"} <= drawn
    assert any("in a crowd of 90 people, drawn, the strongest attacker finds" in line for line in found[0]["words"])
    assert len(found[0]["riskiest_users"]) == 10
    assert _intersection(found[0], False)["n"] == 50


def test_the_command_line_works_in_parts(tmp_path: Path, recveil: Any) -> None:
    world().frame().write_parquet(tmp_path / "log.parquet")
    room = ("--memory", "0.05MB", "--scratch", str(tmp_path / "scratch"))
    for command in ("inspect", "assess"):
        whole, parts = (recveil(command, str(tmp_path / "log.parquet"), *how) for how in ((), room))
        assert "plan: 1 file of 0.00 GB, more than --memory holds: out of core, 11 parts by way of " in parts.stderr
        assert parts.stdout.splitlines()[0] == whole.stdout.splitlines()[0]
        assert not list((tmp_path / "scratch").iterdir())
    assert (
        recveil("inspect", str(tmp_path / "log.parquet"), *room).stdout
        == recveil("inspect", str(tmp_path / "log.parquet")).stdout
    )


def _intersection(found: dict[str, Any], rated: bool) -> dict[str, Any]:
    """The attacker among all, who knows all there is."""
    wanted = {"known": KNOWN, "attacker": "intersection", "ratings": rated, "items": "random"}
    return next(m for m in found["measurements"] if m["params"] == wanted and m["name"] == "linkage")
