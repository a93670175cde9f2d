"""dp-ratings and what is public: features of items, scales told by types, warnings, predicted ratings, bad input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from test_dp_ratings import MECHANISM, camps

import recveil as package
from recveil.data import Interactions
from recveil.errors import RecveilError
from recveil.formats import from_frame, read
from recveil.formats.item_file import public_items
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_ratings import DpRatings
from recveil.mechanisms.dp_ratings.effects import effects
from recveil.mechanisms.dp_ratings.features import explained, feature_directions, feature_matrix, ridge
from recveil.mechanisms.dp_ratings.people import number_of_people
from recveil.mechanisms.dp_ratings.predicting import from_frames
from recveil.mechanisms.mask import Mask
from recveil.releases.bundle import load
from recveil.releases.catalogue import Catalogue, as_catalogue
from recveil.releases.published import load_statistics, save_statistics
from recveil.releases.release import draw, release


def sides(items: pl.Series) -> pl.DataFrame:
    """Of the items of two camps: on which side each is."""
    side = [("left|odd" if i % 2 else "right|even") for i in items]
    return pl.DataFrame({"item": items, "genres": side, "title": [f"film {i}" for i in items]})


# --- features -----------------------------------------------------------------------------------------------------


def test_a_feature_matrix_follows_the_items_whatever_their_type() -> None:
    items = pl.Series([3, 1, 2, 9])
    listed = [*map(str, range(1, 4)), *(f"x{k}" for k in range(9))]
    facts = public_items(pl.DataFrame({"item": listed, "f": ["a", "b", "a", *"aaaabbbbb"], "same": ["s"] * 12}), "x")
    made = feature_matrix(facts, items)
    assert made is not None and made.shape == (4, 2)
    assert np.allclose(made[3], 0.0) and made[0, 0] == made[1, 0] and made[2, 0] == pytest.approx(-2 * made[0, 0]) != 0
    assert feature_matrix(None, items) is None
    assert feature_matrix(facts, pl.Series(["y"])) is None
    many = pl.DataFrame({"item": range(1000), "w": [f"w{k % 100}" for k in range(1000)]})
    told = feature_matrix(public_items(many, "x"), pl.Series(range(1000)))
    assert told is not None and told.shape == (1000, 64)


def test_ridge_without_slack_is_least_squares_and_noise_is_not_believed() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    found, _ = ridge(X, y, np.ones(80), 3, 0.01)
    assert np.allclose(found, np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-6)
    have, features = rng.uniform(5, 50, 400), rng.normal(size=(400, 6))
    noise = rng.normal(size=(400, 2)) * 30
    true = features @ rng.normal(size=(6, 2))
    believed = explained(noise, have, features, 30.0)
    assert np.abs(explained(noise + have[:, None] * true, have, features, 30.0) - true).mean() < 0.15
    assert np.abs(believed).mean() < 0.06
    base = np.linalg.qr(rng.normal(size=(400, 4)))[0]
    both = feature_directions(features, base)
    assert np.allclose(both.T @ both, np.eye(10), atol=1e-9) and np.array_equal(both[:, :4], base)


def test_features_find_the_effects_of_rare_items() -> None:
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 2, 600)
    features = (kind[:, None] - 0.5) * 2.0
    have = rng.gamma(0.5, 20, 600) + 0.5
    true = 0.4 * (kind * 2 - 1) + rng.normal(size=600) * 0.1
    like = have * true + rng.normal(size=600) * 12
    off = [float(np.sqrt(np.mean((effects(have, like, 12.0, features=f) - true) ** 2))) for f in (None, features)]
    assert off[1] < 0.6 * off[0]


def judged(made: Any, data: Interactions) -> float:
    """RMSE of new people's ratings, straight from the tables."""
    fresh = camps(150, items=data.n_items, seed=9, apart=1.0).over_items(data.items)
    shown = np.arange(len(fresh)) % 2 == 0
    history, hidden = fresh.take(shown), fresh.take(~shown)
    guess = from_frames(made.tables["items"], made.tables["people"]).predict(
        history, hidden.user.astype(np.int64), hidden.item.astype(np.int64)
    )
    return float(np.sqrt(np.mean((guess - np.asarray(hidden.rating)) ** 2)))


