"""What rules in use leave open, on daily releases of dunnhumby: thresholds of people (dma-draft, google).

    python benchmarks/rules.py

What is kept; items that one household alone brought over the threshold on a day; households that three of their items
find; and differencing between two days: the newcomers' items against others as popular. Beside it a proved series: the
same differencing between its noisy tables of two windows, and the lift of its last window beside that of the rule.
"""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from series import by_popularity, by_rows, dunnhumby, made, windows

from recveil.data import Interactions, from_ids
from recveil.evaluation.attacks.differencing import _people, _told
from recveil.intervals import bootstrap, student_share
from recveil.mechanisms import DpStreams
from recveil.mechanisms.threshold import PROFILES
from recveil.series.periods import Period

DATA = Path(os.environ.get("RECVEIL_DATA", Path(__file__).parents[1] / ".." / "shared" / "data"))
DAY, KNOWN = 86400, 3
MONTHS = Period(1, 1, date(2017, 1, 1), "year", "month", 4.0, 1e-6, 12)
WEEKS = Period(1, 1, date(2017, 1, 1), "year", "week", 4.0, 1e-6, 26)


def kept(rows: Interactions, k: int) -> Any:
    """The items that enough households had; the log is shorter than the months of both rules."""
    return _people(rows) >= k


def alone(first: pl.DataFrame, k: int) -> tuple[int, int]:
    """Items that appear on some day, and those of them to which one household came on that day: the k-th."""
    days = first.group_by("item", "day").len().sort("item", "day")
    days = days.with_columns(so_far=pl.col("len").cum_sum().over("item"))
    crossed = days.filter((pl.col("so_far") >= k) & (pl.col("so_far") - pl.col("len") < k))
    return len(crossed), len(crossed.filter(pl.col("len") == 1))


def found(rows: Interactions, keep: Any, rng: np.random.Generator) -> Any:
    """For each household whether three of its kept items, by chance, are in no other record."""
    pairs = np.unique(np.stack([rows.user, rows.item])[:, keep[rows.item]], axis=1)
    people = [set(part.tolist()) for part in np.split(pairs[1], np.searchsorted(pairs[0], np.arange(1, rows.n_users)))]
    whose: dict[int, set[int]] = {}
    for who, items in enumerate(people):
        for item in items:
            whose.setdefault(item, set()).add(who)
    told = []
    for items in people:
        if len(items) >= KNOWN:
            known = rng.permutation(sorted(items))[:KNOWN].tolist()
            told.append(float(len(set.intersection(*(whose[i] for i in known))) == 1))
    return np.array(told)


def newcomers(first: pl.DataFrame, k: int, rng: np.random.Generator) -> Any:
    """For everybody who came after two months the share of items that went up more than others, on the first day."""
    rows, day = from_ids(first["user"], first["item"]), first["day"].to_numpy()
    began = np.full(rows.n_users, np.iinfo(np.int64).max)
    np.minimum.at(began, rows.user, day)
    told = []
    for today in np.unique(began[began >= 60]).tolist():
        after, before = (np.bincount(rows.item[day < end], minlength=rows.n_items) for end in (today + 1, today))
        shown = after >= k
        up = np.where(shown, after - np.where(before >= k, before, 0), 0)
        now = rows.take((day <= today) & shown[rows.item])
        told.append(_told(now, np.flatnonzero(began == today), up, rng))
    return np.concatenate(told)


def newcomers_of_series(period: Period, split: int) -> Any:
    """The same of a series: who came after two months, and by how much noisy counts of items rose in that window."""
    log = dunnhumby(period.windows, split)
    rows = from_ids(log.rows.users.gather(log.rows.user), log.rows.items.gather(log.rows.item))
    began = np.full(rows.n_users, period.windows)
    np.minimum.at(began, rows.user, log.window)
    mechanism, tables = DpStreams(epsilon=4.0, delta=1e-6, order="none"), []
    for published in windows(log, period, mechanism, True, split):
        ids = published.public.items.to_numpy()
        order = np.argsort(ids)
        tables.append(published.rounds[0]["items"][order[np.searchsorted(ids, rows.items.to_numpy(), sorter=order)]])
    told, rng = [], np.random.default_rng(split)
    for now in range(period.windows // 6, period.windows):
        up = tables[now] - tables[now - 1]
        told.append(_told(rows.take(log.window <= now), np.flatnonzero(began == now), up, rng))
    return np.concatenate(told)


def lifts(split: int) -> None:
    """What EASE learns from the rows that a rule keeps, and from a proved series of months and its last window."""
    log, rng = dunnhumby(12, split), np.random.default_rng(split)
    real, popular = by_rows(log.rows, log), by_popularity(log.rows, log)
    ways = {name: log.rows.take(kept(log.rows, k)[log.rows.item]) for name, (k, _) in PROFILES.items()}
    ways["series of months"] = made(log, MONTHS, DpStreams(epsilon=4.0, delta=1e-6, k=30_000, order="none"), True, 0)
    for name, rows in ways.items():
        value, low, high = bootstrap(
            lambda r, full, base: float((r.mean() - base.mean()) / (full.mean() - base.mean())),
            [by_rows(rows, log), real, popular], rng,
        )  # fmt: skip
        print(f"split {split}, {name}: lift {value:.2f} [{low:.2f}, {high:.2f}]", flush=True)


def shown(share: tuple[float, float, float]) -> str:
    return f"{share[0]:.3f} [{share[1]:.3f}, {share[2]:.3f}]"


def main() -> None:
    frame = pl.read_parquet(DATA / "dunnhumby" / "purchases.parquet").select("user", "item", "time")
    frame = frame.with_columns(day=(pl.col("time") - pl.col("time").min()) // DAY)
    rows, rng = from_ids(frame["user"], frame["item"]), np.random.default_rng(0)
    first = frame.group_by("user", "item").agg(pl.col("day").min())
    for name, (k, _) in PROFILES.items():
        keep, (crossed, one) = kept(rows, k), alone(first, k)
        print(f"{name}: {keep.sum():,} of {len(keep):,} items kept, {keep[rows.item].mean():.1%} of rows")
        print(f"  {crossed:,} items appeared in the year, {one:,} of them by one household alone ({one / crossed:.0%})")
        share, told = found(rows, keep, rng), newcomers(first, k, rng)
        print(f"  {KNOWN} items in no other record: {shown(student_share(share))} of {len(share):,} households")
        print(f"  differencing {shown(student_share(told))}, chance .5; {len(told)} newcomers", flush=True)
    for period in (MONTHS, WEEKS):
        for split in (1, 2, 3):
            told = newcomers_of_series(period, split)
            print(f"series, {period.windows} windows, P = {period.participations}, split {split}: differencing "
                  f"{shown(student_share(told))}, {len(told)} newcomers", flush=True)  # fmt: skip
    for split in (1, 2, 3):
        lifts(split)


if __name__ == "__main__":
    main()
