"""What a series of releases is worth: the last window's release, carried over, beside other ways to spend a budget.

    python benchmarks/series.py dunnhumby --windows 52 --participations 26 --draws 3

(a) one release of everything at the same epsilon; (b) the same series without carrying over; (c) a ledger split evenly
over the windows. Where too few items stand out, (b) and (c) release nothing; "25 kept" are the same with the 25 best
items at least, as where windows are carried over. Judged by EASE on baskets of people who are in no release: half of a
basket is shown, NDCG@20 of the rest. Lift: 1 is EASE on all real rows, 0 the most popular items. Controls: most
popular, and public items alone.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from recveil.data import Interactions, from_ids
from recveil.dp.combining import told_next
from recveil.intervals import bootstrap
from recveil.items import PublicItems
from recveil.mechanism import PublicInfo
from recveil.mechanisms import DpStreams
from recveil.randomness import seeded
from recveil.releases.catalogue import Catalogue, read_catalogue
from recveil.releases.release import drawn, publish
from recveil.series.participation import counts
from recveil.series.periods import Period
from recveil.series.promise import of_window

DATA = Path(os.environ.get("RECVEIL_DATA", Path(__file__).parents[1] / ".." / "shared" / "data"))
TOP, SHOWN_LEAST, JUDGES, PENALTY = 20, 2, 1500, 200.0
MOST_ITEMS = 3000


@dataclass(frozen=True)
class Log:
    """Rows with the window of each, baskets of strangers in the last window, and the public items."""

    rows: Interactions
    window: Any
    baskets: list[Any]
    items: pl.Series
    category: pl.Series | None
    windows: int
    facts: PublicItems | None = None  # of the items, where they are used


def dunnhumby(windows: int, seed: int) -> Log:
    """52 full weeks or 12 months; sessions are baskets, the unit is the household."""
    rows = pl.read_parquet(DATA / "dunnhumby" / "purchases.parquet")
    months = [date(2017, m, 1) for m in range(1, 13)] + [date(2018, 1, 1)]
    begin = int(datetime(2017, 1, 1, tzinfo=UTC).timestamp())
    weeks = [begin + 604800 * k for k in range(53)]
    edges = weeks if windows == 52 else [int(datetime(d.year, d.month, 1, tzinfo=UTC).timestamp()) for d in months]
    rows = rows.filter((pl.col("time") >= edges[0]) & (pl.col("time") < edges[-1]))
    window = np.searchsorted(np.array(edges), rows["time"].to_numpy(), side="right") - 1
    items = pl.read_parquet(DATA / "dunnhumby" / "items.parquet").sort("item")
    return _log(rows, window, items["item"], items["product_type"], windows, seed)


def sessions(name: str, windows: int, seed: int) -> Log:
    """Sessions in the order of their file, cut into windows of equal size: each is a person."""
    rows = pl.read_parquet(DATA / name / "sessions.parquet")
    rows = rows.select(user="session", session="session", item="clicks").with_row_index("time").explode("item")
    window = (rows["time"].to_numpy().astype(np.int64) * windows) // (int(rows["time"].max()) + 1)  # type: ignore[arg-type]
    file = DATA / name / "items.parquet"
    if not file.exists():
        items = rows["item"].unique().sort()
        return _log(rows, window, items, None, windows, seed)
    items = pl.read_parquet(file).sort("item")
    return _log(rows, window, items["item"], items["category"].cast(pl.String), windows, seed)


def _log(rows: pl.DataFrame, window: Any, items: Any, category: Any, windows: int, seed: int) -> Log:
    rng = np.random.default_rng([seed, *b"series"])
    users = np.sort(rows["user"].unique().to_numpy())
    held = np.isin(rows["user"].to_numpy(), rng.permutation(users)[: len(users) // 5])
    last = rows.filter(pl.Series(held & (window == windows - 1)))
    found = last.group_by("session", maintain_order=True).agg(pl.col("item").unique(maintain_order=True))["item"]
    baskets = [rng.permutation(np.array(b)) for b in found.to_list() if len(b) >= 2 * SHOWN_LEAST]
    baskets = [baskets[k] for k in rng.permutation(len(baskets))[:JUDGES]]
    kept = rows.filter(pl.Series(~held))
    alone = bool((kept["user"] == kept["session"]).all()) if kept["user"].dtype == kept["session"].dtype else False
    data = from_ids(
        kept["user"].cast(pl.Int64), kept["item"].cast(pl.Int64), time=kept["time"].to_numpy().astype(np.int64),
        session=None if alone else kept["session"],
    )  # fmt: skip
    return Log(data, window[~held], baskets, items.cast(pl.Int64), category, windows)


# --- judging ------------------------------------------------------------------------------------------------------


def streams(rows: Interactions) -> Any:
    """Streams x items, 0 and 1."""
    who = rows.user.astype(np.int64)
    if rows.session is not None:
        who = np.unique(np.stack([rows.user.astype(np.uint64), rows.session]), axis=1, return_inverse=True)[1].ravel()
    X = sparse.csr_array((np.ones(len(rows), np.float32), (who, rows.item)), shape=(int(who.max()) + 1, rows.n_items))
    X.sum_duplicates()
    X.data[:] = 1.0
    return X


def ease(rows: Interactions) -> tuple[Any, Any, Any]:
    """The most popular ids, how popular they are, and EASE's weights among them; the penalty follows the rows."""
    X = streams(rows)
    often = np.asarray(X.sum(0)).ravel()
    top = np.argsort(-often, kind="stable")[:MOST_ITEMS]
    top = top[often[top] > 0]
    X = X[:, top]
    G = (X.T @ X).toarray().astype(np.float64)
    G[np.diag_indices(len(G))] += PENALTY * max(X.shape[0] / 10_000, 0.05)
    inverse = np.linalg.inv(G)
    B = inverse / -np.diag(inverse)
    np.fill_diagonal(B, 0.0)
    return rows.items.to_numpy()[top], often[top], B


