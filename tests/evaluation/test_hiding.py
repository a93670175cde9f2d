from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from recveil.data import from_ids
from recveil.evaluation.metrics.hiding import charts, hiding, per_user, released_ratings
from recveil.formats import read
from recveil.measurement import SkippedError, Trial, trial
from recveil.mechanisms.spec import parse
from recveil.releases.release import release


def by_hand() -> Trial:
    """Three people; the second's record comes first in the release, the third's lost an item and changed another."""
    users, items = pl.Series(["a", "a", "b", "b", "c", "c"]), pl.Series([1, 2, 1, 2, 1, 3])
    train = from_ids(users, items, np.array([5, 1, 4, 4, 2, 3]))
    released = from_ids(pl.Series([0, 0, 7, 7, 9]), pl.Series([1, 2, 1, 2, 1]), np.array([4, 4, 1, 5, 1]))
    return trial(train, released, id_map=pl.DataFrame({"original": ["b", "a", "c"], "released": [0, 7, 9]}))


def test_hiding_by_hand() -> None:
    found = {m.name: m for m in hiding(by_hand(), np.random.default_rng(0))}
    assert found["hiding"].value == pytest.approx(4 / 6)
    assert found["hiding per user"].value == pytest.approx(2 / 3)
    assert found["users with nothing hidden"].value == pytest.approx(1 / 3)
    assert found["users with nothing hidden"].note == "1 people, who rated 2.0 items on average"
    assert found["user mean correlation"].value == pytest.approx(np.corrcoef([3, 4, 2.5], [3, 4, 1])[0, 1])


def test_a_lost_rating_is_hidden() -> None:
    after = released_ratings(by_hand())
    np.testing.assert_array_equal(after, [1, 5, 4, 4, 1, np.nan])  # type: ignore[arg-type]


def test_repeated_pairs_are_compared_as_sets() -> None:
    train = from_ids(pl.Series([1, 1, 1]), pl.Series([1, 1, 2]), np.array([5, 2, 3]))
    same = Trial(train, train.take(np.array([1, 0, 2])), owner=np.zeros(1, dtype=np.int32))
    found = per_user(same)
    assert found is not None and found.hidden.tolist() == [0.0]


def test_without_an_owner_nothing_is_said() -> None:
    with pytest.raises(SkippedError, match="whose"):
        hiding(replace(by_hand(), owner=None), np.random.default_rng(0))


@pytest.mark.data
def test_movielens(real_data: Path, tmp_path: Path) -> None:
    data = read(real_data / "ml-100k" / "ratings.parquet")
    made = release(data, parse("shuffle-nnn:theta=0.4"), seed=0)
    subject = trial(data, made.data, id_map=made.id_map)
    found = {m.name: m for m in hiding(subject, np.random.default_rng(0))}
    assert abs(found["hiding"].value - 0.592) <= 0.005
    assert abs(found["user mean correlation"].value - 0.540) <= 0.02
    everyone = per_user(subject)
    assert everyone is not None
    for number, chart in enumerate(charts(everyone, "MovieLens 100K")):
        chart.save(str(tmp_path / f"{number}.svg"))
        assert (tmp_path / f"{number}.svg").stat().st_size > 5000
