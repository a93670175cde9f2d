"""Attacks against plain scipy.sparse, as ratios in one run. Real data where they are (RECVEIL_DATA), else generated."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from places import FOLDER
from scipy import sparse

from recveil.data import Interactions, from_ids
from recveil.evaluation.attacks.knowledge import learn
from recveil.evaluation.attacks.linkage import linkage
from recveil.kernels.record_search import index, nearest, reaches
from recveil.measurement import Trial
from recveil.views.records import Records, records

TARGETS, MOST = 2000, 16
RECORDS = 100_000
SAMPLE = 1000  # queries of the plain product, which is timed on these and scaled up


def timed(work: Callable[[], Any], best_of: int = 3) -> tuple[float, Any]:
    seconds, result = [], None
    for _ in range(best_of):
        start = perf_counter()
        result = work()
        seconds.append(perf_counter() - start)
    return min(seconds), result


def world(n: int, n_items: int, seed: int, mean: float = 17.5) -> Interactions:
    """People with one of twenty tastes each; items by a Zipf law."""
    rng = np.random.default_rng(seed)
    lengths = np.maximum(3, rng.lognormal(np.log(mean) - 0.125, 0.5, n)).astype(int)
    user = np.repeat(np.arange(n), lengths)
    law = np.cumsum(1 / (np.arange(n_items) + 10.0))
    item = np.searchsorted(law / law[-1], rng.random(len(user)))
    taste = rng.integers(20, size=n)[user]
    item = np.where(rng.random(len(user)) < 0.5, item // 20 * 20 + taste, item)
    pairs = np.unique(user * n_items + np.minimum(item, n_items - 1))
    return from_ids(pl.Series(pairs // n_items), pl.Series(pairs % n_items))


def movielens() -> Interactions:
    if not (FOLDER / "ml-1m").is_dir():
        print("ml-1m is not here: a generated world instead")
        return world(6000, 3700, 0, mean=165)
    frame = pl.read_parquet(FOLDER / "ml-1m" / "ratings.parquet")
    return from_ids(frame["user"], frame["item"])


def curve_of_scipy(data: Interactions, of: Records) -> list[float]:
    """The obvious way: for every r, known items times released records; candidates reach r."""
    rng = np.random.default_rng(0)
    people = rng.permutation(of.people)[:TARGETS]
    known, _ = learn(data, of, people, MOST, "random", rng)
    matrix = data.matrix(binary=True)
    by_item = matrix.T.tocsr()
    found = []
    for r in range(1, MOST + 1):
        able = np.flatnonzero(known[:, r - 1] >= 0)
        rows = np.repeat(np.arange(len(able)), r)
        facts = sparse.csr_array((np.ones(len(rows)), (rows, known[able, :r].ravel())), (len(able), of.n_items))
        counts = facts @ by_item
        counts.data = (counts.data >= r - 0.5).astype(float)
        found.append(float((1 / np.asarray(counts.sum(axis=1))).mean()))
    return found


def linkage_curve() -> None:
    data = movielens()
    of = records(data)
    subject = Trial(data, data, owner=np.arange(data.n_users, dtype=np.int32))

    def ours() -> list[float]:
        found = linkage(
            subject,
            np.random.default_rng(0),
            known=range(1, MOST + 1),
            ratings=False,
            attackers=("intersection",),
            theta=None,
            targets=TARGETS,
        )
        return [m.value for m in found if m.name == "linkage"]

    ours()
    fast, curve = timed(ours)
    slow, plain = timed(lambda: curve_of_scipy(data, of), best_of=1)
    print(f"linkage curve r=1..{MOST}, {TARGETS} targets, {data}: {fast:.2f} s, scipy {slow:.2f} s: {slow / fast:.1f}x")
    print(f"  success at r=8: {curve[7]:.3f}, scipy {plain[7]:.3f} (other random items)")


def closest_records() -> None:
    base, queries = records(world(RECORDS, RECORDS, 1)), records(world(RECORDS, RECORDS, 2))
    n_items = max(base.n_items, queries.n_items)
    at = index(*base.sets, n_items)
    some = queries.take(np.arange(SAMPLE))
    nearest(at, *some.sets)
    exact, (cosine, _) = timed(lambda: nearest(at, *queries.sets), best_of=2)
    here, there = (
        sparse.csr_array((np.ones(len(r.items)), r.items, r.starts), (len(r), n_items)) for r in (some, base)
    )
    by_item = there.T.tocsr()

    def product() -> Any:
        overlap = (here @ by_item).tocsr()
        overlap.data /= np.sqrt(base.lengths[overlap.indices])
        return overlap.max(axis=1).toarray().ravel() / np.sqrt(some.lengths)

    slow, plain = timed(product, best_of=2)
    assert np.allclose(plain, cosine[:SAMPLE])
    slow *= RECORDS / SAMPLE
    print(f"closest of {RECORDS:,} for {RECORDS:,} records: {exact:.2f} s, scipy {slow:.0f} s: {slow / exact:.0f}x")
    for theta in (0.6, 0.7, 0.8):
        decide, reached = timed(lambda theta=theta: reaches(at, *queries.sets, theta), best_of=2)
        assert np.array_equal(reached, cosine >= theta - 1e-9)
        print(f"  deciding >= {theta}: {decide:.2f} s: {slow / decide:.0f}x")
    print(f"  index {sum(a.nbytes for a in at) / 1e6:.0f} MB for {len(base.items):,} rows")


if __name__ == "__main__":
    linkage_curve()
    closest_records()
