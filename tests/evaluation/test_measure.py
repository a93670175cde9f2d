"""recveil measure and recveil assess: from files to answers, and one clear line for what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from attacked import people, published

from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.evaluation.assess import assess
from recveil.evaluation.catalogue import MEASURES
from recveil.evaluation.measure import measure_release, prepare, select
from recveil.guarantee import Guarantee, nothing
from recveil.mechanism import Masked, Masking, PublicInfo
from recveil.mechanisms import MECHANISMS
from recveil.randomness import Source

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
    why = {gap["name"]: gap["why"] for gap in found["skipped"]}  # ratings are released without their order
    asked_for = {"shadow", "across", "differencing", "attributes", "public-items"}  # with resources alone
    assert set(why) == {"copies", "tags", "neural", "next-item", *asked_for} and why["tags"] == "the data have no tags"
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
    why = {gap["name"]: gap["why"] for gap in found["skipped"]}
    assert "holdout" in why["membership"] and "reconstruction" not in why
    assert any("unchanged" in m["note"] for m in found["measurements"])


def test_only_known_items(recveil: Run, bundle: str) -> None:
    only = ("--only", "linkage", "--known", "3,5", "--items", "rare", "--no-ratings")
    found = recveil("measure", FILMS, bundle, "--map", "map.csv", *only, json_answer=True)
    rows = [m["params"] for m in found["measurements"] if m["name"] == "linkage"]
    assert {p["known"] for p in rows} == {3, 5}
    assert all(p["items"] == "rare" and p["ratings"] is False for p in rows)
    text = recveil("measure", FILMS, bundle, *only, "--all").stdout
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
        (("measure", FILMS, "out", "--known-items", "odd"), "unknown choice of items"),
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
    with pytest.raises(RecveilError, match="15 of the holdout users are in the release, with exactly their items"):
        prepare(data, published(data)[0], holdout=held)
    alike = data.take_users(np.r_[np.arange(44), 45]).compact()  # a profile that was changed into hers, by chance
    assert prepare(data, published(alike)[0], holdout=held).holdout is not None


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


def test_it_opens_with_a_verdict_and_shows_the_rest_if_asked(recveil: Run, bundle: str) -> None:
    given = ("measure", FILMS, bundle, "--map", "map.csv", "--holdout", "held.parquet", "--seed", 1)
    given = (*given, "--only", "linkage,membership,nearest,popularity")
    told = recveil(*given, "-o", "page.html")
    lines = told.stdout.splitlines()
    verdict = lines[: lines.index("")]
    assert 3 <= len(verdict) <= 12 and verdict[0].split() == ["promise", "no", "promise"]
    assert any("distance, weak evidence" in line for line in verdict)
    assert "--all shows them" in told.stdout and "nearest-cosine" not in told.stdout
    page = Path("page.html").read_text()
    assert "attacks on a release of" in page and "nearest <em>weak evidence</em>" in page
    every = recveil(*given, "--all").stdout
    assert all(
        "weak evidence" in line for line in every.splitlines() if line.startswith(("nearest ", "membership-auc"))
    )
    assert "linkage: the attacker knows a few items of a person" in every
    assert "must end in .html" in recveil(*given, "-o", "page.pdf", code=1).stderr


def test_data_that_share_little_with_the_bundle_are_said_first(recveil: Run, bundle: str) -> None:
    bundled = pl.read_parquet("out/data.parquet")
    few = bundled["item"].unique().sort().head(20)
    pl.DataFrame({"user": np.repeat(np.arange(30), 4), "item": np.tile(few.to_numpy(), 6), "rating": 3}).write_csv(
        "other.csv"
    )
    told = recveil("measure", "other.csv", bundle, "--only", "popularity")
    n = bundled["item"].n_unique()
    assert told.stdout.startswith(f"WARNING: this may be no release of these data: only 20 of its {n} items are in")
    assert recveil("measure", "other.csv", bundle, "--only", "popularity", json_answer=True)["warning"]
    assert recveil("measure", FILMS, bundle, "--only", "popularity", json_answer=True)["warning"] == ""


@dataclass(frozen=True)
class Liar(Masking):
    """Promises a person that she cannot be told, and releases her as she is."""

    name = "liar"
    purpose = "A toy."

    def guarantee(self, public: PublicInfo) -> Guarantee:
        words = {"proof": "docs/guarantees/mask.md", "neighbours": "add or remove one user"}
        return Guarantee("She cannot be told.", status="proved", epsilon=0.4, unit="user", **words)

    def card(self) -> str:
        return "Rows are as they were, whatever is promised, so that a test has something to refute. " * 2

    def mask(self, chunk: Interactions, plan: Any, source: Source) -> Masked:
        return Masked(chunk, chunk.users)


def test_a_refuted_promise_is_exit_code_3_and_a_kept_one_is_not(recveil: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MECHANISMS, "liar", Liar)
    recveil("release", FILMS, "--with", "liar", "-o", "lie")
    given = ("--only", "shadow", "--shadows", 8, "--seed", 1)
    told = recveil("measure", FILMS, "lie", *given, "--all", code=3)
    assert "shadow-auc-between" in told.stdout
    found = recveil("measure", FILMS, "lie", *given, json_answer=True, code=3)["measurements"]
    broken = [m for m in found if m["name"] == "shadow-auc-between"]
    assert any("ABOVE the ceiling" in m["note"] and m["low"] > m["params"]["ceiling"] for m in broken)
    monkeypatch.setattr(Liar, "guarantee", lambda _, __: nothing("Nothing."))
    recveil("release", FILMS, "--with", "liar", "-o", "honest")
    recveil("measure", FILMS, "honest", *given)  # the same leak, and no promise that it breaks