def test_features_show_structure_that_noise_hides_and_invent_none(tmp_path: Path) -> None:
    """Few people: what pairs of items cannot tell, the two sides can. Permuted ratings: nothing is told."""
    data = camps(900, items=120, apart=0.8)
    mechanism = replace(MECHANISM, epsilon=4.0)
    listed = {
        "no": Catalogue(data.items),
        "yes": as_catalogue(sides(data.items)),
    }
    made = {name: release(data, mechanism, seed=1, catalogue=given) for name, given in listed.items()}
    other = {name: release(data, mechanism, seed=2, catalogue=given) for name, given in listed.items()}
    gains = [judged(one["no"], data) - judged(one["yes"], data) for one in (made, other)]
    assert min(gains) > 0 and np.mean(gains) > 0.02
    assert made["yes"].published is not None
    assert made["yes"].guarantee.given == "the catalogue of items, features of items and the scale of ratings"
    save_statistics(made["yes"].published, tmp_path / "kept")
    assert draw(load_statistics(tmp_path / "kept"), seed=1).data.equals(made["yes"].data)
    null = replace(data, rating=np.random.default_rng(2).permutation(np.asarray(data.rating)))
    tables = release(null, mechanism, seed=1, catalogue=listed["yes"]).tables["items"]
    loading = tables.select(pl.col("^loading_.*$")).to_numpy()
    assert np.sqrt((loading**2).sum(1)).mean() < 0.15


def test_features_have_other_names_and_serve_by_each() -> None:
    data = camps(1500)
    made = [package.release(data, MECHANISM, seed=1, **{name: sides(data.items)}) for name in ("items", "features")]
    assert made[0].guarantee.given == "the catalogue of items, features of items and the scale of ratings"
    assert made[0].data.equals(made[1].data)


def test_a_mechanism_that_reads_no_features_takes_the_list_alone() -> None:
    data = camps(50)
    listed = [release(data, Mask(0.9), seed=1, catalogue=as_catalogue(g)) for g in (sides(data.items), data.items)]
    assert listed[0].data.equals(listed[1].data) and listed[0].guarantee == listed[1].guarantee


# --- the scale ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "levels"),
    [(pl.Boolean, (0.0, 1.0)), (pl.Enum(["1", "3", "2"]), (1.0, 2.0, 3.0)), (pl.Enum(["0.5", "1"]), (0.5, 1.0))],
)
def test_a_type_tells_the_scale_whatever_the_rows_hold(dtype: Any, levels: tuple[float, ...], tmp_path: Path) -> None:
    words = pl.Series(["1"] * 3) if dtype != pl.Boolean else pl.Series([True] * 3)
    frame = pl.DataFrame({"user": [1, 2, 3], "item": [1, 1, 2], "rating": words.cast(dtype)})
    frame.write_parquet(tmp_path / "r.parquet")
    for data in (from_frame(frame), read(tmp_path / "r.parquet")):
        assert data.levels == levels and data.rating is not None and data.rating.tolist() == [1.0, 1.0, 1.0]
        assert data.take(slice(0, 2)).compact().levels == levels
        told = DpRatings(epsilon=1.0, delta=1e-5).with_declared(data)
        assert told.levels.levels == levels
    plain = frame.with_columns(rating=pl.Series([1.0, 1.0, 1.0]))
    assert from_frame(plain).levels is None


def test_an_untold_scale_is_refused_before_a_row_is_counted() -> None:
    data = camps(30)
    with pytest.raises(RecveilError, match=r"must be told the scale .* --scale 1,2,3,4,5"):
        release(data, DpRatings(epsilon=1.0, delta=1e-5), seed=1)
    with pytest.raises(RecveilError, match="told the scale"):
        DpRatings(epsilon=1.0, delta=1e-5).levels  # noqa: B018
    words = pl.DataFrame({"user": [1], "item": [1], "rating": pl.Series(["good"], dtype=pl.Enum(["bad", "good"]))})
    with pytest.raises(RecveilError, match="ratings are numbers"):
        from_frame(words)
    read_off = pl.DataFrame({"user": [1], "item": [1], "rating": pl.Series(["3"], dtype=pl.Categorical)})
    with pytest.raises(RecveilError, match="ratings are numbers"):  # its categories are those of the rows
        from_frame(read_off)


