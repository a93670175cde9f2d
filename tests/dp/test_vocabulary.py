"""Private vocabularies: thresholds against exact tails, selection, and what a person with very many items adds."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
import polars as pl
import pytest

from recveil.data import from_ids
from recveil.dp.noise import Law, gaussian, laplace
from recveil.dp.sparse_noise import exceeding
from recveil.dp.vocabulary import exceeded, select, threshold
from recveil.randomness import seeded
from recveil.views.contributions import at_most

LAWS = [laplace(Fraction(1, 5)), laplace(1), laplace(Fraction(77, 4)), gaussian(1), gaussian(30), gaussian(2500)]


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("chance", [0.3, 1e-3, 5e-6, 1e-12])
def test_noise_exceeds_the_bound_no_more_often_than_asked(law: Law, chance: float) -> None:
    at = exceeded(law, chance)
    assert exceeding(law, at, 60)[1] <= chance
    slack = 1 if law.kind == "laplace" else 2  # the tail of the continuous law lies up to one step above the discrete
    assert at < slack or exceeding(law, at - slack, 60)[0] > chance


@pytest.mark.parametrize("law", LAWS[2:], ids=str)
def test_what_one_person_alone_has_passes_with_probability_at_most_delta(law: Law) -> None:
    """For every number of items that she may have, with exact tails; and for none of them much less than that."""
    unit, most, delta = 40, 30, 1e-4
    above = threshold(law, delta, unit, most)
    chances = [t * exceeding(law, above - isqrt(unit**2 // t), 60)[1] for t in range(1, most + 1)]
    assert max(chances) <= delta
    lower = [t * exceeding(law, above - 3 - isqrt(unit**2 // t), 60)[0] for t in range(1, most + 1)]
    assert max(lower) > delta


def test_whoever_has_one_item_adds_to_one() -> None:
    law = gaussian(10**8)
    assert threshold(law, 1e-4, 40, 1) == 40 + exceeded(law, 1e-4) < threshold(law, 1e-4, 40, 2)


def test_ids_above_the_threshold_are_kept_and_empty_ones_never() -> None:
    counts = np.array([0, 900, 0, 3, 1200, 1000] * 50)
    found = select("items", counts, gaussian(100), 500, 1000, seeded(1))
    assert found.codes.tolist() == np.flatnonzero(counts > 500).tolist()
    assert np.abs(found.values - counts[found.codes]).max() < 60
    few = select("items", counts, gaussian(100), 500, 60, seeded(1))
    assert set(few.codes) > set(np.flatnonzero(counts == 1200))
    assert len(few.codes) == 60
    assert np.array_equal(few.values, found.values[np.isin(found.codes, few.codes)])
    assert (found.cut, few.cut) == (500, np.sort(found.values)[-61])  # the largest that was left out
    low = select("items", np.zeros(10**5, dtype=np.int64), gaussian(100), 0, 1000, seeded(1))
    assert len(low.codes) == 0


def test_a_person_with_very_many_items_counts_with_some_of_them() -> None:
    """Which ones depends on nobody else, nor on how ids happen to be coded; others keep all."""
    user = np.repeat([7, 8, 9], [30, 12, 40])
    item = np.concatenate([np.arange(30), np.repeat(np.arange(6), 2), np.arange(40) % 20])
    rows = from_ids(pl.Series(user), pl.Series(item), time=np.arange(len(user)))
    some = at_most(rows, 10)
    sizes = [len(set(some.frame().filter(pl.col("user") == u)["item"])) for u in (7, 8, 9)]
    assert sizes == [10, 6, 10]
    assert some.frame().filter(pl.col("user") == 8).equals(rows.frame().filter(pl.col("user") == 8))
    assert some.frame().filter(pl.col("user") == 9).height == 20  # both rows of each of her items
    alone = from_ids(pl.Series(["7"] * 30), pl.Series(np.arange(30)), time=np.arange(30))
    assert set(at_most(alone, 10).frame()["item"]) == set(some.frame().filter(pl.col("user") == 7)["item"])
    assert at_most(rows, 40) is rows
