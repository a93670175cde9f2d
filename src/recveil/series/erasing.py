"""A person who leaves: erased from the private state, and in no further window of the period."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from recveil.ids import plain
from recveil.series.folder import Series
from recveil.series.state import load_state


def forget(series: Series, users: Sequence[object]) -> None:
    """Erase these people by their ids, as the log writes them; a whole number is the same id as a text."""
    ids = plain(pl.Series("user", [str(user) for user in users], dtype=pl.String))
    with series.locked():
        series.recover()
        load_state(series.path, series.period.number).without(ids).save(series.path)
