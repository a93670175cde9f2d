"""recveil measure and recveil assess: from files to answers, and one clear line for what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from attacked import people, published

from recveil.desk.assess import assess
from recveil.desk.measure import MEASURES, measure_release, prepare, select
from recveil.errors import RecveilError

Run = Callable[..., Any]
FILMS = "sample:films?users=200"


@pytest.fixture
def bundle(recveil: Run) -> str:
    recveil(
        "release",
        FILMS,
        "--with",
        "pseudonymise",
        "-o",
        "out",
        "--holdout",
        "0.2",
        "--holdout-file",
        "held.parquet",
        "--keep-map",
        "map.csv",
        "--seed",
        1,
    )
    return "out"


def test_measure_from_files_alone(recveil: Run, bundle: str) -> None:
    given = ("measure", FILMS, bundle, "--map", "map.csv", "--holdout", "held.parquet", "--seed", 1)
    found = recveil(*given, json_answer=True)
    names = {m["name"] for m in found["measurements"]}
    attacks = {"linkage", "theta-omega", "membership-auc", "reconstruction", "sybil", "nearest", "nearest-cosine"}
    assert names >= attacks | {"lift", "precision", "rmse", "agreement"}
    why = {gap["name"]: gap["why"] for gap in found["left_out"]}  # ratings are released without their order
    assert set(why) == {"copies", "tags", "shadow", "across", "attributes"} and why["tags"] == "the data have no tags"
    for m in found["measurements"]:
        assert m["mechanism"] == "pseudonymise"
        assert m["low"] <= m["value"] <= m["high"]
        assert m["name"] not in attacks or (m["chance"] is not None and m["control"] is not None)
    rows = [m for m in found["measurements"] if m["name"] == "linkage"]
    assert {"known": 8, "ratings": True, "items": "random", "attacker": "intersection"} in [m["params"] for m in rows]
    assert len(found["riskiest"]) == 10
    again = recveil(*given, "--only", "linkage", json_answer=True)
    assert again["measurements"] == [m for m in found["measurements"] if m["name"] in ("linkage", "theta-omega")]
    assert again["riskiest"] == found["riskiest"]


def test_without_map_and_holdout_the_rest_is_measured(recveil: Run, bundle: str) -> None:
    found = recveil("measure", FILMS, bundle, json_answer=True)
    why = {gap["name"]: gap["why"] for gap in found["left_out"]}
    assert "holdout" in why["membership"] and "reconstruction" not in why
    assert any("unchanged" in m["note"] for m in found["measurements"])


def test_only_known_items(recveil: Run, bundle: str) -> None:
    only = ("--only", "linkage", "--known", "3,5", "--items", "rare", "--no-ratings")
    found = recveil("measure", FILMS, bundle, "--map", "map.csv", *only, json_answer=True)
    rows = [m["params"] for m in found["measurements"] if m["name"] == "linkage"]
    assert {p["known"] for p in rows} == {3, 5}
    assert all(p["items"] == "rare" and p["ratings"] is False for p in rows)
    text = recveil("measure", FILMS, bundle, *only).stdout
    assert "linkage known=3" in text and "95% interval" in text


@pytest.mark.usefixtures("bundle")
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("measure", "sample:sessions", "out"), "no item in common"),
        (("measure", FILMS, "out", "--only", "membership"), "not in the data"),
        (("measure", FILMS, "out", "--only", "linkage", "--known", "9999"), "nobody has 9999 items"),
        (("measure", FILMS, "out", "--known", "two"), "whole numbers"),
        (("measure", FILMS, "out", "--only", "linkag"), "did you mean linkage"),
        (("measure", FILMS, "out", "--items", "odd"), "unknown choice of items"),
        (("measure", FILMS, "nowhere"), "no such directory"),
        (("measure", FILMS, "out", "--map", "nowhere.csv"), "id map"),
        (("measure", FILMS, "out", "--map", "other.csv"), "belongs to another one"),
        (("measure", FILMS, "out", "--holdout", "inside.csv"), "holdout users are in the release"),
        (("measure", FILMS, "out", "--holdout", "inside.csv", "--map", "map.csv"), "in the release, according to"),
        (("measure", "clicks.csv", "out", "--only", "linkage", "--ratings"), "the data have none"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_1(
    recveil: Run, tmp_path: Path, arguments: tuple[str, ...], line: str
) -> None:
    from recveil.samples import sample

    rows = sample("films?users=200").frame()
    released = pl.read_csv(tmp_path / "map.csv")["original"]
    rows.filter(pl.col("user").is_in(released[:5].implode())).write_csv(tmp_path / "inside.csv")
    rows.select("user", "item").write_csv(tmp_path / "clicks.csv")
    pl.DataFrame({"original": [1, 2], "released": [1, 2]}).write_csv(tmp_path / "other.csv")
    done = recveil(*arguments, code=1)
    assert line in done.stderr and done.stderr.startswith("recveil: ")
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_bundle_stays_free_of_what_was_measured(recveil: Run, bundle: str, tmp_path: Path) -> None:
    before = {p.name: p.read_bytes() for p in (tmp_path / bundle).iterdir()}
    recveil("measure", FILMS, bundle, "--map", "map.csv", "--only", "linkage")
    assert {p.name: p.read_bytes() for p in (tmp_path / bundle).iterdir()} == before


def test_holdout_people_are_taken_out_of_the_data() -> None:
    data = people(60, 0)
    kept, held = data.take_users(np.arange(45)).compact(), data.take_users(np.arange(45, 60)).compact()
    released, id_map = published(kept)
    subject = prepare(data, released, holdout=held, id_map=id_map)
    assert len(subject.train) == len(kept) and subject.holdout is not None and subject.holdout.n_users == 15
    with pytest.raises(RecveilError, match="every person"):
        prepare(data, released, holdout=data)


def test_leaving_one_measure_out_does_not_change_another() -> None:
    data = people(60, 0)
    released, id_map = published(data)
    whole = measure_release(data, released, id_map=id_map, seed=4)
    part = measure_release(data, released, id_map=id_map, seed=4, measures=select(["sybil"]))
    assert part.measurements == [m for m in whole.measurements if m.name == "sybil"]
    assert set(select()) == set(MEASURES)


def test_assess(recveil: Run) -> None:
    found = recveil("assess", FILMS, "--seed", 2, json_answer=True)
    rows = [m for m in found["measurements"] if m["name"] == "linkage" and m["params"]["attacker"] == "intersection"]
    curve = {m["params"]["known"]: m["value"] for m in rows if not m["params"]["ratings"]}
    assert list(curve.values()) == sorted(curve.values())
    assert all(m["control"] is not None for m in rows)
    assert len(found["riskiest_users"]) == len(found["riskiest_items"]) == 10
    assert found["riskiest_items"][0]["people"] <= found["riskiest_items"][-1]["people"]
    assert "finds the record of" in recveil("assess", FILMS).stdout


def test_small_data_are_warned_about() -> None:
    found = assess(people(12, 0), known=(2,))
    assert any("only 12 people" in w for w in found["warnings"])
    with pytest.raises(RecveilError, match="nobody has 40 items"):
        assess(people(12, 0), known=(40,))
