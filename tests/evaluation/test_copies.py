"""The attack on copied beginnings: by hand, at its best where all is copied, and at chance where nothing is."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from recveil.data import Interactions, from_ids
from recveil.evaluation.attacks.copies import copies, longest_run, named
from recveil.measurement import SkippedError, Trial


def people(n: int, seed: int) -> Interactions:
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(n), 8)
    item = np.concatenate([[0, 49], rng.integers(0, 50, len(user) - 2)])
    return from_ids(pl.Series(user), pl.Series(item), time=np.arange(len(user)))


def test_the_longest_beginning_names_people_by_hand() -> None:
    real = [(1, 2, 3), (2, 3, 4), (5, 6)]
    right = named(real, [(2, 3, 4, 9), (2, 3, 9), (7, 1), (5, 1)], [1, 1, 0, 0])
    assert right.tolist() == [1.0, 0.5, 0.0, 0.0]
    begun = {(2,), (2, 3), (2, 3, 4)}
    assert [longest_run(c, begun) for c in ((1, 2, 3), (2, 3, 4), (9, 2), (3, 4))] == [2, 3, 1, 0]


def test_everything_is_found_where_all_is_copied_and_nothing_where_nothing_is() -> None:
    train, held = people(120, 0), people(120, 1)
    owner = np.arange(120, dtype=np.int32)
    rng = np.random.default_rng(0)
    copied = {m.name: m for m in copies(Trial(train, train, held, owner), rng)}
    assert copied["copies-linkage"].value == 1.0 and copied["copies-auc"].value == 1.0
    strangers = {m.name: m for m in copies(Trial(train, people(120, 2), held, owner), rng)}
    assert strangers["copies-linkage"].low <= 0.03
    assert strangers["copies-auc"].low <= 0.5 <= strangers["copies-auc"].high


def test_without_order_it_is_left_out() -> None:
    train = people(10, 0)
    bare = Interactions(train.user, train.item, train.users, train.items)
    with pytest.raises(SkippedError, match="order"):
        copies(Trial(train, bare), np.random.default_rng(0))
