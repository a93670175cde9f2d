"""measure of a log in parts on a disk: what adds up is that of memory, and what is drawn says of how many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from test_out_of_core import KNOWN, on_disk, world

from recveil.data import Interactions
from recveil.evaluation import crowd
from recveil.evaluation.measure import Findings, measure_release, select
from recveil.evaluation.measure_parts import NEEDS_MAP, HowMeasured, Parted, measure_parts, over_same_items
from recveil.mechanisms.spec import parse
from recveil.releases.release import release

SOME = ("linkage", "popularity", "hiding", "nearest", "ranking")
KNOWLEDGE = {"known": [1, KNOWN], "items": "random", "ratings": None}


def parted(data: Interactions, place: Path, parts: int, spec: str = "pseudonymise", **more: Any) -> Parted:
    """The data and their release in parts; without `id_map=None` with the map."""
    made = release(data, parse(spec), seed=1)
    place.mkdir()
    tables = over_same_items(on_disk(data, place / "data", parts), on_disk(made.data, place / "out", parts))
    return Parted(*tables, **{"id_map": made.id_map, **more})


def measured(given: Parted) -> Findings:
    return measure_parts(given, select(SOME, **KNOWLEDGE), HowMeasured(3, KNOWLEDGE))


def test_what_adds_up_is_that_of_memory(tmp_path: Path) -> None:
    data = world()
    made = release(data, parse("pseudonymise"), seed=1)
    wanted = measure_release(data, made.data, id_map=made.id_map, measures=select(SOME, **KNOWLEDGE), seed=3)
    found = measured(parted(data, tmp_path / "log", 4))
    assert found.skipped.keys() == wanted.skipped.keys() == {"ranking"}
    one, other = (next(m for m in some.measurements if m.name == "popularity") for some in (found, wanted))
    assert (one.value, one.low, one.high) == (other.value, other.low, other.high)
    for rated in (True, False):
        one, other = (everybody(some, rated) for some in (found, wanted))
        assert (one.value, one.n, one.chance) == pytest.approx((other.value, other.n, other.chance))
    assert [r["success"] for r in found.riskiest] == pytest.approx([r["success"] for r in wanted.riskiest])


def test_it_is_the_same_in_any_parts_and_what_is_drawn_says_of_how_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, many in (("CROWD", 90), ("TARGETS", 50), ("SCREENED", 40)):
        monkeypatch.setattr(crowd, name, many)
    held = world().take_users(np.arange(world().n_users) >= 200).compact()
    data = world().take_users(np.arange(world().n_users) < 200).compact()
    found = [measured(parted(data, tmp_path / str(parts), parts, holdout=held)) for parts in (1, 5)]
    assert found[0].measurements == found[1].measurements
    assert found[0].riskiest == found[1].riskiest
    for m in found[0].measurements:
        whole = m.name == "popularity" or (m.name == "linkage" and "crowd" not in m.params)
        assert whole or m.params["crowd"] == 90
    assert everybody(found[0], True).n == 50
    assert everybody(found[0], True).control is not None
    assert {m.measure for m in found[0].measurements} == set(SOME)


def test_a_release_without_a_map_is_attacked_where_memory_holds_it(tmp_path: Path) -> None:
    given = parted(world(), tmp_path / "log", 3, id_map=None)
    found = measured(given)
    assert {name: found.skipped[name] for name in ("linkage", "nearest")} == {
        "linkage": NEEDS_MAP,
        "nearest": NEEDS_MAP,
    }
    assert any(m.name == "popularity" for m in found.measurements)
    held = measured(Parted(given.data, given.released, memory=10**9))
    data = world()
    made = release(data, parse("pseudonymise"), seed=1)
    wanted = measure_release(data, made.data, measures=select(SOME, **KNOWLEDGE), seed=3)
    assert everybody(held, True, crowd=300).value == pytest.approx(everybody(wanted, True).value)


def test_the_command_line_measures_in_parts(tmp_path: Path, recveil: Any) -> None:
    data = world()
    data.frame().write_parquet(tmp_path / "log.parquet")
    out, people = str(tmp_path / "out"), ("--map", str(tmp_path / "map.csv"))
    recveil("release", str(tmp_path / "log.parquet"), "--with", "pseudonymise", "-o", out, "--keep-map", people[1])
    room = ("--memory", "0.05MB", "--scratch", str(tmp_path / "scratch"))
    common = ("measure", str(tmp_path / "log.parquet"), out, *people, "--only", "linkage,popularity", "--seed", "4")
    done = recveil(*common, *room)
    assert "plan: 1 file of 0.00 GB, more than --memory holds: out of core, 11 parts" in done.stderr
    assert "finds her record" in done.stdout
    assert not list((tmp_path / "scratch").iterdir())
    there, here = (recveil(*common, *how, json_answer=True)["measurements"] for how in (room, ()))
    one, other = ([m for m in some if m["name"] == "popularity"] for some in (there, here))
    assert one == other
    refused = recveil(*common, *room, "--shadows", "8", code=1)
    assert "--shadows is for logs that memory holds" in refused.stderr
    held = tmp_path / "held.parquet"
    data.frame().filter(pl.col("user") == data.users[0]).write_parquet(held)
    inside = recveil(*common, *room, "--holdout", str(held), code=1)
    assert "1 of the holdout users are in the release, according to its id map" in inside.stderr


def everybody(found: Findings, rated: bool, **more: Any) -> Any:
    """The attacker by intersection, who knows all there is, among all records."""
    wanted = {"known": KNOWN, "attacker": "intersection", "ratings": rated, "items": "random", **more}
    return next(m for m in found.measurements if m.params == wanted and m.name == "linkage")