def ndcg(ids: Any, score: Any, log: Log) -> Any:
    """Of each basket; score(places of the shown items) ranks the ids."""
    place = {item: k for k, item in enumerate(ids.tolist())}
    gain = 1 / np.log2(np.arange(TOP) + 2)
    found = []
    for basket in log.baskets:
        half = len(basket) // 2
        shown = [place[i] for i in basket[:half].tolist() if i in place]
        values = np.array(score(shown, basket[:half]), dtype=np.float64)
        values[shown] = -np.inf
        best = np.argsort(-values, kind="stable")[:TOP]
        hits = np.isin(ids[best], basket[half:])
        found.append(float(gain[: len(best)][hits].sum()) / float(gain[: min(TOP, len(basket) - half)].sum()))
    return np.array(found)


def by_rows(rows: Interactions, log: Log) -> Any:
    ids, often, B = ease(rows)
    return ndcg(ids, lambda shown, _: B[shown].sum(0) + 1e-9 * often / often.max(), log)


def by_popularity(rows: Interactions, log: Log) -> Any:
    ids, often, _ = ease(rows)
    return ndcg(ids, lambda *_: often, log)


def by_items_alone(log: Log) -> Any:
    """Public items and no private data: the share of shown items of the same class, and chance among equals."""
    if log.category is None:
        return None
    ids = log.items.to_numpy()
    _, kind = np.unique(log.category.fill_null("").to_numpy().astype(str), return_inverse=True)
    tie = np.random.default_rng(0).random(len(ids)) * 1e-6
    of = dict(zip(ids.tolist(), kind.tolist(), strict=True))
    size = np.bincount(kind)

    def score(_: Any, shown: Any) -> Any:
        votes = np.zeros(kind.max() + 1)
        for item in shown.tolist():
            if item in of:
                votes[of[item]] += 1
        return (votes / size)[kind] + tie

    return ndcg(ids, score, log)


# --- ways to spend ------------------------------------------------------------------------------------------------


def public_of(log: Log, data: Interactions) -> PublicInfo:
    return PublicInfo(
        data.kind, data.unit, data.items, None, True, sessions=data.session is not None,
        features=None if log.facts is None else log.facts.over(data.items),
    )  # fmt: skip


def windows(
    log: Log, period: Period, mechanism: DpStreams, carry: bool, seed: int, first: int = 0, few: bool = False
) -> Iterator[Any]:
    """What a series publishes, window by window; few: the best items are kept where none stand out."""
    lists = Catalogue(log.items, is_public=True)
    data = lists.over(log.rows)
    public = public_of(log, data)
    mine = of_window(mechanism, public, period)
    public = replace(public, earlier={} if carry or few else None)
    key = seeded(seed).derive("key")
    for place in range(first, log.windows):
        inside = np.ones(log.rows.n_users, dtype=bool)  # a session comes in one window alone
        if log.rows.session is not None:
            inside = counts(log.rows.users, place, period.windows, period.participations, key)
        rows = lists.over(log.rows.take(log.window == place).among(inside))
        found = publish(rows.canonical(), mine, public, seeded(seed).derive("window", place))
        yield found
        if carry:
            public = replace(public, earlier=told_next(found.rounds))


