"""Recommendations on Spark: lists of similar items from blocks of pairs, and everybody's list, as on one machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from test_spark import frame, spark  # noqa: F401  (a fixture)

from recveil.data import Interactions, from_ids
from recveil.mechanisms.mask import Mask, perturb
from recveil.recommenders.mask import similar_items

pytestmark = pytest.mark.spark


def people(users: int = 150, items: int = 37) -> Interactions:
    """Profiles of all lengths over items of all popularities."""
    rng = np.random.default_rng(8)
    has = rng.random((users, items)) < np.outer(rng.random(users), np.linspace(0.9, 0.1, items))
    has[:, 0] |= ~has.any(axis=1)
    user, item = np.nonzero(has)
    return from_ids(pl.Series([f"u{u:03d}" for u in user]), pl.Series(item * 3))


@pytest.mark.parametrize(
    ("p", "minsup", "k", "block"), [(0.9, None, 5, 8), ("auto", 0.0, None, 12), (0.8, 40.0, 9, 64)]
)
def test_similar_items_come_from_blocks_of_pairs(
    spark: Any,  # noqa: F811
    p: float | str,
    minsup: float | None,
    k: int | None,
    block: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from recveil.engines import supports
    from recveil.engines.table import table

    monkeypatch.setattr(supports, "BLOCK", block)
    monkeypatch.setattr(supports, "USERS", 13)  # with one block of items, people are shared out
    data = people()
    seen, used = perturb(data, Mask(p=p), seed=3)
    wanted = similar_items(seen, p=float(used.p), minsup=minsup, k=k)
    there = supports.perturb_table(table(frame(spark, data, 3)), Mask(p=p), seed=3)
    assert there.mechanism == used
    assert (there.seen.people, there.seen.longest) == (data.n_users, np.bincount(data.user).max())
    assert np.array_equal(there.seen.ones, seen.singles)
    found = supports.similar_table(there, minsup=minsup, k=k)
    assert found.minsup == wanted.minsup
    assert found.items.equals(wanted.items)
    for name in ("neighbour", "similarity", "support"):
        assert np.array_equal(getattr(found, name), getattr(wanted, name)), name
