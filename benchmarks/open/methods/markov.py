"""A first-order Markov chain, no privacy: lengths, first items and moves as often as in the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions
from recveil.errors import RecveilError


def fit(data: Any, public: Any, epsilon: float, delta: float, seed: int) -> Any:
    if data.time is None:
        raise RecveilError("the data have no order")
    return lambda draw: walked(data.ordered(), np.random.default_rng(draw))


def walked(rows: Interactions, rng: np.random.Generator) -> Interactions:
    starts = rows.starts()
    sizes = np.diff(starts)
    same = rows.user[1:] == rows.user[:-1]
    order = np.argsort(rows.item[:-1][same], kind="stable")
    before, after = rows.item[:-1][same][order], rows.item[1:][same][order]
    begin = np.searchsorted(before, np.arange(rows.n_items + 1))
    first = rows.item[starts[:-1][sizes > 0]]
    lengths = np.sort(rng.choice(sizes[sizes > 0], size=rows.n_users))[::-1]
    made = np.full((rows.n_users, lengths[0]), -1, dtype=np.int32)
    made[:, 0] = rng.choice(first, size=rows.n_users)
    for place in range(1, lengths[0]):
        going = np.searchsorted(-lengths, -place)  # those whose stream is longer than this
        now = made[:going, place - 1]
        many = begin[now + 1] - begin[now]
        at = begin[now] + (rng.random(going) * many).astype(np.int64)
        made[:going, place] = np.where(many > 0, after[np.minimum(at, len(after) - 1)], rng.choice(first, size=going))
    user, place = np.nonzero(made >= 0)
    names = pl.Series(np.arange(rows.n_users))
    return Interactions(user.astype(np.int32), made[user, place], names, rows.items, time=place)
