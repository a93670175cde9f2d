"""A shop whose log grows: people with tastes who come every week, for series of releases."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from recveil.data import Interactions, from_ids
from recveil.releases.inputs import Input
from recveil.series.folder import Series, open_series
from recveil.series.opening import SeriesRequest, run_new_series
from recveil.series.releasing import Left, WindowsRequest, run_windows

START = date(2026, 1, 5)
WEEK = 7 * 86400
ITEMS = 16


def log(people: int = 300, weeks: int = 4, rows: int = 5, seed: int = 0) -> Interactions:
    """Everybody comes in every week."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(people), weeks * rows)
    taste = rng.integers(0, 2, people)[user]
    item = np.where(rng.random(len(user)) < 0.7, taste * 8 + rng.integers(0, 8, len(user)), rng.integers(0, ITEMS))
    week = np.tile(np.repeat(np.arange(weeks), rows), people)
    begin = int(datetime(START.year, START.month, START.day, tzinfo=UTC).timestamp())
    return from_ids(pl.Series(user), pl.Series(item), time=begin + week * WEEK + rng.integers(0, WEEK, len(user)))


def shop(folder: Path, **settled: Any) -> Series:
    """A new series of four weeks beside its ledger and its public items."""
    folder.mkdir(parents=True, exist_ok=True)
    items = folder / "items.csv"
    items.write_text("item\n" + "\n".join(map(str, range(ITEMS))) + "\n")
    wished: dict[str, Any] = {"epsilon": 8.0, "delta": 1e-3, "participations": 2, "period": "month", "start": START}
    wished |= {"items": str(items), "catalogue_is_public": True, "carry": True}
    wished |= settled
    request = SeriesRequest(str(folder / "shop.series"), "dp-streams", str(folder / "people.jsonl"), **wished)
    return run_new_series(request)


def after(weeks: float) -> datetime:
    """So many weeks after the first window began, and an hour."""
    return datetime(START.year, START.month, START.day, 1, tzinfo=UTC) + timedelta(weeks=weeks)


def released(series: Series, rows: Interactions, weeks: float, **wishes: Any) -> list[Left]:
    return run_windows(WindowsRequest(open_series(series.path), Input(rows), **wishes), now=after(weeks))
