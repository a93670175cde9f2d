"""The advisor's item model against its neighbourhood model and the most liked: NDCG@10 for people who were held out.

A fifth of the people are not learned from. Four fifths of each one's likes are her history, the rest is to be found.

    python benchmarks/advisor_model.py RATINGS [LIKE]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse
from scipy.sparse.linalg import svds

import recveil
from recveil.advisor.item_model import ItemModel, learn
from recveil.advisor.recommending import NEIGHBOURS, RANK
from recveil.clicks.profiles import clicks
from recveil.data import from_ids
from recveil.dp.budget import epsilon_of, rho_of
from recveil.mechanisms.dp_streams import DpStreams

N, DELTA = 10, 1e-6


def ndcg(best: list[Any], wanted: set[Any]) -> float:
    gain = sum(1 / np.log2(place + 2) for place, item in enumerate(best[:N]) if item in wanted)
    return float(gain / sum(1 / np.log2(place + 2) for place in range(min(N, len(wanted)))))


def main(file: str, like: float) -> None:
    log = clicks(recveil.read(file).compact(), like)
    data, rng = log.data, np.random.default_rng(0)
    held = rng.random(len(data.users)) < 0.2
    liked = log.sign > 0
    shape = (len(data.users), len(data.items))
    signs = sparse.csr_array((log.sign.astype(float), (data.user, data.item)), shape=shape)
    train = signs[np.flatnonzero(~held)]
    likes = np.asarray((train > 0).sum(axis=0)).ravel()
    people = []
    for who in np.flatnonzero(held):
        mine = rng.permutation(data.item[(data.user == who) & liked])
        if len(mine) >= 5:
            cut = len(mine) * 4 // 5
            people.append((mine[:cut], set(mine[cut:].tolist())))
    rows: dict[str, list[float]] = {"most liked": [], "neighbours": []}
    popular = np.argsort(-likes, kind="stable")
    _, _, factors = svds(train, k=RANK, v0=np.random.default_rng(0).standard_normal(min(train.shape)))
    crowd = train @ factors.T
    crowd /= np.maximum(np.linalg.norm(crowd, axis=1, keepdims=True), 1e-12)
    for own, wanted in people:
        rows["most liked"].append(ndcg([i for i in popular[: N + len(own)] if i not in set(own.tolist())], wanted))
        taste = factors[:, own].sum(axis=1)
        near = np.argsort(-(crowd @ taste), kind="stable")[:NEIGHBOURS]
        scores = (crowd[near] @ taste) @ train[near]
        scores[own] = -np.inf
        rows["neighbours"].append(ndcg(np.argsort(-scores, kind="stable")[:N].tolist(), wanted))
    names = data.items.cast(pl.String).to_list()
    place = {name: n for n, name in enumerate(names)}
    kept = liked & ~held[data.user]
    learned = from_ids(pl.Series(data.user[kept]), pl.Series(names).gather(data.item[kept])).over_items(
        pl.Series(names)
    )
    for label, epsilon in (("one model, epsilon 4", 4.0), ("one of four", epsilon_of(rho_of(4.0, DELTA) / 4, DELTA))):
        model = ItemModel("", **learn(learned, DpStreams(epsilon=epsilon, delta=DELTA, order="none")))
        found = []
        for own, wanted in people:
            mine = set(own.tolist())
            best = [place[key] for key in model.best({names[i]: 1 for i in mine}, N)]
            rest = (i for i in popular if i not in mine and i not in set(best))
            found.append(ndcg([*best, *(next(rest) for _ in range(N - len(best)))], wanted))
        rows[f"{label} (epsilon {epsilon:.2f}, {len(model.items)} items)"] = found
    for label, found in rows.items():
        error = np.std(found) / np.sqrt(len(found))
        print(f"{label}: NDCG@10 {np.mean(found):.4f} ± {1.96 * error:.4f}  ({len(found)} people)")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "sample:films", float(sys.argv[2]) if len(sys.argv) > 2 else 4.0)
