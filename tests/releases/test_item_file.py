"""One public file of items: what is taken from it, what is wrong with it, and where it goes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import recveil as package
from recveil.desk.project.commands import commands
from recveil.desk.project.folder import open_project
from recveil.desk.project.jobs import Job, JobStore
from recveil.desk.project.plan import data_of
from recveil.desk.project.stages import candidate
from recveil.errors import RecveilError
from recveil.formats.item_file import MOST, public_items, read_item_file
from recveil.items import PublicItems
from recveil.releases.bundle import data_files, load
from recveil.releases.catalogue import as_catalogue, one_of, read_catalogue
from recveil.releases.progress import SILENT
from recveil.samples import sample_items

N = 80


def films(**more: Any) -> pl.DataFrame:
    return pl.DataFrame({"item": range(N), **more})


def held(found: PublicItems, name: str) -> set[Any]:
    """The items that have a feature."""
    column = found.table[:, [found.names.index(name)]].toarray()[:, 0]
    assert set(np.unique(column)) <= {0.0, 1.0}
    return set(found.items.filter(pl.Series(column > 0)).to_list())


def starting(found: PublicItems, start: str) -> list[str]:
    return [name for name in found.names if name.startswith(start)]


# --- what is taken ------------------------------------------------------------------------------------------------


def test_names_lists_numbers_and_words_of_titles_are_features() -> None:
    found = public_items(
        films(
            genres=["Comedy|Drama" if k % 2 else "Drama | War" for k in range(N)],
            tags=[["a"] if k < 10 else [] for k in range(N)],
            title=[f"t{k} Star" if k < 5 else f"t{k} Wars" if k < 9 else f"t{k}" for k in range(N)],
            flag=[k % 3 == 0 if k else None for k in range(N)],
            price=[k + 0.5 for k in range(N)],
            category=[k // 8 for k in range(N)],
        ),
        "x",
    )
    assert held(found, "genres Comedy") == set(range(1, N, 2)) and len(held(found, "genres War")) == N // 2
    assert "genres Drama" not in found.names  # all have it
    assert held(found, "tags a") == set(range(10)) and len(held(found, "flag true")) == 26
    assert held(found, "title star") == set(range(5))
    assert not starting(found, "title wars"), "four share it, and five must"
    assert [len(held(found, name)) for name in starting(found, "price")] == [10] * 8
    assert len(starting(found, "category")) == 10 and held(found, "category 3") == set(range(24, 32))
    assert found.titles is not None and found.titles[4] == "t4 Star"
    assert dict(found.taken)["category"] == "whole numbers, each a name: 10 features"


def test_years_are_names_and_classes_and_ids_are_names() -> None:
    found = public_items(films(year=[1950 + k // 5 for k in range(N)], maker_id=range(N)), "x")
    assert held(found, "year 1951") == set(range(5, 10)) and len(starting(found, "year")) == 16 + 8
    assert not starting(found, "maker_id"), "each has its own, so nobody shares one"


def test_words_parted_by_blanks_are_told_from_names_of_several_words() -> None:
    kinds = ["Action", "Comedy", "Drama", "War", "Crime"]
    mixed = [" ".join(k for n, k in enumerate(kinds) if (i + 1) >> n & 1) for i in range(N)]
    found = public_items(films(genres=mixed, shelf=[f"aisle {k % 7}" for k in range(N)], by=["A, B", "B, C"] * 40), "x")
    assert set(starting(found, "genres")) == {f"genres {k}" for k in kinds}
    assert "shelf aisle 3" in found.names and held(found, "by A") == set(range(0, N, 2))


def test_the_same_table_tells_the_same_in_every_form(tmp_path: Path) -> None:
    frame = sample_items("films").with_columns(vector=pl.Series([[k / 7, 1.0, -k] for k in range(600)]))
    frame.write_parquet(tmp_path / "f.parquet")
    frame.write_ndjson(tmp_path / "f.jsonl")
    text = frame.with_columns(vector=pl.col("vector").map_elements(lambda v: str(v.to_list()), return_dtype=pl.String))
    text.write_csv(tmp_path / "f.csv")
    text.write_csv(tmp_path / "f.tsv", separator="\t")
    found = {p.suffix: public_items(read_item_file(p), p.name) for p in sorted(tmp_path.iterdir())}
    assert len({one.digest() for one in found.values()}) == 1
    one = found[".csv"]
    assert one.vectors is not None and one.vectors.shape == (600, 3) and len(one.items) == 600
    assert one.digest() != public_items(frame.drop("genres"), "x").digest()


def test_numbers_as_text_are_numbers_and_ids_keep_their_spelling() -> None:
    found = public_items(films(price=[f"{k}.5" for k in range(N)], cat=[str(k % 9) for k in range(N)]), "x")
    assert len(starting(found, "price")) == 8 and len(starting(found, "cat")) == 9
    spelt = public_items(pl.DataFrame({"item": ["007", "7", "b"], "c": ["x", "x", "y"]}), "x")
    assert spelt.items.to_list() == ["7", "007", "b"] and held(spelt, "c x") == {"7", "007"}
    plain = public_items(pl.DataFrame({"item": ["10", "9"], "c": ["x", "x"]}), "x")
    assert plain.items.to_list() == [9, 10]


def test_rows_of_the_same_item_are_taken_together() -> None:
    frame = pl.DataFrame(
        {
            "item": [1, 2, 1, 3, None],
            "genre": ["a", "a", "b", "b", "a"],
            "title": [None, "Two", "One", "Three", "None"],
            "vector": [None, [1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]],
        }
    )
    found = public_items(frame, "x")
    assert found.items.to_list() == [1, 2, 3]
    assert held(found, "genre a") == {1, 2} and held(found, "genre b") == {1, 3}
    assert found.titles is not None and found.titles.to_list() == ["One", "Two", "Three"]
    assert found.vectors is not None and found.vectors[:, 0].tolist() == [3.0, 1.0, 5.0]


def test_ten_thousand_categories_stay_and_no_more_than_the_most() -> None:
    n = 20_000
    found = public_items(pl.DataFrame({"item": range(n), "category": [f"c{k // 2}" for k in range(n)]}), "x")
    assert len(found.names) == 10_000 and found.table.nnz == n
    lists = [[str(k), str(k + 1), *(["all"] if k % 2 else [])] for k in range(MOST + 50)]
    most = public_items(pl.DataFrame({"item": range(MOST + 50), "w": lists}), "x")
    assert len(most.names) == MOST and most.names[0] == "w all"


def test_lists_in_text_are_told_apart() -> None:
    whole = [f"[{k % 3}, {k % 5}]" if k % 7 else f"[{k % 3}]" for k in range(N)]
    words = ['["a", "b c"]' if k % 2 else "[]" for k in range(N)]
    found = public_items(films(codes=whole, words=words, v=["[1.0, 2]"] * N), "x")
    assert {"codes 0", "codes 4", "words a", "words b c"} <= set(found.names)
    assert found.vectors is not None and found.vectors.shape == (N, 2)
    assert dict(found.taken)["codes"].startswith("names in lists")
    assert public_items(films(odd=["[a", "b]"] * 40, torn=["[x"] * 79 + ["y]"]), "x").vectors is None


def test_columns_numbered_from_v0_are_one_vector(tmp_path: Path) -> None:
    numbers = pl.DataFrame({f"v{k}": [k + 0.5 * row for row in range(N)] for k in (0, 1, 2, 4)})
    frame = films(g=["a", "b"] * (N // 2)).hstack(numbers).with_columns(v9=pl.lit("x"))
    found = public_items(frame, "x")
    assert found.vectors is not None and np.array_equal(found.vectors, numbers.select("v0", "v1", "v2").to_numpy())
    assert dict(found.taken)["v0 to v2"] == "vectors of 3 numbers" and dict(found.taken)["v4"].startswith("numbers")
    frame.write_csv(tmp_path / "films.csv")
    read = public_items(read_item_file(tmp_path / "films.csv"), "x")
    assert read.vectors is not None and np.array_equal(read.vectors, found.vectors)
    lacking = frame.with_columns(pl.when(pl.col("item") > 3).then(pl.col("v0", "v1", "v2")))
    assert not public_items(lacking, "x").vectors[:4].any()  # type: ignore[index]
    for other in (frame.drop("v1"), frame.with_columns(v1=pl.lit("x"))):
        assert public_items(other, "x").vectors is None


# --- over other items -----------------------------------------------------------------------------------------------


def test_over_other_items_rows_follow_whatever_their_type() -> None:
    frame = pl.DataFrame({"item": [1, 2, 3], "g": ["a", "a", "b"], "h": ["b", "c", "c"], "title": ["A", "B", "C"]})
    found = public_items(frame.with_columns(v=pl.Series([[1.0], [2.0], [3.0]])), "x").over(pl.Series(["3", "9", "1"]))
    assert (
        found.table.toarray()[1].sum() == 0 and found.vectors is not None and found.vectors[:, 0].tolist() == [3, 0, 1]
    )
    assert held(found, "g a") == {"1"} and held(found, "h c") == {"3"}
    assert found.titles is not None and found.titles.to_list() == ["C", None, "A"]


def test_weighted_rows_have_length_one_and_rare_features_count_more() -> None:
    frame = pl.DataFrame({"item": range(12), "g": ["a"] * 6 + ["b"] * 5 + [None], "r": [["x"]] * 2 + [[]] * 10})
    rows = public_items(frame, "x").weighted().toarray()
    assert np.allclose(np.linalg.norm(rows, axis=1), [1.0] * 11 + [0.0])
    assert rows[0] @ rows[1] > rows[0] @ rows[2] > rows[0] @ rows[7] == 0
    both = public_items(frame.with_columns(v=pl.Series([[float(k), 1.0] for k in range(12)])), "x").weighted().toarray()
    assert np.allclose(np.linalg.norm(both, axis=1), 1.0) and both[0] @ both[1] > both[0] @ both[11]


# --- bad input ------------------------------------------------------------------------------------------------------

BAD: dict[str, tuple[pl.DataFrame, str]] = {
    "no item": (pl.DataFrame({"film": [1], "genre": ["a"]}), "needs a column item; it has film, genre"),
    "a log": (pl.DataFrame({"user": [1], "item": [1], "rating": [5]}), "that is a log of people"),
    "empty": (pl.DataFrame({"item": [], "g": []}, schema={"item": pl.Int64, "g": pl.String}), "is empty"),
    "lists of ids": (pl.DataFrame({"item": [[1], [2]]}), "an id is a number or text"),
    "uneven vectors": (
        films(v=[[1.0, 2.0]] * 79 + [[1.0]]),
        "vectors must have one length, and that of 79 has 1 numbers where that of 0 has 2",
    ),
    "NaN": (films(v=[[1.0, 2.0]] * 9 + [[1.0, float("nan")]] * 71), "the vector of 9 holds what is no number"),
    "infinite": (films(v=[[1.0, float("inf")]] * N), "the vector of 0 holds what is no number"),
    "null inside": (films(v=[[1.0, None]] * N), "the vector of 0 holds what is no number"),
    "a hole in a numbered one": (
        films(v0=[1.0] * N, v1=[2.0] * (N - 1) + [None]),
        "column v0 to v1: the vector of 79 holds what is no number",
    ),
    "no vector": (films(v=pl.Series([None] * N, dtype=pl.List(pl.Float64))), "has no vector in it"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_cannot_be_one_says_so_in_one_line(case: str) -> None:
    frame, line = BAD[case]
    with pytest.raises(RecveilError) as fault:
        public_items(frame, "films.csv")
    assert str(fault.value).startswith("films.csv: ") and line in str(fault.value) and "\n" not in str(fault.value)


def test_a_file_without_features_is_a_list_of_items(tmp_path: Path) -> None:
    (tmp_path / "items.txt").write_text("item\n3\n1\n1\n\n2\n")
    found = read_catalogue(tmp_path / "items.txt")
    assert found.items is not None and found.items.to_list() == [1, 2, 3]
    assert found.facts(found.items) is None
    constant = as_catalogue(films(kind=["film"] * N, year=[2000] * N))
    assert constant is not None and constant.items is not None and constant.facts(constant.items) is None
    (tmp_path / "commas.txt").write_text("a,b\nc,d\n")
    assert read_catalogue(tmp_path / "commas.txt").items.to_list() == ["a,b", "c,d"]  # type: ignore[union-attr]


def test_what_cannot_be_read_and_what_cannot_be_published_says_so(tmp_path: Path) -> None:
    with pytest.raises(RecveilError, match="cannot be read as a file of items"):
        read_catalogue(tmp_path / "absent.parquet")
    (tmp_path / "bad.csv").write_bytes(b"item,genre\n1,\xff\xfe\n")
    with pytest.raises(RecveilError, match="cannot be read as a file of items"):
        read_catalogue(tmp_path / "bad.csv")
    with pytest.raises(RecveilError, match="no titles to publish"):
        as_catalogue(films(genre=["a"] * N), publish_titles=True)
    with pytest.raises(RecveilError, match="titles to publish stand in a file of items"):
        as_catalogue([1, 2], publish_titles=True)
    with pytest.raises(RecveilError, match="items and features are names of one public file"):
        one_of(items=1, catalogue=None, features=2)
    with pytest.raises(RecveilError, match="public items are a table"):
        as_catalogue(3)


def test_commands_take_one_file_by_any_of_its_names(recveil: Callable[..., Any], tmp_path: Path) -> None:
    pl.DataFrame({"user": [1, 2, 3] * 9, "item": range(27)}).write_csv(tmp_path / "log.csv")
    films(genre=["a", "b"] * 40).write_csv(tmp_path / "films.csv")
    for number, name in enumerate(("--items", "--catalogue", "--features")):
        recveil("release", "log.csv", "--with", "pseudonymise", name, "films.csv", "-o", f"out{number}", "--seed", 1)
    rows = [pl.read_parquet(tmp_path / f"out{n}" / "data.parquet") for n in range(3)]
    assert rows[0].equals(rows[1]) and rows[0].equals(rows[2])
    two = ("--items", "films.csv", "--features", "log.csv")
    assert (
        "name one public file"
        in recveil("release", "log.csv", "--with", "pseudonymise", *two, "-o", "x", code=1).stderr
    )


# --- titles ---------------------------------------------------------------------------------------------------------


def titled(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [(user, int(i)) for user in range(60) for i in rng.choice(30, 6, replace=False)]
    pl.DataFrame(rows, schema=["user", "item"], orient="row").write_csv(tmp_path / "log.csv")
    films(title=[f"Film, no.\t{k}" if k != 7 else None for k in range(N)], g=["a", "b"] * 40).write_csv(
        tmp_path / "f.csv"
    )


def test_titles_travel_where_they_are_declared_and_nowhere_else(recveil: Callable[..., Any], tmp_path: Path) -> None:
    titled(tmp_path)
    how = ("release", "log.csv", "--with", "pseudonymise", "--items", "f.csv")
    recveil(*how, "-o", "quiet")
    assert not (tmp_path / "quiet" / "items.parquet").exists()
    assert "Film" not in "".join(p.read_text() for p in (tmp_path / "quiet").glob("*.json"))
    recveil(*how, "-o", "out", "--publish-titles")
    bundle = load(tmp_path / "out")
    assert bundle.titles is not None and bundle.titles.columns == ["item", "title"] and bundle.titles.height == N - 1
    assert bundle.titles["item"].dtype == pl.Int64 and bundle.data.n_items <= 30
    names = [entry["name"] for entry in bundle.manifest["files"]]
    assert "items.parquet" in names and data_files(bundle.manifest) == ["data.parquet"]
    assert recveil("verify", "out", json_answer=True)["verified"]
    described = json.loads((tmp_path / "out" / "croissant.json").read_text())
    assert "titles" in [one["name"] for one in described["recordSet"]]
    assert "items.parquet" in [one["name"] for one in described["distribution"]]
    for to, file in (("frictionless", "datapackage.json"), ("kaggle", "dataset-metadata.json")):
        recveil("export", "out", "--to", to, "-o", to)
        paths = [one["path"] for one in json.loads((tmp_path / to / file).read_text())["resources"]]
        assert "items.parquet" in paths and (tmp_path / to / "items.parquet").exists()
    recveil("export", "out", "--to", "recbole", "-o", "rb")
    lines = (tmp_path / "rb" / "rb.item").read_text().splitlines()
    assert lines[0] == "item_id:token\ttitle:token_seq" and lines[4] == "3\tFilm, no. 3"
    (tmp_path / "out" / "items.parquet").write_bytes(b"other")
    assert "items.parquet is not the file" in recveil("verify", "out", code=3).stdout


def test_titles_follow_the_public_file_and_no_row(tmp_path: Path) -> None:
    """What the bundle says of names is the same for neighbouring logs, to the byte."""
    titled(tmp_path)
    log = pl.read_csv(tmp_path / "log.csv")
    for name, rows in (("one", log), ("other", log.filter(pl.col("user") != 3))):
        package.release(rows, "pseudonymise", seed=1, items=str(tmp_path / "f.csv"), publish_titles=True).save(
            tmp_path / name
        )
    files = [(tmp_path / name / "items.parquet").read_bytes() for name in ("one", "other")]
    assert files[0] == files[1]


def test_lists_show_names(recveil: Callable[..., Any], tmp_path: Path) -> None:
    titled(tmp_path)
    spec = ("recommend", "log.csv", "--with", "dp-streams:epsilon=40,delta=1e-2", "--top", 3, "--seed", 1)
    found = recveil(*spec, "--items", "f.csv", json_answer=True)["lists"][0]
    assert [f"Film, no.\t{i}" for i in found["items"]] == found["titles"]
    assert "Film" in recveil(*spec, "--items", "f.csv").stdout
    recveil(*spec, "--items", "f.csv", "-o", "lists.tsv")
    assert "Film" not in (tmp_path / "lists.tsv").read_text()
    made = package.recommend(str(tmp_path / "log.csv"), spec[3], top=3, seed=1, items=str(tmp_path / "f.csv"))
    assert made.frame().columns == ["user", "place", "item", "title"]


# --- what inspect says ----------------------------------------------------------------------------------------------


def test_inspect_says_what_it_takes_from_the_file(recveil: Callable[..., Any], tmp_path: Path) -> None:
    titled(tmp_path)
    lines = recveil("inspect", "f.csv").stdout.splitlines()
    assert lines[0] == "public items: 80 items, 4 features"
    assert "    g: names: 2 features" in lines and any("--publish-titles" in line for line in lines)
    found = recveil("inspect", "f.csv", json_answer=True)
    assert found["items"] == N and found["titles"] and [one["name"] for one in found["columns"]] == ["title", "g"]
    pl.DataFrame({"item": range(40), "kind": ["a"] * 40}).write_csv(tmp_path / "plain.csv")
    assert "serves as a list of items alone" in recveil("inspect", "plain.csv").stdout
    pl.DataFrame({"uid": [1, 2], "item": [1, 2]}).write_csv(tmp_path / "odd.csv")
    assert "2 people" in recveil("inspect", "odd.csv", "--columns", "user=uid,item=item").stdout


def test_inspect_counts_for_the_owner_what_is_outside(recveil: Callable[..., Any], tmp_path: Path) -> None:
    titled(tmp_path)
    log = pl.read_csv(tmp_path / "log.csv")
    films(g=["a", "b"] * 40).filter(pl.col("item") >= 5).write_csv(tmp_path / "fewer.csv")
    found = recveil("inspect", "log.csv", "--items", "fewer.csv", json_answer=True)["items_file"]["log"]
    outside = log.filter(pl.col("item") < 5)
    assert found == {"items": 30, "outside": 5, "rows_outside": outside.height, "never": 50}
    text = recveil("inspect", "log.csv", "--items", "fewer.csv").stdout
    assert "--quick -o report.html --items fewer.csv" in text and "recveil assess log.csv\n" in text
    assert f"5 are not in it: their {outside.height} rows are outside the catalogue" in text
    made = package.release(log, "pseudonymise", seed=1, items=str(tmp_path / "fewer.csv"))
    assert len(made.data) == log.height - outside.height and made.data.items.min() == 5


def test_a_file_that_looks_made_from_the_log_is_named(recveil: Callable[..., Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [(u, int(i)) for u in range(200) for i in rng.choice(30, 6, replace=False, p=np.arange(1, 31) / 465)]
    log = pl.DataFrame(rows, schema=["user", "item"], orient="row")
    log.write_csv(tmp_path / "log.csv")
    often = log.group_by("item").len("seen").sort("seen", "item", descending=True)
    often.with_columns(g=pl.lit("a")).write_csv(tmp_path / "made.csv")
    said = recveil("inspect", "log.csv", "--items", "made.csv").stdout
    for sign in (
        "all 30 ids of the public file of items occur in the data",
        "in the order of how often",
        "the column seen of the item file",
    ):
        assert sign in said
    honest = films(g=["a", "b"] * 40, year=rng.integers(1950, 2020, N), price=rng.random(N))
    honest.write_csv(tmp_path / "honest.csv")
    assert "warning: " not in recveil("inspect", "log.csv", "--items", "honest.csv").stdout.split("public items")[1]
    honest.with_columns(view_count=pl.lit(7), avg_rating=pl.lit(3.5)).write_csv(tmp_path / "counted.csv")
    signs = recveil("inspect", "counted.csv").stdout
    assert "the column view_count" in signs and "the column avg_rating" in signs and "column price" not in signs


def test_compare_warns_of_a_file_that_looks_made_from_the_log(recveil: Callable[..., Any], tmp_path: Path) -> None:
    titled(tmp_path)
    films(g=["a", "b"] * 40, n_clicks=range(N)).filter(pl.col("item") < 30).write_csv(tmp_path / "made.csv")
    how = ("compare", "log.csv", "--with", "pseudonymise", "--only", "popularity", "--shadows", 0)
    warned = recveil(*how, "--items", "made.csv").stderr
    assert (
        "warning: all 30 ids of the public file of items occur in the data" in warned
        and "the column n_clicks" in warned
    )
    assert "warning" not in recveil(*how, "--items", "f.csv").stderr


def test_a_project_of_the_desk_takes_the_file_everywhere(tmp_path: Path) -> None:
    titled(tmp_path)
    project = open_project(tmp_path / "desk")
    names = {"source": str(tmp_path / "log.csv"), "items": str(tmp_path / "f.csv")}
    release = {"publish_titles": True, "ledger": "", "holdout": 0.3, "seed": 1}
    use: Any = {"what": "recommend", "people": 90}
    with_: Any = {"specs": ["pseudonymise"], "chosen": "pseudonymise"}
    with_ |= {"measures": ["public-items"]}
    project.change({"data": names, "release": release, "use": use, "candidates": with_})
    choices, _ = project.read()
    found = candidate(project, Job("c", "candidates", "", choices.record(), "pseudonymise"), SILENT)
    assert "beyond public items" in {m["name"] for m in found["measurements"]}
    lines = "\n".join(line for some in commands(JobStore(project), choices, None).values() for line in some)
    assert lines.count(f"--items {tmp_path / 'f.csv'}") == 4 and "--publish-titles" in lines
    before = data_of(JobStore(project), choices)
    films(g=["a", "b", "c", "d"] * 20, title=["x"] * N).write_csv(tmp_path / "f.csv")
    assert data_of(JobStore(project), choices) != before, "another file of items asks for other results"


@pytest.mark.parametrize("spec", ["dp-streams:epsilon=20,delta=1e-3", "dp-ratings:epsilon=20,delta=1e-3,scale=1..5"])
def test_who_has_nothing_in_the_file_leaves_no_trace(spec: str) -> None:
    """Rows outside the catalogue are dropped, whoever they belong to: two neighbours release the same rows."""
    data = package.read("sample:films?users=400,items=60").frame()
    listed = sample_items("films?items=60").filter(pl.col("item") != "film-07")
    stranger = pl.DataFrame({"user": [10**6] * 2, "item": ["film-07", "nowhere"], "rating": [5.0, 1.0]})
    both = pl.concat([data.drop("time"), stranger.cast(data.drop("time").schema)])
    one, other = (package.release(rows, spec, seed=3, items=listed) for rows in (data.drop("time"), both))
    assert one.frame().equals(other.frame()) and one.guarantee == other.guarantee and len(one.data)
