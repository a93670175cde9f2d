"""FolkRank over all test posts against a loop over posts with scipy, and Gibbs sampling against tomotopy itself.

Best of three; the loop knows one core only, so
NUMBA_NUM_THREADS=1 shows what is gained without a second one.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from places import needed
from scipy import sparse

from recveil.data import Codes, Interactions
from recveil.evaluation.recommenders.folkrank import FolkRank
from recveil.evaluation.recommenders.tags import suggest
from recveil.formats import read
from recveil.mechanisms.pritop.topics import gibbs
from recveil.splits import leave_one_post_out
from recveil.views.triples import Posts, distinct, posts, tables

N, REPEATS, SWEEPS, TOPICS = 10, 3, 100, 100


def best(run: Callable[[], Any]) -> tuple[float, Any]:
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        found = run()
        times.append(time.perf_counter() - begin)
    return min(times), found


def loop(train: Interactions, wanted: Posts) -> Codes:
    """One post after the other: ten products of a sparse matrix and a vector each, and the best of the difference."""
    counts = tables(train)
    P, M, L = counts.posts, counts.user, counts.resource
    assert P is not None
    edges = sparse.block_array([[None, P, M], [P.T, None, L], [M.T, L.T, None]], format="csr")
    A = edges.copy()
    A.data /= edges.sum(axis=0)[edges.indices]
    (users, resources), n = P.shape, A.shape[0]

    def spread(p: np.ndarray) -> np.ndarray:
        w = p
        for _ in range(10):
            w = 0.7 * (A @ w) + 0.3 * p
        return w

    w0 = spread(np.full(n, 1 / n))
    lists = []
    for u, i in zip(wanted.user, wanted.item, strict=True):
        p = np.ones(n)
        p[u] += users
        p[users + i] += resources
        score = (spread(p / p.sum()) - w0)[users + resources :]
        top = np.argpartition(-score, N)[:N]
        lists.append(top[np.argsort(-score[top], kind="stable")])
    return np.array(lists, dtype=np.int32)


def folkrank(data: Interactions) -> None:
    train, test = leave_one_post_out(data, np.random.default_rng(0))
    wanted = posts(test)
    suggest(FolkRank().fit(train), wanted)  # kernels are compiled
    ours, lists = best(lambda: suggest(FolkRank().fit(train), wanted))
    theirs, others = best(lambda: loop(train, wanted))
    near = np.mean([len(set(a) & set(b)) / N for a, b in zip(lists.tolist(), others.tolist(), strict=True)])
    print(f"FolkRank, {len(wanted):,} posts: {ours:.2f} s, loop {theirs:.2f} s: {theirs / ours:.1f} times as fast")
    rates = f"{len(wanted) / ours:,.0f} and {len(wanted) / theirs:,.0f} posts a second"
    print(f"  {rates}; {near:.2%} of the tags are the same (in 400 posts that were looked at, the others tie)")


def direct(rows: Interactions) -> int:
    """tomotopy without us: documents of tags, trained."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import tomotopy

    model = tomotopy.LDAModel(k=TOPICS, alpha=50 / TOPICS, eta=0.01, seed=1)
    model.optim_interval = 0
    documents: dict[int, list[str]] = {}
    assert rows.tag is not None
    for item, tag in zip(rows.item.tolist(), rows.tag.tolist(), strict=True):
        documents.setdefault(item, []).append(str(tag))
    for words in documents.values():
        model.add_doc(words)
    model.train(SWEEPS, workers=1)
    return sum(len(document.topics) for document in model.docs)


def sampling(data: Interactions) -> None:
    ours, _ = best(lambda: gibbs(data, TOPICS, SWEEPS, 50 / TOPICS, 0.01, seed=1))
    theirs, tokens = best(lambda: direct(data))
    print(
        f"Gibbs, {SWEEPS} sweeps, {tokens:,} tokens: {ours:.2f} s, tomotopy {theirs:.2f} s: {ours / theirs:.2f} times"
    )
    print(f"  {SWEEPS * tokens / ours / 1e6:.1f} million tokens a second")


def main() -> None:
    data = distinct(read(needed("hetrec-lastfm") / "hetrec-lastfm" / "tags.parquet", duplicates="all"))
    folkrank(data)
    sampling(data)


if __name__ == "__main__":
    main()