def test_likes_are_released_by_their_type(tmp_path: Path) -> None:
    data = camps(1500)
    frame = data.frame().with_columns(rating=pl.col("rating") > 3)
    made = release(from_frame(frame), DpRatings(epsilon=8.0, delta=1e-3), seed=1)
    assert set(np.unique(np.asarray(made.data.rating))) == {0.0, 1.0}
    assert "scale=(0,1)" in made.save(tmp_path / "out")["spec"]


# --- too few people -------------------------------------------------------------------------------------------------


def test_between_twenty_and_forty_deviations_a_warning_stands_in_the_bundle(
    tmp_path: Path, recveil: Callable[..., Any]
) -> None:
    sigma = {"lengths": 5.0, "levels": 10.0}
    counts = np.zeros(25)
    counts[10] = 300.0
    assert (
        number_of_people(counts, sigma)[2]
        == "about 300 people stand out of the noise, and fewer than 400 teach little at this epsilon"
    )
    counts[10] = 500.0
    assert number_of_people(counts, sigma)[2] == ""
    counts[10] = 100.0
    with pytest.raises(RecveilError, match="teach nothing"):
        number_of_people(counts, sigma)
    public = PublicInfo("ratings", "user", pl.Series(range(40)), None, True)
    few = int(30 * MECHANISM.sigmas(public)["levels"])
    camps(few).frame().write_csv(tmp_path / "few.csv")
    (tmp_path / "items.txt").write_text("\n".join(map(str, range(40))))
    spec = "dp-ratings:epsilon=8,delta=1e-3,scale=1..5"
    done = recveil("release", "few.csv", "--with", spec, "--catalogue", "items.txt", "-o", "out", "--seed", 1)
    assert "warning: about" in done.stderr
    assert "few people: about" in (tmp_path / "out" / "README.md").read_text()


# --- predicted ratings -----------------------------------------------------------------------------------------------


def test_ratings_are_predicted_from_a_bundle(recveil: Callable[..., Any], tmp_path: Path) -> None:
    data = camps(1500)
    data.frame().write_csv(tmp_path / "ratings.csv")
    sides(data.items).write_csv(tmp_path / "films.csv")
    spec = "dp-ratings:epsilon=8,delta=1e-3"
    recveil(
        "release", "ratings.csv", "--with", spec, "--scale", "1..5", "--features", "films.csv", "-o", "out", "--seed", 1
    )
    mine = camps(3, seed=7)
    mine.frame().write_csv(tmp_path / "mine.csv")
    found = recveil("predict", "out", "mine.csv", "--top", 4, json_answer=True)["predictions"]
    assert len(found) == 12 and all(1 <= row["rating"] <= 5 for row in found)
    rated = {(u, i) for u, i, *_ in mine.frame().iter_rows()}
    assert not rated & {(row["user"], row["item"]) for row in found}
    for user in {row["user"] for row in found}:
        hers = [row["rating"] for row in found if row["user"] == user]
        assert hers == sorted(hers, reverse=True)
    (tmp_path / "pairs.csv").write_text("user,item\n0,5\n0,6\n0,999\n77,5\n")
    done = recveil("predict", "out", "mine.csv", "--pairs", "pairs.csv", "-o", "said.csv")
    assert "2 predictions" in done.stdout and "2 pairs were left out" in done.stdout
    said = pl.read_csv(tmp_path / "said.csv")
    tables = load(tmp_path / "out").tables
    history = mine.over_items(tables["items"]["item"])
    asked = [tables["items"]["item"].to_list().index(i) for i in (5, 6)]
    direct = from_frames(tables["items"], tables["people"]).predict(history, np.array([0, 0]), np.array(asked))
    assert said["rating"].to_list() == pytest.approx(direct.tolist(), abs=0.001)
    assert package.predict(str(tmp_path / "out"), mine, top=4).frame().height == 12