def made(
    log: Log, period: Period, mechanism: DpStreams, carry: bool, seed: int, last_only: bool = False, few: bool = False
) -> Interactions:
    """The rows of the last window's release of a series."""
    *_, found = windows(log, period, mechanism, carry, seed, log.windows - 1 if last_only else 0, few)
    return drawn(found, seeded(seed).derive("draw"), "auto").data


def everything(log: Log, period: Period, mechanism: DpStreams, seed: int) -> Interactions:
    """(a): one release of all rows at the same epsilon."""
    lists = Catalogue(log.items, is_public=True)
    data = lists.over(log.rows)
    whole = replace(mechanism, epsilon=period.epsilon, delta=period.delta)
    return drawn(
        publish(data.canonical(), whole, public_of(log, data), seeded(seed)), seeded(seed).derive("draw"), "auto"
    ).data


def main() -> None:
    given = argparse.ArgumentParser()
    given.add_argument("data", choices=("dunnhumby", "msnbc", "nowplaying"))
    given.add_argument("--windows", type=int, default=12)
    given.add_argument("--participations", type=int, default=1)
    given.add_argument("--epsilon", type=float, default=4.0)
    given.add_argument("--order", default="none")
    given.add_argument("--draws", type=int, default=3)
    given.add_argument("--split", type=int, default=0)
    given.add_argument("--streams", type=int, default=30_000, help="how many are drawn, the same in all ways")
    given.add_argument("--facts", action="store_true", help="use the file of items, too: its features are public")
    given.add_argument("--ways", default="012345", help="which ways to spend, by their places in the table")
    wished = given.parse_args()
    log = (
        dunnhumby(wished.windows, wished.split)
        if wished.data == "dunnhumby"
        else sessions(wished.data, wished.windows, wished.split)
    )
    if wished.facts:
        log = replace(log, facts=read_catalogue(DATA / wished.data / "items.parquet").facts(log.items))
    window = "week" if wished.windows == 52 else "month"
    period = Period(1, 1, date(2017, 1, 1), "year", window, wished.epsilon, 1e-6, wished.participations)
    even = replace(period, participations=period.windows)
    mechanism = DpStreams(epsilon=4.0, delta=1e-6, k=wished.streams, order=wished.order)
    real, popular = by_rows(log.rows, log), by_popularity(log.rows, log)
    print(f"{wished.data}, {log.windows} windows, P = {wished.participations}, epsilon {wished.epsilon:g}: "
          f"{len(log.baskets)} baskets of strangers in the last window")  # fmt: skip
    print(f"real, everything {real.mean():.4f}; most popular {popular.mean():.4f}")
    rng = np.random.default_rng(1)

    def show(name: str, scores: list[Any], seconds: float = 0.0) -> None:
        mean = np.mean(scores, axis=0)
        value, low, high = bootstrap(
            lambda r, full, base: float((r.mean() - base.mean()) / (full.mean() - base.mean())),
            [mean, real, popular], rng,
        )  # fmt: skip
        draws = [float(s.mean()) for s in scores]
        print(f"{name:38} NDCG@{TOP} {np.mean(draws):.4f} (draws {min(draws):.4f} to {max(draws):.4f})  "
              f"lift {value:+.3f} [{low:+.3f}, {high:+.3f}]  {seconds:.0f} s CPU", flush=True)  # fmt: skip

    show("real, the last window", [by_rows(log.rows.take(log.window == log.windows - 1), log)])
    if (alone := by_items_alone(log)) is not None:
        show("public items, no private data", [alone])
    ways: dict[str, Any] = {
        "series, carried over": lambda k: made(log, period, mechanism, True, k),
        "(a) one release of everything": lambda k: everything(log, period, mechanism, k),
        "(b) series, nothing carried over": lambda k: made(log, period, mechanism, False, k, last_only=True),
        "(c) split evenly over the windows": lambda k: made(log, even, mechanism, False, k, last_only=True),
        "(b), 25 kept": lambda k: made(log, period, mechanism, False, k, last_only=True, few=True),
        "(c), 25 kept": lambda k: made(log, even, mechanism, False, k, last_only=True, few=True),
    }
    for name, way in (pair for place, pair in enumerate(ways.items()) if str(place) in wished.ways):
        before, scores, refused = process_time(), [], 0
        for k in range(wished.draws):
            try:
                scores.append(by_rows(way(k), log))
            except Exception as why:
                refused += 1
                print(f"{name}: {why}")
                scores.append(np.zeros(len(log.baskets)))
        show(name + (f" ({refused} refused)" if refused else ""), scores, process_time() - before)


if __name__ == "__main__":
    main()
