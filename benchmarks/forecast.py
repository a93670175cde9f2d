"""The forecast against what stands out on public data sets: python benchmarks/forecast.py

For each data set of RECVEIL_DATA: how many items a release with a proof keeps at epsilon 4 and delta 1e-6, counted
without noise, beside the forecast from people, items and rows alone, to one digit.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl

from recveil.formats import read
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_streams import MOST_ITEMS, UNIT, DpStreams
from recveil.releases.forecast import LogSize, forecast

DATA = Path(os.environ.get("RECVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
TABLES = ("ratings", "clicks", "purchases", "tags", "sessions")


def main() -> None:
    mechanism = DpStreams(epsilon=4, delta=1e-6)
    print("| data set | people | items | rows | kept | forecast |\n|---|---|---|---|---|---|")
    for folder in sorted(DATA.iterdir()):
        table = next((folder / f"{name}.parquet" for name in TABLES if (folder / f"{name}.parquet").exists()), None)
        if table is None:
            continue
        names = {"session", "user"} & set(pl.read_parquet_schema(table))
        who = "user" if "user" in names else "session"
        data = read(table, {"user": who} if who == "user" else None)
        public = PublicInfo("clicks", "user", data.items, None, catalogue=False)
        weight = 1 / np.sqrt(np.bincount(data.user, minlength=data.n_users))
        counts = np.bincount(data.item, weights=weight[data.user], minlength=data.n_items)
        kept = min(int((counts > mechanism._above(public) / UNIT).sum()), MOST_ITEMS["transitions"])
        found = forecast(mechanism, LogSize(data.n_users, data.n_items, len(data)).rounded())
        assert found is not None
        low, about, high = found.items
        size = f"{data.n_users:,} | {data.n_items:,} | {len(data):,}"
        print(f"| {folder.name} | {size} | {kept:,} | {about:,} ({low:,} to {high:,}) |", flush=True)


if __name__ == "__main__":
    main()