def test_what_cannot_be_predicted_says_why(recveil: Callable[..., Any], tmp_path: Path) -> None:
    camps(40).frame().write_csv(tmp_path / "ratings.csv")
    camps(40).frame().drop("rating").write_csv(tmp_path / "clicks.csv")
    recveil("release", "ratings.csv", "--with", "pseudonymise", "-o", "plain")
    assert "predict is for bundles of dp-ratings" in recveil("predict", "plain", "ratings.csv", code=1).stderr
    assert "--top must be at least 1" in recveil("predict", "plain", "ratings.csv", "--top", 0, code=1).stderr


# --- bad input ----------------------------------------------------------------------------------------------------

EVERYTHING = pl.DataFrame({"user": [10**6] * 40, "item": range(40), "rating": [5.0] * 40})
BAD = {
    "no ratings": (lambda f: f.drop("rating"), "1..5", "needs a rating column"),
    "scale not told": (lambda f: f, None, "must be told the scale"),
    "scale of words": (lambda f: f, "good,bad", "a scale of ratings cannot be '(good,bad)'"),
    "one level": (lambda f: f, "3", "2 to 201 different levels"),
    "five people": (lambda f: f.filter(pl.col("user") < 5), "1..5", "people stand out of the noise"),
    "one item": (lambda f: f.with_columns(item=pl.lit(1)), "1..5", "the catalogue has too few items (1, and"),
}
SOUND = {
    "one value only": (lambda f: f.with_columns(rating=pl.lit(4.0)), "1..5"),
    "half stars": (lambda f: f.with_columns(rating=pl.col("rating") / 2), "0.5..5/0.5"),
    "-10..10": (lambda f: f.with_columns(rating=pl.col("rating") * 4 - 10.0), "-10..10"),
    "a person with everything": (lambda f: pl.concat([f, EVERYTHING]), "1..5"),
    "outside the scale": (lambda f: f.with_columns(rating=pl.col("rating") * 1e9), "1..5"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_line(case: str, recveil: Callable[..., Any], tmp_path: Path) -> None:
    change, scale, line = BAD[case]
    frame = change(camps(60).frame())
    frame.write_csv(tmp_path / "r.csv")
    (tmp_path / "items.txt").write_text("\n".join(map(str, frame["item"].unique().sort())))
    told = ["--scale", scale] if scale else []
    spec = "dp-ratings:epsilon=1,delta=1e-5"
    done = recveil(
        "release",
        "r.csv",
        "--with",
        spec,
        *told,
        "--catalogue",
        "items.txt",
        "--catalogue-is-public",
        "-o",
        "out",
        code=1,
    )
    said = [one for one in done.stderr.splitlines() if not one.startswith("warning: ")]
    assert line in said[-1] and len(said) <= 2 and not (tmp_path / "out").exists()


@pytest.mark.parametrize("case", SOUND)
def test_strange_input_is_a_sound_release(case: str, recveil: Callable[..., Any], tmp_path: Path) -> None:
    change, scale = SOUND[case]
    change(camps(1200).frame()).write_csv(tmp_path / "r.csv")
    (tmp_path / "items.txt").write_text("\n".join(map(str, range(40))))
    given = ["--scale", scale, "--catalogue", "items.txt", "--catalogue-is-public"]
    recveil("release", "r.csv", "--with", "dp-ratings:epsilon=8,delta=1e-3", *given, "-o", "out")
    recveil("verify", "out")
    made = load(tmp_path / "out")
    assert set(np.unique(np.asarray(made.data.rating))) <= set(
        DpRatings(epsilon=1.0, delta=1e-5, scale=scale).levels.levels
    )
    assert all(np.isfinite(t.select(pl.col(pl.Float64)).to_numpy()).all() for t in made.tables.values())
