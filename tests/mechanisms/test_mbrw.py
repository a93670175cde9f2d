"""MBRW: DS and CVS, laws, what a stream copies, Theta, bad input; and the oracles on the authors' sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import naive
import numpy as np
import polars as pl
import pytest

from recveil.data import Interactions, from_ids
from recveil.errors import RecveilError
from recveil.evaluation.metrics.sequences import row_correlations
from recveil.formats import read
from recveil.mechanisms.mbrw.laws import law
from recveil.mechanisms.spec import parse, text
from recveil.releases import local
from recveil.releases.bundle import load, save
from recveil.releases.release import release
from recveil.splits import horizontal
from recveil.views.transitions import transitions


def shop(n_users: int = 200, seed: int = 0) -> Interactions:
    rng = np.random.default_rng(seed)
    length = rng.integers(2, 12, size=n_users)
    user = np.repeat(np.arange(n_users), length)
    item = np.minimum(rng.geometric(0.06, size=len(user)), 60)
    return from_ids(pl.Series([f"u{u}" for u in user]), pl.Series(item), time=np.arange(len(user)))


def sets_of(data: Interactions) -> list[set[int]]:
    return [set(group) for _, group in sorted(data.frame().group_by("user").agg("item").iter_rows())]


def test_ds_and_cvs_by_hand() -> None:
    data = from_ids(
        pl.Series([1, 1, 1, 1, 2, 2]), pl.Series([10, 20, 10, 20, 20, 30]), time=np.array([1, 2, 3, 4, 2, 1])
    )
    moves = transitions(data)
    assert moves.ds.toarray().tolist() == [[0, 2, 0], [1, 0, 0], [0, 1, 0]]
    assert moves.cvs.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_counts_of_parts_add_up_over_any_items() -> None:
    data = shop()
    whole = transitions(data)
    half = np.arange(data.n_users) < 90
    sum_ = transitions(data.take_users(half).compact()) + transitions(data.take_users(~half).compact())
    assert sum_.items.equals(data.items)
    assert (sum_.ds != whole.ds).nnz == 0 and (sum_.cvs != whole.cvs).nnz == 0


@pytest.mark.parametrize(
    ("written", "mean"),
    [
        ("constant(5)", 5.0),
        ("uniform(2,5)", 3.5),
        ("normal(30,2)", 30.0),
        ("poisson(40)", 40.0),
        ("geometric(0.25)", 4.0),
        ("negative-binomial(60, 0.5)", 60.0),
        ("empirical", 11 / 3),
    ],
)
def test_laws_have_their_means(written: str, mean: float) -> None:
    table = law(written, "hops").cumulated(np.array([3, 3, 5]))
    assert table[-1] == 1 and np.all(np.diff(table) >= 0) and table[0] == 0
    assert np.arange(len(table)) @ np.diff(table, prepend=0) == pytest.approx(mean, abs=1e-6)


def test_what_falls_below_one_is_one() -> None:
    table = law("normal(3,2)", "memory").cumulated()
    assert table[1] == pytest.approx(0.2266, abs=1e-4)  # all of a normal law below 1.5


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("k=0", "k must be >= 1"),
        ("k=-3", "k must be >= 1"),
        ("theta=0", r"theta must be in \(0, 1\]"),
        ("theta=1.2", r"theta must be in \(0, 1\]"),
        ("memory=normal(3)", "write normal"),
        ("memory=nomal(3,2)", "did you mean normal"),
        ("memory=3", "must be a law"),
        ("hops=normal(a,b)", "must be numbers"),
        ("hops=normal(-40,2)", "gives no positive value"),
        ("hops=poisson(0)", "no law"),
        ("hops=constant(0)", "gives no positive value"),
        ("memory=constant(33)", "more than 32"),
        ("end=constant(-1)", "no law"),
        ("window=stuck", "one of sliding, static"),
        ("redraw=true", "needs theta"),
    ],
)
def test_bad_parameters_are_named_in_one_line(spec: str, says: str) -> None:
    with pytest.raises(RecveilError, match=says) as error:
        parse(f"mbrw:{spec}")
    assert "mbrw" in str(error.value) and "\n" not in str(error.value)


def test_bad_data_are_named_in_one_line() -> None:
    with pytest.raises(RecveilError, match="order of clicks"):
        release(from_ids(pl.Series([1, 1]), pl.Series([1, 2])), parse("mbrw"))
    with pytest.raises(RecveilError, match="two clicks or more"):
        release(from_ids(pl.Series([1, 2]), pl.Series([1, 2]), time=np.arange(2)), parse("mbrw"))


def test_streams_of_one_click_are_walked_on_or_kept_as_they_are() -> None:
    data = from_ids(pl.Series([1, 2, 2, 3]), pl.Series([7, 7, 8, 9]), time=np.arange(4))
    made = release(data, parse("mbrw:k=300"), seed=1)
    found = {tuple(s) for s in made.data.frame().group_by("user", maintain_order=True).agg("item")["item"].to_list()}
    assert (9,) in found  # nobody ever saw anything with 9
    assert all(len(s) > 1 for s in found if s[0] == 7)


def test_spec_goes_there_and_back() -> None:
    written = "mbrw:k=100000,hops=empirical,window=static,repeats=false,theta=0.7"
    assert text(parse(written)) == written
    assert text(parse("mbrw:memory=normal(3,2)")) == "mbrw"


def test_a_stream_begins_with_consecutive_clicks_of_its_person() -> None:
    data = shop()
    made = release(data, parse("mbrw:k=500,memory=constant(2),hops=constant(4)"), seed=3)
    assert made.id_map is not None and made.time == "order" and made.data.n_users == 500
    owner = dict(zip(made.id_map["released"], made.id_map["original"], strict=True))
    real = dict(data.frame().group_by("user", maintain_order=True).agg("item").iter_rows())
    for user, stream in made.data.frame().group_by("user", maintain_order=True).agg("item").iter_rows():
        clicks = real[owner[user]]
        prefix = max(1, len(stream) - 4)
        assert prefix <= 3
        assert any(clicks[i : i + prefix] == stream[:prefix] for i in range(len(clicks)))


def test_ratings_leave_and_the_order_stays() -> None:
    data = shop()
    rated = from_ids(data.users.gather(data.user), data.items.gather(data.item), np.ones(len(data)), data.time)
    made = release(rated, parse("mbrw:k=50"), seed=1)
    assert made.data.rating is None and made.data.kind == "clicks" and made.time == "order"


def test_empirical_hops_give_the_lengths_of_real_streams() -> None:
    data = shop()
    made = release(data, parse("mbrw:k=4000,hops=empirical"), seed=2)
    real, drawn = (np.bincount(d.user).mean() for d in (data, made.data))
    assert drawn == pytest.approx(real, rel=0.1)


def test_no_item_twice_without_repeats() -> None:
    made = release(shop(), parse("mbrw:k=500,repeats=false,hops=constant(12)"), seed=2)
    again = made.data.frame().group_by("user").agg(pl.col("item").n_unique().alias("different"), pl.len())
    copied = 12  # a profile may itself hold an item twice
    assert (again["len"] - again["different"]).max() < copied
    fresh = made.data.frame().group_by("user", maintain_order=True).agg(pl.col("item").tail(6).n_unique().alias("n"))
    lengths = made.data.frame().group_by("user", maintain_order=True).len()["len"]
    assert fresh["n"].filter(lengths > 12).unique().to_list() == [6]


@pytest.mark.parametrize("redraw", [False, True])
def test_theta_keeps_exactly_the_streams_below_it(redraw: bool) -> None:
    data = shop(60)
    free = release(data, parse("mbrw:k=400,hops=normal(4,2)"), seed=5)
    made = release(data, parse(f"mbrw:k=400,hops=normal(4,2),theta=0.6,redraw={redraw}".lower()), seed=5)
    real = sets_of(data)
    nearest = naive.nearest(sets_of(made.data), real)
    assert max(nearest) < 0.6
    near = sum(c >= 0.6 - 1e-12 for c in naive.nearest(sets_of(free.data), real))
    if redraw:
        assert made.notes["redrawn"] >= near
        assert made.data.n_users == 400 - made.notes["discarded"] > 400 - near
    else:
        assert made.notes["discarded"] == near and made.data.n_users == 400 - near


def test_redrawn_streams_do_not_depend_on_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = parse("mbrw:k=400,hops=normal(4,2),theta=0.6,redraw=true")
    whole = release(shop(60), spec, seed=5)
    monkeypatch.setattr(local, "CHUNK_ROWS", 150)
    pieces = release(shop(60), spec, seed=5)
    assert whole.data.equals(pieces.data) and dict(whole.notes) == dict(pieces.notes)


def test_the_bundle_states_what_was_discarded_and_what_is_copied(tmp_path: Path) -> None:
    save(release(shop(), parse("mbrw:k=100,theta=0.7"), seed=1), tmp_path / "out")
    manifest = load(tmp_path / "out").manifest
    assert manifest["notes"]["discarded"] == 100 - manifest["users"]
    assert manifest["guarantee"]["status"] == "none"
    card = (tmp_path / "out" / "README.md").read_text()
    assert "similarity filter, not a privacy guarantee" in card and "m + 1 consecutive clicks" in card


# --- the authors' sample: values of an independent prototype -------------------------------------------------------


@pytest.fixture(scope="module")
def yahoo(real_data: Path) -> Interactions:
    rows = read(real_data / "yahoo-music-mbrw" / "ratings.parquet")
    clicks = Interactions(rows.user, rows.item, rows.users, rows.items, time=rows.time)
    return horizontal(clicks, 0.9, np.random.default_rng(0)).train


def padded_cvs(train: Interactions, k: int) -> float:
    made = release(train, parse(f"mbrw:k={k}"), seed=1)
    real, drawn = transitions(train), transitions(made.data.over_items(train.items))
    rows = np.flatnonzero(np.diff(real.cvs.indptr))
    return float(np.nanmean(row_correlations(real.cvs, drawn.cvs, rows, padded=True)))


@pytest.mark.data
def test_non_zeros_of_the_sample(yahoo: Interactions) -> None:
    moves = transitions(yahoo)
    assert (len(yahoo), moves.ds.nnz, moves.cvs.nnz) == (152_901, 46_765, 407_176)


@pytest.mark.data
def test_table_1_at_ten_thousand(yahoo: Interactions) -> None:
    assert padded_cvs(yahoo, 10_000) == pytest.approx(0.478, abs=0.01)


@pytest.mark.data
@pytest.mark.slow
def test_table_1_at_a_million(yahoo: Interactions) -> None:
    assert padded_cvs(yahoo, 1_000_000) == pytest.approx(0.742, abs=0.01)


@pytest.mark.data
@pytest.mark.parametrize(("theta", "kept"), [(0.7, 0.68), (0.6, 0.37)])
def test_kept_at_theta(yahoo: Interactions, theta: float, kept: float) -> None:
    spec: Any = parse(f"mbrw:k=25000,window=static,hops=normal(5,2),theta={theta}")
    made = release(yahoo, spec, seed=1)
    assert made.data.n_users / 25_000 == pytest.approx(kept, abs=0.02)
