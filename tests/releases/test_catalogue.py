"""The public catalogue: in compare, tune, measure and audit as in release; of another type, and one that lacks all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import recveil as face
from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.evaluation import shadows
from recveil.mechanisms.dp_streams import DpStreams
from recveil.releases.catalogue import Catalogue, shared

Run = Callable[..., Any]
PEOPLE, ITEMS = 160, 24
SPEC = "dp-streams:epsilon=20,delta=1e-3"


@pytest.fixture
def clicks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Interactions:
    """People of two camps; the public list lacks two of their items and has two that nobody has."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rng = np.random.default_rng(3)
    item = np.concatenate([rng.choice(ITEMS // 2, 6, replace=False) + ITEMS // 2 * (u % 2) for u in range(PEOPLE)])
    data = from_ids(pl.Series(np.repeat(np.arange(PEOPLE), 6)), pl.Series(item), time=np.arange(6 * PEOPLE))
    data.frame().write_csv(tmp_path / "clicks.csv")
    listed = [*range(2, ITEMS), 900, 901]
    (tmp_path / "items.txt").write_text("\n".join(map(str, listed)))
    pl.DataFrame({"item": [str(i) for i in listed]}).write_parquet(tmp_path / "texts.parquet")
    (tmp_path / "others.txt").write_text("a\nb\n" + "\n".join(f"c{n}" for n in range(20)))
    return data


@pytest.fixture
def lists_seen(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The catalogue of every release that a command makes."""
    seen: list[Any] = []
    for module in ("recveil.evaluation.compare", "recveil.evaluation.shadows", "recveil.evaluation.tuning.usefulness"):
        honest = __import__(module, fromlist=["release"]).release

        def told(*args: Any, honest: Any = honest, **more: Any) -> Any:
            seen.append(more.get("catalogue"))
            return honest(*args, **more)

        monkeypatch.setattr(f"{module}.release", told)
    return seen


@pytest.mark.usefixtures("clicks")
@pytest.mark.parametrize("file", ["items.txt", "texts.parquet"])
def test_compare_releases_over_the_list(recveil: Run, file: str, lists_seen: list[Any]) -> None:
    options = ("compare", "clicks.csv", "--with", SPEC, "--only", "popularity", "--shadows", 0, "--seed", 1)
    found = recveil(*options, "--catalogue", file, json_answer=True)
    assert lists_seen and all(len(lists.items) == ITEMS for lists in lists_seen)
    assert found["mechanisms"][0]["guarantee"]["given"] == "the catalogue of items"
    before = len(lists_seen)
    assert recveil(*options, "--catalogue", file, json_answer=True)["measurements"] == found["measurements"]
    assert len(lists_seen) == before, "what was measured over this list is kept"
    other = recveil(*options, json_answer=True)
    assert other["mechanisms"][0]["guarantee"]["given"] is None
    assert lists_seen[before] is None, "and not taken for what is measured without it"


@pytest.mark.usefixtures("clicks")
@pytest.mark.parametrize(
    "command",
    [
        ("compare", "clicks.csv", "--with", SPEC, "--only", "popularity"),
        ("tune", "clicks.csv", "--with", "dp-streams:delta=1e-3", "--keep", "lift>=0.5", "--on-data"),
        ("tune", "clicks.csv", "--with", "mask"),
        ("measure", "clicks.csv", "out", "--only", "shadow", "--shadows", 8),
    ],
    ids=["compare", "tune", "tune-mask", "measure"],
)
def test_a_list_of_other_things_is_refused_where_an_owner_measures(recveil: Run, command: tuple[Any, ...]) -> None:
    if command[0] == "measure":
        recveil("release", "clicks.csv", "--with", "mask:p=0.9", "-o", "out", "--seed", 1)
    done = recveil(*command, "--catalogue", "others.txt", code=1)
    assert "none of the items of the data stands in the catalogue" in done.stderr
    assert "cannot be read as a file of items" in recveil(*command, "--catalogue", "absent.txt", code=1).stderr


@pytest.mark.usefixtures("clicks")
def test_measure_makes_shadows_over_the_list(recveil: Run, lists_seen: list[Any]) -> None:
    recveil("release", "clicks.csv", "--with", SPEC, "-o", "out", "--catalogue", "texts.parquet", "--seed", 1)
    options = ("measure", "clicks.csv", "out", "--only", "shadow", "--catalogue", "texts.parquet", "--seed", 1)
    found = recveil(*options, "--shadows", 8, json_answer=True)
    assert found["measurements"]
    assert len(lists_seen) >= 2 and all(lists.items.to_list()[-1] == "901" for lists in lists_seen)
    assert "for the shadows of a mechanism" in recveil(*options, code=1).stderr


@pytest.mark.usefixtures("clicks")
def test_tune_releases_over_the_list_and_a_twin_has_its_size(recveil: Run, lists_seen: list[Any]) -> None:
    options = ("--with", "microaggregation", "--keep", "lift>=0.01", "--seed", 1, "--catalogue", "items.txt")
    recveil("tune", "clicks.csv", *options)
    assert lists_seen and all(len(lists.items) == ITEMS for lists in lists_seen)
    lists_seen.clear()
    Path("items.txt").write_text("\n".join(f"thing {n}" for n in range(70)))
    recveil("tune", "clicks.csv", *options, "--people", 200)
    assert lists_seen and all(40 < len(lists.items) <= 70 for lists in lists_seen)  # those of the twin


def test_the_python_face_takes_it_too(clicks: Interactions, lists_seen: list[Any]) -> None:
    listed = [*range(2, ITEMS), 900, 901]
    report = face.compare(clicks, [SPEC], only=["popularity"], catalogue=listed)
    assert report.entries[0].guarantee.given == "the catalogue of items"
    made = face.release(clicks, SPEC, seed=1, catalogue=listed)
    face.measure(clicks, made, only=["popularity"])
    with pytest.raises(RecveilError, match="for the shadows of a mechanism"):
        face.measure(clicks, made, only=["popularity"], catalogue=listed)
    face.tune(clicks, "microaggregation", keep="lift>=0.01", seed=1, catalogue=listed)
    assert lists_seen and all(len(lists.items) == ITEMS for lists in lists_seen)
    assert face.audit("mask:p=0.8", clicks, runs=20, seed=1, catalogue=listed).guarantee.unit == "bit"


def test_lists_that_are_not_given_are_those_of_all_the_data(clicks: Interactions, lists_seen: list[Any]) -> None:
    make = shadows.maker(DpStreams(epsilon=20.0, delta=1e-3), clicks)
    make(clicks.take_users(np.arange(PEOPLE // 2)), 1)
    assert lists_seen[0].items.equals(clicks.items)


def test_lists_have_a_name_that_follows_from_what_is_in_them() -> None:
    one, other = Catalogue(pl.Series([1, 2])), Catalogue(pl.Series([2, 1, 1]))
    assert one.digest() == other.digest()
    names = {
        c.digest() for c in (one, Catalogue(pl.Series(["1", "2"])), Catalogue(tags=pl.Series([1, 2])), Catalogue())
    }
    assert len(names) == 4


def test_what_has_nothing_in_common_is_named(clicks: Interactions) -> None:
    assert shared(None, clicks) is None
    assert shared([1, 2], clicks) is not None
    assert shared(Catalogue(tags=pl.Series(["x"])), clicks) is not None  # these data have no tags
    with pytest.raises(RecveilError, match="none of the users"):
        shared(Catalogue(users=pl.Series(["nobody"])), clicks)
