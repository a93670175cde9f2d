"""dp-streams: seconds of noise, de-noising, draw and swaps on real data, and the swaps against plain numpy."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from places import needed

from recveil.data import Interactions, from_ids
from recveil.dp.noise import draw, gaussian
from recveil.kernels.swaps import TRIES, pair_excess, swap_items, walk
from recveil.mechanism import PublicInfo
from recveil.mechanisms.dp_streams import UNIT, DpStreams
from recveil.mechanisms.dp_streams.baskets import SOFTNESS, SWEEPS, BasketDrawer, draw_all, expected_moves
from recveil.mechanisms.dp_streams.drawing import draw_lengths, expected
from recveil.randomness import entropy
from recveil.releases.catalogue import Catalogue
from recveil.releases.release import publish, release

DATA = needed("yahoo-music-mbrw", "diginetica")


def timed(what: str, run: Callable[[], Any]) -> Any:
    begin, cpu = time.perf_counter(), time.process_time()
    answer = run()
    print(f"  {what:<42}{time.perf_counter() - begin:8.2f} s, {time.process_time() - cpu:.2f} s of processor")
    return answer


def parts(data: Interactions, mechanism: DpStreams) -> tuple[Any, ...]:
    public = PublicInfo(data.kind, data.unit, data.items, None, True)
    timed("release, whole", lambda: release(data, mechanism, catalogue=Catalogue(data.items, is_public=True)))
    published = timed("of it count and noise", lambda: publish(data, mechanism, public, entropy()))
    tables = mechanism.tables(published.rounds, public)
    cells = sum(len(t) for r in published.rounds for t in r.values())
    timed(f"of it noise alone ({cells:,} cells)", lambda: draw(gaussian(16 * UNIT**2), cells, entropy()))
    pairs = timed(f"de-noise {len(tables.kept):,} items", lambda: expected(tables))
    sizes = draw_lengths(tables, None, np.random.default_rng(1))
    if len(pairs.table.indices):
        drawer = BasketDrawer(pairs, None, SWEEPS)
        timed(f"draw {len(sizes):,} streams of listed pairs", lambda: draw_all(drawer, sizes, entropy()))
        return ()
    starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
    moves = None
    if tables.transitions is not None:
        moves = timed("de-noise moves", lambda: expected_moves(pairs.square, tables.transitions, tables.move_sigma))
    drawer = BasketDrawer(pairs, moves, SWEEPS)
    timed(f"draw {len(sizes):,} streams", lambda: draw_all(drawer, sizes, entropy()))
    item = timed("of it a walk", lambda: walk(entropy().key(), starts, drawer.rows, drawer.guide))
    weight = 1 / np.sqrt(np.maximum(sizes * (sizes - 1) / 2, 1))
    scale = float((sizes * (sizes - 1) * weight).sum() / drawer.strength.sum())
    excess = pair_excess(starts, item, drawer.weight.reshape(len(drawer.order), -1), scale)
    share = (drawer.strength * np.sqrt(scale / drawer.strength.sum())).astype(np.float32)
    state = (starts, item, excess, share, SOFTNESS * float(weight.mean()), drawer.rows, drawer.guide)
    timed("of it swaps", lambda: swap_items(entropy().key(), *state, SWEEPS))
    print(f"  largest memory so far {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB")
    return state


def numpy_sweep(starts: Any, item: Any, excess: Any, share: Any, softness: float, rows: Any, _guide: Any) -> int:
    """The twin: one sweep over the baskets, vectorised within a basket; one proposal for each item."""
    rng = np.random.default_rng(1)
    proposals = 0
    for begin, end in pairwise(starts):
        if end - begin < 2:
            continue
        w = 1 / np.sqrt((end - begin) * (end - begin - 1) / 2)
        for at in range(begin, end):
            proposals += 1
            other = rng.integers(begin, end - 1)
            row = rows[item[other if other < at else other + 1]] if rng.random() < 0.8 else rows[-1]
            new = min(np.searchsorted(row, rng.integers(2**32)), len(row) - 1)
            basket = item[begin:end]
            if new in basket:
                continue
            old = item[at]
            rest = basket[basket != old]
            gain = (w * (w - 2 * excess[old, rest]) / (share[old] * share[rest] + softness)).sum()
            gain += (w * (w + 2 * excess[new, rest]) / (share[new] * share[rest] + softness)).sum()
            if gain < 0:
                item[at] = new
                for cell, sign in ((old, -w), (new, w)):
                    excess[cell, rest] += sign
                    excess[rest, cell] += sign
    return proposals


def main() -> None:
    rows = pl.read_parquet(DATA / "yahoo-music-mbrw" / "ratings.parquet")
    yahoo = from_ids(rows["user"], rows["item"], time=rows["order"].to_numpy())
    mechanism = DpStreams(epsilon=4.0, delta=1e-5)
    release(yahoo.take(yahoo.user < 3000), mechanism)  # compile
    print("yahoo sample, epsilon 4, with order")
    starts, item, *rest = parts(yahoo, mechanism)
    few = starts[:1001]
    begin = time.perf_counter()
    proposals = numpy_sweep(few, item.copy(), *(a.copy() if isinstance(a, np.ndarray) else a for a in rest))
    slow = (time.perf_counter() - begin) / proposals
    begin = time.perf_counter()
    swap_items(entropy().key(), starts, item, *rest, 3)
    fast = (time.perf_counter() - begin) / (3 * TRIES * len(item))
    print(f"  swaps: {1 / fast:,.0f} proposals/s or more, plain numpy {1 / slow:,.0f}: {slow / fast:.0f}x")
    clicks = pl.read_parquet(DATA / "diginetica" / "sessions.parquet").filter(~pl.col("test").cast(bool))
    flat = clicks.select("session", "clicks").explode("clicks", empty_as_null=False).drop_nulls()
    diginetica = from_ids(flat["session"], flat["clicks"], time=np.arange(len(flat)), unit="session")
    print(f"diginetica, epsilon 4, order=none: {diginetica.n_users:,} sessions, {diginetica.n_items:,} items")
    parts(diginetica, DpStreams(epsilon=4.0, delta=1e-6, order="none"))
    large = many_items()
    print(
        f"generated, epsilon 8, order=none: {large.n_users:,} sessions, {large.n_items:,} items, pairs noised sparsely"
    )
    parts(large, DpStreams(epsilon=8.0, delta=1e-7, order="none"))


def many_items(sessions: int = 1_000_000, items: int = 40_000) -> Interactions:
    """Sessions of five clicks among items that stand near each other."""
    rng = np.random.default_rng(1)
    item = (rng.integers(items, size=(sessions, 1)) + rng.integers(20, size=(sessions, 5))) % items
    user = np.repeat(np.arange(sessions), 5)
    return from_ids(pl.Series(user), pl.Series(item.ravel()), time=np.arange(user.size), unit="session")


if __name__ == "__main__":
    main()
