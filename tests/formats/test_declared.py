"""What an owner declares beside the columns: that her list of items is public, and the scale of ratings.

A proof asks for both. Whether they look right is told on her own screen, with the same exit code, never in a bundle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import recveil as package
from recveil.api.owners_screen import DataWarning
from recveil.data import from_ids
from recveil.errors import RecveilError
from recveil.evaluation.advice import fitting, scale_of
from recveil.mechanisms.spec import parse
from recveil.releases.catalogue import Catalogue, looks_read_off
from recveil.releases.release import release
from recveil.scales import fitting_scale, outside_scale, parse_scale

Run = Callable[..., Any]
STREAMS = "dp-streams:epsilon=90,delta=0.01,k=40"
RATINGS = "dp-ratings:epsilon=90,delta=0.01,k=40"


def clicks(path: Path, people: int = 90) -> Path:
    rows = [(u, 1 + (u * 7 + n * 3) % 30, n) for u in range(people) for n in range(9)]
    pl.DataFrame(rows, schema=["user", "item", "time"], orient="row").write_csv(path)
    return path


def rated(path: Path, low: int = 1, high: int = 5) -> Path:
    rng = np.random.default_rng(3)
    pairs = [(u, int(i)) for u in range(120) for i in rng.permutation(30)[:12]]
    values = rng.integers(low, high + 1, len(pairs))
    pl.DataFrame(pairs, schema=["user", "item"], orient="row").with_columns(rating=values).write_csv(path)
    return path


# --- a list that is public ------------------------------------------------------------------------------------


@pytest.mark.parametrize("listed", [range(1, 31), range(1, 61)], ids=["read off the log", "a catalogue"])
def test_a_proof_asks_whether_the_list_is_public(listed: range, recveil: Run, tmp_path: Path) -> None:
    """Whatever stands in it: a refusal by that would tell of the log."""
    clicks(tmp_path / "log.csv")
    (tmp_path / "items.txt").write_text("\n".join(map(str, listed)))
    command = ("release", "log.csv", "--with", STREAMS, "--items", "items.txt", "-o")
    assert "--catalogue-is-public" in recveil(*command, "a", code=1).stderr
    assert not (tmp_path / "a").exists()
    done = recveil(*command, "a", "--catalogue-is-public")
    told = "warning: all 30 ids of the public file of items occur in the data"
    assert (told in done.stderr) == (len(listed) == 30)
    said = [done.stdout, *((tmp_path / "a" / name).read_text() for name in ("manifest.json", "README.md"))]
    assert not any("occur in the data" in text for text in said)
    recveil(*command, "b", "--seed", 1)  # an experiment promises nothing
    recveil("inspect", "log.csv", "--schema", "log.toml")
    assert "--catalogue-is-public" in recveil(*command, "c", "--schema", "log.toml", code=1).stderr
    text = (tmp_path / "log.toml").read_text()
    (tmp_path / "log.toml").write_text(text.replace("catalogue_is_public = false", "catalogue_is_public = true"))
    recveil(*command, "c", "--schema", "log.toml")
    asked = recveil("inspect", "log.csv", "--items", "items.txt").stdout
    assert ("occur in the data: was it read off them?" in asked) == (len(listed) == 30)
    lists = ("recommend", "log.csv", "--with", "dp-streams:epsilon=90,delta=0.01", "--items", "items.txt", "--top", 3)
    assert "--catalogue-is-public" in recveil(*lists, code=1).stderr
    recveil(*lists, "--catalogue-is-public")
    recveil("release", "log.csv", "--with", "pseudonymise", "--items", "items.txt", "-o", "d")  # no proof, no question


def test_the_question_stands_on_every_door() -> None:
    data = from_ids(pl.Series(np.repeat(np.arange(60), 9)), pl.Series(np.tile(np.arange(27), 20)))
    with pytest.raises(RecveilError, match="--catalogue-is-public"):
        release(data, parse(STREAMS), catalogue=pl.Series(range(40)))
    with pytest.raises(RecveilError, match="catalogue_is_public=True"):
        package.release(data, STREAMS, items=list(range(40)))
    release(data, parse(STREAMS), catalogue=pl.Series(range(40)), seed=1)
    assert package.release(data, STREAMS, items=list(range(40)), catalogue_is_public=True).guarantee.status == "proved"
    with pytest.warns(DataWarning, match="all 27 ids"):
        package.release(data, STREAMS, items=list(range(27)), catalogue_is_public=True)


def test_what_makes_a_list_look_read_off() -> None:
    data = from_ids(pl.Series([1, 1, 2, 2, 3]), pl.Series(["a", "b", "a", "c", "c"]))
    assert "all 3 ids" in (looks_read_off(Catalogue(pl.Series(["a", "b", "c"])), data) or "")
    assert ", 1 of them in one person's rows alone" in (looks_read_off(Catalogue(pl.Series(["a", "b"])), data) or "")
    assert "alone" not in (looks_read_off(Catalogue(pl.Series(["a", "c"])), data) or "alone")
    assert looks_read_off(Catalogue(pl.Series(["a", "b", "c", "d"])), data) is None
    assert looks_read_off(Catalogue(tags=pl.Series(["a"])), data) is None
    gone = replace(data, items=pl.Series(["a", "b", "c", "d"]))  # in the vocabulary, and nobody has it
    assert looks_read_off(Catalogue(pl.Series(["a", "d"])), gone) is None


# --- the scale of ratings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ratings", "scale"),
    [
        ((1, 2, 5), "1..5"), ((0, 10, 7), "0..10"), ((1, 10), "1..10"), ((2, 10), "1..10"), ((0.5, 4), "0.5..5/0.5"),
        ((0, 1), "0..1"), ((-9.7, 3.1), "-10..10"), ((0, 4), "0..5"), ((1, 13602), None), ((), None),
        ((57, 3), "1..100"),
    ],
)  # fmt: skip
def test_the_smallest_known_scale_that_fits(ratings: tuple[float, ...], scale: str | None) -> None:
    assert fitting_scale(ratings) == scale
    if scale:
        assert not outside_scale(np.array(ratings), parse_scale(scale))


def test_inspect_proposes_the_scale_of_the_column(recveil: Run, tmp_path: Path) -> None:
    for low, high, scale in ((1, 5, "1..5"), (0, 10, "0..10"), (2, 10, "1..10")):
        rated(tmp_path / "r.csv", low, high)
        found = recveil("inspect", "r.csv", json_answer=True)
        assert found["scale"] == scale and found["questions"] == []
        assert any(f"scale={scale}" in command for command in found["next"])
    wrong = recveil("inspect", "r.csv", "--scale", "1..5", code=1).stderr
    assert "ratings lie outside the scale 1..5, which run from 2 to 10: is it 1..10?" in wrong
    assert recveil("inspect", "r.csv", "--scale", "0..10", json_answer=True)["scale"] == "0..10"
    pl.read_csv(tmp_path / "r.csv").with_columns(pl.col("rating") * 1000).write_csv(tmp_path / "plays.csv")
    found = recveil("inspect", "plays.csv", json_answer=True)
    assert found["scale"] is None and "on no scale that is well known" in found["questions"][0]
    clicks(tmp_path / "log.csv")
    assert "these data have none" in recveil("inspect", "log.csv", "--scale", "1..5", code=1).stderr


def test_one_person_does_not_change_the_scale_that_is_proposed(recveil: Run, tmp_path: Path) -> None:
    frame = pl.read_csv(rated(tmp_path / "r.csv"))
    hers = pl.DataFrame({"user": [7000] * 9, "item": list(range(9)), "rating": [10] * 9})
    pl.concat([hers, frame]).write_csv(tmp_path / "r.csv")
    found = recveil("inspect", "r.csv", "--schema", "log.toml", json_answer=True)
    assert found["scale"] == "1..5"
    assert (
        "9 of 1,449 ratings lie outside the scale 1..5, which run from 1 to 10: is it 1..10?" in found["questions"][0]
    )
    assert 'scale = "1..5"' in (tmp_path / "log.toml").read_text()


def test_ratings_outside_the_scale_are_told_on_the_owners_screen_alone(recveil: Run, tmp_path: Path) -> None:
    rated(tmp_path / "r.csv", 2, 10)
    done = recveil("release", "r.csv", "--with", f"{RATINGS},scale=1..5", "-o", "out")
    assert "warning: " in done.stderr and "ratings lie outside the declared scale, 1 to 5" in done.stderr
    bundle = "".join(file.read_text(errors="replace") for file in (tmp_path / "out").rglob("*") if file.is_file())
    assert "outside" not in done.stdout + bundle
    recveil("inspect", "r.csv", "--schema", "log.toml")
    done = recveil("release", "r.csv", "--with", RATINGS, "--schema", "log.toml", "-o", "by", json_answer=True)
    assert done["manifest"]["parameters"]["scale"] == "(1,2,3,4,5,6,7,8,9,10)"  # of the schema, and nothing outside
    assert "told the scale" in recveil("release", "r.csv", "--with", RATINGS, "-o", "un", code=1).stderr


def test_a_scale_in_every_first_look() -> None:
    rows = from_ids(pl.Series(range(40)), pl.Series([n % 8 for n in range(40)]), np.arange(40.0) % 11)
    assert scale_of(rows) == "0..10"
    assert next(spec for spec in fitting(rows) if spec.startswith("dp-ratings")).endswith("scale=0..10")
    assert scale_of(replace(rows, levels=(0.0, 10.0))) == "(0,10)"


# --- what the manifest says -----------------------------------------------------------------------------------


def test_the_manifest_says_whence_the_schema_was_known(recveil: Run, tmp_path: Path) -> None:
    clicks(tmp_path / "log.csv")
    recveil("inspect", "log.csv", "--schema", "log.toml")
    text = (tmp_path / "log.toml").read_text()
    (tmp_path / "mine.toml").write_text(text.replace("proposed = true", "proposed = false"))
    for number, (options, said) in enumerate(
        {
            (): "the file's own",
            ("--columns", "user=user"): "declared by options",
            ("--schema", "log.toml"): "proposed by inspect",
            ("--schema", "mine.toml"): "declared",
        }.items()
    ):
        done = recveil("release", "log.csv", "--with", STREAMS, *options, "-o", f"o{number}", json_answer=True)
        assert done["manifest"]["schema_from"] == said
        assert said in (tmp_path / f"o{number}" / "README.md").read_text()
        recveil("verify", f"o{number}")
    made = package.release(str(tmp_path / "log.csv"), STREAMS, schema=tmp_path / "log.toml")
    assert made.save(tmp_path / "python")["schema_from"] == "proposed by inspect"


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_on_spark_too(recveil: Run, tmp_path: Path) -> None:
    clicks(tmp_path / "log.csv")
    with (tmp_path / "log.csv").open("a") as log:
        log.write("7000,,3\n7000,3,soon\n")
    (tmp_path / "items.txt").write_text("\n".join(map(str, range(1, 31))))
    command = ("release", "log.csv", "--with", STREAMS, "--items", "items.txt", "--engine", "spark", "-o")
    assert "--catalogue-is-public" in recveil(*command, "a", code=1).stderr
    done = recveil(*command, "a", "--catalogue-is-public")
    assert "warning: 2 rows left out, for want of a value that will do: item in 1, time in 1" in done.stderr
    assert "warning: all 30 ids" in done.stderr
    assert '"schema_from": "the file\'s own"' in (tmp_path / "a" / "manifest.json").read_text()
    rated(tmp_path / "r.csv", 2, 10)
    done = recveil("release", "r.csv", "--with", f"{RATINGS},scale=1..5", "-o", "b", "--engine", "spark")
    assert "ratings lie outside the declared scale, 1 to 5" in done.stderr
