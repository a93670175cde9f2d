"""Lists straight from published tables: what makes them of people's own histories, whatever mechanism published."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import polars as pl

from recveil.data import Interactions
from recveil.desk.release import Published
from recveil.mechanisms.dp_ratings import DpRatings
from recveil.mechanisms.dp_ratings import lists as rated
from recveil.mechanisms.dp_ratings.drawing import direct
from recveil.mechanisms.dp_streams import DpStreams
from recveil.mechanisms.dp_streams.drawing import lists, similarity

Lists = dict[Any, list[Any]]


def list_maker(published: Published, items: pl.Series, n: int) -> tuple[Callable[[Interactions], Lists], int]:
    """What gives every user n items by her own history, and how many items it knows pairs of.

    items: those of the tables, as ids of the histories.
    """
    mechanism = published.mechanism
    if isinstance(mechanism, DpRatings):
        alike = direct(mechanism.tables(published.rounds, published.public))
        return partial(rated.lists, items=items, alike=alike, n=n), len(alike.kept)
    if not isinstance(mechanism, DpStreams):
        raise TypeError(f"{mechanism.name} publishes no tables of pairs")
    tables = mechanism.tables(published.rounds, published.public)
    return partial(lists, items=items, S=similarity(tables), tables=tables, n=n), len(tables.kept)
