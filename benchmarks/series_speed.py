"""What a window of a series costs beside a release of its rows, and what the state takes: a million people.

python benchmarks/series_speed.py [PEOPLE]
"""

from __future__ import annotations

import sys
import tempfile
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from time import process_time

import numpy as np
import polars as pl

from recveil.data import Interactions, from_ids
from recveil.releases.bundle import save
from recveil.releases.inputs import Input
from recveil.releases.release import release
from recveil.series.folder import open_series
from recveil.series.opening import SeriesRequest, run_new_series, window_mechanism
from recveil.series.releasing import WindowsRequest, run_windows
from recveil.series.state import STATE

START, WEEK, ITEMS = datetime(2026, 1, 5, tzinfo=UTC), 604_800, 200


def rows(people: int, week: int) -> Interactions:
    """Everybody has two items in this week."""
    rng = np.random.default_rng(week)
    user, item = np.repeat(np.arange(people), 2), rng.integers(0, ITEMS, 2 * people)
    time = int(START.timestamp()) + week * WEEK + rng.integers(0, WEEK, 2 * people)
    return from_ids(pl.Series(user), pl.Series(item), time=time)


def main(people: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "items.csv").write_text("item\n" + "\n".join(map(str, range(ITEMS))) + "\n")
        request = SeriesRequest(
            str(folder / "s"), "dp-streams:order=none", str(folder / "people.jsonl"), 8.0, 1e-6, 4, "month",
            start=date(2026, 1, 5), items=str(folder / "items.csv"), catalogue_is_public=True,
        )  # fmt: skip
        series = run_new_series(request)
        mechanism = window_mechanism(series)
        for week in range(4):  # P = W: everybody counts in every window; the first one compiles
            data = rows(people, week)
            began = process_time()
            save(release(data, mechanism, catalogue=series.catalogue), folder / f"alone{week}")
            alone, began = process_time() - began, process_time()
            run_windows(WindowsRequest(open_series(series.path), Input(data)), now=START + timedelta(weeks=week + 1))
            window, size = process_time() - began, (series.path / STATE).stat().st_size
            print(
                f"week {week + 1}: release {alone:.2f} s CPU, window {window:.2f} s, {window - alone:+.2f} s; "
                f"state {size / people:.1f} bytes a person",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
