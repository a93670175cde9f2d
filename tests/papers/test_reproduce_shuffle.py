from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from recveil.evaluation.recommenders.bprfm import features
from recveil.formats import read
from recveil.papers import shuffle_nnn
from recveil.papers.shuffle_nnn import tables as tables
from recveil.samples import sample


def test_the_papers_own_table_contradicts_it() -> None:
    (claim,) = tables.by_the_paper()
    assert claim.verdict == "contradicted by the paper" and claim.ours == "6.1%"


def test_the_interval_is_where_one_more_split_would_fall() -> None:
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((4000, 6))
    inside = [low <= x[5] <= high for x in draws for _, low, high in [tables.interval(x[:5])]]
    assert abs(np.mean(inside) - 0.95) < 0.012


def test_a_number_outside_the_interval_is_not_reproduced() -> None:
    values = np.array([0.59, 0.592, 0.594, 0.591, 0.593])
    verdicts = [tables.beside_paper("", "", paper, values, "").verdict for paper in (0.7, 0.592)]
    assert verdicts == ["not reproduced", "compatible"]


@pytest.mark.data
def test_the_known_ones_come_out(real_data: Path) -> None:
    """A variance that is a deviation, random ratings that are not the empirical ones, and hiding of .59, not .70."""
    chosen = shuffle_nnn.SETS[0]
    data = read(real_data / "ml-100k" / "ratings.parquet")
    found = {c.claim: c for c in shuffle_nnn.table_1(chosen, data)}
    assert found["average rating, original and masked"].verdict == "reproduced"
    assert found["variance, original"].verdict == "not reproduced"
    assert "1.1256" in found["variance, original"].why or "1.1257" in found["variance, original"].why
    assert found["average of the random empirical data"].verdict == "not reproduced"
    hidden, whole = shuffle_nnn.hiding_claims(chosen, data, shuffle_nnn.hidings(data, 0.4, seeds=3))[:2]
    assert whole.verdict == "compatible" and whole.ours == pytest.approx(0.692, abs=0.005)
    assert hidden.verdict == "not reproduced" and hidden.ours == pytest.approx(0.592, abs=0.005)
    assert "625 of 1,682 items are critical" in hidden.why


def test_tables_on_a_sample() -> None:
    """Nothing changes where nothing is shuffled, and every line of the tables has its claim."""
    data = sample("films?users=60")
    names = ["item-average", "user-average"]
    real = tables.rmses([data] * 2, names, lambda: None)
    same = tables.rmses(tables.masked(data, "pseudonymise", range(2)), names, lambda: None)
    assert np.array_equal(real, same)
    assert tables.order_kept(real, same).tolist() == [1.0, 1.0]
    wide = np.tile(np.linspace(0.8, 1, 9), (3, 1)) + np.arange(3)[:, None] / 1000
    claims = tables.table_3("", tables.MOVIELENS, wide, wide, "")
    assert len(claims) == 19 and claims[-1].ours == 1.0


def test_genres_are_split() -> None:
    item, genre = tables.genres(pl.DataFrame({"item": [1, 2, 3], "genres": ["A B", "c-d,e", None]}))
    assert list(zip(item, genre, strict=True)) == [(1, "A"), (1, "B"), (2, "c-d"), (2, "e")]


def test_lists_of_some_are_those_of_all() -> None:
    """Serving fewer people changes nobody's list: all served, the recall is the one of everybody."""
    data = sample("films?users=40")
    known = features(data.items[:1], pl.Series(["none"]))
    one, other = (tables.recalls([data], known, lambda: None, people) for people in (None, 40))
    assert {name: values.tolist() for name, values in one.items()} == {n: v.tolist() for n, v in other.items()}
    assert set(one) == set(tables.MOVIELENS.recall)
    assert all(values[0, 0] <= values[0, 1] for values in one.values())


def test_a_missing_data_set_is_named(recveil: Callable[..., Any], tmp_path: Path) -> None:
    done = recveil("reproduce", "shuffle-nnn", "--data", tmp_path, code=1)
    assert "ml-100k/ratings.parquet with user, item, rating" in done.stderr
